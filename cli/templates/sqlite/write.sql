{# The statements that write counters. #}

{# Adds the rows of a query to the counters. #}
{% macro upsert(to, query) %}
INSERT INTO {{ to.table }} ({{ (to.key + to.names)|join(", ") }})
{{ query }}
ON CONFLICT ({{ to.key|join(", ") }}) DO UPDATE SET
    {{ to.updates|join(",\n    ") }}
{%- endmacro %}

{# Adds the rows of a query, or of a table, to the columns of an ordinary table. #}
{% macro update_from(to, updates, from, is_row) %}
UPDATE {{ to.table }} SET
    {{ updates|join(",\n    ") }}
FROM {{ from }}
WHERE {{ is_row|join(" AND ") }}
{%- endmacro %}
