//! Correcting counters from the rows that they count.

use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::slice;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::query_builder::{AsQuery, QueryFragment};

use crate::add::many::add_rows;
use crate::correct::source::SourceRow;
use crate::correct::{keep_rows, lock_entities, padded_keys};
use crate::day::{Day, DayRange, UNDATED};
use crate::error::refuse;
use crate::key::Entities;
use crate::key::{AllEntities, KeyPrefix};
use crate::key::{BindKey, KeyOf, KeyTypes, OwnedKey};
use crate::slot::InSlot;
use crate::sql::CounterBackend;
use crate::sql::transaction::{read_all_rows, refuse_old_snapshots, transaction_on_all_rows};
use crate::typed::counters::{Counters, KeyType, difference, has_stock, is_zero};
use crate::typed::table::CounterTable;

/// Corrects counters from the rows that they count.
///
/// `source` is a Diesel query that selects the true counts. The recount compares them with the
/// stored counts and adds the difference to the counter. To recount one entity or some, use
/// [`of`](Recount::of). Without it, every entity in the table is recounted.
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel::dsl::count_star;
/// use diesel_counters::prelude::*;
/// use diesel_counters::Drift;
/// use diesel_counters::dsl::recount;
/// use schema::{article_counters, comments};
///
/// # diesel::insert_into(comments::table)
/// #     .values((comments::article_id.eq(2), comments::body.eq("Nice.")))
/// #     .execute(conn)?;
/// // Article 2 has a comment that was not counted.
/// let source = comments::table
///     .group_by(comments::article_id)
///     .select((comments::article_id, count_star()));
///
/// let drift: Vec<Drift<i64>> = recount(article_counters::comments, source).dry_run(conn)?;
/// assert_eq!(drift, [Drift::new(2, None, 0, 1)]);
///
/// let corrected = recount(article_counters::comments, source).of(2_i64).execute(conn)?;
/// assert_eq!(corrected, drift);
/// # Ok(())
/// # }
/// ```
///
/// # The source
///
/// `source` selects one of two shapes:
///
/// - `(key, count)`: the difference is added **to today's count**. The total is right afterwards,
///   but today's count isn't: it can be too large, or negative. [The
///   guide](crate::guide::operations#counts-without-a-day) has a table that shows where every
///   correction is stored.
/// - `(key, day, count)`: each day's difference is added to that day, so totals and series are
///   right afterwards. Select the same days that increments count on: days in UTC, unless the table
///   has its own `today`. If the table counts by week, month or year, select the first day of each
///   period.
///
/// For a tuple of counters, select a count for each. If there are several rows for the same entity,
/// or for the same entity and day, they're added up. A text key must have the collation of the
/// counter table's column.
///
/// **If `source` doesn't return an entity or a day, its true count is 0.** So `source` must return
/// everything that the counter ever counted, or everything on the days that you give with
/// [`between`](Recount::between). If you have [folded](crate::dsl::fold()) old days, the recount
/// gives them their counts back, so fold them again afterwards.
///
/// # Concurrency
///
/// Increments don't wait for a recount, except on SQLite. Other corrections of the entity do, as
/// they do for [`set_counter`](crate::dsl::set_counter()). A recount neither loses a count nor
/// counts it twice if your app writes the count and the counted row in the same transaction,
/// because one statement reads both.
///
/// # Errors
///
/// `execute` returns the database's own errors, an [overflow](crate::is_overflow()) if a stored
/// count, a difference or a row doesn't fit an `i64`, and a
/// [`QueryBuilderError`](diesel::result::Error::QueryBuilderError) in these cases:
///
/// - A transaction is open on MySQL or MariaDB, unless
///   [`begin_test_transaction`](diesel::Connection::begin_test_transaction) began it: a query in it
///   can read rows as they were before the lock.
/// - `source` counts on a day that isn't the first day of one of the table's periods.
/// - You recount the days [`between`](Recount::between), but the table counts in total, or `source`
///   doesn't select days.
///
/// On PostgreSQL, `execute` and `dry_run` fail if a row level security policy applies to the caller
/// on a table that they read. If you have opened a transaction, they don't fail, but see only what
/// the policy shows. Recount as a role with `BYPASSRLS`.
pub fn recount<C, S>(_counters: C, source: S) -> Recount<C, S::Query>
where
    C: Counters,
    S: AsQuery<SqlType: SourceRow<KeyType<C>, C::Amounts>>,
{
    const { assert!(!has_stock::<C>(), "a stock is set, and not recounted") }
    Recount {
        source: source.as_query(),
        is_by_day: S::SqlType::IS_BY_DAY,
        entities: KeyPrefix::new(()),
        days: DayRange::ALL,
        of: PhantomData,
    }
}

/// Recounts the counters `C` of the entities `E` from the query `Source`; made by [`recount`].
#[must_use = "counters are not recounted until this is executed"]
#[derive(Debug, Clone)]
pub struct Recount<C, Source, E = AllEntities> {
    pub(super) source: Source,
    pub(super) is_by_day: bool,
    entities: E,
    pub(super) days: DayRange,
    of: PhantomData<C>,
}

/// An entity, or an entity's day, with a wrong stored count; returned by
/// [`recount`](crate::dsl::recount()).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
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

impl<K, V> Drift<K, V> {
    /// Makes a value that a recount would return, so that a test can compare with it.
    pub fn new(entity: K, day: Option<NaiveDate>, stored: V, actual: V) -> Self {
        Drift {
            entity,
            day,
            stored,
            actual,
        }
    }
}

