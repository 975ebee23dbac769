//! Setting counters to a value.

use std::slice;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::result::Error;

use crate::add::many::add_rows;
use crate::add::target::Target;
use crate::correct::stock::set_stock;
use crate::correct::{keep_rows, lock_entities, where_entities};
use crate::day::DayRange;
use crate::key::{BindKey, KeyOf, WholeKey};
use crate::slot::InSlot;
use crate::sql::transaction::{reads_old_snapshots, transaction};
use crate::sql::{CounterBackend, list, load, sql};
use crate::typed::counters::{
    Counters, KeyType, amounts, assert_program_sets, difference, has_stock, is_zero, sum,
};
use crate::typed::table::CounterTable;

/// Sets one or more counters of an entity to a value.
///
/// Give the entity with [`of`](SetCounter::of) and the value with [`to`](SetCounter::to). `execute`
/// adds the difference between the value and the stored total to today's count, and returns the
/// previous total. To set one day's count instead, use [`on`](SetCounter::on). For many entities
/// and days, use [`of_days`](SetCounter::of_days).
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let day = |day| chrono::NaiveDate::from_ymd_opt(2026, 3, day).unwrap();
/// use diesel_counters::prelude::*;
/// use diesel_counters::dsl::set_counter;
/// use schema::article_counters::views;
///
/// increment(views).of(1_i64).by(3).execute(conn)?;
/// let before: i64 = set_counter(views).of(1_i64).to(100).execute(conn)?;
///
/// assert_eq!(before, 3);
/// assert_eq!(counter_value(views).of(1_i64).get_result::<i64>(conn)?, 100);
///
/// let log = [(2_i64, day(1), 10), (2, day(2), 20)];
/// let set: usize = set_counter(views).of_days(log).execute(conn)?;
/// assert_eq!(set, 2);
/// # Ok(())
/// # }
/// ```
///
/// # Concurrency
///
/// Counts of other transactions are neither lost nor counted twice. Other corrections of the entity
/// wait: each locks the entity's merged row of 1970-01-01, or inserts it if it doesn't exist.
/// Increments don't wait, with two exceptions: on SQLite, and on MySQL and MariaDB if you have a
/// transaction open. There, this locks the entity's rows until the transaction ends.
///
/// For a [stock](crate::dsl::take()), this locks every row of the entity and spreads the value over
/// the slots.
pub fn set_counter<C: Counters>(_counters: C) -> SetCounter<C> {
    const { assert_program_sets::<C>() }
    SetCounter {
        target: Target::new(),
        days: DayRange::ALL,
        value: C::Amounts::default(),
    }
}

/// Sets the counters `C` of the entity `Id`; made by [`set_counter`].
#[must_use = "a counter is not set until this is executed"]
#[derive(Debug, Clone)]
pub struct SetCounter<C: Counters, Id = ()> {
    target: Target<C, Id>,
    days: DayRange,
    value: C::Amounts,
}

impl<C: Counters> SetCounter<C> {
    /// Sets the entity, by its key or by its model.
    pub fn of<K, N>(self, id: K) -> SetCounter<C, K::Value>
    where
        K: KeyOf<KeyType<C>, N, Types: WholeKey<KeyType<C>>>,
    {
        SetCounter {
            target: self.target.with_key(id.into_value()),
            days: self.days,
            value: self.value,
        }
    }
}

impl<C: Counters, Id> SetCounter<C, Id> {
    /// Sets the value, or a tuple of values. Defaults to 0.
    pub fn to(mut self, value: C::Value) -> Self {
        self.value = C::amounts(value);
        self
    }

    /// Sets this day's count instead of the total. Counts of other days don't change. If the table
    /// counts by week, month or year, this sets the count of the period that contains `day`.
    pub fn on(mut self, day: NaiveDate) -> Self {
        self.target.set_day(day);
        self.days = DayRange::period_of(day, C::Table::PERIOD);
        self
    }

    /// Sets the counters. Returns the previous value, or a tuple of them.
    ///
    /// This runs several statements in a transaction, or in a savepoint if a transaction is open.
    /// On MySQL and MariaDB, the transaction is READ COMMITTED.
    ///
    /// # Errors
    ///
    /// Returns the database's own errors, for example a serialization failure above [READ
    /// COMMITTED](crate::guide::counting#isolation-levels), and an [overflow](crate::is_overflow())
    /// if the previous value, the difference or a row doesn't fit an `i64`.
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<C::Value>
    where
        Id: BindKey<KeyType<C>, Conn::Backend> + Clone,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        if has_stock::<C>() {
            let only_counter = 0; // A stock isn't set together with other counters.
            let units = self.value.as_ref()[only_counter];
            let mut before = C::Amounts::default();
            before.as_mut()[only_counter] = set_stock(&self.target, units, conn)?;
            return Ok(C::value(before));
        }
        let shape = C::Table::shape();
        let locks_rows = reads_old_snapshots(conn)?;
        transaction(conn, |conn| {
            let key = &self.target.entity.0;
            lock_entities::<KeyType<C>, Id, _>(shape, C::NAMES, slice::from_ref(key), conn)?;
            keep_rows(shape, &self.target.entity, conn)?;
            let before = if locks_rows {
                self.sum_of_locked_rows(conn)?
            } else {
                self.sum(conn)?
            };
            let difference = difference(self.value, &before)?;
            if !is_zero(&difference) {
                let row = (key.clone(), *self.target.day(), difference);
                let rows = [row].into_iter();
                add_rows::<KeyType<C>, Id, _, _>(shape, C::NAMES, InSlot::Chosen, rows, conn)?;
            }
            Ok(C::value(before))
        })
    }

    /// Returns the stored count of each counter.
    fn sum<Conn>(&self, conn: &mut Conn) -> QueryResult<C::Amounts>
    where
        Id: BindKey<KeyType<C>, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = C::Table::shape();
        let first_column = 0;
        let sums = load(
            conn,
            |db| {
                let sums = list(", ", C::NAMES.iter().map(|name| db.sum(*name)));
                let rows = where_entities(db, shape, &self.target.entity, &self.days);
                sql!("{db.select()}{sums} FROM {shape.table}{rows}")
            },
            |row| amounts::<C, Conn::Backend>(row, first_column),
        )?;
        sums.into_iter().next().ok_or(Error::NotFound)
    }

    /// Locks the rows and adds them up, for a MySQL or MariaDB transaction whose queries can read
    /// old rows.
    ///
    /// At READ COMMITTED, another transaction can commit two rows during a read: one that the read
    /// has already passed, and one that it reaches later. So this reads until two reads in a row
    /// return the same number of rows. The rows of the earlier read are locked, so they haven't
    /// changed.
    fn sum_of_locked_rows<Conn>(&self, conn: &mut Conn) -> QueryResult<C::Amounts>
    where
        Id: BindKey<KeyType<C>, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = C::Table::shape();
        let first_column = 0;
        let mut earlier_count = None;
        loop {
            let rows = load(
                conn,
                |db| {
                    let table = shape.table;
                    let rows = where_entities(db, shape, &self.target.entity, &self.days);
                    let end = db.read_latest(shape.day(), shape.slot());
                    sql!("{db.select()}{C::NAMES} FROM {table}{db.index_hint()}{rows}{end}")
                },
                |row| amounts::<C, Conn::Backend>(row, first_column),
            )?;
            if earlier_count == Some(rows.len()) {
                return sum(&rows);
            }
            earlier_count = Some(rows.len());
        }
    }
}
