//! Refuses a row that could replace another one. SQLite runs no trigger for the row that is
//! replaced, unless `recursive_triggers` is on.

use anyhow::{Context, Result, bail};
use serde_json::json;
use sqlparser::ast::{Expr, Statement};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::trigger::trigger;
use crate::catalogue::{Column, Index, Table};
use crate::database::{Joined, SQLITE};
use crate::template::render;
use crate::triggers::counting::Counting;
use crate::triggers::expression::Expression;
use crate::triggers::functions::Event;
use crate::triggers::statement::{NEW, OLD};
use crate::triggers::trigger::Trigger;

/// What no two rows have both.
struct Key {
    columns: Vec<KeyColumn>,
    /// The condition of the rows that have it.
    when: Option<Expression>,
}

struct KeyColumn {
    /// As SQL.
    name: String,
    /// The collation of the index, if it could be another one than that of the column.
    collation: Option<String>,
    /// SQL of the default, if the column is NOT NULL: OR REPLACE replaces a NULL by it, after the
    /// triggers that run before.
    default: Option<String>,
    /// The collation that an earlier version compared with.
    earlier_collation: Option<String>,
}

/// What wrote a trigger.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    This,
    /// It compared values as they were written, with one collation for all indexes of a column.
    Earlier,
}

pub fn replace(counting: &Counting, event: Event) -> Result<Option<Trigger>> {
    let table = &counting.rows;
    let keys = keys(table)?;
    if keys.is_empty() {
        return Ok(None);
    }
    let body = |version: Version, message: &str| {
        let replaces = keys.iter().map(|key| key.replaces(table, event, version));
        let values = json!({
            "event": event,
            "table": SQLITE.table_name(table),
            "replaces": replaces.collect::<Vec<_>>(),
            "message": SQLITE.literal(message),
        });
        render("sqlite/replace.sql", values)
    };
    // The text that an earlier version wrote is as good.
    let message = format!(
        "{table} has this row: run PRAGMA recursive_triggers = ON, so that SQLite counts what it \
         replaces"
    );
    let earlier_message = format!(
        "{table} has this row, and SQLite would not count that it is replaced: run PRAGMA \
         recursive_triggers = ON on this connection"
    );
    let what = format!("replace_by_{}", event.lower());
    let mut trigger = trigger(counting, &what, &body(Version::This, &message)?)?;
    if keys.iter().all(|key| key.was_compared_as_now(table)) {
        for message in [&message, &earlier_message] {
            trigger.same.push(body(Version::Earlier, message)?);
        }
    }
    Ok(Some(trigger))
}

impl KeyColumn {
    fn of(column: &Column, collation: Option<&str>) -> Self {
        let of_index = collation.unwrap_or("BINARY");
        let has_texts = !column.kind.is_integer() || column.loose_collation.is_some();
        let is_needed = has_texts || of_index != "BINARY";
        KeyColumn {
            name: SQLITE.quoted(&column.name),
            collation: is_needed.then(|| of_index.to_owned()),
            default: default_of(column),
            earlier_collation: column.loose_collation.clone(),
        }
    }

    fn was_compared_as_now(&self) -> bool {
        let collation = |name: &Option<String>| name.as_deref().unwrap_or("BINARY").to_owned();
        let is_same = collation(&self.collation) == collation(&self.earlier_collation);
        self.default.is_none() && is_same
    }

    /// The value that the new row will have.
    fn new_value(&self, version: Version) -> String {
        let value = format!("{NEW}.{}", self.name);
        match &self.default {
            Some(default) if version == Version::This => format!("COALESCE({value}, {default})"),
            _ => value,
        }
    }
}

/// SQL of the default of a column that is NOT NULL.
fn default_of(column: &Column) -> Option<String> {
    let default = column.default.as_ref().filter(|_| !column.nullable)?;
    let parser = Parser::new(SQLITE.grammar()).try_with_sql(default);
    Some(match parser.and_then(|mut parser| parser.parse_expr()) {
        // Behind DEFAULT, a name is a text.
        Ok(Expr::Identifier(name)) => SQLITE.literal(&name.value),
        _ => format!("({default})"),
    })
}

/// A value that is compared with this collation.
fn collated(value: String, collation: Option<&String>) -> String {
    match collation {
        Some(collation) => format!("{value} COLLATE {collation}"),
        None => value,
    }
}

