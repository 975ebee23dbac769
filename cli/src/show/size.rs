//! How much room a table takes.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};
use diesel_counters::Dialect;
use serde::Serialize;

use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;
use crate::sql::sql;

#[derive(Serialize)]
pub struct Size {
    pub bytes: i64,
    /// What has that size.
    pub of: &'static str,
}

#[derive(QueryableByName)]
struct Bytes {
    #[diesel(sql_type = Nullable<BigInt>)]
    bytes: Option<i64>,
}

/// None where the database does not say.
pub fn of(counters: &CounterTable, conn: &mut AnyConnection) -> Result<Option<Size>> {
    let dialect = conn.dialect();
    let name = counters.table.name.as_str();
    let (query, of) = match dialect {
        Dialect::PostgreSql => (
            // One of partitions has nothing of its own, and any other is no tree.
            sql(
                "SELECT COALESCE(CAST(sum(pg_total_relation_size(tree.relid)) AS BIGINT), \
                 pg_total_relation_size(CAST(max(CAST(named.oid AS oid)) AS regclass))) AS bytes \
                 FROM (SELECT to_regclass(",
            )
            .bind(counters.sql_name(dialect).as_str())
            .sql(") AS oid) AS named LEFT JOIN pg_partition_tree(named.oid) AS tree ON true"),
            "the table and its indexes",
        ),
        Dialect::MySql => {
            let query = sql(
                "SELECT CAST(data_length + index_length AS SIGNED) AS bytes \
                 FROM information_schema.tables WHERE table_name = ",
            )
            .bind(name)
            .sql(" AND table_schema = ");
            let query = match &counters.table.schema {
                Some(schema) => query.bind(schema.as_str()),
                None => query.sql("DATABASE()"),
            };
            (
                query,
                "the table and its indexes, as the server estimates it",
            )
        }
        Dialect::Sqlite => return of_sqlite(name, conn).map(Some),
    };
    let bytes: Bytes = query.get_result(conn)?;
    Ok(bytes.bytes.map(|bytes| Size { bytes, of }))
}

/// Not every SQLite is built with `dbstat`.
fn of_sqlite(name: &str, conn: &mut AnyConnection) -> Result<Size> {
    let of_table = sql("SELECT sum(pgsize) AS bytes FROM dbstat \
         WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = ")
    .bind(name)
    .sql(")")
    .get_result(conn);
    if let Ok(Bytes { bytes: Some(bytes) }) = of_table {
        return Ok(Size {
            bytes,
            of: "the table and its indexes",
        });
    }
    let of_file: Bytes =
        sql("SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size")
            .get_result(conn)?;
    Ok(Size {
        bytes: of_file.bytes.unwrap_or(0),
        of: "the whole file",
    })
}
