//! The lock that lets one merge of a table run at a time.
//!
//! Two are as exact: each merges only what it has locked. They would be in each other's
//! way.

use std::rc::Rc;

use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, HasSqlType, Text};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect};
use crate::maintaining::layout::Layout;

/// Asks for the table's lock, and does not wait: answers 1 or 0.
pub struct TryLock<F>(pub(super) Rc<Layout<F>>);

/// Gives it back: answers 1, or 0 when this session had not got it.
pub struct Unlock<F>(pub(super) Rc<Layout<F>>);

macro_rules! lock_query {
    ($Query:ident, $push:ident) => {
        impl<F> Query for $Query<F> {
            type SqlType = BigInt;
        }

        impl<F, Conn> RunQueryDsl<Conn> for $Query<F> {}

        impl<F> QueryId for $Query<F> {
            type QueryId = ();
            const HAS_STATIC_QUERY_ID: bool = false;
        }

        impl<F, DB> QueryFragment<DB> for $Query<F>
        where
            F: QueryFragment<DB>,
            DB: CounterBackend + HasSqlType<Text>,
            str: ToSql<Text, DB>,
        {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
                let layout = &*self.0;
                Dialect::of(&out).$push(&layout.table, &layout.name, &mut out)
            }
        }
    };
}

lock_query!(TryLock, push_try_lock);
lock_query!(Unlock, push_unlock);
