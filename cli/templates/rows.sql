{# Queries of the rows that count. A row counts for an entity, such as an article, and perhaps on a day of its own.
   The empty line after an `if` that begins with a minus is the line break of the output. #}

{% macro rows(query) %}
SELECT {{ query.columns|wrapped }}
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
{% macro sums(query) %}
SELECT {{ query.columns|wrapped }}
{% if query.union %}
FROM (
    {{ union(query.union)|indent }}
) AS {{ query.name }}
{%- else %}
FROM {{ query.from }}
{%- endif %}
{%- if query.conditions %}

WHERE {{ query.conditions|join("\n    AND ") }}
{%- endif %}
{%- if query.group %}

GROUP BY {{ query.group|join(", ") }}
{%- endif %}
{%- if query.comment %}

-- {{ query.comment }}
{%- endif %}
{%- if query.having %}

HAVING {{ query.having|join("\n    AND ") }}
{%- endif %}
{%- if query.order %}

ORDER BY {{ query.order|join(", ") }}
{%- endif %}
{%- endmacro %}

{# The wrong counts: the sums of the rows and of what is stored, where they differ. It is read as a table. #}
{% macro drift(wrong) %}
(
{% if wrong.conditions %}
    SELECT * FROM (
        {{ grouped(wrong)|indent(8) }}
    ) AS days
    WHERE {{ wrong.conditions|join(" AND ") }}
{% else %}
    {{ grouped(wrong)|indent }}
{% endif %}
) AS {{ wrong.name }}
{%- endmacro %}

{% macro grouped(wrong) %}
SELECT {{ wrong.columns|join(", ") }}
FROM (
{% if wrong.merged %}
    {{ on_merged_days(wrong.merged, wrong.union)|indent }}
{% else %}
    {{ union(wrong.union)|indent }}
{% endif %}
) AS moved
{%- if wrong.group %}

GROUP BY {{ wrong.group|join(", ") }}
{%- endif %}
{%- if wrong.having %}

HAVING {{ wrong.having|join(" AND ") }}
{%- endif %}
{%- endmacro %}

{# The counts of each day, on the day that a fold has merged them into. It leaves those before 1970 as they are. #}
{% macro on_merged_days(merged, queries) %}
SELECT {{ merged.columns|join(", ") }}, CASE
    WHEN {{ merged.day }} <= {{ merged.undated }} THEN {{ merged.day }}
{% for move in merged.moves %}
    WHEN {{ move.condition }} THEN {{ move.first }}
{% endfor %}
    ELSE {{ merged.day }} END AS {{ merged.day }}
FROM (
    SELECT each_day.*,
        {{ merged.columns_of_periods|join(",\n        ") }}
    FROM (
        SELECT {{ merged.columns_of_day|join(",\n            ") }}
        FROM (
            {{ union(queries)|indent(12) }}
        ) AS each_row
        GROUP BY {{ merged.group|join(", ") }}
    ) AS each_day
    WHERE {{ merged.wrong_days }} > 0
    WINDOW {{ merged.windows|join(",\n        ") }}
) AS periods
{%- endmacro %}
