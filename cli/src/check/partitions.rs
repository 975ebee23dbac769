//! A table divided by its days, on PostgreSQL.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};
use diesel_counters::Dialect;

use super::fault::Fault;
use super::shape::Shape;
use crate::connection::AnyConnection;
use crate::sql::{quoted, sql};

#[derive(QueryableByName)]
struct Partition {
    #[diesel(sql_type = Bool)]
    is_list: bool,
    /// What its rows fulfil; none where there is no partition.
    #[diesel(sql_type = Nullable<Text>)]
    takes: Option<String>,
}

/// Of a table that is divided by its day alone, and has no partition for everything else.
const PARTITIONS: &str = "
    SELECT p.partstrat = 'l' AS is_list, pg_get_partition_constraintdef(i.inhrelid) AS takes
    FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
    LEFT JOIN pg_inherits i ON i.inhparent = p.partrelid
    WHERE p.partstrat IN ('r', 'l') AND p.partnatts = 1 AND p.partdefid = 0 AND a.attname = ";

pub fn fault(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    if !shape.table.partitioned || !shape.table.holds_days(shape.day) {
        return Ok(None);
    }
    let table = shape.table_sql();
    let partitions: Vec<Partition> = sql(PARTITIONS)
        .bind(shape.day.name.as_str())
        .sql(" AND p.partrelid = to_regclass(")
        .bind(table.as_str())
        .sql(")")
        .load(conn)?;
    let Some(first) = partitions.first() else {
        return Ok(None);
    };
    if takes_no_day(&partitions, shape, conn)? {
        return Ok(None);
    }
    let values = match first.is_list {
        true => "IN ('1970-01-01')",
        false => "FROM ('1970-01-01') TO ('1970-01-02')",
    };
    let name = quoted(Dialect::PostgreSql, &format!("{}_no_day", shape.table.name));
    let schema = shape.table.schema.iter();
    let schema: String = schema.map(|schema| shape.quoted(schema) + ".").collect();
    Ok(Some(
        Fault::wrong(
            "no_partition",
            "No partition takes the day 1970-01-01.",
            "What has no day is stored under it: set_counter, recount, delete_counters and fold fail.",
        )
        .remedy("Make one. The table is locked for a moment.")
        .sql(format!(
            "CREATE TABLE {schema}{name} PARTITION OF {table} FOR VALUES {values};"
        )),
    ))
}

/// The database itself says whether a row of that day would pass.
fn takes_no_day(
    partitions: &[Partition],
    shape: &Shape<'_>,
    conn: &mut AnyConnection,
) -> Result<bool> {
    #[derive(QueryableByName)]
    struct Takes {
        #[diesel(sql_type = Bool)]
        value: bool,
    }
    let takes = partitions.iter().filter_map(|one| one.takes.as_deref());
    let takes: String = takes.map(|takes| format!(" OR {takes}")).collect();
    let taken: Takes = sql(format!(
        "SELECT false{takes} AS value FROM (SELECT DATE '1970-01-01' AS {}) AS no_day",
        shape.quoted(&shape.day.name)
    ))
    .get_result(conn)?;
    Ok(taken.value)
}
