//! Correcting counters from the rows that they count.

use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::query_builder::{AsQuery, QueryFragment};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::result::Error;

use crate::add::increment::Increment;
use crate::add::many::{Rows, add_rows};
use crate::correct::drift::DriftQuery;
use crate::correct::lock_entities;
use crate::correct::source::{SourceRow, counts_by_day};
use crate::day::{Day, DayRange, Period, UNDATED};
use crate::sql::transaction::{read_all_rows, refuse_old_snapshots, transaction_on_all_rows};
use crate::sql::{CounterBackend, Keys, One, rows};
use crate::typed::counters::{Counters, KeyType, add, difference, is_zero};
use crate::typed::key::{
    BindKey, Entities, KeyOf, KeyTypes, LoadKey, OwnedKey, WholeKey, columns_of, padded,
};
use crate::typed::settings::CounterSettings;
use crate::typed::table::{CounterTable, NotEmpty};

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
/// assert_eq!(drift, [Drift { entity: 2, day: None, stored: 0, actual: 1 }]);
///
/// let added: i64 = recount(article_counters::comments, source).of(2_i64).execute(conn)?;
/// assert_eq!(added, 1);
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
///   then correct. Select the days that increments count on: days in UTC, unless the table has its
///   own `today`; for a table that counts by week, month or year, the first day of each period.
///
/// For a tuple of counters, select a count for each of them. Several rows of one entity, or of one
/// entity and day, are added up. Texts require the collation of the counter table's column.
///
/// **If `source` does not return an entity, or a day, its true count is 0.** `source` must
/// therefore return everything that the counter ever counted, or everything that it counted on the
/// days given with [`between`](Recount::between). If old days were [folded](crate::dsl::fold()),
/// the recount gives them their counts back. Fold them again afterwards.
///
/// A recount by day can import the counts of a log. For counts that are not in a table, see
/// [`SetCounter::of_days`](crate::dsl::SetCounter::of_days).
///
/// # Concurrency
///
/// Increments do not wait for a recount, except on SQLite. A recount does not lose or double a
/// count if the application writes the count and the counted row in the same transaction. If they
/// are in two transactions, a recount between them sees one without the other.
///
/// The recount first locks the entity against other corrections, by its row of 1970-01-01 in slot
/// 0, which is inserted if it does not exist (in a [partitioned
/// table](crate::CounterTable#partitions), it requires a partition). Then one statement reads both
/// the stored and the true counts.
///
/// # Errors
///
/// `execute` returns the database's own errors, an [overflow](crate::is_overflow()) if a stored
/// count, a difference or a row is out of the range of an `i64`, and a
/// [`QueryBuilderError`](diesel::result::Error::QueryBuilderError):
///
/// - if `source` selects other columns than a key, a day if it counts by day, and the counts;
/// - if a transaction is open on MySQL or MariaDB, other than that of
///   [`begin_test_transaction`](diesel::Connection::begin_test_transaction): a query in it can read rows as
///   they were before the lock;
/// - if `source` counts on a day that is not the first day of one of the table's periods;
/// - if [`between`](Recount::between) is given days, and the table counts in total, or `source`
///   does not count by day.
///
/// On PostgreSQL, `execute` and `dry_run` fail if a policy of row level security applies to the
/// caller and a table that they read, because rows that it hides would be taken for rows that do
/// not exist. Recount as a role with `BYPASSRLS`.
pub fn recount<C, S>(_counters: C, source: S) -> Recount<C, S::Query>
where
    C: Counters,
    S: AsQuery<SqlType: SourceRow>,
{
    Recount {
        increment: Increment::new(),
        source: source.as_query(),
        by_day: counts_by_day::<C, S::SqlType>,
        days: DayRange::ALL,
        entities: (),
        batch: 256,
    }
}

/// A recount of the counters `C` of all entities of their table, or of the entities `E`, from the query
/// `Source`; made by [`recount`].
#[must_use = "counters are not recounted until this is executed"]
#[derive(Debug, Clone)]
pub struct Recount<C: Counters, Source, E = ()> {
    increment: Increment<C>,
    source: Source,
    by_day: fn() -> QueryResult<bool>,
    days: DayRange,
    entities: E,
    batch: usize,
}

/// A recount of the counters `C` of one entity; made by [`Recount::of`].
#[must_use = "counters are not recounted until this is executed"]
#[derive(Debug, Clone)]
pub struct RecountOne<C: Counters, Source, Id> {
    recount: Recount<C, Source>,
    id: Id,
}

