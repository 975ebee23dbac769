{# Queries of the rows that count. #}

{% macro rows(query) %}
SELECT {{ query.columns|join(", ") }}
FROM {{ query.from }}
{%- if query.conditions %}

WHERE {{ query.conditions|join("\n    AND ") }}
{%- endif %}
{%- endmacro %}

{% macro union(queries) %}
{% for query in queries %}
{{ rows(query) }}
{%- if not loop.last %}

UNION ALL
{% endif %}
{%- endfor %}
{%- endmacro %}

{# The sums of rows by entity and day, in the order of the entities. #}
{% macro sums(all) %}
SELECT {{ all.columns|join(", ") }}
{% if all.union %}
FROM (
    {{ union(all.union)|indent }}
) AS moved
{%- else %}
FROM {{ all.from }}
{%- endif %}
{%- if all.conditions %}

WHERE {{ all.conditions|join("\n    AND ") }}
{%- endif %}
{%- if all.group %}

GROUP BY {{ all.group|join(", ") }}
{%- endif %}
{%- if all.having %}

HAVING {{ all.having|join("\n    AND ") }}
{%- endif %}
{%- if all.order %}

ORDER BY {{ all.order|join(", ") }}
{%- endif %}
{%- endmacro %}

{# The wrong counts: the sums of the rows and of what is stored, where they differ. #}
{% macro drift(wrong) %}
(
    SELECT {{ wrong.columns|join(", ") }}
    FROM (
        {{ union(wrong.union)|indent(8) }}
    ) AS moved
{% if wrong.group %}
    GROUP BY {{ wrong.group|join(", ") }}
{% endif %}
    HAVING {{ wrong.having|join(" AND ") }}
) AS {{ wrong.name }}
{%- endmacro %}
