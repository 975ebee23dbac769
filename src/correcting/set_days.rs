//! Setting the counts of many entities on many days.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::Error;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::CounterBackend;
use crate::correcting::set::SetCounter;
use crate::correcting::set_days_statements::{
    KeyTexts, Row, StoredDay, StoredDays, StoredKeyTexts, Upsert,
};
use crate::counter::Counters;
use crate::counting::increment_many::add_up;
use crate::day::{Day, DayRange, Period, UNDATED};
use crate::error::overflow;
use crate::key::{KeyOf, KeyType, KeyTypes};
use crate::layout::Layout;
use crate::settings::CounterSettings;
use crate::slot::Partition;
use crate::transaction::{refuse_old_snapshots, transaction};

/// Sets the counts of many entities on many days; made by
/// [`SetCounter::of_days`](crate::dsl::SetCounter::of_days), or, for a table that is known only at run
/// time, by [`SetDays::of_layout`].
///
/// The keys have the SQL types `ST` and the Rust type `K`. `S` are the sums of an entity's day.
#[must_use = "counts are not set until this is executed"]
pub struct SetDays<'p, F, ST, K, S> {
    layout: Arc<Layout<F>>,
    /// In the order in which rows are locked.
    counts: Vec<((K, Reverse<NaiveDate>), S)>,
    period: Period,
    batch: usize,
    spellings: Spellings<K>,
    partition: Partition,
    on_progress: Box<dyn FnMut(CountsSet) + Send + 'p>,
    of: PhantomData<ST>,
}

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

impl<F: fmt::Debug, ST, K, S> fmt::Debug for SetDays<'_, F, ST, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetDays")
            .field("layout", &self.layout)
            .field("counts", &self.counts.len())
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}

/// The greatest number of counts in a transaction. Statements with more keys take long to prepare.
const MAX_BATCH: usize = 1_000;

/// The [`SetDays`] of counters `C`, for keys `K`.
pub type SetDaysOf<C, K> =
    SetDays<'static, <C as Counters>::Table, KeyType<C>, K, <C as Counters>::Sums>;

impl<C: Counters> SetCounter<C> {
    /// Sets the counts of many entities on many days: an import. `counts` has the key of an entity, a
    /// day, and the count of this day, in any order.
    ///
    /// Importing the same counts twice changes nothing, and an import that failed or was killed can be
    /// run again. Counts of other days, and of other entities, do not change. To add counts instead,
    /// use [`counting_transaction`](crate::counting_transaction()).
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
    /// increment(views).of(1_i64).on(day(1)).execute(conn)?;
    ///
    /// let log = [(1_i64, day(1), 10), (1, day(2), 20), (2, day(1), 30)];
    /// let set = set_counter(views).of_days(log).execute(conn)?;
    /// assert_eq!((set.compared, set.different), (3, 3));
    /// let again = set_counter(views).of_days(log).execute(conn)?;
    /// assert_eq!((again.compared, again.different), (3, 0));
    ///
    /// let series = counter_series(views).of(1_i64).load(conn)?;
    /// assert_eq!(series, [(day(1), 10), (day(2), 20)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// - If `counts` has a day of an entity more than once, its counts are added up. So give all counts
    ///   of a day in one call.
    /// - If the table counts by week, month or year, the days of a period are added up too.
    /// - **Do not set days that were [folded](crate::dsl::fold()).** Their counts are part of the count
    ///   of the month, and would be counted twice. Set the whole month, on its first day.
    ///
    /// # Concurrency
    ///
    /// Each [batch](SetDays::batch) is a transaction, or a savepoint if a transaction is open. It first
    /// locks its entities against other corrections, as [`SetCounter::execute`] does. Increments do not
    /// wait for it, except on SQLite, and are neither lost nor counted twice. It writes to slot 0, as
    /// merges do. A merge that runs at the same time can deadlock with it, if it also merges rows
    /// without a day. Run the one that failed again.
    pub fn of_days<K>(
        self,
        counts: impl IntoIterator<Item = (K, NaiveDate, C::Value)>,
    ) -> SetDaysOf<C, K>
    where
        K: KeyOf<KeyType<C>> + Ord,
    {
        let counts = counts.into_iter().map(|(key, day, count)| {
            let day = C::Table::PERIOD.start(day);
            ((key, Reverse(day)), count)
        });
        SetDays::new(Layout::of_counters(C::NAMES), add_up::<C, _>(counts))
    }
}

