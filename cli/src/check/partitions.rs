//! A table of PostgreSQL that is partitioned by day.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::{Bool, Nullable, Text};

use super::fault::{Fault, faults};
use crate::catalogue::Shape;
use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::sql::sql;

faults! {
    NO_PARTITION = Wrong, "no_partition":
        "Rows without a day are stored under it: set_counter, recount, delete_counters and fold fail.";
}

/// Whether the partitions are lists, and which rows each accepts: NULL if there is no partition.
/// None of a table that has a default partition.
const PARTITIONS: &str = "
    SELECT p.partstrat = 'l', pg_get_partition_constraintdef(i.inhrelid)
    FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
    LEFT JOIN pg_inherits i ON i.inhparent = p.partrelid
    WHERE p.partstrat IN ('r', 'l') AND p.partnatts = 1 AND p.partdefid = 0 AND a.attname = ";

pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    if !shape.table.partitioned || !shape.table.holds_days(shape.day) {
        return Ok(Vec::new());
    }
    let table = POSTGRES.table_name(shape.table);
    let partitions = sql(PARTITIONS).bind(&*shape.day.name);
    let partitions: Vec<(bool, Option<String>)> = partitions
        .sql(" AND p.partrelid = to_regclass(")
        .bind(&*table)
        .sql(")")
        .typed::<(Bool, Nullable<Text>)>()
        .load(conn)?;
    let Some((is_list, _)) = partitions.first() else {
        return Ok(Vec::new());
    };
    // PostgreSQL itself says whether a row of that day would be accepted.
    let accepted = partitions
        .iter()
        .filter_map(|(_, accepted)| accepted.as_ref());
    let accepted: String = accepted.map(|accepted| format!(" OR {accepted}")).collect();
    let accepts: bool = sql(format!(
        "SELECT false{accepted} FROM (SELECT DATE '1970-01-01' AS {}) AS no_day",
        POSTGRES.quoted(&shape.day.name)
    ))
    .typed::<Bool>()
    .get_result(conn)?;
    if accepts {
        return Ok(Vec::new());
    }
    let values = match is_list {
        true => "IN ('1970-01-01')",
        false => "FROM ('1970-01-01') TO ('1970-01-02')",
    };
    let schema = shape.table.schema.as_deref();
    let name = POSTGRES.quoted_in(schema, &format!("{}_no_day", shape.table.name));
    let fault = NO_PARTITION.found("No partition accepts the day 1970-01-01.");
    let fault = fault.remedy("Create one. This locks the table for a moment.");
    Ok(vec![Fault {
        sql: vec![format!(
            "CREATE TABLE {name} PARTITION OF {table} FOR VALUES {values};"
        )],
        ..fault
    }])
}
