{# Adds what a row counts in one table, or takes it off. A table that counts for one thing only has one row. #}
{% from "mysql/write.sql" import upsert %}

{% macro add(addition) %}
{% if not addition.to.in_slots %}
{% set conditions = addition.row_conditions + addition.conditions %}
UPDATE {{ addition.to.table }} SET {{ addition.assignments|wrapped }}
{%- if conditions %}

WHERE {{ conditions|join("\n    AND ") }}
{%- endif %};
{%- else %}
{% set new_row = "VALUES (" ~ addition.new_row|wrapped ~ ")" %}
{% if addition.conditions %}
IF {{ addition.conditions|join("\n    AND ") }} THEN
    {{ upsert(addition.to, new_row)|indent }};
END IF;
{%- else %}
{{ upsert(addition.to, new_row) }};
{%- endif %}
{%- endif %}
{%- endmacro %}
