//! Recounting from the rows that were counted.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_builder::AsQuery;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::Error;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, ListRows, ManyRows};
use crate::correcting::drift::{ByEntity, DriftQuery};
use crate::correcting::true_counts::{OfMany, OfOne, RecountBy, TrueCounts};
use crate::counter::{Counters, checked_add, difference};
use crate::counting::increment::{DaySlots, Increment, LockEntity, increment};
use crate::counting::increment_many::{AddRows, add_rows};
use crate::day::{Day, UNDATED};
use crate::entity::{AllEntities, KeyExpression, KeyOf, KeyType, Keys};
use crate::table::{CounterTable, EntityTable, NoEntity, TableName};
use crate::transaction::is_in_a_transaction;

/// Corrects counters from the rows that they count. `source` is a Diesel query of the true
/// counts, of one of two shapes:
///
/// - `(key, count)`: the difference between an entity's true count and its stored one is
///   added **to today**. Then the total is right, and today's count is not: it can be too
///   large, or negative.
/// - `(key, day, count)`: each day's difference is added to that day. Then totals and series
///   are right.
///
/// For a tuple of counters it selects as many counts. Rows of one entity, or of one entity
/// and day, are added up. **An entity, or a day, that `source` does not return has a true count
/// of 0**: `source` must return all that the counter ever counted. Keys of text must have the
/// collation of the counter table's.
///
/// Recounts one entity with [`of`](Recount::of), and otherwise the whole table. No row is
/// removed.
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
/// // A comment that nobody counted.
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
/// # By day
///
/// This also imports the counts of a log, if the log has all counts of the counter. Running it
/// again changes nothing.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # diesel::table! { downloads (id) { id -> BigInt, article_id -> BigInt, at -> Timestamp } }
/// # diesel::sql_query("CREATE TABLE downloads (id INTEGER PRIMARY KEY, article_id BIGINT, at TIMESTAMP)")
/// #     .execute(conn)?;
/// # diesel::sql_query("INSERT INTO downloads (article_id, at) VALUES (1, '2026-03-01 10:00:00'), \
/// #     (1, '2026-03-01 11:00:00'), (1, '2026-03-02 00:00:00')")
/// #     .execute(conn)?;
/// use chrono::NaiveDate;
/// use diesel::dsl::date;
/// use diesel::sql_types::BigInt;
/// use diesel_counters::prelude::*;
/// use diesel_counters::Drift;
/// use diesel_counters::dsl::recount;
/// use schema::article_counters::views;
///
/// let each = downloads::table.select((
///     downloads::article_id,
///     date(downloads::at),
///     1_i64.into_sql::<BigInt>(),
/// ));
/// let drift: Vec<Drift<(i64, NaiveDate)>> = recount(views, each).execute(conn)?;
///
/// let [first, second] = [1, 2].map(|day| NaiveDate::from_ymd_opt(2026, 3, day).unwrap());
/// assert_eq!(drift[0], Drift { entity: (1, first), stored: 0, actual: 2 });
/// assert_eq!(drift[1], Drift { entity: (1, second), stored: 0, actual: 1 });
/// let march = counter_series(views).of(1_i64).between(first..=second).load(conn)?;
/// assert_eq!(march, [(first, 2), (second, 1)]);
/// # Ok(())
/// # }
/// ```
///
/// The days are those of UTC, unless the model has a `today` of its own. For a model that
/// counts by week or by month, select the first day of each. Days that were
/// [folded](crate::dsl::fold()) get their counts back; fold again afterwards.
///
/// # While others count
///
/// Increments do not wait for it, except on SQLite. No count is lost or doubled, as long as
/// each is in one transaction with the row that it counts. (Where they are in two, a
/// recount between them sees one without the other.) Stored and true counts are read in
/// one statement, as of one moment, after a lock that keeps out other corrections. The lock
/// is the entity's row of 1970-01-01, which is written with zeros where it does not exist.
/// A [partitioned table](crate::CounterTable#partitions) requires a partition for it.
///
/// # Errors
///
/// The database's own. In the caller's transaction on MySQL and MariaDB, an error that says
/// so: a query there reads as of the first one of its transaction, which may have been before
/// the lock. Where `source` counts on a day on which the model does not, such as a Tuesday for
/// a model that counts by week, an error that names the day.
pub fn recount<C, S>(counters: C, source: S) -> Recount<C, S::Query, RecountBy<C, S>>
where
    C: Counters,
    S: AsQuery<SqlType: TrueCounts<C, KeyType<C>>>,
{
    Recount::new(increment(counters), source)
}

