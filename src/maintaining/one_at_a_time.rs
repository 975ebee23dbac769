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

statement!(TryLock(F) -> BigInt);
statement!(Unlock(F) -> BigInt);

impl<F, DB> QueryFragment<DB> for TryLock<F>
where
    F: QueryFragment<DB>,
    DB: CounterBackend + HasSqlType<Text>,
    str: ToSql<Text, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Dialect::of(&out).push_try_lock(&self.0.table, &self.0.name, &mut out)
    }
}

impl<F, DB> QueryFragment<DB> for Unlock<F>
where
    F: QueryFragment<DB>,
    DB: CounterBackend + HasSqlType<Text>,
    str: ToSql<Text, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Dialect::of(&out).push_unlock(&self.0.table, &self.0.name, &mut out)
    }
}
