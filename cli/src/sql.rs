//! Statements over tables that are known by name only.

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Date, Integer, SmallInt, Text, Untyped};
use diesel_counters::Dialect;

use crate::connection::{AnyConnection, MultiBackend};

/// A name as an identifier of SQL.
pub fn quoted(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::MySql => format!("`{}`", name.replace('`', "``")),
        Dialect::PostgreSql | Dialect::Sqlite => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Names as identifiers: `"a", "b"`.
pub fn quoted_list<'n>(dialect: Dialect, names: impl IntoIterator<Item = &'n str>) -> String {
    let quoted: Vec<_> = names.into_iter().map(|n| quoted(dialect, n)).collect();
    quoted.join(", ")
}

/// A statement, with values bound into it wherever they stand.
#[derive(Debug, Clone, Default)]
pub struct Sql {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Value(Value),
}

/// What can be bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    SmallInt(i16),
    Integer(i32),
    BigInt(i64),
    Text(String),
    Binary(Vec<u8>),
    Date(NaiveDate),
}

/// A statement that begins with this text.
pub fn sql(text: impl Into<String>) -> Sql {
    Sql::default().sql(text)
}

impl Sql {
    pub fn sql(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text(text.into()));
        self
    }

    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.parts.push(Part::Value(value.into()));
        self
    }

    /// Goes on with another piece.
    pub fn then(mut self, piece: Sql) -> Self {
        self.parts.extend(piece.parts);
        self
    }
}

impl From<i16> for Value {
    fn from(value: i16) -> Self {
        Value::SmallInt(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Value::Integer(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::BigInt(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Value::Binary(value)
    }
}

impl From<NaiveDate> for Value {
    fn from(value: NaiveDate) -> Self {
        Value::Date(value)
    }
}

impl QueryFragment<MultiBackend> for Sql {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.unsafe_to_cache_prepared();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_sql(text),
                Part::Value(Value::SmallInt(v)) => out.push_bind_param::<SmallInt, _>(v)?,
                Part::Value(Value::Integer(v)) => out.push_bind_param::<Integer, _>(v)?,
                Part::Value(Value::BigInt(v)) => out.push_bind_param::<BigInt, _>(v)?,
                Part::Value(Value::Text(v)) => out.push_bind_param::<Text, _>(v)?,
                Part::Value(Value::Binary(v)) => out.push_bind_param::<Binary, _>(v)?,
                Part::Value(Value::Date(v)) => out.push_bind_param::<Date, _>(v)?,
            }
        }
        Ok(())
    }
}

impl QueryId for Sql {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Sql {
    type SqlType = Untyped;
}

impl RunQueryDsl<AnyConnection> for Sql {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_its_quotes() {
        assert_eq!(quoted(Dialect::Sqlite, r#"a"b`c"#), r#""a""b`c""#);
        assert_eq!(quoted(Dialect::MySql, r#"a"b`c"#), r#"`a"b``c`"#);
    }
}
