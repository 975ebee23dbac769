{# Counts the rows that are there before the triggers, or says how to do that later. #}
{% from "rows.sql" import sums %}

{% macro existing(counts, write) %}
{% if counts.is_later %}
-- To count the rows that are there already, run `diesel-counters recount {{ counts.name }}`.
{% else %}
-- Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:
-- `diesel-counters recount` compares them with the rows.
{% for one in counts.additions %}
{% if one.to.in_slots %}
{{ write.upsert(one.to, sums(one.sums)) }};
{% else %}
{{ write.update_from(one.to, one.assignments, "(\n    " ~ sums(one.sums)|indent ~ "\n) AS " ~ counts.all_rows, one.row_conditions) }};
{% endif %}
{% endfor %}
{% endif %}
{%- endmacro %}
