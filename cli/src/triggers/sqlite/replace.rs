//! Refuses a row that could replace another one. SQLite runs no trigger for the row that is
//! replaced, unless `recursive_triggers` is on.

use anyhow::{Context, Result, bail};
use serde_json::json;
use sqlparser::ast::{Expr, Statement};
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

pub fn replace(counting: &Counting, event: Event) -> Result<Option<Trigger>> {
    let table = &counting.rows;
    let keys = keys(table)?;
    if keys.is_empty() {
        return Ok(None);
    }
    let message = format!(
        "run PRAGMA recursive_triggers = ON, so that {table} is counted when it replaces a row"
    );
    let mut replaces: Vec<_> = keys.iter().map(|key| key.replaces(table, event)).collect();
    if let [first, .., last] = &mut *replaces {
        *first = format!("({first}");
        last.push(')');
    }
    let values = json!({ "replaces": replaces, "message": SQLITE.literal(&message) });
    let body = render("sqlite/replace.sql", values)?;
    let what = format!("replace_by_{}", event.lower());
    let when = format!("BEFORE {}", event.name());
    let mut trigger = trigger(counting, &what, &when, &body)?;
    if event == Event::Insert {
        trigger.comment = WHY.to_owned();
    }
    Ok(Some(trigger))
}

const WHY: &str = "-- Without PRAGMA recursive_triggers = ON, a REPLACE runs no DELETE trigger for the row \
                   that it replaces. So an INSERT\n-- that meets an existing row is refused then.\n";

impl KeyColumn {
    fn of(column: &Column, collation: Option<&str>) -> Self {
        let of_index = collation.unwrap_or("BINARY");
        // The catalogue has the collation of one of the column's indexes.
        let is_needed = of_index != "BINARY" || column.loose_collation.is_some();
        KeyColumn {
            name: SQLITE.quoted(&column.name),
            collation: is_needed.then(|| of_index.to_owned()),
            default: default_of(column),
        }
    }

    /// SQL for the value that the new row will have.
    fn new_value(&self) -> String {
        let value = format!("{NEW}.{}", self.name);
        match &self.default {
            Some(default) => format!("COALESCE({value}, {default})"),
            None => value,
        }
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

/// Makes a value compare with this collation.
fn collated(value: String, collation: Option<&String>) -> String {
    match collation {
        Some(collation) => format!("{value} COLLATE {collation}"),
        None => value,
    }
}

impl Key {
    /// A condition that the new row can replace another one.
    fn replaces(&self, table: &Table, event: Event) -> String {
        let mut conditions = Vec::new();
        // An update that keeps the key can't conflict, unless the row wasn't in the index before.
        if event == Event::Update {
            let moved = self.moved();
            conditions.push(match &self.when {
                Some(when) => format!("({moved} OR {} IS NOT TRUE)", when.of(OLD, SQLITE)),
                None => moved,
            });
        }
        if let Some(when) = &self.when {
            conditions.push(when.with(|name| {
                let default = table.column(name).and_then(default_of);
                let value = SQLITE.column(NEW, name);
                match default {
                    Some(default) => format!("COALESCE({value}, {default})"),
                    None => value,
                }
            }));
        }
        let has_key = self.has_key(table).join(" AND ");
        let table = SQLITE.table_name(table);
        conditions.push(format!("EXISTS (SELECT 1 FROM {table} WHERE {has_key})"));
        conditions.join("\n    AND ")
    }

    /// A condition that an update changes the key.
    fn moved(&self) -> String {
        let new_values = self.columns.iter();
        let new_values = new_values.map(|one| collated(one.new_value(), one.collation.as_ref()));
        let old_values = self.columns.iter();
        let old_values = old_values.map(|one| format!("{OLD}.{}", one.name));
        let [new_values, old_values] = [row(new_values), row(old_values)];
        format!("{new_values} IS NOT {old_values}")
    }

    /// Conditions that a row of the table has the new row's key.
    fn has_key(&self, table: &Table) -> Vec<String> {
        let names = self.columns.iter();
        let names = names.map(|one| collated(one.name.clone(), one.collation.as_ref()));
        let new_values = self.columns.iter().map(KeyColumn::new_value);
        let mut conditions = vec![format!("{} = {}", row(names), row(new_values))];
        let name = SQLITE.quoted(&table.name);
        conditions.extend(self.when.iter().map(|when| when.of(&name, SQLITE)));
        conditions
    }
}

/// Writes `(a, b)`, or `a` alone.
fn row(values: impl Iterator<Item = String>) -> String {
    match &*values.collect::<Vec<_>>() {
        [one] => one.clone(),
        several => format!("({})", several.join(", ")),
    }
}

fn keys(table: &Table) -> Result<Vec<Key>> {
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
            columns.push(KeyColumn::of(column, collation.as_deref()));
        }
        keys.push(Key {
            columns,
            when: condition(index, table)?,
        });
    }
    Ok(keys)
}

/// Returns the condition for rows to be in an index.
fn condition(index: &Index, table: &Table) -> Result<Option<Expression>> {
    let name = &index.name;
    // SQLite itself writes the beginning this way.
    let statements = table.checks.iter();
    for create in statements.filter(|create| create.starts_with("CREATE UNIQUE INDEX ")) {
        let cannot = || {
            format!(
                "cannot read an index of {table}: {create}. INSERT OR REPLACE could replace a row \
                 by it, and SQLite would not count that"
            )
        };
        let parsed = Parser::parse_sql(SQLITE.grammar(), create).with_context(cannot)?;
        let [Statement::CreateIndex(parsed)] = &*parsed else {
            bail!(cannot());
        };
        let parts = parsed.name.iter().flat_map(|name| &name.0);
        let parsed_name = parts.last().and_then(|part| part.as_ident());
        if parsed_name.is_none_or(|parsed_name| !parsed_name.value.eq_ignore_ascii_case(name)) {
            continue;
        }
        let Some(predicate) = &parsed.predicate else {
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