impl<F, ST, K: Ord> SetDays<'static, F, ST, K, [i128; 1]> {
    /// Sets the counts of the first counter of `layout`, for a table that is known only at run time. Each
    /// entity and day must be there once. If the table does not count by day, give the first days of its
    /// periods.
    pub fn of_layout(
        mut layout: Layout<F>,
        counts: impl IntoIterator<Item = (K, NaiveDate, i64)>,
    ) -> Self {
        let counts = counts.into_iter();
        let counts = counts.map(|(key, day, count)| ((key, Reverse(day)), [i128::from(count)]));
        let mut counts = Vec::from_iter(counts);
        counts.sort_unstable();
        layout.counters.truncate(1);
        SetDays::new(layout, counts)
    }
}

impl<F, ST, K, S> SetDays<'static, F, ST, K, S> {
    fn new(layout: Layout<F>, counts: Vec<((K, Reverse<NaiveDate>), S)>) -> Self {
        SetDays {
            period: layout.period,
            layout: Arc::new(layout),
            counts,
            batch: MAX_BATCH,
            spellings: Spellings::default(),
            partition: Partition::chosen(),
            on_progress: Box::new(|_| ()),
            of: PhantomData,
        }
    }
}

impl<'p, F, ST, K, S> SetDays<'p, F, ST, K, S> {
    /// Sets how many counts are set in one transaction: from 1 to 1,000. Defaults to 1,000. A number
    /// outside of this range is replaced by the nearest one in it.
    pub fn batch(mut self, counts: usize) -> Self {
        self.batch = counts.clamp(1, MAX_BATCH);
        self
    }

    /// Calls `f` after each transaction, with the progress so far.
    pub fn on_progress<'q>(self, f: impl FnMut(CountsSet) + Send + 'q) -> SetDays<'q, F, ST, K, S>
    where
        'p: 'q,
    {
        SetDays {
            on_progress: Box::new(f),
            ..self
        }
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
    pub fn dry_run<Conn>(mut self, conn: &mut Conn) -> QueryResult<CountsSet>
    where
        Self: SetDaysOn<Conn>,
    {
        self.set_days(false, conn)
    }

    /// Sets the counts. Returns the numbers of counts that were compared and that were set.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors, and those of
    /// [`SetCounter::execute`](crate::dsl::SetCounter::execute). It fails with an
    /// [overflow](crate::is_overflow()) if a stored count of a day, or a difference, is out of the range
    /// of an `i64`, and if one key of text is spelled in two ways; see
    /// [text keys](crate::CounterTable#text-keys). On MySQL and MariaDB, it fails with a
    /// [`QueryBuilderError`](diesel::result::Error::QueryBuilderError) if a transaction is open, as a
    /// [recount](crate::dsl::recount()). Batches before an error stay set.
    pub fn execute<Conn>(mut self, conn: &mut Conn) -> QueryResult<CountsSet>
    where
        Self: SetDaysOn<Conn>,
    {
        self.set_days(true, conn)
    }
}

/// A [`SetDays`](crate::dsl::SetDays) that a connection `Conn` can run, because its backend has the
/// types of the keys.
pub trait SetDaysOn<Conn>: Batches<Conn> {}
impl<B: Batches<Conn>, Conn> SetDaysOn<Conn> for B {}

/// The batches of a [`SetDays`].
pub trait Batches<Conn> {
    fn set_days(&mut self, writes: bool, conn: &mut Conn) -> QueryResult<CountsSet>;
}

impl<F, ST, K, S, Conn> Batches<Conn> for SetDays<'_, F, ST, K, S>
where
    K: Ord + Clone,
    S: AsRef<[i128]>,
    Conn: Connection<Backend: CounterBackend>,
    ST: KeyTypes,
    Upsert<F, ST, K>: ExecuteDsl<Conn>,
    for<'a> StoredKeyTexts<F, ST, K>: LoadQuery<'a, Conn, KeyTexts>,
    for<'a> StoredDays<F, ST, K>: LoadQuery<'a, Conn, StoredDay>,
{
    fn set_days(&mut self, writes: bool, conn: &mut Conn) -> QueryResult<CountsSet> {
        refuse_old_snapshots(conn)?;
        let mut so_far = CountsSet::default();
        for counts in self.counts.chunks(self.batch) {
            let batch = Batch {
                layout: &self.layout,
                counts,
                period: self.period,
                spellings: &self.spellings,
                partition: self.partition,
            };
            so_far.different += match writes {
                false => batch.differences(conn)?.len(),
                true => transaction(conn, |conn| {
                    batch.lock::<ST, _>(conn)?;
                    let rows = batch.differences::<ST, _>(conn)?;
                    let different = rows.len();
                    batch.upsert::<ST, _>(rows, conn)?;
                    Ok(different)
                })?,
            };
            so_far.compared += counts.len();
            (self.on_progress)(so_far);
        }
        Ok(so_far)
    }
}

