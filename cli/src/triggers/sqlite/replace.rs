//! Refuses a row that could replace another one. SQLite runs no trigger for the row that is
//! replaced, unless `recursive_triggers` is on.

use anyhow::{Context, Result, bail};
use serde_json::json;
use sqlparser::ast::Statement;
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
    /// The collation, if it is not BINARY.
    collation: Option<String>,
}

pub fn replace(counting: &Counting, event: Event) -> Result<Option<Trigger>> {
    let table = &counting.rows;
    let keys = keys(table)?;
    if keys.is_empty() {
        return Ok(None);
    }
    let replaces: Vec<_> = keys.iter().map(|key| key.replaces(table, event)).collect();
    let body = |message: &str| {
        let values = json!({
            "event": event,
            "table": SQLITE.table_name(table),
            "replaces": replaces,
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
    let mut trigger = trigger(counting, &what, &body(&message)?)?;
    trigger.same.push(body(&earlier_message)?);
    Ok(Some(trigger))
}

impl Key {
    /// Whether the new row can replace another one.
    fn replaces(&self, table: &Table, event: Event) -> String {
        let mut conditions = Vec::new();
        // An update that leaves the key cannot conflict in it, unless the row had not had it.
        if event == Event::Update {
            let moved = format!("({}) IS NOT ({})", self.of(NEW), self.of(OLD));
            conditions.push(match &self.when {
                Some(when) => format!("({moved} OR {} IS NOT TRUE)", when.of(OLD, SQLITE)),
                None => moved,
            });
        }
        if let Some(when) = &self.when {
            conditions.push(when.of(NEW, SQLITE));
        }
        let table = SQLITE.table_name(table);
        let has_key = self.has_key("other").join(" AND ");
        conditions.push(format!(
            "EXISTS (SELECT 1 FROM {table} AS other WHERE {has_key})"
        ));
        conditions.join(" AND ")
    }

    /// The key of a row, as a list.
    fn of(&self, row: &str) -> String {
        let columns = self.columns.iter();
        columns
            .map(|one| format!("{row}.{}", one.name))
            .joined(", ")
    }

    /// The conditions of a row that has the key of the new row.
    fn has_key(&self, row: &str) -> Vec<String> {
        let mut conditions = Vec::new();
        for KeyColumn { name, collation } in &self.columns {
            let is_same = format!("{row}.{name} = {NEW}.{name}");
            conditions.push(match collation {
                Some(collation) => format!("{is_same} COLLATE {collation}"),
                None => is_same,
            });
        }
        conditions.extend(self.when.iter().map(|when| when.of(row, SQLITE)));
        conditions
    }
}

fn keys(table: &Table) -> Result<Vec<Key>> {
    let mut keys = Vec::new();
    for index in table.indexes.iter().filter(|index| index.unique) {
        let columns = index.columns.iter().map(|name| table.column(name));
        let Some(columns) = columns.collect::<Option<Vec<_>>>() else {
            let name = &index.name;
            bail!(
                "the unique index {name} of {table} has an expression: INSERT OR REPLACE could \
                 replace a row by it, and SQLite would not count that. Use a generated column \
                 instead"
            );
        };
        let key_column = |column: &Column| KeyColumn {
            name: SQLITE.quoted(&column.name),
            collation: column.loose_collation.clone(),
        };
        keys.push(Key {
            columns: columns.into_iter().map(key_column).collect(),
            when: condition(index, table)?,
        });
    }
    keys.extend(rowid(table).map(|name| Key {
        columns: vec![KeyColumn {
            name: name.to_owned(),
            collation: None,
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
/// not give it, it is -1.
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

/// Whether the statement of a table ends in WITHOUT ROWID.
fn is_without_rowid(create: &str) -> bool {
    let Ok(tokens) = Tokenizer::new(SQLITE.grammar(), create).tokenize() else {
        // A trigger that names the rowid of a table without one would fail each write.
        let words = create.split_whitespace().collect::<Vec<_>>().join(" ");
        return words.to_lowercase().contains("without rowid");
    };
    // A quoted name or a text is no word, but stands between two of them.
    let of_tokens = tokens.into_iter().filter_map(|token| match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        Token::Whitespace(_) => None,
        _ => Some(String::new()),
    });
    let words: Vec<_> = of_tokens.collect();
    words.windows(2).any(|pair| pair == ["without", "rowid"])
}
