{# Adds sums to the counters: to slots in one statement, to ordinary columns row by row in the order of keys, so that two
   transactions lock rows in the same order. #}
{% from "rows.sql" import sums %}
{% from "postgres/write.sql" import upsert %}

{% macro add(addition) %}
{% if addition.to.in_slots %}
{{ upsert(addition.to, sums(addition.sums)) }};
{%- else %}
FOR counting_sums IN
    {{ sums(addition.sums)|indent }}
LOOP
    UPDATE {{ addition.to.table }} AS kept SET
        {{ addition.assignments|join(",\n        ") }}
    WHERE {{ addition.row_conditions|join(" AND ") }};
END LOOP;
{%- endif %}
{%- endmacro %}
