{# What a migration does to the counts of rows that are there before the triggers. #}
{% from "rows.sql" import sums %}

{% macro existing(counts, write) %}
{% if counts.is_later %}
-- To count the rows that are there already, run `diesel-counters recount {{ counts.name }}`.
{% elif not counts.steps %}
-- The rows that are there already count as before.
{% endif %}
{% for step in counts.steps %}
-- {{ step.comment|join("\n-- ") }}
{% for one in step.statements %}
{% if one.to.in_slots %}
{{ write.upsert(one.to, sums(one.sums)) }};
{% else %}
{{ write.update_from(one.to, one.assignments, "(\n    " ~ sums(one.sums)|indent ~ "\n) AS " ~ one.sums_name, one.row_conditions) }};
{% endif %}
{% if one.emptied %}
UPDATE {{ one.emptied.table }} SET {{ one.emptied.counter }} = 0 WHERE {{ one.emptied.counter }} <> 0;
{% endif %}
{% endfor %}
{% endfor %}
{%- endmacro %}
