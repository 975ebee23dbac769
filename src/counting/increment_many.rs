//! Adding to the counters of many entities in few statements.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::query_dsl::methods::ExecuteDsl;

use crate::backend::{AddedRows, CounterBackend, Dialect, ManyRows, WalkRows};
use crate::counter::{Counters, add, in_range, wide};
use crate::counting::increment::{CountOn, Increment, increment};
use crate::day::Day;
use crate::key::{BindColumns, Dated, KeyOf, KeyType};
use crate::slot::{Slot, SlotRange};
use crate::table::CounterTable;

/// Adds to one or more counters of many entities. `counts` has the key of each entity and the
/// amount to add, in any order. Returns the number of entities that were incremented.
///
/// If `counts` has an entity more than once, its amounts are added up first.
///
/// On PostgreSQL it runs one statement for any number of entities. On the other databases it runs
/// one statement for each 256 entities, and up to eight smaller ones for the rest. All of them are
/// prepared once for each connection. It does not begin a transaction: run it in one if either all
/// entities or none should be counted.
///
/// It counts today. For another day, use `increment(views).of_many(counts).on(day).execute(conn)`.
///
/// Entities are written in the order of their keys, so that two calls do not deadlock. This is why a
/// key is `Ord`. Two calls can deadlock if they spell a key of text in two ways that the collation
/// takes as equal.
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
/// Those of [`increment`], and an [overflow](crate::is_overflow()) if the sum of one entity's
/// amounts is out of the range of an `i64`. On PostgreSQL, it also fails if `counts` spells one key of
/// text in two ways; see [text keys](CounterTable#text-keys).
pub fn increment_many<C, K, Conn>(
    counters: C,
    counts: impl IntoIterator<Item = (K, C::Value)>,
    conn: &mut Conn,
) -> QueryResult<usize>
where
    C: Counters,
    K: Ord,
    IncrementMany<C, K>: CountOn<Conn>,
{
    increment(counters).of_many(counts).execute(conn)
}

/// An increment of the counters `C` of many entities; made by
/// [`Increment::of_many`].
#[must_use = "an increment adds nothing until it is executed"]
#[derive(Debug, Clone)]
pub struct IncrementMany<C: Counters, K> {
    pub(crate) increment: Increment<C>,
    /// The sums of each entity's amounts, in the order of the keys.
    pub(crate) counts: Vec<(K, C::Sums)>,
}

impl<C: Counters> Increment<C> {
    /// Sets many entities, by their keys, and the amount to add to each. See [`increment_many`].
    pub fn of_many<K: Ord>(
        self,
        counts: impl IntoIterator<Item = (K, C::Value)>,
    ) -> IncrementMany<C, K> {
        IncrementMany {
            increment: self,
            counts: add_up::<C, K>(counts),
        }
    }
}

impl<C: Counters, K> IncrementMany<C, K> {
    /// Sets the day to count on, as [`Increment::on`].
    pub fn on(mut self, day: NaiveDate) -> Self {
        self.increment = self.increment.on(day);
        self
    }

    /// Sets how the slot is chosen, as [`Increment::slot`].
    pub fn slot(mut self, slot: Slot) -> Self {
        self.increment = self.increment.slot(slot);
        self
    }

    /// Runs the statements. Returns the number of entities that were incremented.
    ///
    /// # Errors
    ///
    /// Those of [`increment_many`].
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        Self: CountOn<Conn>,
    {
        self.count(conn)
    }
}

impl<C, K, Conn> CountOn<Conn> for IncrementMany<C, K>
where
    C: Counters,
    K: KeyOf<KeyType<C>>,
    Conn: Connection<Backend: CounterBackend>,
    AddRows<C::Table, K::Columns>: ExecuteDsl<Conn>,
{
    fn count(self, conn: &mut Conn) -> QueryResult<usize> {
        let day = *self.increment.day();
        let rows = to_add::<C, K>(self.counts)?;
        let number = rows.len();
        let rows = rows.into_iter().map(|(key, amounts)| (key, day, amounts));
        add_rows::<C::Table, _, _, _>(self.increment.slots, C::NAMES, rows, conn)?;
        Ok(number)
    }
}

