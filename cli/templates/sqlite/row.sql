{# What a row adds, and what refuses it if it would not be counted. #}
{% from "sqlite/write.sql" import upsert %}

{% macro add(addition) %}
{% set new_row = addition.new_row|wrapped %}
{% if not addition.to.in_slots %}
{% set conditions = addition.row_conditions + addition.conditions %}
UPDATE {{ addition.to.table }} SET {{ addition.assignments|wrapped }}
{%- if conditions %}

WHERE {{ conditions|join("\n    AND ") }}
{%- endif %}
{%- elif addition.conditions %}
{{ upsert(addition.to, "SELECT " ~ new_row ~ "\nWHERE " ~ addition.conditions|join("\n    AND ")) }}
{%- else %}
{{ upsert(addition.to, "VALUES (" ~ new_row ~ ")") }}
{%- endif %}
{%- endmacro %}

{# Aborts before a CHECK of the ordinary table refuses the new count. With OR FAIL, the error of the CHECK would end the
   statement and keep the row, uncounted. #}
{% macro refuse_if_check_fails(check) %}
SELECT RAISE(ABORT, {{ check.message }}) FROM {{ check.table }}
WHERE {{ check.conditions|join("\n    AND ") }}
{%- endmacro %}

{# Aborts if the statement before has counted nothing: OR IGNORE has ignored the error of a CHECK. #}
{% macro refuse_uncounted(addition) %}
SELECT RAISE(ABORT, {{ addition.uncounted_message }})
WHERE changes() = 0
{%- for condition in addition.conditions %}

    AND {{ condition }}
{%- endfor %}
{%- endmacro %}