/// The greatest number of keys in a statement, times their columns. It has each key twice, filled up to
/// a power of two: up to 20,480 bind values for keys of five columns. SQLite allows 32,766, and the
/// source has the rest.
const MAX_BATCH: usize = 8_192;

/// An entity, or a day of an entity, whose stored count was not the true count; returned by
/// [`recount`](crate::dsl::recount()).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Drift<K, V = i64> {
    /// The entity's key.
    pub entity: K,
    /// The day, in a recount by day.
    pub day: Option<NaiveDate>,
    /// The stored count, or a tuple of stored counts, before the correction.
    pub stored: V,
    /// The true count, or a tuple of true counts.
    pub actual: V,
}

impl<C: Counters, Source> Recount<C, Source> {
    /// Recounts only this entity, given by its key or by its model.
    pub fn of<K, N>(self, id: K) -> RecountOne<C, Source, K::Value>
    where
        K: KeyOf<KeyType<C>, N, Types: WholeKey<KeyType<C>>>,
    {
        self.of_id(id.into_value())
    }

    pub(crate) fn of_id<K>(self, id: K) -> RecountOne<C, Source, K> {
        RecountOne { recount: self, id }
    }

    /// Recounts only the entities whose keys begin with these values: all versions of a crate, with
    /// `.under(crate_id)`.
    pub fn under<K, N>(self, id: K) -> Recount<C, Source, One<K::Types, K::Value>>
    where
        K: KeyOf<KeyType<C>, N>,
    {
        Recount {
            increment: self.increment,
            source: self.source,
            by_day: self.by_day,
            days: self.days,
            entities: One::new(id.into_value()),
            batch: self.batch,
        }
    }
}

impl<C: Counters<Table: CounterTable<KeyType = ()>>, Source> Recount<C, Source> {
    /// Recounts counters without an entity. `source` is a query of true counts, or of days and true
    /// counts.
    pub fn of_all(self) -> RecountOne<C, Source, ()> {
        self.of_id(())
    }
}

