//! Refuses a row that could replace another one. SQLite runs no trigger for the row that is
//! replaced, unless `recursive_triggers` is on.

use anyhow::{Context, Result, bail};
use serde_json::json;
use sqlparser::ast::{CreateIndex, Expr, Statement};
use sqlparser::parser::Parser;

use super::trigger::trigger;
use crate::catalogue::{Column, Index, Table};
use crate::database::SQLITE;
use crate::template::render;
use crate::triggers::counting::Counting;
use crate::triggers::expression::Expression;
use crate::triggers::functions::Event;
use crate::triggers::statement::{NEW, OLD};
use crate::triggers::trigger::Trigger;

/// Columns that are unique together.
struct Key {
    columns: Vec<KeyColumn>,
    /// The condition for rows to be in the index.
    when: Option<Expression>,
}

struct KeyColumn {
    /// In quotes, if it needs them.
    name: String,
    /// The index's collation, if it could differ from the column's.
    collation: Option<String>,
    /// SQL for the default if the column is NOT NULL. OR REPLACE replaces a NULL with it, but only
    /// after the triggers that run before.
    default: Option<String>,
}

/// Makes the trigger that refuses a row that could replace another one, if the table has unique
/// keys.
pub fn replace_trigger(counting: &Counting, event: Event) -> Result<Option<Trigger>> {
    let table = &counting.rows;
    let keys = unique_keys(table)?;
    if keys.is_empty() {
        return Ok(None);
    }
    let message = format!(
        "run PRAGMA recursive_triggers = ON, so that {table} is counted when it replaces a row"
    );
    let replaces = keys.iter().map(|key| key.can_replace(table, event));
    let mut replaces: Vec<_> = replaces.collect();
    // The template writes OR between them, so put several in parentheses.
    if let [first, .., last] = &mut *replaces {
        *first = format!("({first}");
        last.push(')');
    }
    let values = json!({ "replaces": replaces, "message": SQLITE.literal(&message) });
    let body = render("sqlite/replace.sql", values)?;
    let suffix = format!("replace_by_{}", event.lower());
    let when = format!("BEFORE {}", event.name());
    let mut trigger = trigger(counting, &suffix, &when, &body)?;
    if event == Event::Insert {
        trigger.comment = WHY.to_owned();
    }
    Ok(Some(trigger))
}

const WHY: &str = "-- Without PRAGMA recursive_triggers = ON, a REPLACE runs no DELETE trigger for the row \
                   that it replaces. So an INSERT\n-- that meets an existing row is refused then.\n";

impl KeyColumn {
    /// Returns a column of an index that has this collation.
    fn new(column: &Column, collation: Option<&str>) -> Self {
        let collation = collation.unwrap_or("BINARY");
        // `loose_collation` is that of one of the column's indexes, which may be another one.
        let can_differ = collation != "BINARY" || column.loose_collation.is_some();
        KeyColumn {
            name: SQLITE.quoted(&column.name),
            collation: can_differ.then(|| collation.to_owned()),
            default: default_of(column),
        }
    }

    /// SQL for the value that the new row will have: `COALESCE(NEW.email, '')`.
    fn new_value(&self) -> String {
        let value = format!("{NEW}.{}", self.name);
        with_default(value, self.default.as_deref())
    }
}

/// Returns SQL for a value, or for the default if it's NULL.
fn with_default(value: String, default: Option<&str>) -> String {
    match default {
        Some(default) => format!("COALESCE({value}, {default})"),
        None => value,
    }
}

/// Returns SQL for the default of a column that is NOT NULL.
fn default_of(column: &Column) -> Option<String> {
    let default = column.default.as_ref().filter(|_| !column.nullable)?;
    let parser = Parser::new(SQLITE.grammar()).try_with_sql(default);
    Some(match parser.and_then(|mut parser| parser.parse_expr()) {
        // After DEFAULT, SQLite reads a name as a text.
        Ok(Expr::Identifier(name)) => SQLITE.literal(&name.value),
        _ => format!("({default})"),
    })
}

/// Makes a value compare with this collation: `email COLLATE NOCASE`.
fn collated(value: String, collation: Option<&String>) -> String {
    match collation {
        Some(collation) => format!("{value} COLLATE {collation}"),
        None => value,
    }
}

