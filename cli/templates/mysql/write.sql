{# The statements that write counters. #}

{# Adds the rows of a query to the counters. MariaDB has no name for the new row. #}
{% macro upsert(to, query) %}
INSERT INTO {{ to.table }} ({{ (to.key + to.names)|join(", ") }})
{{ query }}
ON DUPLICATE KEY UPDATE
    {{ to.updates|join(",\n    ") }}
{%- endmacro %}

{# Adds the rows of a query, or of a table, to the columns of an ordinary table. #}
{% macro update_from(to, updates, from, is_row) %}
UPDATE {{ to.table }} JOIN {{ from }} ON {{ is_row|join(" AND ") }} SET
    {{ updates|join(",\n    ") }}
{%- endmacro %}
