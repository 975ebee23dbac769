//! The days without a partition of a counter table.

use anyhow::Result;
use chrono::{NaiveDate, Utc};
use diesel::RunQueryDsl;
use diesel::sql_types::Bool;
use diesel_counters::Period;

use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;
use crate::database::{Database, MYSQL, POSTGRES};
use crate::fault::{Fault, wrong};
use crate::sql::sql;

/// Whether a table that is partitioned by ranges of its day has none with this day. Its other
/// partitions are not known: one of a list or of a hash can have each day.
const OF_POSTGRES: [&str; 4] = [
    "WITH counters AS (
        SELECT p.partrelid AS id FROM pg_partitioned_table p
        JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
        WHERE p.partstrat = 'r' AND p.partnatts = 1 AND p.partrelid = CAST(to_regclass(",
    ") AS oid) AND a.attname = ",
    "), bounds AS (
        SELECT pg_get_expr(c.relpartbound, c.oid) AS bound
        FROM counters JOIN pg_inherits i ON i.inhparent = counters.id JOIN pg_class c ON c.oid = i.inhrelid
    ), ranges AS (
        SELECT bound, btrim(substring(bound FROM 'FROM \\((.*)\\) TO'), '''') AS first,
            btrim(substring(bound FROM 'TO \\((.*)\\)$'), '''') AS last
        FROM bounds
    )
    SELECT EXISTS (SELECT FROM counters) AND NOT EXISTS (
        SELECT FROM ranges JOIN (SELECT CAST(",
    " AS date) AS day) AS of_day ON true
        WHERE bound = 'DEFAULT'
            OR CASE WHEN first = 'MINVALUE' THEN true ELSE CAST(first AS date) <= day END
            AND CASE WHEN last = 'MAXVALUE' THEN true ELSE day < CAST(last AS date) END)",
];

/// The same on MySQL and MariaDB, whose ranges have no first day. Between them are the column and
/// the day, three times, and the table.
const OF_MYSQL: [&str; 8] = [
    "SELECT COALESCE(MAX(CASE WHEN partition_description = 'MAXVALUE' THEN 1 \
     ELSE COALESCE(CASE LOWER(REPLACE(partition_expression, '`', '')) WHEN LOWER(",
    ") THEN REPLACE(partition_description, '''', '') > ",
    " WHEN CONCAT('to_days(', LOWER(",
    "), ')') THEN CAST(partition_description AS SIGNED) > TO_DAYS(",
    ") WHEN CONCAT('year(', LOWER(",
    "), ')') THEN CAST(partition_description AS SIGNED) > YEAR(",
    ") END, 1) END), 1) = 0 FROM information_schema.partitions \
     WHERE partition_method IN ('RANGE', 'RANGE COLUMNS') AND table_schema = ",
    " AND table_name = ",
];

/// A day that is not in a partition cannot be counted on.
pub fn days(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let database = conn.database();
    let period = shape.mark().map(|mark| mark.period).unwrap_or_default();
    let today = period.start(Utc::now().date_naive());
    let mut days = vec![NaiveDate::default()];
    if period != Period::Total {
        days.push(today);
    }
    let mut faults = Vec::new();
    for day in days {
        if is_missing(shape, day, conn)? {
            let what = format!("It has no partition for {day}.");
            let cost = match day == NaiveDate::default() {
                true => "Folds into one row, and corrections, write that day: they fail.",
                false => "Counts of that day fail.",
            };
            let fault = wrong("no_partition", what, cost);
            let add = partition(shape, day, database);
            faults.push(
                fault
                    .remedy("Add one, or a partition of several days.")
                    .run(add),
            );
        }
    }
    // One without an end has both days.
    if database == MYSQL {
        faults.truncate(1);
    }
    Ok(faults)
}

fn is_missing(shape: &CounterTable, day: NaiveDate, conn: &mut AnyConnection) -> Result<bool> {
    let (table, name, day) = (&shape.table, &*shape.day.name, day.to_string());
    let query = match conn.database() {
        POSTGRES => {
            let [of_table, of_column, of_day, end] = OF_POSTGRES;
            let found = sql(of_table)
                .bind(&POSTGRES.table_name(table))
                .sql(of_column);
            found.bind(name).sql(of_day).bind(&day).sql(end)
        }
        MYSQL => {
            let [begin, parts @ ..] = OF_MYSQL;
            let values = [
                name,
                &day,
                name,
                &day,
                name,
                &day,
                &table.in_schema,
                &table.name,
            ];
            let parts = parts.into_iter().chain([""]);
            let parts = parts.zip(values);
            parts.fold(sql(begin), |query, (part, value)| {
                query.bind(value).sql(part)
            })
        }
        _ => return Ok(false),
    };
    Ok(query.typed::<Bool>().get_result(conn)?)
}

fn partition(shape: &CounterTable, day: NaiveDate, database: Database) -> String {
    let table = &shape.table;
    let name = database.table_name(table);
    if database == MYSQL {
        return format!(
            "ALTER TABLE {name} ADD PARTITION (PARTITION later VALUES LESS THAN (MAXVALUE));"
        );
    }
    let of_day = format!("{}_{}", table.name, day.format("%Y_%m_%d"));
    let of_day = database.quoted_in(Some(&table.in_schema), &of_day);
    let next = day.succ_opt().unwrap_or(day);
    format!("CREATE TABLE {of_day} PARTITION OF {name} FOR VALUES FROM ('{day}') TO ('{next}');")
}
