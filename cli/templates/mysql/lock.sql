{# Locks the rows that have the counters of a row. #}
{% macro lock_rows(lock) %}
SELECT COUNT(*) INTO @diesel_counters_locked FROM {{ lock.table }}
{%- if lock.is_locked %} WHERE {{ lock.is_locked }}{% endif %} FOR UPDATE;
{%- endmacro %}
