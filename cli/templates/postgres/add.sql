{# Adds sums to the counters: to slots in one statement, to ordinary columns row by row in the order of keys, so that two
   transactions lock rows in the same order. #}
{% from "rows.sql" import sums %}
{% from "postgres/write.sql" import upsert %}

{% macro add(addition, loop_variable) %}
{% if addition.to.in_slots %}
{{ upsert(addition.to, sums(addition.sums)) }};
{%- else %}
-- One row at a time, in the order of the keys: a single UPDATE could lock them in any order.
FOR {{ loop_variable }} IN
    {{ sums(addition.sums)|indent }}
LOOP
    UPDATE {{ addition.to.table }} SET {{ addition.assignments|wrapped("\n        ") }}
    WHERE {{ addition.row_conditions|join("\n    AND ") }};
END LOOP;
{%- endif %}
{%- endmacro %}
