//! The SQL of names and keys by dialect, for the commands that do not ask [`Database`] yet.
//!
//! [`Database`]: crate::database::Database

use anyhow::Result;
use diesel_counters::Dialect;

use crate::catalogue::{Column, CounterTable, Index, Table};
use crate::database::{self, Change};
use crate::sql::Sql;

pub fn quoted(dialect: Dialect, name: &str) -> String {
    database::of(dialect).quoted(name)
}

pub fn sum(dialect: Dialect, expression: &str) -> String {
    database::of(dialect).facts().sum.replace("{}", expression)
}

pub fn as_text(dialect: Dialect, key: &Column) -> String {
    database::of(dialect).as_text(key)
}

pub fn equals(dialect: Dialect, key: &Column, text: &str) -> Result<Sql> {
    crate::entity::equal(database::of(dialect), key, text)
}

impl CounterTable {
    pub fn sql_name(&self, dialect: Dialect) -> String {
        self.table.sql_name(dialect)
    }
}

impl Table {
    pub fn sql_name(&self, dialect: Dialect) -> String {
        database::of(dialect).table_name(self)
    }

    pub fn drop_index(&self, dialect: Dialect, index: &Index) -> Option<String> {
        let script = database::of(dialect).change(&Change::DropIndex(index), self)?;
        Some(script.sql.trim_end_matches(';').to_owned())
    }
}
