{# What a row adds, and what refuses it if it would not be counted. #}
{% from "sqlite/write.sql" import upsert %}

{% macro add(row) %}
{% if not row.to.in_slots %}
UPDATE {{ row.to.table }} SET
    {{ row.updates|join(",\n    ") }}
{%- if row.conditions %}

WHERE {{ row.conditions|join("\n    AND ") }}
{%- endif %}
{%- elif row.conditions %}
{{ upsert(row.to, "SELECT " ~ row["values"]|join(", ") ~ "\nWHERE " ~ row.conditions|join("\n    AND ")) }}
{%- else %}
{{ upsert(row.to, "VALUES (" ~ row["values"]|join(", ") ~ ")") }}
{%- endif %}
{%- endmacro %}

{# Refuses the row before the count in an ordinary column that a CHECK will refuse. OR FAIL would end the statement
   there, and keep the row. #}
{% macro refuse_checked(check) %}
SELECT RAISE(ABORT, {{ check.message }}) FROM {{ check.table }}
WHERE {{ check.conditions|join("\n    AND ") }}
{%- endmacro %}

{# Refuses the row if the statement before has counted nothing: OR IGNORE has ignored an error, or a trigger of the
   program has. #}
{% macro refuse_uncounted(row) %}
SELECT RAISE(ABORT, {{ row.uncounted }})
WHERE changes() = 0
{%- if row.to.in_slots %}
{% for condition in row.conditions %}

    AND {{ condition }}
{%- endfor %}
{%- else %}

    AND EXISTS (SELECT 1 FROM {{ row.to.table }}
{%- if row.conditions %} WHERE {{ row.conditions|join("\n    AND ") }}{% endif %})
{%- endif %}
{%- endmacro %}
