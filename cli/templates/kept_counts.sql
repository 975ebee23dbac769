{# How many entities keep a count that isn't that of their rows, and by how much. #}
{% from "rows.sql" import drift %}
SELECT {{ number }} AS entities, {{ difference }} AS difference
FROM {{ drift(drift_of_entities) }}
WHERE {{ stored }} <> 0
