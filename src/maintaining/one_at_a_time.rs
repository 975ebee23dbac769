//! The lock that lets one merge of a table run at a time.
//!
//! Two are as exact: each merges only what it has locked. They would be in each other's
//! way.

use std::borrow::Cow;

use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, HasSqlType, Text};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect};

/// Asks for the lock of the table of this name, and does not wait: answers 1 or 0.
pub struct TryLock(pub(super) Cow<'static, str>);

/// Gives it back.
pub struct Unlock(pub(super) Cow<'static, str>);

macro_rules! lock_query {
    ($Query:ident, $push:ident) => {
        impl Query for $Query {
            type SqlType = BigInt;
        }

        impl<Conn> RunQueryDsl<Conn> for $Query {}

        impl QueryId for $Query {
            type QueryId = $Query;
            const HAS_STATIC_QUERY_ID: bool = true;
        }

        impl<DB> QueryFragment<DB> for $Query
        where
            DB: CounterBackend + HasSqlType<Text>,
            str: ToSql<Text, DB>,
        {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
                let (before, after) = Dialect::of(&out).$push();
                out.push_sql(before);
                out.push_bind_param::<Text, _>(&*self.0)?;
                out.push_sql(after);
                Ok(())
            }
        }
    };
}

lock_query!(TryLock, try_lock);
lock_query!(Unlock, unlock);
