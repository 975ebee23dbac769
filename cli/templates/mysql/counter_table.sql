{# MySQL ignores a REFERENCES of a column, so the foreign keys stand at the end. The collations of texts are of
   MySQL 8.0.17 and later, and of MariaDB. #}
-- A counter table.
{% for column in entity if column.is_text %}
{% if column.refers_to %}
-- A text key has the database's default collation. It must be the collation of the column that it
-- refers to: name that here if it is another one.
{% else %}
-- The default collation takes 'Foo' and 'foo' as equal, and utf8mb4_bin 'foo ' and 'foo': it would
-- count them as one. The collation here, one of MySQL and one of MariaDB, does not.
-- A column that it is joined to cannot be utf8mb4_bin.
{% endif %}
{% endfor %}
CREATE TABLE {{ table }} (
{% for column in entity %}
    {{ column.name|padded(name_width) }} {{ column.sql_type|padded(type_width) }}
{%- if column.is_text and not column.refers_to %} CHARACTER SET utf8mb4 COLLATE /*!80017 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */{% endif %} NOT NULL,
{% endfor %}
    {{ day|padded(name_width) }} {{ "DATE"|padded(type_width) }} NOT NULL COMMENT {{ mark_literal }},
    {{ slot|padded(name_width) }} {{ "SMALLINT"|padded(type_width) }} NOT NULL,
{% for counter in counters %}
{% if counter.is_stock %}
    -- A stock: no row goes below 0.
{% endif %}
    {{ counter.name|padded(name_width) }} {{ "BIGINT"|padded(type_width) }} NOT NULL DEFAULT 0
{%- if counter.is_stock %} CHECK ({{ counter.name }} >= 0){% endif %},
{% endfor %}
    -- The only unique index, in this order: ON DUPLICATE KEY UPDATE acts on any.
    PRIMARY KEY ({{ key }})
{%- for column in entity if column.refers_to %},
    -- Optional. With it, a count locks the row that it refers to in share mode until its transaction
    -- ends. Without it, delete the counters in the transaction that deletes that row.
    -- REPLACE INTO that table can delete counts, by the cascade. Use on_conflict().do_update() instead.
    FOREIGN KEY ({{ column.name }}) REFERENCES {{ column.refers_to.table }} ({{ column.refers_to.column }}) ON DELETE CASCADE
{%- endfor %}

);
