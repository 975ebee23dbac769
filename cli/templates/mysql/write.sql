{# The statements that write counters. #}

{# Adds the rows of a query to the counters. MariaDB has no name for the row that is added, so that its columns are
   VALUES(column). #}
{% macro upsert(to, query) %}
INSERT INTO {{ to.table }} ({{ (to.key + to.names)|wrapped }})
{{ query }}
ON DUPLICATE KEY UPDATE {{ to.assignments|wrapped }}
{%- endmacro %}

{# Adds the rows of a query, or of a table, to the columns of an ordinary table. #}
{% macro update_from(to, assignments, from, row_conditions) %}
UPDATE {{ to.table }} JOIN {{ from }}
ON {{ row_conditions|join("\n    AND ") }}
SET {{ assignments|wrapped }}
{%- endmacro %}