impl Key {
    /// Whether an earlier version found the same rows.
    fn was_compared_as_now(&self, table: &Table) -> bool {
        let mut in_condition = self.when.iter().flat_map(Expression::columns);
        let mut columns = self.columns.iter();
        columns.all(KeyColumn::was_compared_as_now)
            && in_condition.all(|name| table.column(name).and_then(default_of).is_none())
    }

    /// Whether the new row can replace another one.
    fn replaces(&self, table: &Table, event: Event, version: Version) -> String {
        let mut conditions = Vec::new();
        // An update that leaves the key cannot conflict in it, unless the row had not had it.
        if event == Event::Update {
            let moved = self.moved(version);
            conditions.push(match &self.when {
                Some(when) => format!("({moved} OR {} IS NOT TRUE)", when.of(OLD, SQLITE)),
                None => moved,
            });
        }
        if let Some(when) = &self.when {
            conditions.push(when.with(|name| {
                let default = table.column(name).and_then(default_of);
                let value = SQLITE.column(NEW, name);
                match default.filter(|_| version == Version::This) {
                    Some(default) => format!("COALESCE({value}, {default})"),
                    None => value,
                }
            }));
        }
        let table = SQLITE.table_name(table);
        let has_key = self.has_key("other", version).join(" AND ");
        conditions.push(format!(
            "EXISTS (SELECT 1 FROM {table} AS other WHERE {has_key})"
        ));
        conditions.join(" AND ")
    }

    /// Whether an update changes the key.
    fn moved(&self, version: Version) -> String {
        let new_values = self.columns.iter().map(|one| {
            let value = one.new_value(version);
            match version {
                Version::This => collated(value, one.collation.as_ref()),
                Version::Earlier => value,
            }
        });
        let old_values = self.columns.iter();
        let old_values = old_values.map(|one| format!("{OLD}.{}", one.name));
        format!(
            "({}) IS NOT ({})",
            new_values.joined(", "),
            old_values.joined(", ")
        )
    }

    /// The conditions of a row that has the key of the new row.
    fn has_key(&self, row: &str, version: Version) -> Vec<String> {
        let mut conditions = Vec::new();
        for column in &self.columns {
            let new_value = column.new_value(version);
            let is_same = format!("{row}.{} = {new_value}", column.name);
            conditions.push(match version {
                Version::This => collated(is_same, column.collation.as_ref()),
                Version::Earlier => collated(is_same, column.earlier_collation.as_ref()),
            });
        }
        conditions.extend(self.when.iter().map(|when| when.of(row, SQLITE)));
        conditions
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
    keys.extend(rowid(table).map(|name| Key {
        columns: vec![KeyColumn {
            name: name.to_owned(),
            collation: None,
            default: None,
            earlier_collation: None,
        }],
        when: None,
    }));
    Ok(keys)
}

/// The condition of the rows that an index has.
fn condition(index: &Index, table: &Table) -> Result<Option<Expression>> {
    let name = &index.name;
    // SQLite writes the beginning itself.
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
        let of_name = parts.last().and_then(|part| part.as_ident());
        if of_name.is_none_or(|of_name| !of_name.value.eq_ignore_ascii_case(name)) {
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

/// The name of the number of a row, which can conflict, too. A table has none if its primary key is
/// the number, if it is WITHOUT ROWID, or if columns have all its names. Before an INSERT that does
/// not give it, it is -1, and so is an INTEGER PRIMARY KEY: if a row has this number, the INSERT is
/// refused, because the trigger cannot tell it from one that gives -1.
fn rowid(table: &Table) -> Option<&'static str> {
    if table.columns.iter().any(|column| column.auto_increment) {
        return None;
    }
    let create = table.checks.first().map(String::as_str).unwrap_or_default();
    if is_without_rowid(create) {
        return None;
    }
    let mut names = ["rowid", "_rowid_", "oid"].into_iter();
    names.find(|name| {
        let mut columns = table.columns.iter();
        !columns.any(|column| column.name.eq_ignore_ascii_case(name))
    })
}

/// Whether the statement of a table ends in WITHOUT ROWID, perhaps with STRICT.
fn is_without_rowid(create: &str) -> bool {
    let Ok(tokens) = Tokenizer::new(SQLITE.grammar(), create).tokenize() else {
        // A trigger that names the rowid of a table without one would fail each write.
        let words = create.split_whitespace().collect::<Vec<_>>().join(" ");
        return words.to_lowercase().contains("without rowid");
    };
    // The options of a table are behind its columns.
    let options = tokens.rsplit(|token| *token == Token::RParen).next();
    let mut words = options.unwrap_or_default().iter();
    words.any(
        |token| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case("without")),
    )
}
