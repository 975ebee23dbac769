//! Statements over tables that are known by name only.

use std::marker::PhantomData;

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Date, Text, Untyped};

pub use crate::compat::quoted;
use crate::connection::{AnyConnection, MultiBackend};

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

/// A bound value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
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

    /// Says which types its columns have.
    pub fn typed<ST>(self) -> Typed<ST> {
        Typed(self, PhantomData)
    }

    /// Appends another piece.
    pub fn then(mut self, piece: Sql) -> Self {
        self.parts.extend(piece.parts);
        self
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

/// A statement whose rows have columns of these types.
pub struct Typed<ST>(Sql, PhantomData<ST>);

impl<ST> QueryFragment<MultiBackend> for Typed<ST> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }
}

impl<ST> QueryId for Typed<ST> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<ST> Query for Typed<ST> {
    type SqlType = ST;
}

impl<ST> RunQueryDsl<AnyConnection> for Typed<ST> {}
