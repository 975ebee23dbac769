//! Setting the counts of many entities on many days.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::result::Error;
use diesel::row::Row;

use crate::add::many::{self, add_up};
use crate::correct::set::SetCounter;
use crate::day::{Day, DayRange, Period, UNDATED};
use crate::error::overflow;
use crate::shape::{Name, Shape};
use crate::slot::Partition;
use crate::sql::transaction::{refuse_old_snapshots, transaction};
use crate::sql::{
    Binds as _, CounterBackend, Dialect, NUMBER, Sql, Uncached, Values, execute, list, load, row,
    sql, where_all,
};
use crate::typed::counters::{Counters, KeyType};
use crate::typed::key::{BindKey, KeyTypes, KeyValue, columns_of};
use crate::typed::settings::CounterSettings;

/// Sets the counts of many entities on many days; made by
/// [`SetCounter::of_days`](crate::dsl::SetCounter::of_days), or, for a table that is known only at run
/// time, by [`SetDays::of_shape`].
///
/// The keys have the SQL types `Types` and the Rust type `K`. `A` are the counts of an entity's day.
#[must_use = "counts are not set until this is executed"]
pub struct SetDays<'p, Types, K, A> {
    shape: &'p Shape<'p>,
    counters: &'p [Name<'p>],
    /// In the order in which rows are locked, or an overflow.
    counts: QueryResult<Vec<Count<K, A>>>,
    batch: usize,
    spellings: Spellings<K>,
    partition: Partition,
    on_progress: Box<dyn FnMut(CountsSet) + Send + 'p>,
    of: PhantomData<fn() -> Types>,
}

/// A key, a day, and a count for each counter.
type Count<K, A> = ((K, Reverse<NaiveDate>), A);

/// The keys that were given, and the texts of the keys that are stored for them. If there are fewer of
/// these, two keys that were given are one key in the table, by its collation.
#[derive(Debug)]
pub struct Spellings<K>(Arc<Mutex<KeysAndTexts<K>>>);

type KeysAndTexts<K> = (BTreeSet<K>, BTreeSet<Vec<String>>);

impl<K> Default for Spellings<K> {
    fn default() -> Self {
        Spellings(Arc::new(Mutex::new((BTreeSet::new(), BTreeSet::new()))))
    }
}

/// The result of a [`SetDays`](crate::dsl::SetDays), or its progress so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CountsSet {
    /// The number of counts, one for each entity and day, that were compared.
    pub compared: usize,
    /// The number of counts that differed from the stored ones.
    pub different: usize,
}

impl<Types, K, A> fmt::Debug for SetDays<'_, Types, K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetDays")
            .field("table", &self.shape.label)
            .field("counts", &self.counts.as_ref().map(Vec::len))
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}

/// The greatest number of counts in a transaction. Statements with more keys take long to prepare.
const MAX_BATCH: usize = 1_000;

/// The [`SetDays`] of counters `C`, for keys `K`.
pub type SetDaysOf<C, K> = SetDays<'static, KeyType<C>, K, <C as Counters>::Amounts>;

