//! Statements over tables that are known by name only.

use std::marker::PhantomData;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Text, Untyped};

use crate::connection::{AnyConnection, MultiBackend};

/// A statement with bound texts, whose rows have columns of the types `ST`.
/// It is pieces of SQL, and the text that is bound after each.
pub struct Sql<ST = Untyped>(Vec<(String, Option<String>)>, PhantomData<ST>);

pub fn sql(text: impl Into<String>) -> Sql {
    Sql(vec![(text.into(), None)], PhantomData)
}

impl Sql {
    pub fn sql(mut self, text: impl Into<String>) -> Self {
        self.0.push((text.into(), None));
        self
    }

    pub fn bind(mut self, text: &str) -> Self {
        self.0.push((String::new(), Some(text.to_owned())));
        self
    }

    pub fn typed<ST>(self) -> Sql<ST> {
        Sql(self.0, PhantomData)
    }
}

impl<ST> QueryFragment<MultiBackend> for Sql<ST> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        out.unsafe_to_cache_prepared();
        self.0.iter().try_for_each(|(sql, bound)| {
            out.push_sql(sql);
            let mut bound = bound.iter();
            bound.try_for_each(|text| out.push_bind_param::<Text, _>(text))
        })
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
