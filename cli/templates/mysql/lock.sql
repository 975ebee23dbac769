{# Locks the rows that have the counters of a row. #}
{% macro lock_rows(lock) %}
SET @diesel_counters_locked = (SELECT COUNT(*) FROM {{ lock.table }}
{%- if lock.key %} WHERE ({{ lock.key|join(", ") }}) IN ({{ lock.entities|join(", ") }}){% endif %} FOR UPDATE);
{%- endmacro %}
