//! Many rows as `VALUES (…), (…)`.

use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Date, SmallInt};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, ListedRows};
use crate::counter::{Counters, TableOf};
use crate::counting::increment::{Cell, walk_upsert};
use crate::counting::increment_many::AddRows;
use crate::days::Day;
use crate::key::{Entity, KeyExpression, KeyOf, KeyType};

impl<C, K, Conn> AddRows<C, K, Conn> for ListedRows
where
    C: Counters,
    K: KeyOf<KeyType<C>>,
    Conn: Connection,
    for<'a> IncrementRows<'a, C, KeyExpression<K, C>>: ExecuteDsl<Conn>,
{
    fn add_rows(
        table: &TableOf<C>,
        cell: &Cell,
        rows: Vec<(K, C::Amounts)>,
        conn: &mut Conn,
    ) -> QueryResult<()> {
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(id, amounts)| (id.into_id(), amounts))
            .collect();
        let mut left = &rows[..];
        while !left.is_empty() {
            let (rows, rest) = left.split_at(statement_size(left.len()));
            IncrementRows { table, cell, rows }.execute(conn)?;
            left = rest;
        }
        Ok(())
    }
}

/// The greatest power of two that is at most `rows`, and 256: nine texts in all,
/// far from any database's limit of bind values.
fn statement_size(rows: usize) -> usize {
    1 << rows.ilog2().min(8)
}

#[doc(hidden)]
pub struct IncrementRows<'a, C: Counters, Id> {
    table: &'a TableOf<C>,
    cell: &'a Cell,
    rows: &'a [(Id, C::Amounts)],
}

impl<C: Counters, Id, Conn> RunQueryDsl<Conn> for IncrementRows<'_, C, Id> {}

// Without a static id Diesel caches by the text, which has the number of rows in
// it. There are few texts.
impl<C: Counters, Id> QueryId for IncrementRows<'_, C, Id> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C, Id, DB> QueryFragment<DB> for IncrementRows<'_, C, Id>
where
    C: Counters,
    Id: Entity<C::Table, DB>,
    TableOf<C>: QueryFragment<DB>,
    DB: CounterBackend,
    Day: ToSql<Date, DB>,
    i16: ToSql<SmallInt, DB>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        walk_upsert::<C, _, _>(self.table, self.rows, self.cell, out)
    }
}