/// Adds rows to the counters of these names, in as few statements as the backend needs. Each row has a
/// key, a day and an amount for each counter. The rows must be sorted, with each key and day once.
pub(crate) fn add_rows<T, K, A, Conn>(
    slots: SlotRange,
    counters: &[&'static str],
    rows: impl ExactSizeIterator<Item = (K, Day, A)>,
    conn: &mut Conn,
) -> QueryResult<()>
where
    T: CounterTable,
    K: KeyOf<T::KeyType>,
    A: AsRef<[i64]>,
    Conn: Connection<Backend: CounterBackend>,
    AddRows<T, K::Columns>: ExecuteDsl<Conn>,
{
    let mut add = AddRows::<T, K::Columns>::new(slots, counters, rows);
    let number = add.rows.end;
    while add.rows.start < number {
        let left = number - add.rows.start;
        add.rows.end = add.rows.start + <ManyRows<Conn> as WalkRows<Conn::Backend>>::added(left);
        ExecuteDsl::execute(add.clone(), conn)?;
        add.rows.start = add.rows.end;
    }
    Ok(())
}

/// Returns the keys whose sums are not all 0, in their order, and what to add to each.
fn to_add<C: Counters, K>(counts: Vec<(K, C::Sums)>) -> QueryResult<Vec<(K, C::Amounts)>> {
    let counts = counts.into_iter();
    counts
        .filter(|(_, sums)| sums.as_ref().iter().any(|&sum| sum != 0))
        .map(|(key, sums)| Ok((key, in_range::<C>(sums)?)))
        .collect()
}

/// Adds to several rows of the table `T`.
#[derive(Debug)]
pub struct AddRows<T, Columns> {
    slots: SlotRange,
    added: Arc<Added<Columns>>,
    /// The numbers of the rows that the statement adds.
    rows: Range<usize>,
    /// Whether an amount is out of range.
    overflows: bool,
    table: PhantomData<T>,
}
statement!(AddRows(T, Columns));

#[derive(Debug)]
struct Added<Columns> {
    counters: Vec<&'static str>,
    keys: Dated<Columns>,
    /// For each counter, an amount for each key.
    amounts: Vec<Vec<i64>>,
}

impl<T: CounterTable, Columns: Default> AddRows<T, Columns> {
    fn new<K, A>(
        slots: SlotRange,
        counters: &[&'static str],
        rows: impl ExactSizeIterator<Item = (K, Day, A)>,
    ) -> Self
    where
        K: KeyOf<T::KeyType, Columns = Columns>,
        A: AsRef<[i64]>,
    {
        let number = rows.len();
        let mut keys = Dated::<Columns>::default();
        keys.days.reserve_exact(number);
        let mut amounts = vec![Vec::with_capacity(number); counters.len()];
        for (key, day, of_key) in rows {
            key.push_to(&mut keys.keys);
            keys.days.push(day);
            for (amounts, amount) in amounts.iter_mut().zip(of_key.as_ref()) {
                amounts.push(*amount);
            }
        }
        AddRows {
            slots,
            added: Arc::new(Added {
                counters: counters.to_vec(),
                keys,
                amounts,
            }),
            rows: 0..number,
            overflows: false,
            table: PhantomData,
        }
    }
}

impl<T, Columns> Clone for AddRows<T, Columns> {
    fn clone(&self) -> Self {
        AddRows {
            added: Arc::clone(&self.added),
            rows: self.rows.clone(),
            ..*self
        }
    }
}

impl<T, Columns, DB> QueryFragment<DB> for AddRows<T, Columns>
where
    T: CounterTable + QueryFragment<DB>,
    Columns: BindColumns<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        let Added {
            counters,
            keys,
            amounts,
        } = &*self.added;
        let rows = AddedRows {
            key: T::KEY,
            counters,
            slots: &self.slots,
            columns: keys,
            amounts,
            rows: self.rows.clone(),
        };
        dialect.push_insert_into(T::TABLE, &mut out)?;
        DB::ManyRows::walk_added(&rows, out.reborrow())?;
        if self.overflows {
            // The database fails with its own error: an error here would be a panic where an
            // instrumentation prints the statement.
            out.push_sql(" WHERE 9223372036854775807 + 1 > 0");
        }
        dialect.push_on_conflict_add(T::KEY, counters, &mut out)
    }
}

#[cfg(feature = "postgres")]
impl<C: Counters, K: KeyOf<KeyType<C>>> IncrementMany<C, K> {
    /// The increment as one statement, for a backend that takes any number of rows. If an amount is
    /// out of range, the statement fails.
    pub(crate) fn into_statement(self) -> AddRows<C::Table, K::Columns> {
        let day = *self.increment.day();
        let rows = to_add::<C, K>(self.counts);
        let overflows = rows.is_err();
        let rows = rows.unwrap_or_default().into_iter();
        let rows = rows.map(|(key, amounts)| (key, day, amounts));
        AddRows {
            overflows,
            ..AddRows::new(self.increment.slots, C::NAMES, rows)
        }
    }
}

/// Returns the sums of each entity's amounts, in the order of the keys.
pub(crate) fn add_up<C: Counters, K: Ord>(
    counts: impl IntoIterator<Item = (K, C::Value)>,
) -> Vec<(K, C::Sums)> {
    let counts = counts.into_iter();
    let mut counts: Vec<_> = counts
        .map(|(id, value)| (id, wide::<C>(C::amounts(value))))
        .collect();
    counts.sort_by(|(a, _), (b, _)| a.cmp(b));
    counts.dedup_by(|(id, more), (earlier, sums)| {
        let is_same = id == earlier;
        if is_same {
            add::<C>(sums, more);
        }
        is_same
    });
    counts
}
