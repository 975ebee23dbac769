//! Adding to the counters of many entities in few statements.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{AddedRows, CounterBackend, Dialect, ListRows, ManyRows, WalkRows};
use crate::counter::Counters;
use crate::counting::increment::{CountOn, DaySlots, Increment, increment};
use crate::error::overflow;
use crate::slot::Slot;
use crate::table::{CounterTable, EntityTable, TableName};

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
/// It counts on today's date in UTC, over [`DEFAULT_SLOTS`](crate::DEFAULT_SLOTS), as [`increment`]
/// does. For a model whose `#[counters(…)]` has other settings, or for another day, use
/// `Article::increment(views).of_many(counts).on(day).execute(conn)`.
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
    pub(crate) counts: BTreeMap<K, Sums>,
}

/// The sum for each counter. In an `i128`, so that it does not overflow because of the order of the
/// amounts.
pub(crate) type Sums = Vec<i128>;

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
    C: Counters<Table: EntityTable>,
    Conn: Connection<Backend: CounterBackend<ManyRows: ListRows>>,
    for<'a> AddRows<'a, C::Table, K>: ExecuteDsl<Conn>,
{
    fn count(self, conn: &mut Conn) -> QueryResult<usize> {
        let rows = to_add(self.counts)?;
        let number = rows.len();
        let Increment { place, .. } = &self.increment;
        add_rows(self.increment.table(), place, C::NAMES, rows, conn)?;
        Ok(number)
    }
}

/// Adds rows to the counters of these names, in as few statements as the backend needs. The rows
/// must be sorted by key, with each key once.
pub(crate) fn add_rows<T, K, A, Conn>(
    table: &TableName<T>,
    place: &DaySlots,
    counters: &[&str],
    rows: Vec<(K, A)>,
    conn: &mut Conn,
) -> QueryResult<()>
where
    T: EntityTable,
    A: AsRef<[i64]>,
    Conn: Connection<Backend: CounterBackend<ManyRows: ListRows>>,
    for<'a> AddRows<'a, T, K>: ExecuteDsl<Conn>,
{
    let (keys, amounts) = columns(rows, counters.len());
    let mut begin = 0;
    while begin < keys.len() {
        let end = begin + ManyRows::<Conn>::added(keys.len() - begin);
        let amounts = amounts.iter().map(|of| &of[begin..end]).collect();
        let rows = added_rows::<T, K>(place, counters, &keys[begin..end], amounts);
        AddRows { table, rows }.execute(conn)?;
        begin = end;
    }
    Ok(())
}

/// Returns the keys whose sums are not all 0, in their order, and what to add to each.
fn to_add<K>(counts: BTreeMap<K, Sums>) -> QueryResult<Vec<(K, Vec<i64>)>> {
    let counts = counts.into_iter();
    counts
        .filter(|(_, sums)| sums.iter().any(|&sum| sum != 0))
        .map(|(key, sums)| Ok((key, in_range(sums)?)))
        .collect()
}

/// Returns the sums as counts, or an overflow.
pub(crate) fn in_range(sums: impl IntoIterator<Item = i128>) -> QueryResult<Vec<i64>> {
    let counts = sums.into_iter().map(i64::try_from);
    counts.collect::<Result<_, _>>().map_err(|_| overflow())
}

/// Returns the keys, and for each counter an amount for each key.
fn columns<K, A: AsRef<[i64]>>(rows: Vec<(K, A)>, counters: usize) -> (Vec<K>, Vec<Vec<i64>>) {
    let (keys, amounts): (Vec<K>, Vec<A>) = rows.into_iter().unzip();
    let amounts = (0..counters)
        .map(|counter| amounts.iter().map(|of| of.as_ref()[counter]).collect())
        .collect();
    (keys, amounts)
}

