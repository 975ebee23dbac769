{# Locks the rows that have the counters of a row. #}
{% macro lock_rows(lock) %}
{% set is_locked = "WHERE " ~ lock.is_locked ~ " " if lock.is_locked else "" %}
SELECT COUNT(*) INTO @diesel_counters_locked FROM {{ lock.table }}
{{- "\n   " if (lock.table ~ is_locked)|length > 55 }} {{ is_locked }}FOR UPDATE;
{%- endmacro %}
