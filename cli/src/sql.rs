//! Statements over tables that are known by name only.

use std::marker::PhantomData;

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Date, Text, Untyped};

use crate::connection::{AnyConnection, MultiBackend};

/// A statement with bound values, whose rows have columns of the types `ST`.
pub struct Sql<ST = Untyped> {
    parts: Vec<Part>,
    types: PhantomData<ST>,
}

enum Part {
    Text(String),
    Value(Value),
}

/// A bound value.
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

    /// Appends another piece.
    pub fn then(mut self, piece: Sql) -> Self {
        self.parts.extend(piece.parts);
        self
    }

    /// Says which types its columns have.
    pub fn typed<ST>(self) -> Sql<ST> {
        Sql {
            parts: self.parts,
            types: PhantomData,
        }
    }
}

impl Default for Sql {
    fn default() -> Self {
        Sql {
            parts: Vec::new(),
            types: PhantomData,
        }
    }
}

macro_rules! values {
    ($($variant:ident($from:ty)),*) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Value::$variant(value.into())
            }
        }
    )*};
}

values!(BigInt(i64), Text(&str), Binary(Vec<u8>), Date(NaiveDate));

impl<ST> QueryFragment<MultiBackend> for Sql<ST> {
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

impl<ST> QueryId for Sql<ST> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<ST> Query for Sql<ST> {
    type SqlType = ST;
}

impl<ST> RunQueryDsl<AnyConnection> for Sql<ST> {}