fn added_rows<'a, T: EntityTable, K>(
    place: &'a DaySlots,
    counters: &'a [&'a str],
    keys: &'a [K],
    amounts: Vec<&'a [i64]>,
) -> AddedRows<'a, K> {
    AddedRows {
        key: [T::ENTITY.unwrap_or_default(), T::DAY, T::SLOT],
        counters,
        day: &place.day,
        slots: &place.slots,
        keys,
        amounts,
    }
}

/// Adds to several rows of the table `T`.
#[derive(Debug)]
pub struct AddRows<'a, T: CounterTable, K> {
    table: &'a TableName<T>,
    rows: AddedRows<'a, K>,
}

impl<T: CounterTable, K, Conn> RunQueryDsl<Conn> for AddRows<'_, T, K> {}

// Without a static id Diesel caches a statement by its text, which can have the number of rows in
// it. There are few texts.
impl<T: CounterTable, K> QueryId for AddRows<'_, T, K> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T, K, DB> QueryFragment<DB> for AddRows<'_, T, K>
where
    T: CounterTable,
    TableName<T>: QueryFragment<DB>,
    DB: CounterBackend<ManyRows: WalkRows<K, T::KeyType, DB>>,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        walk_upsert_many::<T, K, DB>(self.table, &self.rows, out)
    }
}

fn walk_upsert_many<'b, T, K, DB>(
    table: &'b TableName<T>,
    rows: &AddedRows<'b, K>,
    mut out: AstPass<'_, 'b, DB>,
) -> QueryResult<()>
where
    T: CounterTable,
    TableName<T>: QueryFragment<DB>,
    DB: CounterBackend<ManyRows: WalkRows<K, T::KeyType, DB>>,
{
    let dialect = Dialect::of(&out);
    dialect.push_insert_into(table, &mut out)?;
    DB::ManyRows::walk_added(rows, out.reborrow())?;
    dialect.push_on_conflict_add(T::KEY, rows.counters, &mut out)
}

/// An increment of many entities that is one statement.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone)]
pub struct UpsertMany<C: Counters, K> {
    table: TableName<C::Table>,
    place: DaySlots,
    /// The keys, and for each counter an amount for each key; `None` if an amount is out of range.
    columns: Option<(Vec<K>, Vec<Vec<i64>>)>,
}

#[cfg(feature = "postgres")]
impl<C: Counters<Table: EntityTable>, K> IncrementMany<C, K> {
    pub(crate) fn into_upsert(self) -> UpsertMany<C, K> {
        UpsertMany {
            table: self.increment.table().clone(),
            place: self.increment.place,
            columns: to_add(self.counts)
                .ok()
                .map(|rows| columns(rows, C::NAMES.len())),
        }
    }
}

// Diesel caches the statement by its text, which is the same for any number of rows.
#[cfg(feature = "postgres")]
impl<C: Counters, K> QueryId for UpsertMany<C, K> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

#[cfg(feature = "postgres")]
impl<C, K, DB> QueryFragment<DB> for UpsertMany<C, K>
where
    C: Counters<Table: EntityTable>,
    TableName<C::Table>: QueryFragment<DB>,
    DB: CounterBackend<ManyRows: WalkRows<K, <C::Table as CounterTable>::KeyType, DB>>,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let (keys, amounts) = self.columns.as_ref().ok_or_else(overflow)?;
        let amounts = amounts.iter().map(Vec::as_slice).collect();
        let rows = added_rows::<C::Table, K>(&self.place, C::NAMES, keys, amounts);
        walk_upsert_many::<C::Table, K, DB>(&self.table, &rows, out)
    }
}

/// Returns the sums of each entity's amounts.
fn add_up<C: Counters, K: Ord>(
    counts: impl IntoIterator<Item = (K, C::Value)>,
) -> BTreeMap<K, Sums> {
    let mut sums = BTreeMap::<K, Sums>::new();
    for (id, value) in counts {
        let amounts = C::amounts(value);
        let sum = sums.entry(id).or_insert_with(|| vec![0; C::NAMES.len()]);
        for (sum, amount) in sum.iter_mut().zip(amounts.as_ref()) {
            *sum += i128::from(*amount);
        }
    }
    sums
}
