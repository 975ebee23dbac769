//! Correcting counters from the rows that they count.

use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_builder::AsQuery;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::Error;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::CounterBackend;
use crate::correcting::drift::{ByEntity, ByEntityAndDay, DriftQuery};
use crate::correcting::stored::TakeBack;
use crate::correcting::true_counts::{OfMany, OfOne, RecountBy, TrueCounts};
use crate::counter::{Counters, can_be_beyond, difference, sum};
use crate::counting::increment::{Increment, is_zero};
use crate::counting::increment_many::{AddRows, add_rows};
use crate::day::{Day, DayRange, Period, UNDATED};
use crate::key::{KeyColumns, KeyOf, KeyType, KeyTypes, Keys, One, Prefix, PrefixOf};
use crate::settings::CounterSettings;
use crate::slot::SlotRange;
use crate::table::{CounterTable, EntityTable};
use crate::transaction::{read_all_rows, refuse_old_snapshots, transaction_on_all_rows};

/// Corrects counters from the rows that they count.
///
/// `source` is a Diesel query of the true counts. The difference between the true count and the
/// stored count is added to the counter. [`of`](Recount::of) recounts one entity. Without it, all
/// entities of the table are recounted.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel::dsl::count_star;
/// use diesel_counters::prelude::*;
/// use diesel_counters::Drift;
/// use diesel_counters::dsl::recount;
/// use schema::{article_counters, comments};
///
/// // A comment that was not counted.
/// diesel::insert_into(comments::table)
///     .values((comments::article_id.eq(2), comments::body.eq("Nice.")))
///     .execute(conn)?;
///
/// let source = comments::table
///     .group_by(comments::article_id)
///     .select((comments::article_id, count_star()));
///
/// let drift: Vec<Drift<i64>> = recount(article_counters::comments, source).dry_run(conn)?;
/// assert_eq!(drift, [Drift { entity: 2, stored: 0, actual: 1 }]);
///
/// let added: i64 = recount(article_counters::comments, source).of(2_i64).execute(conn)?;
/// assert_eq!(added, 1);
///
/// let drift: Vec<Drift<i64>> = recount(article_counters::comments, source).execute(conn)?;
/// assert_eq!(drift, []);
/// # Ok(())
/// # }
/// ```
///
/// # The source
///
/// `source` selects one of two shapes:
///
/// - `(key, count)`: the difference is added **to today's count**. The total is then correct.
///   Today's count is not: it can be too large, or negative.
/// - `(key, day, count)`: the difference of each day is added to that day. Totals and series are
///   then correct.
///
/// For a tuple of counters, select a count for each of them. If `source` returns several rows of
/// one entity, or of one entity and day, they are added up.
///
/// **If `source` does not return an entity, or a day, its true count is 0.** `source` must
/// therefore return everything that the counter ever counted, or everything that it counted on the
/// days given with [`between`](Recount::between). No row of the counter table is deleted.
///
/// If the keys are texts, they require the collation of the counter table's column.
///
/// # Recounting by day
///
/// A recount by day can also import the counts of a log, if the log has all counts of the counter, or
/// all of [some days](Recount::between), where an example is. Running the import again changes nothing.
/// For counts that are not in a table, see [`SetCounter::of_days`](crate::dsl::SetCounter::of_days).
///
/// - `source` must select the days that increments count on: days in UTC, unless the table has its
///   own `today`.
/// - For a table that counts by week, month or year, select the first day of each period.
/// - If old days were [folded](crate::dsl::fold()), the recount gives them their counts back. Fold
///   them again afterwards.
///
/// # Concurrency
///
/// Increments do not wait for a recount, except on SQLite. A recount does not lose or double a
/// count if the application writes the count and the counted row in the same transaction. If they
/// are in two transactions, a recount between them sees one without the other.
///
/// The recount first locks the entity against other corrections. Then one statement reads both the
/// stored and the true counts, as of the same moment. The lock is the entity's row of 1970-01-01 in
/// slot 0. If the row does not exist, it is inserted with zeros. A
/// [partitioned table](crate::CounterTable#partitions) requires a partition for it.
///
/// # Errors
///
/// `execute` returns the database's own errors, an [overflow](crate::is_overflow()) if a difference
/// or a row is out of the range of an `i64`, and a
/// [`QueryBuilderError`](diesel::result::Error::QueryBuilderError):
///
/// - if a transaction is open on MySQL or MariaDB: there a query can read rows as they were at the
///   first query of the transaction, before the lock. It works in a transaction of
///   [`begin_test_transaction`](Connection::begin_test_transaction);
/// - if `source` counts on a day that is not the first day of one of the table's periods, such as a
///   Tuesday for a table that counts by week. The error names the day;
/// - if [`between`](Recount::between) is given days, and the table counts in total.
///
/// On PostgreSQL, `execute` and `dry_run` fail if a policy of row level security applies to the caller and
/// a table that they read: rows that it hides would be taken for rows that do not exist. They set
/// `row_security` off in their transaction. Recount as a role with `BYPASSRLS`.
pub fn recount<C, S>(_counters: C, source: S) -> Recount<C, S::Query, RecountBy<C, S>>
where
    C: Counters,
    S: AsQuery<SqlType: TrueCounts<C, KeyType<C>>>,
{
    Recount {
        increment: Increment::new(),
        source: Arc::new(source.as_query()),
        days: DayRange::ALL,
        entities: (),
        batch: 256,
        by: PhantomData,
    }
}

