//! The statements with `REPLACE` that the server remembers.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::{BigInt, Text};

use super::Mysql;
use crate::catalogue::Parent;
use crate::connection::AnyConnection;
use crate::database::replace::replaces;
use crate::database::{Database, Replaces};
use crate::output::thousands;
use crate::sql::sql;

/// The schema, the statement, how often it ran, and when it ran last.
const STATEMENTS: &str = "
    SELECT COALESCE(CAST(schema_name AS CHAR), ''), CAST(digest_text AS CHAR),
           CAST(count_star AS SIGNED),
           CAST(DATE_FORMAT(last_seen, '%Y-%m-%d %H:%i:%s') AS CHAR)
    FROM performance_schema.events_statements_summary_by_digest
    WHERE digest_text LIKE '%REPLACE%'";

pub fn of(parent: &Parent, conn: &mut AnyConnection) -> Result<Replaces> {
    // A user without the right to read them sees none.
    let statements = sql(STATEMENTS).typed::<(Text, Text, BigInt, Text)>();
    let mut statements: Vec<(String, String, i64, String)> =
        statements.load(conn).unwrap_or_default();
    statements.retain(|(schema, statement, ..)| replaces(statement, schema, parent));
    let last = statements.iter().map(|(.., last)| last).max();
    let mut found = Vec::new();
    if let Some(last) = last {
        if !keeps_counts(parent, conn)? {
            let runs = match statements.iter().map(|(_, _, runs, _)| runs).sum() {
                1 => "once".to_owned(),
                runs => format!("{} times", thousands(runs)),
            };
            let table = &parent.table;
            found.push(format!(
                "REPLACE INTO {table} was run {runs}, last at {last}."
            ));
        }
    }
    Ok(Replaces {
        found,
        upsert: "ON DUPLICATE KEY UPDATE",
        remedy: "The server remembers the statement until it restarts, or until \
                 performance_schema.events_statements_summary_by_digest is truncated.",
    })
}

/// MySQL's own foreign keys, the default since 9.6, treat a REPLACE as an update if the key stays
/// the same. InnoDB's delete the row. Another unique key can replace a row of another key.
fn keeps_counts(parent: &Parent, conn: &mut AnyConnection) -> Result<bool> {
    let native = sql("SHOW VARIABLES LIKE 'innodb_native_foreign_keys'").typed::<(Text, Text)>();
    let native: Vec<(String, String)> = native.load(conn)?;
    let is_other = |columns: &[String]| columns != [&*parent.column];
    Ok(native.iter().any(|(_, value)| value == "OFF")
        && Mysql.parent(parent, conn)?.is_some_and(|table| {
            let mut indexes = table.indexes.iter();
            !indexes.any(|index| index.unique && is_other(&index.columns))
        }))
}
