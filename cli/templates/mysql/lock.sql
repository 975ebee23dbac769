{# Locks the rows that have the counters of a row. #}
{% macro lock_rows(lock) %}
SELECT COUNT(*) INTO @diesel_counters_locked FROM {{ lock.table }}
{%- if lock.key %} WHERE ({{ lock.key|join(", ") }}) IN ({{ lock.entities|join(", ") }}){% endif %} FOR UPDATE;
{%- endmacro %}
