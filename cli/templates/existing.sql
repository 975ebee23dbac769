{# Counts the rows that exist before the triggers, or says how to do that later. #}
{% from "rows.sql" import drift %}
{% from "correct.sql" import correct %}

{% macro existing(counts, write) %}
{% if counts.is_later %}
-- To count the existing rows, run `diesel-counters recount {{ counts.name }}`.
{% else %}
-- Counts the existing rows: adds the difference between the rows and the counters.
{% for one in counts.corrections %}
{{ correct(one.correction, drift(one.drift), write) }};
{% endfor %}
{% endif %}
{%- endmacro %}
