//! PostgreSQL's catalogue.

use super::rows::Catalogue;
use super::table::Kind;

pub const CATALOGUE: Catalogue = Catalogue {
    columns: "
    SELECT CASE WHEN NOT pg_table_is_visible(c.oid) THEN n.nspname::text END AS schema_name,
           n.nspname::text AS in_schema, c.relname::text AS table_name,
           false AS is_strict, c.relkind = 'p' AS is_partitioned,
           (SELECT o.relname::text FROM pg_inherits h JOIN pg_class o ON o.oid = h.inhparent
            WHERE h.inhrelid = c.oid LIMIT 1) AS part_of,
           (SELECT o.relname::text FROM pg_inherits h JOIN pg_class o ON o.oid = h.inhrelid
            WHERE h.inhparent = c.oid AND c.relkind = 'r' LIMIT 1) AS inherited_by,
           CASE WHEN c.relpersistence = 'u' THEN 'UNLOGGED' END AS unsafe_storage,
           a.attname::text AS column_name, format_type(a.atttypid, a.atttypmod) AS column_type,
           NOT (a.attnotnull OR y.typnotnull) AS is_nullable,
           -- A domain has a default of its own.
           coalesce(pg_get_expr(d.adbin, d.adrelid), y.typdefault) AS column_default,
           a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', false)
               AS is_auto_increment,
           a.attgenerated <> '' AS is_generated,
           (SELECT l.collname::text FROM pg_collation l
            WHERE l.oid = a.attcollation AND NOT l.collisdeterministic) AS loose_collation,
           a.attgenerated = 'v' AS is_not_stored,
           col_description(c.oid, a.attnum) AS column_comment
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type y ON y.oid = a.atttypid
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE {where}
    ORDER BY n.nspname, c.relname, a.attnum",
    indexes: "
    SELECT n.nspname::text AS in_schema, c.relname::text AS table_name,
           i.relname::text AS index_name,
           x.indisunique AS is_unique, x.indisprimary AS is_primary,
           -- A key WITHOUT OVERLAPS can have a value again at another time.
           x.indpred IS NOT NULL OR NOT x.indisvalid OR x.indisexclusion AS is_partial,
           NOT x.indimmediate AS is_deferrable,
           coalesce(a.attname::text, pg_get_indexdef(x.indexrelid, k.position::int, true))
               AS column_name,
           CAST(NULL AS text) AS collation,
           k.position > x.indnkeyatts AS is_included, k.attnum = 0 AS is_expression
    FROM pg_index x
    JOIN pg_class c ON c.oid = x.indrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class i ON i.oid = x.indexrelid
    CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS k (attnum, position)
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND k.attnum <> 0
    WHERE {where}
    ORDER BY n.nspname, c.relname, x.indisprimary DESC, i.relname, k.position",
    // A foreign key to a partitioned table is listed again for every partition. The first key of a
    // column becomes its `refers_to`, so the key itself comes before those of the partitions, and
    // valid keys before others.
    foreign_keys: "
    SELECT n.nspname::text AS in_schema, c.relname::text AS table_name,
           a.attname::text AS column_name,
           CASE WHEN cardinality(o.conkey) > 1 THEN o.conname::text END AS wide_name,
           pn.nspname::text AS parent_schema, p.relname::text AS parent_table,
           pa.attname::text AS parent_column,
           CASE o.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL'
               WHEN 'd' THEN 'SET DEFAULT' ELSE 'NO ACTION' END AS on_delete,
           CASE o.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL'
               WHEN 'd' THEN 'SET DEFAULT' ELSE 'NO ACTION' END AS on_update,
           CASE WHEN o.condeferred THEN 'DEFERRABLE INITIALLY DEFERRED'
               WHEN o.condeferrable THEN 'DEFERRABLE' ELSE 'NOT DEFERRABLE' END AS deferrability,
           o.convalidated AS is_valid
    FROM pg_constraint o
    JOIN pg_class c ON c.oid = o.conrelid AND o.contype = 'f'
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = o.conkey[1]
    JOIN pg_class p ON p.oid = o.confrelid
        -- It is that of the partitioned table, and not one of a partition.
        AND NOT EXISTS (SELECT FROM pg_constraint q
                        WHERE q.oid = o.conparentid AND q.conrelid = o.conrelid)
    JOIN pg_namespace pn ON pn.oid = p.relnamespace
    JOIN pg_attribute pa ON pa.attrelid = p.oid AND pa.attnum = o.confkey[1]
    WHERE {where} AND pg_get_constraintdef(o.oid) NOT LIKE '% NOT ENFORCED'
    ORDER BY n.nspname, c.relname, o.conparentid <> 0, NOT o.convalidated, o.conname",
    // A CHECK that is NOT VALID still refuses new values.
    checks: "
    SELECT n.nspname::text AS in_schema, c.relname::text AS table_name,
           pg_get_constraintdef(o.oid) AS check_sql
    FROM pg_constraint o
    JOIN pg_class c ON c.oid = o.conrelid AND o.contype = 'c'
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE {where} AND pg_get_constraintdef(o.oid) NOT LIKE '% NOT ENFORCED'",
    all: "c.relkind IN ('r', 'p') AND n.nspname <> 'information_schema'
        AND n.nspname NOT LIKE 'pg\\_%' AND NOT c.relispartition",
    by_name: "c.relkind IN ('r', 'p') AND c.relname = {name} AND pg_table_is_visible(c.oid)
        AND n.nspname NOT LIKE 'pg\\_%'",
    by_schema: "c.relkind IN ('r', 'p') AND n.nspname = {schema} AND c.relname = {name}",
    kind_of,
    complete: |_| {},
};

fn kind_of(formatted: &str) -> Kind {
    match formatted.split('(').next().unwrap_or_default() {
        "smallint" => Kind::SmallInt,
        "integer" => Kind::Integer,
        "bigint" => Kind::BigInt,
        // `character` isn't one, because it ignores trailing spaces.
        "text" | "character varying" => Kind::Text,
        "bytea" => Kind::Binary,
        "uuid" => Kind::Uuid,
        "date" => Kind::Date,
        "real" | "double precision" => Kind::Real,
        "timestamp" | "timestamp without time zone"
            if formatted.ends_with(" without time zone") =>
        {
            Kind::Timestamp
        }
        _ => Kind::Other,
    }
}
