{# Adds rows to the counters of a table: what these lack, or zeros that lock. #}
{% macro correct(correction, from, write) %}
{% if correction.to.in_slots %}
{{ write.upsert(correction.to, rows_to_add(correction, from)) }}
{%- else %}
{{ write.update_from(correction.to, correction.assignments, from, correction.row_conditions) }}
{%- endif %}
{%- endmacro %}

{# On SQLite, what follows a query without a WHERE or an ORDER BY would be a part of a join. #}
{% macro rows_to_add(correction, from) %}
SELECT {{ correction.columns|join(", ") }}
FROM {{ from }}
{% if correction.order %}
ORDER BY {{ correction.order|join(", ") }}
{%- else %}
WHERE true
{%- endif %}
{%- endmacro %}