/// A recount of the counters `C` of all entities of their table, from the query
/// `Source`; made by [`recount`].
#[must_use = "counters are not recounted until this is executed"]
#[derive(Debug, Clone)]
pub struct Recount<C: Counters, Source, By = ByEntity, E = ()> {
    increment: Increment<C>,
    source: Arc<Source>,
    days: DayRange,
    entities: E,
    batch: usize,
    by: PhantomData<By>,
}

/// A recount of the counters `C` of one entity; made by [`Recount::of`].
#[must_use = "counters are not recounted until this is executed"]
#[derive(Debug, Clone)]
pub struct RecountOne<C: Counters, Source, Id, By = ByEntity> {
    increment: Increment<C, Id>,
    source: Arc<Source>,
    days: DayRange,
    by: PhantomData<By>,
}

/// The greatest number of keys in a statement, times their columns. It has each key twice, filled up to
/// a power of two: up to 20,480 bind values for keys of five columns. SQLite allows 32,766, and the
/// source has the rest.
const MAX_BATCH: usize = 8_192;

/// An entity, or a day of an entity, whose stored count was not the true count; returned by
/// [`recount`](crate::dsl::recount()).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Drift<K, V = i64> {
    /// The entity's key; in a recount by day, a tuple of the key and the day.
    pub entity: K,
    /// The stored count, or a tuple of stored counts, before the correction. A count that is out of
    /// the range of an `i64` is the nearest `i64`.
    pub stored: V,
    /// The true count, or a tuple of true counts.
    pub actual: V,
}

impl<C: Counters, Source, By> Recount<C, Source, By> {
    /// Recounts only the entity with this key.
    pub fn of<K: KeyOf<KeyType<C>>>(self, id: K) -> RecountOne<C, Source, K, By> {
        self.of_id(id)
    }

    pub(crate) fn of_id<K>(self, id: K) -> RecountOne<C, Source, K, By> {
        RecountOne {
            increment: self.increment.of_id(id),
            source: self.source,
            days: self.days,
            by: PhantomData,
        }
    }

    /// Recounts only the entities whose keys begin with these values: all versions of a crate, with
    /// `.under(crate_id)`.
    pub fn under<K, N>(self, id: K) -> Recount<C, Source, By, Prefix<K, N>>
    where
        K: PrefixOf<KeyType<C>, N>,
    {
        Recount {
            increment: self.increment,
            source: self.source,
            days: self.days,
            entities: Prefix::new(id),
            batch: self.batch,
            by: PhantomData,
        }
    }
}

impl<C: Counters, Source, E> Recount<C, Source, ByEntityAndDay, E> {
    /// Recounts only these days. Counts of other days do not change, and `source` need not select
    /// them. If the table counts by week, month or year, these are the whole periods that overlap the
    /// range.
    ///
    /// ```
    /// # include!("../doctest_setup.rs");
    /// # fn main() -> diesel::QueryResult<()> {
    /// # let conn = &mut establish_connection();
    /// # diesel::table! { downloads (article_id, day) { article_id -> BigInt, day -> Date, number -> BigInt } }
    /// # diesel::sql_query("CREATE TABLE downloads (article_id BIGINT, day DATE, number BIGINT)").execute(conn)?;
    /// # diesel::sql_query("INSERT INTO downloads VALUES (1, '2026-03-01', 7)").execute(conn)?;
    /// # let day = |day| chrono::NaiveDate::from_ymd_opt(2026, 3, day).unwrap();
    /// use diesel_counters::dsl::recount;
    /// use diesel_counters::prelude::*;
    /// use schema::article_counters::views;
    ///
    /// increment(views).of(1_i64).on(day(2)).by(5).execute(conn)?;
    ///
    /// // The log of the first of March, imported twice.
    /// let log = downloads::table.select((downloads::article_id, downloads::day, downloads::number));
    /// for changed in [1, 0] {
    ///     let drift: Vec<diesel_counters::Drift<_>> =
    ///         recount(views, log).between(day(1)..=day(1)).execute(conn)?;
    ///     assert_eq!(drift.len(), changed);
    /// #   let _: &[diesel_counters::Drift<(i64, chrono::NaiveDate)>] = &drift;
    /// }
    /// let series = counter_series(views).of(1_i64).load(conn)?;
    /// assert_eq!(series, [(day(1), 7), (day(2), 5)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.days = DayRange::whole(days, C::Table::PERIOD);
        self
    }
}

