{# For each counter, how many entities keep a count that isn't that of their rows, and by how much. #}
{% from "rows.sql" import drift %}
SELECT {% for column in columns %}{{ column }} AS kept_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}

FROM {{ drift(drift_of_entities) }}
{% if conditions %}
WHERE {{ conditions|join("\n    AND ") }}
{% endif %}
