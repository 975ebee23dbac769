{% macro heading(plan) %}
-- Counts the rows of {{ plan.rows }} in {{ plan.counters|join(", ") }}.
{% endmacro %}