impl<C: Counters, Source, Id> RecountOne<C, Source, Id, ByEntityAndDay> {
    /// Recounts only these days, as [`Recount::between`].
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.days = DayRange::whole(days, C::Table::PERIOD);
        self
    }
}

impl<C: Counters, Source, By, E: Clone> Recount<C, Source, By, E> {
    /// Sets how many entities are corrected in one transaction: from 1 to 8,192, or, if their key has
    /// several columns, to 8,192 divided by their number. Defaults to 256. A number outside of this
    /// range is replaced by the nearest one in it.
    pub fn batch(mut self, entities: usize) -> Self {
        self.batch = entities.clamp(1, MAX_BATCH / KeyType::<C>::COLUMNS.max(1));
        self
    }

    /// Returns the counts that are wrong, in the order of their keys, and changes nothing. It is
    /// one query, on PostgreSQL in a transaction.
    ///
    /// # Errors
    ///
    /// Those of [`recount`], except for an open transaction: on MySQL and MariaDB it compares the rows as
    /// they were when the transaction began.
    pub fn dry_run<'a, K, Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        C::Table: EntityTable,
        Conn: Connection<Backend: CounterBackend>,
        DriftQuery<C, Source, E, By>: LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
    {
        let days = days_to_recount::<C>(self.days)?;
        let query = DriftQuery::<C, _, _, By>::new(&self.source, self.entities.clone(), days);
        Ok(drifts(read_all_rows(conn, |conn| query.load(conn))?))
    }

    /// Corrects the counts that are wrong. Returns them, in the order of their keys.
    ///
    /// It first finds the entities with wrong counts, as [`dry_run`](Recount::dry_run) does. Then it
    /// locks, reads and corrects them in [batches](Recount::batch). Each batch is a transaction, or
    /// a savepoint if a transaction is open. On MySQL and MariaDB, a transaction is READ COMMITTED. An
    /// entity whose count becomes wrong after the first query is not corrected.
    ///
    /// # Errors
    ///
    /// Those of [`recount`]. The batches before the error stay corrected.
    pub fn execute<'a, K, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        Self: RecountOn<'a, Conn, Vec<Drift<K, C::Value>>>,
    {
        self.recount(conn)
    }
}

impl<'a, C, Source, By, E, K, Conn> RecountOn<'a, Conn, Vec<Drift<K, C::Value>>>
    for Recount<C, Source, By, E>
where
    C: Counters<Table: EntityTable>,
    E: Clone,
    K: Ord,
    By: OfMany<K, Entity: KeyOf<KeyType<C>> + Ord + Clone>,
    Conn: Connection<Backend: CounterBackend>,
    AddRows<C::Table, KeyColumns<By::Entity, C>>: ExecuteDsl<Conn>,
    TakeBack<C, Keys<KeyColumns<By::Entity, C>>>: ExecuteDsl<Conn>,
    DriftQuery<C, Source, E, By>: LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
    DriftQuery<C, Source, Keys<KeyColumns<By::Entity, C>>, By>:
        LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
{
    fn recount(self, conn: &mut Conn) -> QueryResult<Vec<Drift<K, C::Value>>> {
        refuse_old_snapshots(conn)?;
        let days = days_to_recount::<C>(self.days)?;
        let query = DriftQuery::<C, _, _, By>::new(&self.source, self.entities.clone(), days);
        let drifts = read_all_rows(conn, |conn| query.load::<(K, C::Value, C::Value)>(conn))?;
        let mut keys: Vec<By::Entity> = drifts
            .iter()
            .map(|(key, ..)| By::entity(key).clone())
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let mut corrected = Vec::new();
        for keys in keys.chunks(self.batch) {
            corrected.extend(transaction_on_all_rows(conn, |conn| {
                lock_entities::<C::Table, _, _>(keys, C::NAMES, conn)?;
                self.correct(keys, false, conn)
            })?);
        }
        Ok(corrected)
    }
}

