//! Refuses what triggers can't count, or can't run.

use anyhow::{Context, Result, bail};
use diesel::RunQueryDsl;
use diesel::connection::SimpleConnection;
use diesel::sql_types::Bool;

use crate::connection::AnyConnection;
use crate::sql::sql;
use crate::triggers::{Counting, Existing, Plan, Trial};

/// Refuses definitions that count in the same counter. A counter can only equal the rows of one
/// definition: another one would set it to its own rows.
pub fn shared_counters(all: &[&Counting]) -> Result<()> {
    for (index, counting) in all.iter().enumerate() {
        for earlier in &all[..index] {
            if let Some((table, counter)) = counting.shared_counter(earlier) {
                bail!(
                    "the triggers {} already count in {table}.{counter}, and a counter can have \
                     the rows of only one table: count in another counter, and add both up in the \
                     program",
                    earlier.definition.name
                );
            }
        }
    }
    Ok(())
}

/// Refuses tables that lose rows in a crash or a rollback while the counts stay, or the other way
/// round.
pub fn storage(plan: &Plan) -> Result<()> {
    let counting = &plan.counting;
    let targets = counting.targets.iter().map(|target| &target.table);
    for table in [&counting.rows].into_iter().chain(targets) {
        if let Some(storage) = &table.unsafe_storage {
            bail!(
                "the storage of {table} is {storage}: after a crash or a rollback, its rows and \
                 the counts could differ. Make it LOGGED, or InnoDB on MySQL and MariaDB"
            );
        }
    }
    Ok(())
}

/// Refuses a counter that can't go below 0 if the rows are counted later: deleting a row that isn't
/// counted yet takes its count below 0 until the recount.
pub fn later(plan: &Plan) -> Result<()> {
    let counting = &plan.counting;
    if plan.existing != Existing::Later {
        return Ok(());
    }
    for (table, name) in counting.counters() {
        let is_unsigned = table.range(name).is_some_and(|range| *range.start() == 0);
        if is_unsigned {
            bail!(
                "--existing later: {table}.{name} is unsigned, and would refuse the new count when \
                 an existing row is deleted: make it signed, or count existing rows now"
            );
        }
        if table.is_guarded(name, counting.database) {
            bail!(
                "--existing later: a CHECK keeps {table}.{name} at 0 or more, and would refuse the \
                 new count when an existing row is deleted: drop it until the recount, or count \
                 existing rows now"
            );
        }
    }
    Ok(())
}

/// Refuses an expression if the database says that it can have a different value at another time.
pub fn changing_expressions(plan: &Plan, conn: &mut AnyConnection) -> Result<()> {
    let counting = &plan.counting;
    let trial = &counting.sql.trial;
    for (table, expression) in counting.expressions() {
        // The expression 1, which most definitions have, needs no trial.
        if expression.is_one() {
            continue;
        }
        let rows = counting.database.table_name(table);
        let result = require_constant(&rows, &expression.text, trial, conn);
        // Drop the trial's table also if the expression is refused.
        conn.batch_execute(trial.drop_table)?;
        result?;
    }
    Ok(())
}

/// Fails unless the SQL expression `text` always has the same value for a row of the table `rows`.
/// The database decides that when it uses the expression in a temporary table.
fn require_constant(rows: &str, text: &str, trial: &Trial, conn: &mut AnyConnection) -> Result<()> {
    let create_table = trial.create_table.replace("{rows}", rows);
    let created = conn.batch_execute(&create_table);
    created.with_context(|| format!("cannot check {text:?} in a temporary table"))?;
    for statement in trial.require_constant {
        let accepted = conn.batch_execute(&statement.replace("{expression}", text));
        accepted.with_context(|| {
            format!(
                "the database refuses the SQL expression {text:?}. It must have the same value \
                 whenever it is evaluated, and name functions with their schema unless they are \
                 the server's own"
            )
        })?;
    }
    let Some(is_same) = trial.is_same else {
        return Ok(());
    };
    if !sql(is_same).typed::<Bool>().get_result::<bool>(conn)? {
        bail!(
            "the SQL expression {text:?} has a literal whose value depends on the current time, \
             or on session settings such as the time zone: write times as in '2026-01-31 10:00+00'"
        );
    }
    Ok(())
}