impl Key {
    /// A condition that the new row can replace another one.
    fn can_replace(&self, table: &Table, event: Event) -> String {
        let mut conditions = Vec::new();
        // An update that keeps the key can't conflict, unless the row wasn't in the index before.
        if event == Event::Update {
            let key_changes = self.key_changes();
            conditions.push(match &self.when {
                Some(when) => {
                    let was_in_index = when.for_row(OLD, SQLITE);
                    format!("({key_changes} OR {was_in_index} IS NOT TRUE)")
                }
                None => key_changes,
            });
        }
        if let Some(when) = &self.when {
            conditions.push(when.with(|name| {
                let default = table.column(name).and_then(default_of);
                with_default(SQLITE.column(NEW, name), default.as_deref())
            }));
        }
        let has_new_key = self.has_new_key(table).join(" AND ");
        let table = SQLITE.table_name(table);
        conditions.push(format!(
            "EXISTS (SELECT 1 FROM {table} WHERE {has_new_key})"
        ));
        conditions.join("\n    AND ")
    }

    /// A condition that an update changes the key: `NEW.email IS NOT OLD.email`.
    fn key_changes(&self) -> String {
        let mut new_values = Vec::new();
        let mut old_values = Vec::new();
        for column in &self.columns {
            new_values.push(collated(column.new_value(), column.collation.as_ref()));
            old_values.push(format!("{OLD}.{}", column.name));
        }
        format!("{} IS NOT {}", row_of(&new_values), row_of(&old_values))
    }

    /// Conditions that a row of the table has the new row's key: `email = NEW.email`, and the
    /// index's own condition.
    fn has_new_key(&self, table: &Table) -> Vec<String> {
        let mut values = Vec::new();
        let mut new_values = Vec::new();
        for column in &self.columns {
            values.push(collated(column.name.clone(), column.collation.as_ref()));
            new_values.push(column.new_value());
        }
        let mut conditions = vec![format!("{} = {}", row_of(&values), row_of(&new_values))];
        let name = SQLITE.quoted(&table.name);
        conditions.extend(self.when.iter().map(|when| when.for_row(&name, SQLITE)));
        conditions
    }
}

/// Writes a value as it is, and several as a row: `(a, b)`.
fn row_of(values: &[String]) -> String {
    match values {
        [value] => value.clone(),
        _ => format!("({})", values.join(", ")),
    }
}

/// Returns the columns of every unique index. Fails if an index has an expression.
fn unique_keys(table: &Table) -> Result<Vec<Key>> {
    let mut keys = Vec::new();
    for index in table.indexes.iter().filter(|index| index.unique) {
        let mut columns = Vec::new();
        for (name, collation) in index.columns.iter().zip(&index.collations) {
            let Some(column) = table.column(name) else {
                let name = &index.name;
                bail!(
                    "the unique index {name} of {table} has an expression: INSERT OR REPLACE could \
                     replace a row by it, and SQLite would not count that. Use a generated column \
                     instead"
                );
            };
            columns.push(KeyColumn::new(column, collation.as_deref()));
        }
        keys.push(Key {
            columns,
            when: index_condition(index, table)?,
        });
    }
    Ok(keys)
}

/// Returns the condition for rows to be in an index, if it has one.
fn index_condition(index: &Index, table: &Table) -> Result<Option<Expression>> {
    let name = &index.name;
    // SQLite itself writes the beginning this way.
    let statements = table.checks.iter();
    for create in statements.filter(|create| create.starts_with("CREATE UNIQUE INDEX ")) {
        let parsed = parsed_index(create, table)?;
        let parts = parsed.name.iter().flat_map(|name| &name.0);
        let last_part = parts.last().and_then(|part| part.as_ident());
        let is_this_index = last_part.is_some_and(|part| part.value.eq_ignore_ascii_case(name));
        if !is_this_index {
            continue;
        }
        let Some(predicate) = parsed.predicate else {
            return Ok(None);
        };
        let cannot = || {
            format!(
                "cannot read the condition of the unique index {name} of {table}: INSERT OR \
                 REPLACE could replace a row by it, and SQLite would not count that. Write it with \
                 columns only"
            )
        };
        let when = Expression::parse(&predicate.to_string(), table, SQLITE);
        return when.map(Some).with_context(cannot);
    }
    Ok(None)
}

/// Parses the statement that creates an index of this table.
fn parsed_index(create: &str, table: &Table) -> Result<CreateIndex> {
    let cannot = || {
        format!(
            "cannot read an index of {table}: {create}. INSERT OR REPLACE could replace a row \
             by it, and SQLite would not count that"
        )
    };
    let mut statements = Parser::parse_sql(SQLITE.grammar(), create).with_context(cannot)?;
    match (statements.pop(), &*statements) {
        (Some(Statement::CreateIndex(index)), []) => Ok(index),
        _ => bail!(cannot()),
    }
}
