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
use crate::correct::{keep_rows, listed, lock_entities};
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
/// `source` is a Diesel query of the true counts. The difference between the true count and the
/// stored count is added to the counter. [`of`](Recount::of) recounts one entity, or some. Without
/// it, all entities of the table are recounted.
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
/// - `(key, count)`: the difference is added **to today's count**. The total is then correct.
///   Today's count is not: it can be too large, or negative. [The
///   guide](crate::guide::operations#counts-without-a-day) has a table of where each correction is
///   stored.
/// - `(key, day, count)`: the difference of each day is added to that day. Totals and series are
///   then correct. Select the days that increments count on: days in UTC, unless the table has its
///   own `today`; for a table that counts by week, month or year, the first day of each period.
///
/// For a tuple of counters, select a count for each of them. Several rows of one entity, or of one
/// entity and day, are added up. Texts require the collation of the counter table's column.
///
/// **If `source` does not return an entity, or a day, its true count is 0.** So `source` must
/// return everything that the counter ever counted, or on the days given with
/// [`between`](Recount::between). If old days were [folded](crate::dsl::fold()), the recount gives
/// them their counts back. Fold them again afterwards.
///
/// # Concurrency
///
/// Increments do not wait for a recount, except on SQLite. Other corrections of the entity do, as
/// for [`set_counter`](crate::dsl::set_counter()). A recount does not lose or double a count if the
/// application writes the count and the counted row in the same transaction: one statement reads
/// both.
///
/// # Errors
///
/// `execute` returns the database's own errors, an [overflow](crate::is_overflow()) if a stored
/// count, a difference or a row is out of the range of an `i64`, and a
/// [`QueryBuilderError`](diesel::result::Error::QueryBuilderError):
///
/// - if a transaction is open on MySQL or MariaDB, other than that of
///   [`begin_test_transaction`](diesel::Connection::begin_test_transaction): a query in it can read
///   rows as they were before the lock;
/// - if `source` counts on a day that is not the first day of one of the table's periods;
/// - if it recounts the days [`between`](Recount::between), and the table counts in total, or
///   `source` does not select days.
///
/// On PostgreSQL, `execute` and `dry_run` fail if a policy of row level security applies to the
/// caller and a table that they read, unless you have opened a transaction: there they see what the
/// policy shows. Recount as a role with `BYPASSRLS`.
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

/// A recount of the counters `C` of the entities `E`, from the query `Source`; made by [`recount`].
#[must_use = "counters are not recounted until this is executed"]
#[derive(Debug, Clone)]
pub struct Recount<C, Source, E = AllEntities> {
    pub(super) source: Source,
    pub(super) is_by_day: bool,
    entities: E,
    pub(super) days: DayRange,
    of: PhantomData<C>,
}

/// An entity, or a day of an entity, whose stored count was not the true count; returned by
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
    /// Returns what a recount would return, to compare with it in a test.
    pub fn new(entity: K, day: Option<NaiveDate>, stored: V, actual: V) -> Self {
        Drift {
            entity,
            day,
            stored,
            actual,
        }
    }
}

/// The number of entities in a transaction.
const BATCH: usize = 256;

impl<C: Counters, Source> Recount<C, Source> {
    /// Recounts only this entity, given by its key or by its model, or the entities whose keys
    /// begin with these values: all versions of a crate, with `.of(crate_id)`.
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
    /// Recounts only these days, or the whole periods that overlap them. Counts of other days do
    /// not change, and `source` need not select them: `recount(views, log).between(day..=day)`
    /// imports the log of a day.
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.days = DayRange::whole(days, C::Table::PERIOD);
        self
    }

    /// Returns the counts that are wrong, in the order of their keys, and changes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`recount`], except for an open transaction: on MySQL and MariaDB it compares the
    /// rows as they were when the transaction began.
    pub fn dry_run<E, Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<Drift<E, C::Value>>>
    where
        K: BindKey<Types, Conn::Backend>,
        E: OwnedKey<KeyType<C>, Conn::Backend>,
        Source: QueryFragment<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        read_all_rows(conn, |conn| self.drift(&self.entities, false, conn))
    }

    /// Corrects the counts that are wrong. Returns them, in the order of their keys.
    ///
    /// One entity is locked, read and corrected in a transaction, or in a savepoint if a
    /// transaction is open. Of several entities, it first finds those with wrong counts, as
    /// [`dry_run`](Recount::dry_run) does. Then it corrects them, each 256 in a transaction or
    /// savepoint. An entity whose count becomes wrong after the first query is not corrected.
    /// On MySQL and MariaDB, a transaction is READ COMMITTED.
    ///
    /// # Errors
    ///
    /// Those of [`recount`]. The transactions before the error stay committed.
    pub fn execute<E, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<Drift<E, C::Value>>>
    where
        K: BindKey<Types, Conn::Backend> + Clone,
        E: OwnedKey<KeyType<C>, Conn::Backend>,
        Source: QueryFragment<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        refuse_old_snapshots(conn)?;
        if Types::COLUMNS == KeyType::<C>::COLUMNS {
            let key = slice::from_ref(&self.entities.0);
            return self.correct::<Types, K, E, _>(key, &self.entities, conn);
        }
        let found = read_all_rows(conn, |conn| self.drift(&self.entities, false, conn))?;
        let mut keys: Vec<E> = found.into_iter().map(|row| row.entity).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut corrected = Vec::new();
        for keys in keys.chunks(BATCH) {
            let entities = listed::<KeyType<C>, E, Conn::Backend>(keys);
            corrected.extend(self.correct::<KeyType<C>, E, E, _>(keys, &entities, conn)?);
        }
        Ok(corrected)
    }

    /// Corrects entities, which have these keys, in one transaction.
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
        let period = C::Table::PERIOD;
        transaction_on_all_rows(conn, |conn| {
            lock_entities::<Of, Id, _>(shape, C::NAMES, keys, conn)?;
            keep_rows(shape, entities, conn)?;
            let mut found = self.drift::<E, _>(entities, true, conn)?;
            found.sort_unstable_by(|a, b| (&a.entity, a.day).cmp(&(&b.entity, b.day)));
            let mut rows = Vec::new();
            for row in &found {
                let day = row.day.unwrap_or(today);
                let actual = C::amounts(row.actual);
                let start = period.start(day);
                // A true count of 0 removes counts that were stored under this day when the table
                // had another period.
                if day != UNDATED && day != start && !is_zero(&actual) {
                    return refuse(format!(
                        "the source of the recount has counts of {day}, but the table counts by \
                         {period:?}: select {start} instead"
                    ));
                }
                let difference = difference(actual, &C::amounts(row.stored))?;
                rows.push((row.entity.clone(), Day(day), difference));
            }
            let rows = rows.into_iter();
            add_rows::<KeyType<C>, E, _, _>(shape, C::NAMES, InSlot::Counted, rows, conn)?;
            Ok(found)
        })
    }
}
