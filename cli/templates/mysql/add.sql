{# What a row adds. #}
{% from "mysql/write.sql" import upsert %}

{% macro add(row) %}
{% if not row.to.in_slots %}
UPDATE {{ row.to.table }} SET
    {{ row.updates|join(",\n    ") }}
{%- if row.conditions %}

WHERE {{ row.conditions|join("\n    AND ") }}
{%- endif %};
{%- elif row.conditions %}
IF {{ row.conditions|join("\n    AND ") }} THEN
    {{ upsert(row.to, "VALUES (" ~ row["values"]|join(", ") ~ ")")|indent }};
END IF;
{%- else %}
{{ upsert(row.to, "VALUES (" ~ row["values"]|join(", ") ~ ")") }};
{%- endif %}
{%- endmacro %}
