//! The roles with whose rights triggers run on PostgreSQL, and the triggers that an account may not see.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_counters::Dialect;

use super::fault::{Fault, wrong};
use crate::connection::AnyConnection;
use crate::database::MYSQL;
use crate::sql::sql;
use crate::triggers::{Counting, Trigger};

/// Whoever owns a table that a function writes could have triggers of the table run as the function's owner.
pub fn check(
    counting: &Counting,
    owner: &str,
    conn: &mut AnyConnection,
) -> QueryResult<Vec<Fault>> {
    let mut faults = Vec::new();
    if conn.dialect() != Dialect::PostgreSql {
        return Ok(faults);
    }
    let name = &counting.definition.name;
    let tables = counting.targets.iter().map(|target| &target.table);
    for table in [&counting.rows].into_iter().chain(tables) {
        let of_table =
            sql("SELECT pg_get_userbyid(relowner)::text FROM pg_class WHERE oid = to_regclass(");
        let of_table = of_table
            .bind(&*counting.database.table_name(table))
            .sql(")");
        let of_table: String = of_table.typed::<Text>().get_result(conn)?;
        if of_table != owner {
            let what = format!("The triggers {name} belong to {owner}, and {table} to {of_table}.");
            let cost = "Triggers of the table run with the rights of another role, or fail without theirs.";
            faults.push(wrong("trigger_owner", what, cost).remedy(format!(
                "Give both to one role: ALTER TABLE {table} OWNER TO {owner}, or run the migration as {of_table}."
            )));
        }
    }
    Ok(faults)
}

/// Those of these triggers that are there. MySQL and MariaDB list no triggers without the right TRIGGER, and
/// then return another error for one that is there than for one that is not.
pub fn hidden<'t>(
    missing: impl Iterator<Item = &'t Trigger>,
    conn: &mut AnyConnection,
) -> QueryResult<Vec<String>> {
    if conn.dialect() != Dialect::MySql {
        return Ok(Vec::new());
    }
    let mut show = |name: &str| {
        let show = format!("SHOW CREATE TRIGGER {}", MYSQL.quoted(name));
        conn.batch_execute(&show)
            .err()
            .map(|error| error.to_string())
    };
    let mut names = missing.map(|trigger| trigger.name.clone()).peekable();
    if names.peek().is_none() {
        return Ok(Vec::new());
    }
    let is_none = show("diesel_counters_no_such_trigger");
    Ok(names.filter(|name| show(name) != is_none).collect())
}