impl<C: Counters> SetCounter<C> {
    /// Sets the counts of many entities on many days: an import. `counts` has the key of an entity,
    /// a day, and the count of this day, in any order. Counts of other days, and of other entities,
    /// do not change. The same import twice changes nothing, so an import that failed can be run
    /// again.
    ///
    /// ```
    /// # include!("../doctest_setup.rs");
    /// # fn main() -> diesel::QueryResult<()> {
    /// # let conn = &mut establish_connection();
    /// # let day = |day| chrono::NaiveDate::from_ymd_opt(2026, 3, day).unwrap();
    /// use diesel_counters::dsl::set_counter;
    /// use diesel_counters::prelude::*;
    /// use schema::article_counters::views;
    ///
    /// let log = [(1_i64, day(1), 10), (1, day(2), 20), (2, day(1), 30)];
    /// let set = set_counter(views).of_days(log).execute(conn)?;
    /// assert_eq!((set.compared, set.different), (3, 3));
    ///
    /// let series = counter_series(views).of(1_i64).load(conn)?;
    /// assert_eq!(series, [(day(1), 10), (day(2), 20)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// - If `counts` has a day of an entity more than once, its counts are added up: give all
    ///   counts of a day in one call. If the table counts by week, month or year, the days of a
    ///   period are added up too.
    /// - **Do not set days that were [folded](crate::dsl::fold()).** Their counts are part of the
    ///   count of the month, and would be counted twice. Set the whole month, on its first day.
    ///
    /// # Concurrency
    ///
    /// Each [batch](SetDays::batch) is a transaction, or a savepoint if a transaction is open. It
    /// first locks its entities against other corrections, as [`SetCounter::execute`] does.
    /// Increments do not wait for it, except on SQLite, and are neither lost nor counted twice. It
    /// writes to slot 0. A merge of rows without a day that runs at the same time can deadlock with
    /// it.
    pub fn of_days<K>(
        self,
        counts: impl IntoIterator<Item = (K, NaiveDate, C::Value)>,
    ) -> SetDaysOf<C, K>
    where
        K: KeyValue<KeyType<C>> + Ord,
    {
        let counts = counts.into_iter().map(|(key, day, count)| {
            let day = C::Table::PERIOD.start(day);
            ((key, Reverse(day)), C::amounts(count))
        });
        SetDays::new(C::Table::shape(), C::NAMES, counts.collect())
    }
}

impl<'p, Types, K: Ord> SetDays<'p, Types, K, [i64; 1]> {
    /// Sets the counts of the first counter of `shape`, for a table that is known only at run time. If the
    /// table does not count by day, give the first days of its periods.
    #[doc(hidden)]
    pub fn of_shape(
        shape: &'p Shape<'p>,
        counts: impl IntoIterator<Item = (K, NaiveDate, i64)>,
    ) -> Self {
        let counts = counts.into_iter();
        let counts = counts.map(|(key, day, count)| ((key, Reverse(day)), [count]));
        SetDays::new(shape, &shape.counters[..1], counts.collect())
    }
}

impl<'p, Types, K: Ord, A: AsRef<[i64]> + AsMut<[i64]>> SetDays<'p, Types, K, A> {
    fn new(shape: &'p Shape<'p>, counters: &'p [Name<'p>], counts: Vec<Count<K, A>>) -> Self {
        SetDays {
            shape,
            counters,
            counts: add_up(counts),
            batch: MAX_BATCH,
            spellings: Spellings::default(),
            partition: Partition::chosen(),
            on_progress: Box::new(|_| ()),
            of: PhantomData,
        }
    }
}

impl<'p, Types, K, A> SetDays<'p, Types, K, A> {
    /// Sets how many counts are set in one transaction: from 1 to 1,000. Defaults to 1,000. A number
    /// outside of this range is replaced by the nearest one in it.
    pub fn batch(mut self, counts: usize) -> Self {
        self.batch = counts.clamp(1, MAX_BATCH);
        self
    }

    /// Calls `f` after each transaction, with the progress so far.
    pub fn on_progress(mut self, f: impl FnMut(CountsSet) + Send + 'p) -> Self {
        self.on_progress = Box::new(f);
        self
    }

    /// Compares the spelling of the keys with that of others too, for an import in several parts.
    #[doc(hidden)]
    pub fn spelled_as(mut self, spellings: &Spellings<K>) -> Self {
        self.spellings = Spellings(Arc::clone(&spellings.0));
        self
    }

