{# A temporary table of a query that follows. A server of MySQL can require a key. #}
{% macro create(database, table, key) %}
CREATE TEMPORARY TABLE {{ table }}
{%- if database == "mysql" %} (PRIMARY KEY ({{ key|join(", ") if key else "entity" }})){% endif %} AS
{%- endmacro %}
