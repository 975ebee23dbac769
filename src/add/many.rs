//! Adding to the counters of many entities in few statements.

use std::ops::Range;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::Connection;

use crate::add::increment::Increment;
use crate::day::Day;
use crate::shape::{Name, Shape};
use crate::slot::SlotRange;
use crate::sql::{Bind, CounterBackend, Dialect, Sql, Values, arrays, execute, row, rows, sql};
use crate::typed::counters::{Counters, KeyType, add, is_zero};
use crate::typed::key::{BindKey, columns_of};
use crate::typed::settings::CounterSettings;

/// An increment of the counters `C` of many entities; made by
/// [`Increment::of_many`].
#[must_use = "an increment adds nothing until it is executed"]
#[derive(Debug, Clone)]
pub struct IncrementMany<C: Counters, K> {
    pub(crate) increment: Increment<C>,
    pub(crate) counts: Vec<(K, C::Amounts)>,
}

impl<C: Counters> Increment<C> {
    /// Sets many entities, by their keys, and the amount to add to each, in any order. The amounts
    /// of an entity that is given more than once are added up first.
    ///
    /// On PostgreSQL it runs one statement for any number of entities. On the other databases it
    /// runs one statement for each 256 entities, and up to eight smaller ones for the rest. It does
    /// not begin a transaction: run it in one if either all entities or none should be counted.
    ///
    /// Entities are written in the order of their keys, so that two calls do not deadlock, unless
    /// they spell a key of text in two ways that the collation takes as equal.
    ///
    /// ```
    /// # include!("../doctest_setup.rs");
    /// # fn main() -> diesel::QueryResult<()> {
    /// # let conn = &mut establish_connection();
    /// use diesel_counters::prelude::*;
    /// use schema::article_counters::{likes, views};
    ///
    /// let counts = [(2_i64, 5), (1, 1), (2, 2)];
    /// conn.transaction(|conn| increment(views).of_many(counts).execute(conn))?;
    ///
    /// let of_two: i64 = counter_value(views).of(2_i64).get_result(conn)?;
    /// assert_eq!(of_two, 7);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`increment`](crate::dsl::increment()), and an [overflow](crate::is_overflow()) if
    /// the sum of one entity's amounts is out of the range of an `i64`. On PostgreSQL, it also
    /// fails if `counts` spells one key of text in two ways; see [text
    /// keys](crate::CounterTable#text-keys).
    pub fn of_many<K: Ord>(
        self,
        counts: impl IntoIterator<Item = (K, C::Value)>,
    ) -> IncrementMany<C, K> {
        let counts = counts.into_iter();
        IncrementMany {
            increment: self,
            counts: counts
                .map(|(key, amount)| (key, C::amounts(amount)))
                .collect(),
        }
    }
}

impl<C: Counters, K: Ord> IncrementMany<C, K> {
    /// Sets the day to count on, as [`Increment::on`].
    pub fn on(mut self, day: NaiveDate) -> Self {
        self.increment = self.increment.on(day);
        self
    }

    /// Sets how the slot is chosen, for the tests of the repository.
    #[doc(hidden)]
    pub fn slot(mut self, slot: crate::slot::Slot) -> Self {
        self.increment = self.increment.slot(slot);
        self
    }

    /// Runs the statements. Returns the number of entities that were incremented.
    ///
    /// # Errors
    ///
    /// Those of [`Increment::of_many`].
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: BindKey<KeyType<C>, Conn::Backend>,
        Conn: Connection<Backend: CounterBackend>,
    {
        let (slots, day) = (self.increment.slots, *self.increment.day());
        let rows = Rows::new::<KeyType<C>, _, _, Conn::Backend>(C::NAMES, self.added(day)?);
        let number = rows.days.len();
        add_rows(C::Table::shape(), &slots, &rows, conn)?;
        Ok(number)
    }

    /// Returns the sum of each entity's amounts, in the order of the keys, and leaves out sums of 0.
    fn added(self, day: Day) -> QueryResult<impl ExactSizeIterator<Item = (K, Day, C::Amounts)>> {
        let mut sums = add_up(self.counts)?;
        sums.retain(|(_, amounts)| !is_zero(amounts));
        let sums = sums.into_iter();
        Ok(sums.map(move |(key, amounts)| (key, day, amounts)))
    }
}