    /// Compares the counts with the stored ones, and sets none. Returns the number of those that
    /// differ, in [`different`](CountsSet::different).
    ///
    /// # Errors
    ///
    /// Those of [`execute`](SetDays::execute).
    pub fn dry_run<Conn>(self, conn: &mut Conn) -> QueryResult<CountsSet>
    where
        Types: KeyTypes,
        K: BindKey<Types, Conn::Backend> + Ord + Clone,
        A: AsRef<[i64]>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        self.set_days(false, conn)
    }

    /// Sets the counts. Returns the numbers of counts that were compared and that were set.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors, and those of
    /// [`SetCounter::execute`](crate::dsl::SetCounter::execute). It fails with an
    /// [overflow](crate::is_overflow()) if a count, a stored count of a day, or a difference, is out of
    /// the range of an `i64`, and if one key of text is spelled in two ways; see
    /// [text keys](crate::CounterTable#text-keys). On MySQL and MariaDB, it fails with a
    /// [`QueryBuilderError`](diesel::result::Error::QueryBuilderError) if a transaction is open, as a
    /// [recount](crate::dsl::recount()). Batches before an error stay set.
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<CountsSet>
    where
        Types: KeyTypes,
        K: BindKey<Types, Conn::Backend> + Ord + Clone,
        A: AsRef<[i64]>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        self.set_days(true, conn)
    }

    fn set_days<Conn>(self, writes: bool, conn: &mut Conn) -> QueryResult<CountsSet>
    where
        Types: KeyTypes,
        K: BindKey<Types, Conn::Backend> + Ord + Clone,
        A: AsRef<[i64]>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        refuse_old_snapshots(conn)?;
        let SetDays {
            shape,
            counters,
            batch,
            spellings,
            mut on_progress,
            ..
        } = self;
        let mut so_far = CountsSet::default();
        for counts in self.counts?.chunks(batch) {
            let batch = Batch {
                shape,
                counters,
                entities: columns_of::<Types, K, Conn::Backend>(
                    counts.iter().map(|((key, _), _)| key.clone()),
                ),
                counts,
                spellings: &spellings,
                partition: &self.partition,
            };
            so_far.different += match writes {
                false => batch.differences(conn)?.len(),
                true => transaction(conn, |conn| {
                    batch.lock::<Types, _>(conn)?;
                    let rows = batch.differences(conn)?;
                    let different = rows.len();
                    batch.add::<Types, _>(rows, conn)?;
                    Ok(different)
                })?,
            };
            so_far.compared += counts.len();
            on_progress(so_far);
        }
        Ok(so_far)
    }
}

/// The counts that one transaction sets.
struct Batch<'a, K, A, Keys> {
    shape: &'a Shape<'a>,
    counters: &'a [Name<'a>],
    counts: &'a [Count<K, A>],
    /// The entity of each count.
    entities: Keys,
    spellings: &'a Spellings<K>,
    partition: &'a Partition,
}