/// The counts that one transaction sets.
struct Batch<'a, F, K, S> {
    layout: &'a Arc<Layout<F>>,
    counts: &'a [((K, Reverse<NaiveDate>), S)],
    period: Period,
    spellings: &'a Spellings<K>,
    partition: Partition,
}

impl<F, K: Ord + Clone, S: AsRef<[i128]>> Batch<'_, F, K, S> {
    /// Locks the entities against other corrections, as a recount does: it adds 0 to their merged rows
    /// of 1970-01-01.
    fn lock<ST, Conn>(&self, conn: &mut Conn) -> QueryResult<()>
    where
        ST: KeyTypes,
        Conn: Connection,
        Upsert<F, ST, K>: ExecuteDsl<Conn>,
        for<'a> StoredKeyTexts<F, ST, K>: LoadQuery<'a, Conn, KeyTexts>,
    {
        let entities = self.counts.chunk_by(|((a, _), _), ((b, _), _)| a == b);
        let entities: Vec<K> = entities.map(|of_one| of_one[0].0.0.clone()).collect();
        let zeros = vec![0; self.layout.counters.len()];
        let rows = entities.iter();
        let rows = rows.map(|entity| (entity.clone(), Day(UNDATED), zeros.clone()));
        self.upsert::<ST, _>(rows.collect(), conn)?;
        if ST::is_exact() {
            return Ok(());
        }
        let mut spellings = self
            .spellings
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        spellings.0.extend(entities.iter().cloned());
        let stored = StoredKeyTexts::<F, ST, K> {
            layout: Arc::clone(self.layout),
            partition: self.partition,
            entities,
            sql_type: PhantomData,
        };
        let stored = stored.load::<KeyTexts>(conn)?;
        spellings.1.extend(stored.into_iter().map(|texts| texts.0));
        if spellings.1.len() == spellings.0.len() {
            return Ok(());
        }
        Err(Error::QueryBuilderError(
            format!(
                "two of the keys are different texts, and the same key in `{}`, by its collation: \
                 spell each key in one way",
                self.layout.name
            )
            .into(),
        ))
    }

    /// Returns the rows to add: the differences that are not 0.
    fn differences<ST, Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<Row<K>>>
    where
        Conn: Connection,
        for<'a> StoredDays<F, ST, K>: LoadQuery<'a, Conn, StoredDay>,
    {
        let key =
            |((key, Reverse(day)), _): &((K, Reverse<NaiveDate>), S)| (key.clone(), Day(*day));
        let days = |((key, Reverse(day)), _): &((K, Reverse<NaiveDate>), S)| {
            (key.clone(), DayRange::period_of(*day, self.period))
        };
        let query = StoredDays::<F, ST, K> {
            layout: Arc::clone(self.layout),
            keys: self.counts.iter().map(days).collect(),
            period: self.period,
            sql_type: PhantomData,
        };
        let number = self.layout.counters.len();
        let mut stored = vec![vec![0; number]; self.counts.len()];
        for StoredDay { number, counts } in query.load::<StoredDay>(conn)? {
            stored[(number - 1) as usize] = counts;
        }
        let mut rows = Vec::new();
        for (count, stored) in self.counts.iter().zip(stored) {
            let amounts = count.1.as_ref().iter().zip(stored);
            let amounts = amounts.map(|(to, from)| i64::try_from(to - i128::from(from)));
            let amounts: Vec<i64> = amounts.collect::<Result<_, _>>().map_err(|_| overflow())?;
            if amounts.iter().any(|&amount| amount != 0) {
                let (key, day) = key(count);
                rows.push((key, day, amounts));
            }
        }
        Ok(rows)
    }

    fn upsert<ST, Conn>(&self, rows: Vec<Row<K>>, conn: &mut Conn) -> QueryResult<()>
    where
        Conn: Connection,
        Upsert<F, ST, K>: ExecuteDsl<Conn>,
    {
        if rows.is_empty() {
            return Ok(());
        }
        let upsert = Upsert::<F, ST, K> {
            layout: Arc::clone(self.layout),
            partition: self.partition,
            rows,
            sql_type: PhantomData,
        };
        ExecuteDsl::execute(upsert, conn).map(drop)
    }
}