impl<C: Counters, Source, By, E> Recount<C, Source, By, E> {
    /// Corrects these entities, which are locked. A stored count at the limit of an `i64` may be
    /// clamped, so such an entity is read a `second` time. If its count is still wrong, all its rows are
    /// set to 0 before the true count is added.
    fn correct<'a, K, Conn>(
        &self,
        keys: &[By::Entity],
        second: bool,
        conn: &mut Conn,
    ) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        K: Ord,
        By: OfMany<K, Entity: KeyOf<KeyType<C>> + Ord + Clone>,
        Conn: Connection<Backend: CounterBackend>,
        AddRows<C::Table, KeyColumns<By::Entity, C>>: ExecuteDsl<Conn>,
        TakeBack<C, Keys<KeyColumns<By::Entity, C>>>: ExecuteDsl<Conn>,
        DriftQuery<C, Source, Keys<KeyColumns<By::Entity, C>>, By>:
            LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
    {
        let these = Keys::listed::<KeyType<C>, _, Conn::Backend>(keys);
        let query = DriftQuery::<C, _, _, By>::new(&self.source, these, self.days).locked();
        let mut rows = query.load::<(K, C::Value, C::Value)>(conn)?;
        rows.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));

        let mut differences = Vec::with_capacity(rows.len());
        let mut found = Vec::with_capacity(rows.len());
        let (mut can_be_wrong, mut too_large) = (Vec::new(), Vec::new());
        for (key, stored, actual) in rows {
            let (stored, actual) = (C::amounts(stored), C::amounts(actual));
            let (entity, day) = (By::entity(&key).clone(), By::day(&key));
            let day = self.increment.day_of_counts(day, actual)?;
            match difference::<C>(actual, stored) {
                Err(error) if !can_be_beyond(&stored) => return Err(error),
                Ok(difference) if !second => {
                    if can_be_beyond(&stored) {
                        can_be_wrong.push(entity.clone());
                    }
                    differences.push((entity, Day(day), difference));
                }
                _ => too_large.push(entity),
            }
            found.push((key, C::value(stored), C::value(actual)));
        }
        let differences = differences.into_iter();
        add_rows::<C::Table, _, _, _>(self.increment.slots, C::NAMES, differences, conn)?;
        too_large.dedup();
        can_be_wrong.dedup();
        if !too_large.is_empty() {
            let these = Keys::listed::<KeyType<C>, _, Conn::Backend>(&too_large);
            TakeBack::<C, _>::new(these, self.days)?.execute(conn)?;
            self.correct(&too_large, false, conn)?;
        }
        if !can_be_wrong.is_empty() {
            self.correct(&can_be_wrong, true, conn)?;
        }
        Ok(drifts(found))
    }
}

/// Locks many entities of the table `T`, as [`Increment::lock`] locks one: it adds 0 to these counters.
/// `keys` must be sorted.
pub(crate) fn lock_entities<T, K, Conn>(
    keys: &[K],
    counters: &[&'static str],
    conn: &mut Conn,
) -> QueryResult<()>
where
    T: CounterTable,
    K: KeyOf<T::KeyType> + Clone,
    Conn: Connection<Backend: CounterBackend>,
    AddRows<T, K::Columns>: ExecuteDsl<Conn>,
{
    let zeros = vec![0; counters.len()];
    let rows = keys.iter();
    let rows = rows.map(|key| (key.clone(), Day(UNDATED), &zeros));
    add_rows::<T, _, _, _>(SlotRange::merged(), counters, rows, conn)
}

fn drifts<K, V>(rows: Vec<(K, V, V)>) -> Vec<Drift<K, V>> {
    rows.into_iter()
        .map(|(entity, stored, actual)| Drift {
            entity,
            stored,
            actual,
        })
        .collect()
}

impl<C: Counters<Table: CounterTable<KeyType = ()>>, Source, By> Recount<C, Source, By> {
    /// Recounts counters without an entity. `source` is a query of true counts, or of days and true
    /// counts.
    pub fn of_all(self) -> RecountOne<C, Source, (), By> {
        self.of_id(())
    }
}

impl<C: Counters, Source, Id, By> RecountOne<C, Source, Id, By> {
    /// Corrects the counts. Returns the sum that was added over all days, which is 0 if the total
    /// was correct.
    ///
    /// If a stored count is out of the range of an `i64`, which rows of several days or slots can add
    /// up to, it sets the counts of all days to 0 first. It returns what it added after that.
    ///
    /// It runs in a transaction, or in a savepoint if a transaction is open. On MySQL and MariaDB,
    /// the transaction is READ COMMITTED.
    ///
    /// # Errors
    ///
    /// Those of [`recount`].
    pub fn execute<'a, Conn>(self, conn: &mut Conn) -> QueryResult<C::Value>
    where
        Self: RecountOn<'a, Conn, C::Value>,
    {
        self.recount(conn)
    }
}

/// A [`Recount`], or a [`RecountOne`], that runs on the connection `Conn` and returns `Returned`.
#[diagnostic::on_unimplemented(
    message = "these counters cannot be recounted on a `{Conn}`",
    label = "this requires a connection of Diesel's, and a source that it can run"
)]
pub trait RecountOn<'a, Conn, Returned> {
    #[doc(hidden)]
    fn recount(self, conn: &mut Conn) -> QueryResult<Returned>;
}

