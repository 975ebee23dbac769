//! Adding to the counters of many entities in few statements.

use std::collections::BTreeMap;

use diesel::QueryResult;
use diesel::connection::Connection;

use crate::backend::{CounterBackend, ManyRows};
use crate::counter::{Counters, TableOf};
use crate::counting::increment::{Cell, Increment, increment, is_zero};
use crate::error::overflow;
use crate::key::{KeyOf, KeyType};

/// Adds to counters of many entities: `counts` holds an entity's key and what is
/// added to it, in any order. Returns the number of entities that were incremented.
///
/// What is added to one entity is added up first, and entities go in the order
/// of their keys, so that two such calls do not deadlock.
///
/// On PostgreSQL it is one statement for any number of entities, prepared once. On
/// the others it is one of 256, 128, 64, … 2 and 1 entities each, as few as add up:
/// nine texts, each prepared once. So it belongs in a transaction when all or
/// nothing should be counted.
///
/// As [`increment`] does, this counts on today's date in UTC. For another day, or
/// as a model's `#[counters(…)]` says, use
/// `Article::increment(views).on(day).of_many(counts).execute(conn)`.
///
/// ```
/// # include!("../doctest_setup.rs");
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
/// Those of [`increment`], and an [overflow](crate::is_overflow()) when the amounts of one
/// entity do not add up to an `i64`.
pub fn increment_many<C, K, Conn>(
    counters: C,
    counts: impl IntoIterator<Item = (K, C::Value)>,
    conn: &mut Conn,
) -> QueryResult<usize>
where
    C: Counters,
    K: Ord + KeyOf<KeyType<C>>,
    Conn: Connection,
    Conn::Backend: CounterBackend<ManyRows: AddRows<C, K, Conn>>,
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
    /// Runs the statements. Returns the number of entities that were incremented.
    ///
    /// # Errors
    ///
    /// Those of [`increment_many`].
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: KeyOf<KeyType<C>>,
        Conn: Connection,
        Conn::Backend: CounterBackend<ManyRows: AddRows<C, K, Conn>>,
    {
        let counts = self.counts.ok_or_else(overflow)?;
        let rows: Vec<_> = counts
            .into_iter()
            .filter(|(_, amounts)| !is_zero(amounts))
            .collect();
        if rows.is_empty() {
            return Ok(0);
        }
        let number = rows.len();
        ManyRows::<Conn>::add_rows(&self.table, &self.cell, rows, conn)?;
        Ok(number)
    }
}

/// The statement or statements that add many rows.
#[doc(hidden)]
pub trait AddRows<C: Counters, K, Conn> {
    /// Adds `rows`, one or more, which are sorted by key, and no key is there twice.
    fn add_rows(
        table: &TableOf<C>,
        cell: &Cell,
        rows: Vec<(K, C::Amounts)>,
        conn: &mut Conn,
    ) -> QueryResult<()>;
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
