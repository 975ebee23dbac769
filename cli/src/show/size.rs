//! The size of a table.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::{BigInt, Nullable};
use diesel_counters::Dialect;
use serde::Serialize;

use crate::connection::AnyConnection;
use crate::sql::sql;
use crate::table::Table;

#[derive(Serialize)]
pub struct Size {
    pub bytes: i64,
    /// What has that size.
    pub of: &'static str,
}

/// The size of a table, or `None` if the database does not know it.
pub fn size(table: &Table, conn: &mut AnyConnection) -> Result<Option<Size>> {
    match conn.dialect() {
        Dialect::PostgreSql => of_postgres(table, conn),
        Dialect::MySql => of_mysql(table, conn),
        Dialect::Sqlite => of_sqlite(table, conn),
    }
}

fn of_postgres(table: &Table, conn: &mut AnyConnection) -> Result<Option<Size>> {
    // A partitioned table has no rows of its own, and any other table has no tree.
    let size = sql(
        "SELECT COALESCE(CAST(sum(pg_total_relation_size(tree.relid)) AS BIGINT), \
         pg_total_relation_size(CAST(max(CAST(named.oid AS oid)) AS regclass))) \
         FROM (SELECT to_regclass(",
    );
    let size = size
        .bind(&*conn.database().table_name(table))
        .sql(") AS oid) AS named LEFT JOIN pg_partition_tree(named.oid) AS tree ON true");
    let bytes: Option<i64> = size.typed::<Nullable<BigInt>>().get_result(conn)?;
    let of = "the table and its indexes";
    Ok(bytes.map(|bytes| Size { bytes, of }))
}

fn of_mysql(table: &Table, conn: &mut AnyConnection) -> Result<Option<Size>> {
    let size = sql(
        "SELECT CAST(data_length + index_length AS SIGNED) FROM information_schema.tables \
         WHERE table_name = ",
    );
    let size = size.bind(&*table.name).sql(" AND table_schema = ");
    let size = size.bind(&*table.in_schema);
    let bytes: Option<i64> = size.typed::<Nullable<BigInt>>().get_result(conn)?;
    let of = "the table and its indexes, as the server estimates it";
    Ok(bytes.map(|bytes| Size { bytes, of }))
}

fn of_sqlite(table: &Table, conn: &mut AnyConnection) -> Result<Option<Size>> {
    // Not every SQLite is built with `dbstat`.
    let of_table = sql("SELECT sum(pgsize) FROM dbstat \
         WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = ");
    let of_table = of_table.bind(&*table.name).sql(")");
    let of_table = of_table.typed::<Nullable<BigInt>>().get_result(conn);
    if let Ok(Some(bytes)) = of_table {
        let of = "the table and its indexes";
        return Ok(Some(Size { bytes, of }));
    }
    let of_file = sql("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    Ok(Some(Size {
        bytes: of_file.typed::<BigInt>().get_result(conn)?,
        of: "the whole file",
    }))
}