impl<'a, C, Source, K, By, Conn> RecountOn<'a, Conn, C::Value> for RecountOne<C, Source, K, By>
where
    C: Counters,
    K: Clone,
    By: OfOne<C>,
    Conn: Connection<Backend: CounterBackend>,
    Increment<C, K>: ExecuteDsl<Conn>,
    TakeBack<C, One<K>>: ExecuteDsl<Conn>,
    DriftQuery<C, Source, One<K>, By::OfOne>: LoadQuery<'a, Conn, By::Row>,
{
    fn recount(self, conn: &mut Conn) -> QueryResult<C::Value> {
        refuse_old_snapshots(conn)?;
        let days = days_to_recount::<C>(self.days)?;
        transaction_on_all_rows(conn, |conn| {
            let id = One(self.increment.id.clone());
            ExecuteDsl::execute(Increment::<C, K>::lock(id.0.clone()), conn)?;
            let mut added = Vec::new();
            let mut is_second = false;
            'again: loop {
                let query =
                    DriftQuery::<C, _, _, By::OfOne>::new(&self.source, id.clone(), days).locked();
                let mut corrections = Vec::new();
                let mut can_be_wrong = false;
                for row in query.load::<By::Row>(conn)? {
                    let (day, stored, actual) = By::split(row);
                    let (stored, actual) = (C::amounts(stored), C::amounts(actual));
                    let difference = difference::<C>(actual, stored);
                    // A stored count at the limit of an `i64` may be clamped, so it is read again. If
                    // it is still wrong, all rows are set to 0 before the true count is added.
                    let is_clamped = match &difference {
                        Ok(difference) => is_second && !is_zero(difference),
                        Err(_) => can_be_beyond(&stored),
                    };
                    if is_clamped {
                        TakeBack::<C, _>::new(id.clone(), days)?.execute(conn)?;
                        added.clear();
                        is_second = false;
                        continue 'again;
                    }
                    let difference = difference?;
                    can_be_wrong |= can_be_beyond(&stored);
                    corrections.push((self.increment.day_of_counts(day, actual)?, difference));
                }
                for (day, difference) in corrections {
                    let mut increment = self.increment.clone().amounts(difference);
                    increment.day = Day(day).into();
                    increment.execute(conn)?;
                    added.push(difference);
                }
                if is_second || !can_be_wrong {
                    return sum::<C>(added).map(C::value);
                }
                is_second = true;
            }
        })
    }
}

/// Returns the days, or an error if the table has no counts of single days. It would compare the counts
/// of all days with those that `source` returns for 1970-01-01.
fn days_to_recount<C: Counters>(days: DayRange) -> QueryResult<DayRange> {
    if C::Table::PERIOD == Period::Total && !days.is_all() {
        return Err(Error::QueryBuilderError(
            "this table stores its counts without a day: recount them without `between`".into(),
        ));
    }
    Ok(days)
}

impl<C: Counters, Id> Increment<C, Id> {
    /// Returns the day on which to correct these true counts: `day`, or the day of this increment
    /// if the source does not select days.
    fn day_of_counts(&self, day: Option<NaiveDate>, actual: C::Amounts) -> QueryResult<NaiveDate> {
        let Some(day) = day else {
            return Ok(self.day().0);
        };
        // A true count of 0 removes counts that were stored under this day when the table had
        // another period.
        let period = C::Table::PERIOD;
        let may_be_counted = day == UNDATED || day == period.start(day);
        if may_be_counted || actual.as_ref().iter().all(|&count| count == 0) {
            return Ok(day);
        }
        Err(Error::QueryBuilderError(
            format!(
                "the source of the recount has counts of {day}, but the table counts by \
                 {period:?}: select {start} instead",
                start = period.start(day),
            )
            .into(),
        ))
    }
}
