{# Adds what a row counts in one table, or takes it off. In an ordinary table, the conditions are of the row that has the
   counters: without any, it has one row. #}
{% from "mysql/write.sql" import upsert %}

{% macro add(addition) %}
{% set new_row = "VALUES (" ~ addition.new_row|join(", ") ~ ")" %}
{% if not addition.to.in_slots %}
UPDATE {{ addition.to.table }} SET
    {{ addition.assignments|join(",\n    ") }}
{%- if addition.conditions %}

WHERE {{ addition.conditions|join("\n    AND ") }}
{%- endif %};
{%- elif addition.conditions %}
IF {{ addition.conditions|join("\n    AND ") }} THEN
    {{ upsert(addition.to, new_row)|indent }};
END IF;
{%- else %}
{{ upsert(addition.to, new_row) }};
{%- endif %}
{%- endmacro %}