impl<K: Ord + Clone, A: AsRef<[i64]>, Keys> Batch<'_, K, A, Keys> {
    /// Locks the entities against other corrections, as a recount does: it adds 0 to their merged rows
    /// of 1970-01-01.
    fn lock<Types, Conn>(&self, conn: &mut Conn) -> QueryResult<()>
    where
        Types: KeyTypes,
        K: BindKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let entities = self.counts.chunk_by(|((a, _), _), ((b, _), _)| a == b);
        let entities: Vec<K> = entities.map(|of_one| of_one[0].0.0.clone()).collect();
        let zeros = vec![0; self.counters.len()];
        let rows = entities
            .iter()
            .map(|key| (key.clone(), Day(UNDATED), zeros.clone()));
        self.add::<Types, _>(rows.collect(), conn)?;
        if Types::is_exact() {
            return Ok(());
        }
        let mut spellings = self
            .spellings
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        spellings.0.extend(entities.iter().cloned());
        let len = entities.len();
        let keys = columns_of::<Types, K, Conn::Backend>(entities);
        let stored = load(
            conn,
            |db| self.stored_texts(db, &keys, len),
            |row| {
                (0..row.field_count())
                    .map(|i| Conn::Backend::text(row, i))
                    .collect()
            },
        )?;
        spellings.1.extend(stored);
        if spellings.1.len() == spellings.0.len() {
            return Ok(());
        }
        Err(Error::QueryBuilderError(
            format!(
                "two of the keys are different texts, and the same key in `{}`, by its collation: \
                 spell each key in one way",
                self.shape.label
            )
            .into(),
        ))
    }

    /// A query of the texts of the keys that are stored for these keys.
    fn stored_texts<'a, DB: CounterBackend>(
        &'a self,
        db: Dialect,
        keys: &'a dyn Values<DB>,
        len: usize,
    ) -> Sql<'a, DB> {
        let (shape, entity) = (self.shape, self.shape.entity());
        let (table, day, slot) = (shape.table, shape.day(), shape.slot());
        let texts = list(", ", entity.iter().map(|column| db.stored_text(*column)));
        let is_listed = db.is_listed(entity, (0..len).map(|i| row(keys, i)));
        sql!(
            "{Uncached}{db.select()}{texts} FROM {table} \
             WHERE {is_listed} AND {day} = {&UNDATED} AND {slot} = {self.partition.merged()}"
        )
    }

    /// Returns the rows to add: the differences that are not 0.
    fn differences<Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<(K, Day, Vec<i64>)>>
    where
        Keys: Values<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let period = self.shape.period;
        let days = self.counts.iter();
        let days: Vec<DayRange> = days
            .map(|((_, Reverse(day)), _)| DayRange::period_of(*day, period))
            .collect();
        let number = self.counters.len();
        let mut stored = vec![vec![0; number]; self.counts.len()];
        let found = load(
            conn,
            |db| self.stored_days(db, &days),
            |row| {
                let counts = (1..=number).map(|i| Conn::Backend::amount(row, i));
                let counts = counts.collect::<diesel::deserialize::Result<Vec<_>>>()?;
                Ok((Conn::Backend::amount(row, 0)?, counts))
            },
        )?;
        for (number, counts) in found {
            stored[(number - 1) as usize] = counts;
        }
        let mut rows = Vec::new();
        for (((key, Reverse(day)), count), stored) in self.counts.iter().zip(stored) {
            let amounts = count.as_ref().iter().zip(stored);
            let amounts = amounts.map(|(to, from)| to.checked_sub(from));
            let amounts: Vec<i64> = amounts.collect::<Option<_>>().ok_or_else(overflow)?;
            if amounts.iter().any(|&amount| amount != 0) {
                rows.push((key.clone(), Day(*day), amounts));
            }
        }
        Ok(rows)
    }

    /// A query of the stored counts. Each row begins with the number of a count, from 1.
    fn stored_days<'a, DB>(&'a self, db: Dialect, days: &'a [DayRange]) -> Sql<'a, DB>
    where
        Keys: Values<DB>,
        DB: CounterBackend,
    {
        let (shape, table) = (self.shape, self.shape.table);
        // A row of another day of the period is from before the table's period was changed.
        let has_last = !matches!(shape.period, Period::Day | Period::Total);
        let mut listed = shape.entity_and_day().to_vec();
        listed.extend(has_last.then_some(shape.day()));
        let rows = days.iter().enumerate().map(|(i, days)| {
            let mut values = row(&self.entities, i);
            values.push(sql!("{&days.first}"));
            values.extend(has_last.then(|| sql!("{&days.last}")));
            values
        });
        let from = db.numbered_rows(table, &listed, rows);
        let join = db.join_days(table, shape.entity_and_day(), has_last);
        let entities = (0..days.len()).map(|i| row(&self.entities, i));
        let entity = shape.entity();
        let is_listed = (!entity.is_empty()).then(|| db.is_listed(entity, entities));
        let stored = where_all([is_listed]);
        let is_kept = where_all([db.is_not_deleted(sql!(" FROM {table}{stored}"))]);
        let sums = list(", ", self.counters.iter().map(|counter| db.sum(*counter)));
        sql!("{Uncached}{db.select()}{NUMBER}, {sums}{from}{join}{is_kept} GROUP BY {NUMBER}")
    }

    /// Adds these rows to the merged rows.
    fn add<Types, Conn>(&self, rows: Vec<(K, Day, Vec<i64>)>, conn: &mut Conn) -> QueryResult<()>
    where
        K: BindKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        if rows.is_empty() {
            return Ok(());
        }
        let (shape, counters) = (self.shape, self.counters);
        let rows = many::Rows::new::<Types, K, _, Conn::Backend>(counters, rows.into_iter());
        execute(conn, |db| {
            let slot = |is_first| match is_first {
                true => db.own_merged_slot(self.partition),
                false => sql!("{self.partition.merged()}"),
            };
            // Each number of rows has a text of its own, so it is not cached.
            let insert = rows.listed(db, shape, rows.all(), slot);
            sql!("{Uncached}{insert}{db.on_conflict_add(&shape.key, counters)}")
        })?;
        Ok(())
    }
}
