//! An entity's key as text: on the command line, and in what is printed.

use anyhow::{Context, Result, bail};
use diesel_counters::Dialect;

use crate::catalogue::{Column, CounterTable, Kind};
use crate::sql::{Sql, quoted, sql};

impl CounterTable {
    /// The column of entities.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub fn of_entities(&self) -> Result<&Column> {
        self.entity.as_ref().with_context(|| {
            format!(
                "{} counts for one thing only: its primary key ({}, {}) has no entity",
                self.table, self.day.name, self.slot.name
            )
        })
    }
}

/// SQL that reads a key as text; bytes as hexadecimal digits.
pub fn as_text(dialect: Dialect, key: &Column) -> String {
    let name = quoted(dialect, &key.name);
    match (dialect, key.kind) {
        (Dialect::PostgreSql, Kind::Binary) => format!("encode({name}, 'hex')"),
        (Dialect::MySql, Kind::Binary) | (Dialect::Sqlite, Kind::Binary | Kind::Uuid) => {
            format!("lower(hex({name}))")
        }
        (Dialect::MySql, _) => format!("CAST({name} AS CHAR)"),
        (Dialect::PostgreSql | Dialect::Sqlite, _) => format!("CAST({name} AS TEXT)"),
    }
}

/// `key = text`, bound as what the column holds.
pub fn equals(dialect: Dialect, key: &Column, text: &str) -> Result<Sql> {
    let name = quoted(dialect, &key.name);
    let not_a = |what: &str| format!("{} is {what}, and {text} is none", key.name);
    let equals = sql(format!("{name} = "));
    let bound_bytes = || {
        let bytes = bytes(text).with_context(|| not_a("bytes, as hexadecimal digits"))?;
        anyhow::Ok(equals.clone().bind(bytes))
    };
    Ok(match key.kind {
        Kind::SmallInt | Kind::Integer | Kind::BigInt => equals.bind(
            text.parse::<i64>()
                .with_context(|| not_a("a whole number"))?,
        ),
        Kind::Date => equals.bind(
            text.parse::<chrono::NaiveDate>()
                .with_context(|| not_a("a date"))?,
        ),
        Kind::Binary => bound_bytes()?,
        Kind::Uuid if dialect == Dialect::Sqlite => bound_bytes()?,
        // PostgreSQL takes text for nothing else unless told to.
        Kind::Uuid | Kind::Real | Kind::Other if dialect == Dialect::PostgreSql => equals
            .sql("CAST(")
            .bind(text)
            .sql(format!(" AS {})", key.sql_type)),
        Kind::Text | Kind::Uuid | Kind::Real | Kind::Other => equals.bind(text),
    })
}

fn bytes(digits: &str) -> Result<Vec<u8>> {
    if digits.len() % 2 == 1 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        bail!("it is no even number of hexadecimal digits");
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| Ok(u8::from_str_radix(&digits[at..at + 2], 16)?))
        .collect()
}
