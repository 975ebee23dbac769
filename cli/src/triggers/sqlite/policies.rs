//! Statements with a policy: `INSERT OR IGNORE`, `OR FAIL`, `OR REPLACE`. SQLite runs the
//! statements of triggers with the policy of the statement that runs them: a count that a
//! constraint refuses would be ignored, and its row would stay. `RAISE(ABORT, …)`, an overflow, and
//! what follows `DO UPDATE` abort in any case.

use anyhow::{Context, Result, bail};
use diesel_counters::Dialect;
use serde::Serialize;
use sqlparser::ast::{BinaryOperator, Expr};

use crate::catalogue::{Column, Table, checks};
use crate::database::{Joined, SQLITE};
use crate::triggers::counting::Counting;
use crate::triggers::expression::Expression;
use crate::triggers::statement::Place;
use crate::triggers::target::Target;
use crate::triggers::values::RowAddition;

/// A CHECK of an ordinary table that can refuse a count.
#[derive(Serialize)]
pub struct Check {
    table: String,
    /// The error, as a literal.
    message: String,
    /// True of a row of the table that would be refused.
    conditions: Vec<String>,
}

/// The message for a row that was not counted, as a literal.
pub fn uncounted(target: &Target, row: &RowAddition) -> String {
    let counters = counters(target, row);
    SQLITE.literal(&format!(
        "a constraint or a trigger refused to count this row in {counters}"
    ))
}

/// That of an earlier version.
pub fn earlier_uncounted(target: &Target, row: &RowAddition) -> String {
    let counters = counters(target, row);
    SQLITE.literal(&format!(
        "{counters} did not change: a constraint or a trigger of {} refused to count this row",
        target.table
    ))
}

fn counters(target: &Target, row: &RowAddition) -> String {
    let counters = row.counts.iter();
    counters
        .map(|(name, _)| format!("{}.{name}", target.table))
        .joined(", ")
}

/// The CHECKs that could refuse the count of a row.
pub fn refuse_checked(
    counting: &Counting,
    target: &Target,
    row: &RowAddition,
) -> Result<Vec<Check>> {
    let table = &target.table;
    let mut found = Vec::new();
    if target.slots.is_some() {
        return Ok(found);
    }
    let names: Vec<_> = row.counts.iter().map(|(name, _)| name.clone()).collect();
    for check in checks_of(table, &names) {
        let text = check.to_string();
        let cannot = || {
            format!(
                "a CHECK of {table} has a counter, and cannot be read: write it with columns only, and without \
                 their table"
            )
        };
        let check = Expression::parse(&text, table, Dialect::Sqlite).with_context(cannot)?;
        let after = check.with(|name| {
            let mut counts = row.counts.iter();
            match counts.find(|(counter, _)| *counter == name) {
                Some((counter, value)) => {
                    let sum = counting.sum(target, counter, "", value, Place::Trigger);
                    format!("({sum})")
                }
                None => SQLITE.quoted(name),
            }
        });
        let mut conditions = row.conditions.clone();
        conditions.push(format!("NOT ({after})"));
        found.push(Check {
            table: SQLITE.table_name(table),
            message: SQLITE.literal(&format!("CHECK constraint failed: {text}")),
            conditions,
        });
    }
    Ok(found)
}

/// Refuses a table in which a count can fail that no trigger can know before.
pub fn refuse_silent_failures(target: &Target) -> Result<()> {
    let table = &target.table;
    const WHY: &str = "an INSERT OR IGNORE, OR FAIL or OR REPLACE of a row could lose counts. SQLite runs triggers with \
         that policy";
    let has_key = |columns: &[String]| {
        let mut key = table.primary_key.iter();
        target.slots.is_some() && key.all(|name| columns.contains(name))
    };
    let has_counter = |columns: &[String]| columns.iter().any(|name| target.names.contains(name));
    let unique = table
        .indexes
        .iter()
        .filter(|index| index.unique && !index.primary);
    let mut unique = unique.filter(|index| !has_key(&index.columns));
    let can_conflict = unique.find(|index| target.slots.is_some() || has_counter(&index.columns));
    if let Some(index) = can_conflict {
        let (name, columns) = (&index.name, index.columns.join(", "));
        bail!(
            "a unique index of {table}, {name} ({columns}), can refuse a count, and {WHY}. Drop it first"
        );
    }
    if target.slots.is_none() {
        return Ok(());
    }
    let is_outside = |column: &&Column| !table.primary_key.contains(&column.name);
    let has_value =
        |column: &Column| column.nullable || column.generated || column.default.is_some();
    let mut outside = table.columns.iter().filter(is_outside);
    if let Some(Column { name, .. }) = outside.find(|column| !has_value(column)) {
        bail!("{table}.{name} is NOT NULL and has no default, and {WHY}. Give it a default");
    }
    // It is true of what the triggers count.
    let is_dropped = |c: char| c.is_whitespace() || "\"`[]()".contains(c);
    let plain = |sql: &str| sql.to_lowercase().replace(is_dropped, "");
    let is_of_type = |check: &Expr| {
        let mut names = target.names.iter();
        names.any(|name| plain(&check.to_string()) == plain(&format!("typeof({name})='integer'")))
    };
    if let Some(check) = checks_of(table, &target.names)
        .iter()
        .find(|one| !is_of_type(one))
    {
        bail!("a CHECK of {table}, {check}, can refuse a count, and {WHY}. Drop it first");
    }
    Ok(())
}

/// The conditions of the CHECKs of a table that have one of these columns, each by itself.
fn checks_of(table: &Table, names: &[String]) -> Vec<Expr> {
    let create = table.checks.first();
    let mut parts = create.map_or(Vec::new(), |create| checks(create, SQLITE));
    let mut found = Vec::new();
    while let Some(part) = parts.pop() {
        match part {
            Expr::Nested(inner) => parts.push(*inner),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => parts.extend([*right, *left]),
            other => found.push(other),
        }
    }
    let has_one = |check: &Expr| {
        let text = check.to_string().to_lowercase();
        names.iter().any(|name| text.contains(&name.to_lowercase()))
    };
    found.retain(has_one);
    found
}
