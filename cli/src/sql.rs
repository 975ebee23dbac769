//! Statements over tables that are known by name only.

use std::marker::PhantomData;

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Date, Text, Untyped};

use crate::connection::{AnyConnection, MultiBackend};

/// A statement with bound values, whose rows have columns of the types `ST`.
#[derive(Clone)]
pub struct Sql<ST = Untyped> {
    parts: Vec<Part>,
    types: PhantomData<ST>,
}

/// A piece of SQL, or a bound value.
#[derive(Clone)]
pub enum Part {
    Sql(String),
    BigInt(i64),
    Text(String),
    Binary(Vec<u8>),
    Date(NaiveDate),
}

/// A statement that begins with this text.
pub fn sql(text: impl Into<String>) -> Sql {
    Sql {
        parts: vec![Part::Sql(text.into())],
        types: PhantomData,
    }
}

impl Sql {
    pub fn sql(self, text: impl Into<String>) -> Self {
        self.bind(Part::Sql(text.into()))
    }

    /// Appends a bound value.
    pub fn bind(mut self, value: impl Into<Part>) -> Self {
        self.parts.push(value.into());
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

macro_rules! values {
    ($($variant:ident($from:ty)),*) => {$(
        impl From<$from> for Part {
            fn from(value: $from) -> Self {
                Part::$variant(value.into())
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
                Part::Sql(text) => out.push_sql(text),
                Part::BigInt(v) => out.push_bind_param::<BigInt, _>(v)?,
                Part::Text(v) => out.push_bind_param::<Text, _>(v)?,
                Part::Binary(v) => out.push_bind_param::<Binary, _>(v)?,
                Part::Date(v) => out.push_bind_param::<Date, _>(v)?,
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