/// A recount of the counters `C` of all entities of their table, from the query
/// `Source`; made by [`recount`].
#[must_use = "nothing is recounted until it is executed"]
#[derive(Debug, Clone)]
pub struct Recount<C: Counters, Source, By = ByEntity> {
    increment: Increment<C>,
    source: Rc<Source>,
    batch: usize,
    by: PhantomData<By>,
}

/// A recount of the counters `C` of one entity; made by [`Recount::of`].
#[must_use = "nothing is recounted until it is executed"]
#[derive(Debug, Clone)]
pub struct RecountOne<C: Counters, Source, Id, By = ByEntity> {
    increment: Increment<C, Id>,
    source: Rc<Source>,
    by: PhantomData<By>,
}

/// A statement has each key twice, padded to a power of two, and leaves as many bind values to
/// the source: SQLite takes 32,766.
const MAX_BATCH: usize = 8_192;

/// An entity whose stored count is not the true one, or one of its days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Drift<K, V = i64> {
    /// The entity's key; of a recount by day, the key and the day.
    pub entity: K,
    /// What its counter has, or its counters have.
    pub stored: V,
    /// What is true.
    pub actual: V,
}

impl<C: Counters, Source, By> Recount<C, Source, By> {
    pub(crate) fn new<S>(increment: Increment<C>, source: S) -> Self
    where
        S: AsQuery<Query = Source>,
    {
        Recount {
            increment,
            source: Rc::new(source.as_query()),
            batch: 256,
            by: PhantomData,
        }
    }

    /// Recounts only the entity with this key.
    pub fn of<K: KeyOf<KeyType<C>>>(self, id: K) -> RecountOne<C, Source, KeyExpression<K, C>, By> {
        RecountOne {
            increment: self.increment.of(id),
            source: self.source,
            by: PhantomData,
        }
    }

    /// Corrects up to this number of entities in a transaction, from 1 to 8,192. Defaults to
    /// 256.
    pub fn batch(mut self, entities: usize) -> Self {
        self.batch = entities.clamp(1, MAX_BATCH);
        self
    }

    /// Returns the wrong counts, by key, and changes nothing. It is one query.
    ///
    /// # Errors
    ///
    /// The database's own.
    pub fn dry_run<'a, K, Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        C::Table: EntityTable,
        DriftQuery<C, Source, AllEntities, By>: LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
    {
        let query = DriftQuery::<C, _, _, By>::new(&self.source, AllEntities);
        Ok(drifts(query.load(conn)?))
    }

    /// Corrects the wrong counts, and returns which they were, by key.
    ///
    /// It looks for them as [`dry_run`](Recount::dry_run) does, and then at each of them
    /// again, in transactions of their own. What becomes wrong after the first look is
    /// left.
    ///
    /// # Errors
    ///
    /// Those of [`recount`]; the batches before are corrected then.
    pub fn execute<'a, K, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        C::Table: EntityTable,
        K: Ord,
        By: OfMany<K, Entity: Ord + Clone>,
        Conn: Connection<Backend: CounterBackend<ManyRows: ListRows>>,
        for<'b> AddRows<'b, C, By::Entity>: ExecuteDsl<Conn>,
        DriftQuery<C, Source, AllEntities, By>: LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
        DriftQuery<C, Source, Keys<By::Entity>, By>: LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
    {
        let in_a_transaction = is_in_a_transaction(conn)?;
        let drifts = self.dry_run(conn)?;
        let mut keys: Vec<By::Entity> = drifts
            .iter()
            .map(|drift| By::entity(&drift.entity).clone())
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let mut corrected = Vec::new();
        for keys in keys.chunks(self.batch) {
            corrected.extend(conn.transaction(|conn| self.correct(keys, in_a_transaction, conn))?);
        }
        Ok(corrected)
    }

