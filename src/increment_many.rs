//! Adding to the counters of many entities in few statements.

use std::collections::BTreeMap;

use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::result::Error;
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Date, SmallInt};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::CounterBackend;
use crate::counter::{Counters, TableOf};
use crate::increment::{Cell, Increment, increment, is_zero, walk_upsert};
use crate::key::{Entity, KeyExpression, KeyOf};
use crate::period::Day;
use crate::slot::SlotNumber;

/// Adds to counters of many entities: `counts` holds an entity's key and what is
/// added to it, in any order. Answers with the number of entities counted.
///
/// What is added to one entity is added up first, and entities go in the order
/// of their keys, so that two such calls do not deadlock.
///
/// It takes one statement for up to 256 entities when their number is a power of
/// two, and one for each binary digit that is 1 otherwise; so the texts are few
/// and each is prepared once. Being several statements, it belongs in a
/// transaction when all or nothing should be counted.
///
/// As [`increment`] does, this counts on today's date in UTC. For another day, or
/// as a model's `#[counters(…)]` says, use
/// `Article::increment(views).on(day).of_many(counts).execute(conn)`.
///
/// ```
/// # include!("doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::prelude::*;
/// use schema::article_counters::{likes, views};
///
/// conn.transaction(|conn| increment_many(views, [(2_i64, 5), (1, 1), (2, 2)], conn))?;
///
/// let of_two: i64 = counter_value(views).of(2_i64).get_result(conn)?;
/// assert_eq!(of_two, 7);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Those of [`increment`], and an error when what is added to one entity does not
/// fit an `i64`.
pub fn increment_many<C, K, Conn>(
    counters: C,
    counts: impl IntoIterator<Item = (K, C::Value)>,
    conn: &mut Conn,
) -> QueryResult<usize>
where
    C: Counters,
    K: Ord + KeyOf<C::Table>,
    Conn: Connection,
    for<'a> IncrementRows<'a, C, KeyExpression<K, C>>: ExecuteDsl<Conn>,
{
    increment(counters).of_many(counts).execute(conn)
}

/// An increment of the counters `C` of many entities; made by
/// [`Increment::of_many`].
#[must_use = "an increment counts nothing until it is executed"]
pub struct IncrementMany<C: Counters, K> {
    table: TableOf<C>,
    cell: Cell,
    /// `None` where an entity's amounts overflow.
    counts: Option<BTreeMap<K, C::Amounts>>,
}

impl<C: Counters> Increment<C> {
    /// Names many entities, each with what is added to it; see [`increment_many`].
    pub fn of_many<K: Ord>(
        self,
        counts: impl IntoIterator<Item = (K, C::Value)>,
    ) -> IncrementMany<C, K> {
        IncrementMany {
            table: self.table,
            cell: self.cell,
            counts: add_up::<C, K>(counts),
        }
    }
}

impl<C: Counters, K: Ord> IncrementMany<C, K> {
    /// Runs the statements; answers with the number of entities counted.
    ///
    /// # Errors
    ///
    /// Those of [`increment_many`].
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: KeyOf<C::Table>,
        Conn: Connection,
        for<'a> IncrementRows<'a, C, KeyExpression<K, C>>: ExecuteDsl<Conn>,
    {
        let counts = self.counts.ok_or_else(|| {
            Error::QueryBuilderError("what is added to one entity does not fit an i64".into())
        })?;
        let rows: Vec<_> = counts
            .into_iter()
            .filter(|(_, amounts)| !is_zero(amounts))
            .map(|(id, amounts)| (id.as_expression(), amounts))
            .collect();

        let mut left = &rows[..];
        while !left.is_empty() {
            let (chunk, rest) = left.split_at(statement_size(left.len()));
            let statement = IncrementRows {
                table: &self.table,
                cell: &self.cell,
                rows: chunk,
            };
            statement.execute(conn)?;
            left = rest;
        }
        Ok(rows.len())
    }
}

/// The greatest power of two that is at most `rows`, and 256: nine texts in all,
/// far from any database's limit of bind values.
fn statement_size(rows: usize) -> usize {
    1 << rows.ilog2().min(8)
}

/// Each entity's amounts in one, or `None` when one does not fit.
fn add_up<C: Counters, K: Ord>(
    counts: impl IntoIterator<Item = (K, C::Value)>,
) -> Option<BTreeMap<K, C::Amounts>> {
    // Whether a sum fits must not depend on the order of what is added up.
    let mut sums = BTreeMap::<K, Vec<i128>>::new();
    for (id, value) in counts {
        let amounts = C::amounts(value);
        let sum = sums.entry(id).or_insert_with(|| vec![0; C::NAMES.len()]);
        for (sum, amount) in sum.iter_mut().zip(amounts.as_ref()) {
            *sum += i128::from(*amount);
        }
    }
    sums.into_iter()
        .map(|(id, sum)| {
            let mut amounts = C::ONE_EACH;
            for (amount, sum) in amounts.as_mut().iter_mut().zip(sum) {
                *amount = i64::try_from(sum).ok()?;
            }
            Some((id, amounts))
        })
        .collect()
}

/// One statement of an [`IncrementMany`].
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
    Id: Entity<DB>,
    TableOf<C>: QueryFragment<DB>,
    DB: CounterBackend,
    Day: ToSql<Date, DB>,
    SlotNumber: ToSql<SmallInt, DB>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        walk_upsert::<C, _, _>(self.table, self.rows, self.cell, out)
    }
}
