//! Statements over tables that are known by name only.

use std::marker::PhantomData;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Text, Untyped};

use crate::connection::{AnyConnection, MultiBackend};

/// A statement with bound texts, whose rows have columns of the types `ST`.
#[derive(Clone)]
pub struct Sql<ST = Untyped> {
    parts: Vec<Part>,
    types: PhantomData<ST>,
}

/// A piece of SQL, or a bound text.
#[derive(Clone)]
enum Part {
    Sql(String),
    Bind(String),
}

/// A statement that begins with this text.
pub fn sql(text: impl Into<String>) -> Sql {
    Sql {
        parts: vec![Part::Sql(text.into())],
        types: PhantomData,
    }
}

impl Sql {
    pub fn sql(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Sql(text.into()));
        self
    }

    /// Appends a bound text.
    pub fn bind(mut self, text: &str) -> Self {
        self.parts.push(Part::Bind(text.to_owned()));
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

impl<ST> QueryFragment<MultiBackend> for Sql<ST> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.unsafe_to_cache_prepared();
        for part in &self.parts {
            match part {
                Part::Sql(text) => out.push_sql(text),
                Part::Bind(text) => out.push_bind_param::<Text, _>(text)?,
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
