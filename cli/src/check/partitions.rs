//! Finds days that no partition of a counter table covers.

use anyhow::Result;
use chrono::{NaiveDate, Utc};
use diesel::RunQueryDsl;
use diesel::sql_types::Bool;
use diesel_counters::Period;

use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;
use crate::database::{Database, MYSQL, POSTGRES};
use crate::fault::{Fault, wrong};
use crate::sql::sql_with;

/// True if the table is partitioned by ranges of its day, and no partition has this day. Other
/// kinds of partitions, such as lists or hashes, aren't looked at: they may cover every day.
const POSTGRES_QUERY: &str = "
    WITH counters AS (
        SELECT p.partrelid AS id FROM pg_partitioned_table p
        JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
        WHERE p.partstrat = 'r' AND p.partnatts = 1
            AND p.partrelid = CAST(to_regclass({table}) AS oid) AND a.attname = {column}
    ), bounds AS (
        SELECT pg_get_expr(c.relpartbound, c.oid) AS bound
        FROM counters
        JOIN pg_inherits i ON i.inhparent = counters.id
        JOIN pg_class c ON c.oid = i.inhrelid
    ), ranges AS (
        -- The server has the bounds as text only: FOR VALUES FROM ('2026-01-01') TO (MAXVALUE).
        SELECT bound, btrim(substring(bound FROM 'FROM \\((.*)\\) TO'), '''') AS first,
            btrim(substring(bound FROM 'TO \\((.*)\\)$'), '''') AS last
        FROM bounds
    )
    SELECT EXISTS (SELECT FROM counters) AND NOT EXISTS (
        SELECT FROM ranges JOIN (SELECT CAST({day} AS date) AS day) AS of_day ON true
        WHERE bound = 'DEFAULT'
            OR CASE WHEN first = 'MINVALUE' THEN true ELSE CAST(first AS date) <= day END
            AND CASE WHEN last = 'MAXVALUE' THEN true ELSE day < CAST(last AS date) END)";

/// Does the same on MySQL and MariaDB, where ranges have no first day. A table that isn't
/// partitioned, or is partitioned by another expression, has room for every day.
const MYSQL_QUERY: &str = "
    SELECT COALESCE(MAX(
        CASE WHEN partition_description = 'MAXVALUE' THEN 1
        ELSE COALESCE(
            CASE LOWER(REPLACE(partition_expression, '`', ''))
            WHEN LOWER({column})
                THEN REPLACE(partition_description, '''', '') > {day}
            WHEN CONCAT('to_days(', LOWER({column}), ')')
                THEN CAST(partition_description AS SIGNED) > TO_DAYS({day})
            WHEN CONCAT('year(', LOWER({column}), ')')
                THEN CAST(partition_description AS SIGNED) > YEAR({day})
            END, 1)
        END), 1) = 0
    FROM information_schema.partitions
    WHERE partition_method IN ('RANGE', 'RANGE COLUMNS')
        AND table_schema = {schema} AND table_name = {table}";

/// Finds days that no partition covers, so that nothing can be counted on them. Looks at today, and
/// at 1970-01-01, which merged rows and corrections have.
pub fn partitions(counters: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let database = conn.database();
    let period = counters.mark().map(|mark| mark.period).unwrap_or_default();
    let today = period.start(Utc::now().date_naive());
    let first_of_1970 = NaiveDate::default();
    let mut days = vec![first_of_1970];
    if period != Period::Total {
        days.push(today);
    }
    let mut faults = Vec::new();
    for day in days {
        if is_missing(counters, day, conn)? {
            let what = format!("It has no partition for {day}.");
            let cost = if day != first_of_1970 {
                "Counting on this day fails."
            } else if period == Period::Total {
                "Every count is stored under this day, so counting fails."
            } else {
                "A fold into one row, a recount and set_counter write this day: they fail."
            };
            let remedy = "Add one, or a partition of several days.";
            let fault = wrong("partition", what, cost).remedy(remedy);
            faults.push(fault.run(add_partition(counters, day, database)));
        }
    }
    // The remedy of the first fault adds a partition without an end, which covers both days.
    if database == MYSQL {
        faults.truncate(1);
    }
    Ok(faults)
}

/// Whether the table is partitioned by its day, and no partition covers this one.
fn is_missing(counters: &CounterTable, day: NaiveDate, conn: &mut AnyConnection) -> Result<bool> {
    let table = &counters.table;
    let column = &counters.day.name;
    let text = day.to_string();
    let query = match conn.database() {
        POSTGRES => {
            let name = POSTGRES.table_name(table);
            let values = [("table", &*name), ("column", column), ("day", &text)];
            sql_with(POSTGRES_QUERY, &values)
        }
        MYSQL => {
            let values = [
                ("column", &**column),
                ("day", &text),
                ("schema", &table.in_schema),
                ("table", &table.name),
            ];
            sql_with(MYSQL_QUERY, &values)
        }
        // SQLite has no partitions.
        _ => return Ok(false),
    };
    Ok(query.typed::<Bool>().get_result(conn)?)
}

/// Returns the statement that adds a partition for a day: on MySQL, for all days after the last
/// partition's.
fn add_partition(counters: &CounterTable, day: NaiveDate, database: Database) -> String {
    let table = &counters.table;
    let name = database.table_name(table);
    if database == MYSQL {
        return format!(
            "ALTER TABLE {name} ADD PARTITION (PARTITION later VALUES LESS THAN (MAXVALUE));"
        );
    }
    let partition_name = format!("{}_{}", table.name, day.format("%Y_%m_%d"));
    let partition = database.quoted_in(Some(&table.in_schema), &partition_name);
    let next = day.succ_opt().unwrap_or(day);
    format!("CREATE TABLE {partition} PARTITION OF {name} FOR VALUES FROM ('{day}') TO ('{next}');")
}
