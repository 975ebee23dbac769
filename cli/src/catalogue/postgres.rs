//! PostgreSQL's catalogue.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel_counters::Dialect;

use super::rows::into_tables;
use super::{Kind, Named, Table};
use crate::connection::AnyConnection;
use crate::sql::{Sql, quoted, sql};

pub fn load(conn: &mut AnyConnection, only: Option<Named<'_>>) -> Result<Vec<Table>> {
    let columns = sql(COLUMNS)
        .then(filter(only))
        .sql(" ORDER BY n.nspname, c.relname, a.attnum");
    let indexes = sql(INDEXES)
        .then(filter(only))
        .sql(" ORDER BY n.nspname, c.relname, x.indisprimary DESC, i.relname, k.position");
    Ok(into_tables(
        columns.load(conn)?,
        indexes.load(conn)?,
        kind_of,
    ))
}

/// An unqualified name is looked for where PostgreSQL itself would look.
fn filter(only: Option<Named<'_>>) -> Sql {
    let tables = sql(" WHERE c.relkind IN ('r', 'p') AND ");
    match only {
        Some((schema, name)) => {
            let quoted_name: Vec<_> = schema
                .into_iter()
                .chain([name])
                .map(|n| quoted(Dialect::PostgreSql, n))
                .collect();
            tables
                .sql("c.oid = to_regclass(")
                .bind(quoted_name.join(".").as_str())
                .sql(")")
        }
        None => tables.sql(
            "n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' \
             AND NOT c.relispartition",
        ),
    }
}

const COLUMNS: &str = "
    SELECT CASE WHEN pg_table_is_visible(c.oid) THEN NULL ELSE n.nspname::text END AS schema_name,
           c.relname::text AS table_name, NULL::text AS definition, false AS is_strict,
           a.attname::text AS column_name,
           format_type(a.atttypid, a.atttypmod) AS column_type,
           NOT a.attnotnull AS is_nullable,
           pg_get_expr(d.adbin, d.adrelid) AS column_default,
           a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', false)
               AS is_auto_increment,
           (SELECT l.collname::text FROM pg_collation l
            WHERE l.oid = a.attcollation AND NOT l.collisdeterministic) AS loose_collation
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum";

const INDEXES: &str = "
    SELECT CASE WHEN pg_table_is_visible(c.oid) THEN NULL ELSE n.nspname::text END AS schema_name,
           c.relname::text AS table_name, i.relname::text AS index_name,
           x.indisunique AS is_unique, x.indisprimary AS is_primary,
           EXISTS (SELECT FROM pg_constraint o WHERE o.conindid = x.indexrelid AND o.contype IN ('p', 'u'))
               AS is_of_constraint,
           coalesce(a.attname::text, pg_get_indexdef(x.indexrelid, k.position::int, true))
               AS column_name,
           k.position > x.indnkeyatts AS is_included
    FROM pg_index x
    JOIN pg_class c ON c.oid = x.indrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class i ON i.oid = x.indexrelid
    CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS k (attnum, position)
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND k.attnum <> 0";

fn kind_of(formatted: &str) -> Kind {
    match formatted.split('(').next().unwrap_or_default() {
        "smallint" => Kind::SmallInt,
        "integer" => Kind::Integer,
        "bigint" => Kind::BigInt,
        "text" | "character varying" | "character" => Kind::Text,
        "bytea" => Kind::Binary,
        "uuid" => Kind::Uuid,
        "date" => Kind::Date,
        "real" | "double precision" => Kind::Real,
        _ => Kind::Other,
    }
}