/// How many entities one transaction corrects.
const BATCH: usize = 256;

impl<C: Counters, Source> Recount<C, Source> {
    /// Recounts only this entity, given by its key or by its model, or every entity whose key
    /// begins with these values. For example, `.of(crate_id)` recounts all versions of a crate.
    pub fn of<K, N>(self, id: K) -> Recount<C, Source, KeyPrefix<K::Types, K::Value>>
    where
        K: KeyOf<KeyType<C>, N>,
    {
        Recount {
            source: self.source,
            is_by_day: self.is_by_day,
            entities: KeyPrefix::new(id.into_value()),
            days: self.days,
            of: PhantomData,
        }
    }
}

impl<C: Counters, Source, Types: KeyTypes, K> Recount<C, Source, KeyPrefix<Types, K>> {
    /// Recounts only these days, or the whole periods that overlap them. Counts of other days don't
    /// change, and `source` doesn't have to select them. For example,
    /// `recount(views, log).between(day..=day)` imports one day's log.
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.days = DayRange::whole(days, C::Table::PERIOD);
        self
    }

    /// Returns the counts that are wrong, in key order, and changes nothing.
    ///
    /// # Errors
    ///
    /// Fails like [`recount`], but not because a transaction is open. In one, on MySQL and MariaDB,
    /// it compares the rows as they were when the transaction began.
    pub fn dry_run<E, Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<Drift<E, C::Value>>>
    where
        K: BindKey<Types, Conn::Backend>,
        E: OwnedKey<KeyType<C>, Conn::Backend>,
        Source: QueryFragment<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let has_locks = false;
        read_all_rows(conn, |conn| self.drift(&self.entities, has_locks, conn))
    }

    /// Corrects the counts that are wrong, and returns them in key order.
    ///
    /// If you recount one entity, it's locked, read and corrected in a transaction, or in a
    /// savepoint if a transaction is open. If there are several, `execute` first finds the ones
    /// that are wrong, as [`dry_run`](Recount::dry_run) does, and then corrects them, 256 in each
    /// transaction or savepoint. If an entity's count becomes wrong after the first query, it isn't
    /// corrected. On MySQL and MariaDB, the transactions are READ COMMITTED.
    ///
    /// # Errors
    ///
    /// Fails like [`recount`]. What earlier transactions corrected stays corrected.
    pub fn execute<E, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<Drift<E, C::Value>>>
    where
        K: BindKey<Types, Conn::Backend> + Clone,
        E: OwnedKey<KeyType<C>, Conn::Backend>,
        Source: QueryFragment<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        refuse_old_snapshots(conn)?;
        let is_one_entity = Types::COLUMNS == KeyType::<C>::COLUMNS;
        if is_one_entity {
            let key = slice::from_ref(&self.entities.0);
            return self.correct::<Types, K, E, _>(key, &self.entities, conn);
        }
        let has_locks = false;
        let found = read_all_rows(conn, |conn| self.drift(&self.entities, has_locks, conn))?;
        let mut keys: Vec<E> = found.into_iter().map(|row| row.entity).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut corrected = Vec::new();
        for keys in keys.chunks(BATCH) {
            let entities = padded_keys::<KeyType<C>, E, Conn::Backend>(keys);
            corrected.extend(self.correct::<KeyType<C>, E, E, _>(keys, &entities, conn)?);
        }
        Ok(corrected)
    }

    /// Corrects the entities with these keys, in one transaction.
    fn correct<Of, Id, E, Conn>(
        &self,
        keys: &[Id],
        entities: &dyn Entities<Conn::Backend>,
        conn: &mut Conn,
    ) -> QueryResult<Vec<Drift<E, C::Value>>>
    where
        Id: BindKey<Of, Conn::Backend> + Clone,
        E: OwnedKey<KeyType<C>, Conn::Backend>,
        Source: QueryFragment<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = C::Table::shape();
        let today = shape.today();
        transaction_on_all_rows(conn, |conn| {
            lock_entities::<Of, Id, _>(shape, C::NAMES, keys, conn)?;
            keep_rows(shape, entities, conn)?;
            let has_locks = true;
            let mut found = self.drift::<E, _>(entities, has_locks, conn)?;
            found.sort_unstable_by(|a, b| (&a.entity, a.day).cmp(&(&b.entity, b.day)));
            let mut rows = Vec::new();
            for drift in &found {
                let (day, difference) = correction::<C, E>(drift, today)?;
                rows.push((drift.entity.clone(), day, difference));
            }
            let rows = rows.into_iter();
            add_rows::<KeyType<C>, E, _, _>(shape, C::NAMES, InSlot::Chosen, rows, conn)?;
            Ok(found)
        })
    }
}

/// Returns the day to correct, and the amounts to add to it. If the recount isn't by day, it
/// corrects today's count.
fn correction<C: Counters, E>(
    drift: &Drift<E, C::Value>,
    today: NaiveDate,
) -> QueryResult<(Day, C::Amounts)> {
    let day = drift.day.unwrap_or(today);
    let period = C::Table::PERIOD;
    let start = period.start(day);
    let actual = C::amounts(drift.actual);
    // A true count of 0 is allowed on any day: it removes counts that were stored there when the
    // table had another period.
    if day != UNDATED && day != start && !is_zero(&actual) {
        return refuse(format!(
            "the source of the recount has counts of {day}, but the table counts by {period:?}: \
             select {start} instead"
        ));
    }
    Ok((Day(day), difference(actual, &C::amounts(drift.stored))?))
}
