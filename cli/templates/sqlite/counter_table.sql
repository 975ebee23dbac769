-- A counter table.
{% for column in entity if column.refers_to %}
-- The cascade takes effect on connections with PRAGMA foreign_keys = ON.
-- On these, REPLACE INTO that table deletes counts. Use on_conflict().do_update() instead.
{% endfor %}
CREATE TABLE {{ table }} (
{% for column in entity %}
    {{ column.name|padded(name_width) }} {{ column.sql_type|padded(type_width) }} NOT NULL
{%- if column.refers_to %} REFERENCES {{ column.refers_to.table }} ({{ column.refers_to.column }}) ON DELETE CASCADE{% endif %},
{% endfor %}
    -- {{ mark }}
    {{ day|padded(name_width) }} {{ "DATE"|padded(type_width) }} NOT NULL,
    {{ slot|padded(name_width) }} {{ "SMALLINT"|padded(type_width) }} NOT NULL,
{% for counter in counters %}
{% if loop.first %}
    -- The checks keep other programs from storing anything but integers. SQLite would accept them, and
    -- its own arithmetic turns into floating point when it overflows.
{% endif %}
{% if counter.is_stock %}
    -- A stock: no row goes below 0.
{% endif %}
    {{ counter.name|padded(name_width) }} {{ "BIGINT"|padded(type_width) }} NOT NULL DEFAULT 0 CHECK (typeof({{ counter.name }}) = 'integer'{% if counter.is_stock %} AND {{ counter.name }} >= 0{% endif %}),
{% endfor %}
    -- WITHOUT ROWID keeps rows in the order of this key: half the bytes, and faster reads.
    PRIMARY KEY ({{ key }})
) WITHOUT ROWID;