impl<C: Counters, Source, E> Recount<C, Source, E> {
    /// Recounts only these days. Counts of other days do not change, and `source` need not select
    /// them: `recount(views, log).between(day..=day)` imports the log of a day, and a second time
    /// changes nothing. If the table counts by week, month or year, these are the whole periods that
    /// overlap the range.
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.days = DayRange::whole(days, C::Table::PERIOD);
        self
    }

    /// Sets how many entities are corrected in one transaction: from 1 to 8,192, or, if their key
    /// has several columns, to 8,192 divided by their number. Defaults to 256. Another number is
    /// replaced by the nearest one.
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
    pub fn dry_run<K, Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        C::Table: CounterTable<KeyType: NotEmpty>,
        E: Entities<Conn::Backend>,
        K: LoadKey<KeyType<C>, Conn::Backend>,
        Source: QueryFragment<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let by_day = self.is_by_day()?;
        let query = self.query(&self.entities, by_day);
        let found = read_all_rows(conn, |conn| query.load(conn))?;
        Ok(found.into_iter().map(Found::drift).collect())
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
    pub fn execute<K, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        C::Table: CounterTable<KeyType: NotEmpty>,
        E: Entities<Conn::Backend>,
        K: OwnedKey<KeyType<C>, Conn::Backend>,
        Source: QueryFragment<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        refuse_old_snapshots(conn)?;
        let by_day = self.is_by_day()?;
        let query = self.query(&self.entities, by_day);
        let found: Vec<Found<C, K>> = read_all_rows(conn, |conn| query.load(conn))?;
        let mut keys: Vec<K> = found.into_iter().map(|row| row.entity).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut corrected = Vec::new();
        for keys in keys.chunks(self.batch) {
            let found = transaction_on_all_rows(conn, |conn| self.correct(keys, by_day, conn))?;
            corrected.extend(found.into_iter().map(Found::drift));
        }
        Ok(corrected)
    }

    fn correct<K, Conn>(
        &self,
        keys: &[K],
        by_day: bool,
        conn: &mut Conn,
    ) -> QueryResult<Vec<Found<C, K>>>
    where
        K: OwnedKey<KeyType<C>, Conn::Backend>,
        Source: QueryFragment<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = C::Table::shape();
        lock_entities::<KeyType<C>, K, _>(shape, C::NAMES, keys.iter().cloned(), conn)?;
        let len = rows::padded::<Conn::Backend>(keys.len(), false);
        let columns = columns_of::<KeyType<C>, K, Conn::Backend>(padded(keys, len));
        let listed = Keys { columns, len };
        let query = self.query(&listed, by_day).locked();
        let mut found: Vec<Found<C, K>> = query.load(conn)?;
        found.sort_unstable_by(|a, b| (&a.entity, a.day).cmp(&(&b.entity, b.day)));
        let differences = found.iter().map(|row| {
            let day = self.day_of(row)?;
            Ok((row.entity.clone(), Day(day), row.difference()?))
        });
        let differences = differences.collect::<QueryResult<Vec<_>>>()?.into_iter();
        let rows = Rows::new::<KeyType<C>, K, _, Conn::Backend>(C::NAMES, differences);
        add_rows(shape, &self.increment.slots, &rows, conn)?;
        Ok(found)
    }

    fn query<'a, DB: CounterBackend>(
        &'a self,
        entities: &'a dyn Entities<DB>,
        by_day: bool,
    ) -> DriftQuery<'a, C, DB>
    where
        Source: QueryFragment<DB>,
    {
        DriftQuery::new(&self.source, entities, &self.days, by_day)
    }

    /// Returns whether the source counts by day.
    fn is_by_day(&self) -> QueryResult<bool> {
        let by_day = (self.by_day)()?;
        if self.days.is_all() {
            return Ok(by_day);
        }
        // It would compare the counts of all days with those that `source` returns for 1970-01-01.
        if C::Table::PERIOD == Period::Total {
            return Err(Error::QueryBuilderError(
                "this table stores its counts without a day: recount them without `between`".into(),
            ));
        }
        match by_day {
            true => Ok(true),
            false => Err(Error::QueryBuilderError(
                "a recount `between` days requires a source that selects days".into(),
            )),
        }
    }

    /// Returns the day on which to correct a count: that of the row, or the day of this recount if the
    /// source does not select days.
    fn day_of<K>(&self, row: &Found<C, K>) -> QueryResult<NaiveDate> {
        let Some(day) = row.day else {
            return Ok(self.increment.day().0);
        };
        // A true count of 0 removes counts that were stored under this day when the table had
        // another period.
        let period = C::Table::PERIOD;
        if day == UNDATED || day == period.start(day) || is_zero(&row.actual) {
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

/// A row of a [`DriftQuery`].
pub(super) struct Found<C: Counters, K> {
    pub(super) entity: K,
    pub(super) day: Option<NaiveDate>,
    pub(super) stored: C::Amounts,
    pub(super) actual: C::Amounts,
}

impl<C: Counters, K> Found<C, K> {
    fn difference(&self) -> QueryResult<C::Amounts> {
        difference::<C>(self.actual, self.stored)
    }

    fn drift(self) -> Drift<K, C::Value> {
        Drift {
            entity: self.entity,
            day: self.day,
            stored: C::value(self.stored),
            actual: C::value(self.actual),
        }
    }
}

impl<C: Counters, Source, Id> RecountOne<C, Source, Id> {
    /// Recounts only these days, as [`Recount::between`].
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.recount = self.recount.between(days);
        self
    }

    /// Corrects the counts. Returns the sum that was added over all days, which is 0 if the total
    /// was correct.
    ///
    /// It runs in a transaction, or in a savepoint if a transaction is open. On MySQL and MariaDB,
    /// the transaction is READ COMMITTED.
    ///
    /// # Errors
    ///
    /// Those of [`recount`].
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<C::Value>
    where
        Id: BindKey<KeyType<C>, Conn::Backend> + Clone,
        Source: QueryFragment<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let RecountOne { recount, id } = self;
        refuse_old_snapshots(conn)?;
        let by_day = recount.is_by_day()?;
        transaction_on_all_rows(conn, |conn| {
            ExecuteDsl::execute(Increment::<C, Id>::lock(id.clone()), conn)?;
            let one = One::<KeyType<C>, _>::new(id);
            let query = recount.query(&one, by_day).locked();
            let mut added = C::ZERO;
            for row in query.load_of_one(conn)? {
                let difference = row.difference()?;
                add(&mut added, &difference)?;
                if is_zero(&difference) {
                    continue;
                }
                let increment = recount.increment.clone().of_id(one.0.clone());
                let increment = increment
                    .amounts(difference)
                    .on_stored(recount.day_of(&row)?);
                ExecuteDsl::execute(increment, conn)?;
            }
            Ok(C::value(added))
        })
    }
}