/// Returns the sums of each key's amounts, in the order of the keys.
pub(crate) fn add_up<K: Ord, A: AsRef<[i64]> + AsMut<[i64]>>(
    mut counts: Vec<(K, A)>,
) -> QueryResult<Vec<(K, A)>> {
    counts.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut added = Ok(());
    counts.dedup_by(|(key, more), (earlier, sums)| {
        let is_same = key == earlier;
        if is_same && added.is_ok() {
            added = add(sums, more);
        }
        is_same
    });
    added.map(|()| counts)
}

/// Rows to add: keys, each with a day, and an amount for each counter. They are sorted, with each key
/// and day once.
#[derive(Debug)]
pub(crate) struct Rows<'n, Keys> {
    counters: &'n [Name<'n>],
    keys: Keys,
    days: Vec<Day>,
    /// For each counter, an amount for each row.
    amounts: Vec<Vec<i64>>,
}

impl<'n, Keys> Rows<'n, Keys> {
    pub(crate) fn new<Types, K, A, DB>(
        counters: &'n [Name<'n>],
        rows: impl ExactSizeIterator<Item = (K, Day, A)>,
    ) -> Self
    where
        K: BindKey<Types, DB, Columns = Keys>,
        A: AsRef<[i64]>,
        DB: CounterBackend,
    {
        let number = rows.len();
        let mut days = Vec::with_capacity(number);
        let mut amounts = vec![Vec::with_capacity(number); counters.len()];
        let keys = columns_of(rows.map(|(key, day, of_key)| {
            days.push(day);
            for (amounts, amount) in amounts.iter_mut().zip(of_key.as_ref()) {
                amounts.push(*amount);
            }
            key
        }));
        Rows {
            counters,
            keys,
            days,
            amounts,
        }
    }

    /// The statement that adds some of these rows.
    fn insert<'a, DB>(
        &'a self,
        db: Dialect,
        shape: &'a Shape<'a>,
        slots: &'a SlotRange,
        rows: Range<usize>,
    ) -> Sql<'a, DB>
    where
        Keys: Values<DB>,
        DB: CounterBackend,
    {
        let (table, counters) = (&shape.table, self.counters);
        if DB::HAS_ARRAYS {
            // The slot is first: a subquery runs once, and an expression once for each row.
            let mut columns = vec![shape.slot()];
            columns.extend(shape.entity_and_day());
            let insert = db.insert_into(*table, &columns, counters);
            let mut values = arrays(&self.keys, rows.clone());
            values.push(sql!("{Bind::Days(&self.days[rows.clone()])}"));
            let amounts = self.amounts.iter();
            values.extend(amounts.map(|of| sql!("{Bind::Amounts(&of[rows.clone()])}")));
            return sql!(
                "{insert} SELECT (SELECT {db.slot(slots, true)}), row.* FROM unnest({&values}) AS row"
            );
        }
        self.listed(db, shape, rows, |is_first| db.slot(slots, is_first))
    }

    /// The statement as on every backend, with the slot of the first row and of the others.
    pub(crate) fn listed<'a, DB>(
        &'a self,
        db: Dialect,
        shape: &'a Shape<'a>,
        rows: Range<usize>,
        slot: impl Fn(bool) -> Sql<'a, DB>,
    ) -> Sql<'a, DB>
    where
        Keys: Values<DB>,
        DB: CounterBackend,
    {
        let insert = db.insert_into(shape.table, &shape.key, self.counters);
        let first = rows.start;
        let values = rows::values(rows, |i| {
            let mut values = row(&self.keys, i);
            values.push(sql!("{&self.days[i]}"));
            values.push(slot(i == first));
            values.extend(self.amounts.iter().map(|of| sql!("{&of[i]}")));
            values
        });
        sql!("{insert} VALUES {values}")
    }

    pub(crate) fn all(&self) -> Range<usize> {
        0..self.days.len()
    }
}

/// Adds rows to a counter table, in as few statements as the backend needs.
pub(crate) fn add_rows<Keys, Conn>(
    shape: &Shape<'_>,
    slots: &SlotRange,
    rows: &Rows<'_, Keys>,
    conn: &mut Conn,
) -> QueryResult<()>
where
    Keys: Values<Conn::Backend>,
    Conn: Connection<Backend: CounterBackend>,
{
    let mut first = 0;
    while first < rows.days.len() {
        let end = first + rows::in_one_insert::<Conn::Backend>(rows.days.len() - first);
        execute(conn, |db| {
            let insert = rows.insert(db, shape, slots, first..end);
            sql!("{insert}{db.on_conflict_add(&shape.key, rows.counters)}")
        })?;
        first = end;
    }
    Ok(())
}
