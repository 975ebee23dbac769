//! Statements with a conflict policy: `INSERT OR IGNORE`, `OR FAIL`, `OR REPLACE`. SQLite applies
//! the policy of a statement to the triggers that it runs. So if a constraint refused a count, that
//! would be ignored, and the row would stay. `RAISE(ABORT, …)`, an overflow, and what follows `DO
//! UPDATE` abort in any case.

use anyhow::{Context, Result, bail};
use serde::Serialize;
use sqlparser::ast::{BinaryOperator, Expr};

use crate::catalogue::{Index, Table, checks};
use crate::database::SQLITE;
use crate::triggers::counting::Counting;
use crate::triggers::expression::Expression;
use crate::triggers::statement::SumContext;
use crate::triggers::target::Target;
use crate::triggers::values::{CounterValue, RowAddition};

/// A CHECK on an ordinary table that can refuse a count.
#[derive(Serialize)]
pub struct CountCheck {
    table: String,
    /// The error, as an SQL literal.
    message: String,
    /// Conditions that are true if a row of the table would be refused.
    conditions: Vec<String>,
}

/// Returns the error for a row that OR IGNORE would keep without counting it, as an SQL literal.
/// Empty unless a CHECK on the counter table's key could refuse the count.
pub fn uncounted_message(target: &Target) -> String {
    let table = &target.table;
    if target.slots.is_none() || checks_of(table, &table.primary_key).is_empty() {
        return String::new();
    }
    SQLITE.literal(&format!("a CHECK of {table} refused to count this row"))
}

/// Returns the CHECKs of an ordinary table that could refuse a row's count.
pub fn count_checks(
    counting: &Counting,
    target: &Target,
    row: &RowAddition,
) -> Result<Vec<CountCheck>> {
    let table = &target.table;
    let mut found = Vec::new();
    if target.slots.is_some() {
        return Ok(found);
    }
    let names = row.counts.iter().map(|count| count.counter.clone());
    let names: Vec<_> = names.collect();
    for check in checks_of(table, &names) {
        let text = check.to_string();
        let cannot = || {
            format!(
                "a CHECK of {table} has a counter, and cannot be read: write it with only columns, \
                 without their table"
            )
        };
        let expression = Expression::parse(&text, table, SQLITE).with_context(cannot)?;
        let check_of_new_values = expression.with(|name| new_value(name, counting, target, row));
        let mut conditions = row.row_conditions.clone();
        conditions.extend_from_slice(&row.conditions);
        conditions.push(format!("NOT ({check_of_new_values})"));
        found.push(CountCheck {
            table: SQLITE.table_name(table),
            message: SQLITE.literal(&format!("CHECK constraint failed: {text}")),
            conditions,
        });
    }
    Ok(found)
}

/// Returns SQL for the value of an ordinary table's column once a row has been counted, such as
/// `(likes + 1)`. If nothing is added to the column, that's only its name.
fn new_value(name: &str, counting: &Counting, target: &Target, row: &RowAddition) -> String {
    let mut counts = row.counts.iter();
    match counts.find(|count| count.counter == name) {
        Some(CounterValue { counter, value }) => {
            let no_alias = "";
            let sum = counting.sum(target, counter, no_alias, value, SumContext::Trigger);
            format!("({sum})")
        }
        None => SQLITE.quoted(name),
    }
}

/// Why a count may not fail.
const WHY: &str = "an INSERT OR IGNORE, OR FAIL or OR REPLACE of a row could lose counts. \
                   SQLite runs triggers with that policy";

/// Refuses a table in which a count can fail without any trigger being able to know it before.
pub fn refuse_silent_failures(target: &Target) -> Result<()> {
    refuse_unique_index(target)?;
    if target.slots.is_some() {
        refuse_missing_default(&target.table)?;
        refuse_checks(target)?;
    }
    Ok(())
}

/// Refuses a unique index that a count can conflict in.
fn refuse_unique_index(target: &Target) -> Result<()> {
    let table = &target.table;
    // An index with the whole key only conflicts where the key does, and the upsert expects that.
    let has_key = |index: &Index| {
        let mut key = table.primary_key.iter();
        target.slots.is_some() && key.all(|name| index.columns.contains(name))
    };
    let has_counter = |index: &Index| {
        let mut columns = index.columns.iter();
        columns.any(|name| target.names.contains(name))
    };
    // A new row can conflict in any index, but a row of an ordinary table only gets new counts.
    let can_conflict = |index: &&Index| {
        index.unique
            && !index.primary
            && !has_key(index)
            && (target.slots.is_some() || has_counter(index))
    };
    if let Some(index) = table.indexes.iter().find(can_conflict) {
        let name = &index.name;
        let columns = index.columns.join(", ");
        bail!(
            "a unique index of {table}, {name} ({columns}), can refuse a count, and {WHY}. Drop it \
             first"
        );
    }
    Ok(())
}

/// Refuses a column of a counter table that a new row has no value for.
fn refuse_missing_default(table: &Table) -> Result<()> {
    for column in &table.columns {
        let is_in_key = table.primary_key.contains(&column.name);
        let has_value = column.nullable || column.generated || column.default.is_some();
        if !is_in_key && !has_value {
            let name = &column.name;
            bail!("{table}.{name} is NOT NULL and has no default, and {WHY}. Give it a default");
        }
    }
    Ok(())
}

/// Refuses a CHECK on the counters of a counter table. What the triggers count always passes a
/// CHECK of the type, so that's allowed.
fn refuse_checks(target: &Target) -> Result<()> {
    let table = &target.table;
    let checks_type = |check: &Expr| {
        let check = without_punctuation(&check.to_string());
        let mut names = target.names.iter();
        names.any(|name| check == without_punctuation(&format!("typeof({name})='integer'")))
    };
    let checks = checks_of(table, &target.names);
    if let Some(check) = checks.iter().find(|check| !checks_type(check)) {
        bail!("a CHECK of {table}, {check}, can refuse a count, and {WHY}. Drop it first");
    }
    Ok(())
}

/// Returns SQL in lower case, without spaces, parentheses and quotes around names, so that it can
/// be compared.
fn without_punctuation(sql: &str) -> String {
    let is_punctuation = |c: char| c.is_whitespace() || "\"`[]()".contains(c);
    sql.to_lowercase().replace(is_punctuation, "")
}

/// Returns the conditions of the table's CHECKs that mention one of these columns. Every condition
/// is on its own.
fn checks_of(table: &Table, names: &[String]) -> Vec<Expr> {
    let create_table = table.checks.first();
    let mut parts = match create_table {
        Some(create_table) => checks(create_table, SQLITE),
        None => Vec::new(),
    };
    let mut found = Vec::new();
    // `a AND b` is two CHECKs. The last part is split first, so push the left side last.
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
    // A name can also be part of a longer one. Then this keeps a CHECK too many.
    found.retain(|check| {
        let text = check.to_string().to_lowercase();
        names.iter().any(|name| text.contains(&name.to_lowercase()))
    });
    found
}
