{# The statements that write counters. #}

{# Adds the rows of a query to the counters. `excluded` is the row that is added, and `counters` the one that is there. #}
{% macro upsert(to, query) %}
INSERT INTO {{ to.table }} AS counters ({{ (to.key + to.names)|wrapped }})
{{ query }}
ON CONFLICT ({{ to.key|join(", ") }}) DO UPDATE SET {{ to.assignments|wrapped }}
{%- endmacro %}

{# Adds the rows of a query, or of a table, to the columns of an ordinary table. #}
{% macro update_from(to, assignments, from, row_conditions) %}
UPDATE {{ to.table }} SET {{ assignments|wrapped }}
FROM {{ from }}
WHERE {{ row_conditions|join("\n    AND ") }}
{%- endmacro %}
