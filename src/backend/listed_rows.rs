//! Many rows as `VALUES (…), (…)`, and many keys as `IN (…)`.

use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Date, HasSqlType, SingleValue, SmallInt};
use diesel::{QueryResult, RunQueryDsl};

use super::{CounterBackend, Dialect, ListedRows};
use crate::counter::{Counters, TableOf};
use crate::counting::increment::{DaySlots, walk_upsert};
use crate::counting::increment_many::AddRows;
use crate::day::Day;
use crate::entity::{Entity, KeyExpression, KeyOf, KeyType, ListKeys, WalkKeys};

impl<C, K, Conn> AddRows<C, K, Conn> for ListedRows
where
    C: Counters,
    K: KeyOf<KeyType<C>>,
    Conn: Connection,
    for<'a> IncrementRows<'a, C, KeyExpression<K, C>>: ExecuteDsl<Conn>,
{
    fn add_rows(
        table: &TableOf<C>,
        place: &DaySlots,
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
            IncrementRows { table, place, rows }.execute(conn)?;
            left = rest;
        }
        Ok(())
    }
}

/// Returns the greatest power of two that is at most `rows` and at most 256. This makes nine texts,
/// whose numbers of bind values are far below the limit of each database.
fn statement_size(rows: usize) -> usize {
    1 << rows.ilog2().min(8)
}

/// Adds to the counters of several entities.
#[doc(hidden)]
#[derive(Debug)]
pub struct IncrementRows<'a, C: Counters, Id> {
    table: &'a TableOf<C>,
    place: &'a DaySlots,
    rows: &'a [(Id, C::Amounts)],
}

impl<C: Counters, Id, Conn> RunQueryDsl<Conn> for IncrementRows<'_, C, Id> {}

// The text depends on the number of rows, so there is no static id. Diesel then caches a statement
// by its text. There are few texts.
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
        walk_upsert::<C, _, _>(self.table, self.rows, self.place, out)
    }
}

impl ListKeys for ListedRows {
    // SQLite allows 32,766 bind values in a statement, and MySQL 65,535. Two of them can be days.
    const LIMIT: usize = 32_764;
    // On MySQL and MariaDB, each key is one SELECT of a UNION.
    const NUMBERED_LIMIT: usize = 1_000;

    fn padded(number: usize, limit: usize) -> usize {
        number.next_power_of_two().min(limit)
    }
}

impl<K, ST, DB> WalkKeys<K, ST, DB> for ListedRows
where
    DB: CounterBackend + HasSqlType<ST>,
    K: ToSql<ST, DB>,
    ST: SingleValue,
{
    fn walk_in<'b>(keys: &'b [K], mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        for (i, key) in keys.iter().enumerate() {
            out.push_sql(if i == 0 { " IN (" } else { ", " });
            out.push_bind_param::<ST, _>(key)?;
        }
        out.push_sql(")");
        Ok(())
    }

    fn walk_from_numbered<'b, T>(
        keys: &'b [K],
        table: &'b T,
        entity: &str,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        T: QueryFragment<DB>,
    {
        Dialect::of(&out).push_from_numbered(
            table,
            entity,
            keys.len(),
            |i, out: &mut AstPass<'_, 'b, DB>| out.push_bind_param::<ST, _>(&keys[i]),
            &mut out,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_sizes_of_lists_are_prepared() {
        let sizes = [1, 2, 3, 600, 1_000].map(|n| ListedRows::padded(n, 1_000));
        assert_eq!(sizes, [1, 2, 4, 1_000, 1_000]);
    }
}