    fn correct<'a, K, Conn>(
        &self,
        keys: &[By::Entity],
        in_a_transaction: bool,
        conn: &mut Conn,
    ) -> QueryResult<Vec<Drift<K, C::Value>>>
    where
        C::Table: EntityTable,
        K: Ord,
        By: OfMany<K, Entity: Ord + Clone>,
        Conn: Connection<Backend: CounterBackend<ManyRows: ListRows>>,
        for<'b> AddRows<'b, C, By::Entity>: ExecuteDsl<Conn>,
        DriftQuery<C, Source, Keys<By::Entity>, By>: LoadQuery<'a, Conn, (K, C::Value, C::Value)>,
    {
        lock_entities::<C, _, _>(keys, conn)?;

        let these = Keys::listed::<ManyRows<Conn>>(keys.to_vec());
        let query =
            DriftQuery::<C, _, _, By>::new(&self.source, these).under_lock(in_a_transaction);
        let mut rows = query.load::<(K, C::Value, C::Value)>(conn)?;
        rows.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));

        let mut differences = BTreeMap::<_, Vec<_>>::new();
        let mut found = Vec::with_capacity(rows.len());
        for (key, stored, actual) in rows {
            let (stored, actual) = (C::amounts(stored), C::amounts(actual));
            let day = self.increment.day_of_counts(By::day(&key), actual)?;
            let difference = (By::entity(&key).clone(), difference::<C>(actual, stored)?);
            differences.entry(day).or_default().push(difference);
            found.push((key, C::value(stored), C::value(actual)));
        }
        for (day, differences) in differences {
            let place = DaySlots {
                day: Day(day),
                ..self.increment.place
            };
            add_rows::<C, _, Conn>(self.increment.table(), &place, differences, conn)?;
        }
        Ok(drifts(found))
    }
}

/// Locks these entities as [`LockEntity`] locks one. The keys are sorted.
pub(crate) fn lock_entities<C, K, Conn>(keys: &[K], conn: &mut Conn) -> QueryResult<()>
where
    C: Counters<Table: EntityTable>,
    K: Clone,
    Conn: Connection<Backend: CounterBackend<ManyRows: ListRows>>,
    for<'b> AddRows<'b, C, K>: ExecuteDsl<Conn>,
{
    let rows = keys.iter().map(|key| (key.clone(), C::ZERO)).collect();
    add_rows::<C, K, Conn>(&TableName::new(), &DaySlots::LOCK, rows, conn)
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

impl<C: Counters<Table: CounterTable<KeyType = NoEntity>>, Source, By> Recount<C, Source, By> {
    /// Recounts the counters of no entity: `source` is a query of their true counts, or of
    /// days and true counts.
    pub fn of_all(self) -> RecountOne<C, Source, NoEntity, By> {
        RecountOne {
            increment: self.increment,
            source: self.source,
            by: PhantomData,
        }
    }
}

impl<C: Counters, Source, Id: Clone, By: OfOne<C>> RecountOne<C, Source, Id, By> {
    /// Corrects the count, and returns what it added, over all days. It is 0 where the total
    /// was right.
    ///
    /// # Errors
    ///
    /// Those of [`recount`].
    pub fn execute<'a, Conn>(self, conn: &mut Conn) -> QueryResult<C::Value>
    where
        Conn: Connection,
        LockEntity<C, Id>: ExecuteDsl<Conn>,
        Increment<C, Id>: ExecuteDsl<Conn>,
        DriftQuery<C, Source, Id, By::OfOne>: LoadQuery<'a, Conn, By::Row>,
    {
        let in_a_transaction = is_in_a_transaction(conn)?;
        conn.transaction(|conn| {
            let id = self.increment.id().clone();
            LockEntity::<C, Id>::new(id.clone()).execute(conn)?;
            let query = DriftQuery::<C, _, _, By::OfOne>::new(&self.source, id)
                .under_lock(in_a_transaction);
            let mut added = C::ZERO;
            for row in query.load::<By::Row>(conn)? {
                let (day, stored, actual) = By::split(row);
                let actual = C::amounts(actual);
                let difference = difference::<C>(actual, C::amounts(stored))?;
                added = checked_add::<C>(added, difference)?;
                let mut increment = self.increment.clone().amounts(difference);
                increment.place.day = Day(self.increment.day_of_counts(day, actual)?);
                increment.execute(conn)?;
            }
            Ok(C::value(added))
        })
    }
}

impl<C: Counters, Id> Increment<C, Id> {
    /// The day to correct these true counts on: this increment's, where they have none.
    fn day_of_counts(&self, day: Option<NaiveDate>, actual: C::Amounts) -> QueryResult<NaiveDate> {
        let Some(day) = day else {
            return Ok(self.place.day.0);
        };
        // Before the model's period was another one, counts were stored on any day.
        let may_be_counted = day == UNDATED || day == self.period.start(day);
        if may_be_counted || actual.as_ref().iter().all(|&count| count == 0) {
            return Ok(day);
        }
        Err(Error::QueryBuilderError(
            format!(
                "the source of the recount has counts of {day}, and the model counts by \
                 {period:?}: select {start} in its place",
                period = self.period,
                start = self.period.start(day),
            )
            .into(),
        ))
    }
}
