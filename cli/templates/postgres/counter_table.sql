-- A counter table.
CREATE TABLE {{ table }} (
{% for column in entity %}
    {{ column.name|padded(name_width) }} {{ column.sql_type|padded(type_width) }} NOT NULL
{%- if column.refers_to %} REFERENCES {{ column.refers_to.table }} ({{ column.refers_to.column }}) ON DELETE CASCADE{% endif %},
{% endfor %}
    {{ day|padded(name_width) }} {{ "DATE"|padded(type_width) }} NOT NULL,
    {{ slot|padded(name_width) }} {{ "SMALLINT"|padded(type_width) }} NOT NULL,
{% for counter in counters %}
{% if counter.is_stock %}
    -- A stock: no row goes below 0.
{% endif %}
    {{ counter.name|padded(name_width) }} {{ "BIGINT"|padded(type_width) }} NOT NULL DEFAULT 0
{%- if counter.is_stock %} CHECK ({{ counter.name }} >= 0){% endif %},
{% endfor %}
    -- The only index, in this order. An index on a counter would make each increment write it too,
    -- and end PostgreSQL's heap-only updates.
    PRIMARY KEY ({{ key }})
);
COMMENT ON COLUMN {{ table }}.{{ day }} IS {{ mark_literal }};
