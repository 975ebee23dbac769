{# For each counter, how many entities keep a count that isn't that of their rows, and by how much. #}
{% from "rows.sql" import drift %}
SELECT {% for column in columns %}{{ column }} AS kept_{{ loop.index }}{{ ", " if not loop.last }}{% endfor %}

FROM {{ drift(entity_drift) }}
{% if conditions %}
WHERE {{ conditions|join("\n    AND ") }}
{% endif %}
