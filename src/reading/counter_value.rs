//! Reading the counters of one entity, or of many.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::query_builder::AsQuery;
use diesel::query_dsl::methods::LoadQuery;
use diesel::{QueryResult, RunQueryDsl, SelectableExpression};

use crate::backend::{CounterBackend, ManyRows, WalkRows};
use crate::counter::Counters;
use crate::day::DayRange;
use crate::key::{
    AnyOf, FirstType, KeyType, Keys, PrefixColumns, PrefixExpression, PrefixOf, SelectedKeys,
};
use crate::reading::days::AllDays;
use crate::reading::sums::{Grouped, NumberedSums, Sums, Ungrouped};
use crate::settings::CounterSettings;

/// Reads the total of one or more counters of an entity.
///
/// The entity is given with [`of`](Sums::of), and several entities with
/// [`of_many`](Sums::of_many). It reads all days, unless a day is given with
/// [`on`](Sums::on) or a range with [`between`](Sums::between). It is a Diesel
/// query of one row, with a `BigInt` for each counter: load it with
/// [`get_result`](diesel::RunQueryDsl::get_result). An entity that was never counted has 0.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let (article_id, today) = (1_i64, chrono::Utc::now().date_naive());
/// # let monday = today - chrono::Days::new(3);
/// use diesel_counters::prelude::*;
/// use schema::article_counters::{likes, views};
///
/// increment(views).of(article_id).by(3).on(today).execute(conn)?;
///
/// let n: i64 = counter_value(views).of(article_id).get_result(conn)?;
/// let (v, l): (i64, i64) = counter_value((views, likes)).of(article_id).on(today).get_result(conn)?;
/// let week: i64 = counter_value(views).of(article_id).between(monday..=today).get_result(conn)?;
/// assert_eq!((n, v, l, week), (3, 3, 0, 3));
/// # Ok(())
/// # }
/// ```
///
/// Give the variables other names than the columns. While the columns `views` and `likes` are in
/// scope, Rust takes `let (views, likes) = …` as a pattern of the two columns.
///
/// # Cost
///
/// It reads one row for each slot and day that the entity was counted in. If a counter is read with
/// every page, and has been counted by day for years, do one of these:
///
/// - merge its slots with [`compact`](crate::dsl::compact());
/// - count by a longer period, with `period = Month` or `Total`;
/// - [materialize](crate::HasCounters::materialize) the counter.
///
/// The table shows the duration of a read, as a multiple of the time to read one `BIGINT` of one row
/// by its primary key, on the same connection in the same run. "Merged" means that each day before
/// today has one row.
///
/// | days | slots | rows | PostgreSQL | MySQL | MariaDB | SQLite |
/// | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
/// | 1 | 1 | 1 | 1.08 | 1.22 | 1.25 | 3.30 |
/// | 1 | 16 | 16 | 1.36 | 1.31 | 1.34 | 6.56 |
/// | 1 | 32 | 32 | 1.66 | 1.33 | 1.35 | 10.1 |
/// | 30 | 1 | 30 | 1.58 | 1.32 | 1.36 | 9.48 |
/// | 30 | 16 | 480 | 5.06 | 2.33 | 2.18 | 96.7 |
/// | 30 | 32 | 960 | 6.85 | 3.21 | 3.06 | 224 |
/// | 30 | 16, merged | 45 | 1.70 | 1.37 | 1.43 | 12.6 |
/// | 30 | 32, merged | 61 | 1.75 | 1.42 | 1.43 | 15.9 |
/// | 365 | 1 | 365 | 3.79 | 1.90 | 1.91 | 86.1 |
/// | 365 | 16 | 5,840 | 43.7 | 10.4 | 9.45 | 1643 |
/// | 365 | 32 | 11,680 | 90.3 | 17.5 | 20.7 | 3821 |
/// | 365 | 16, merged | 380 | 4.20 | 1.87 | 2.01 | 83.9 |
/// | 365 | 32, merged | 396 | 4.33 | 1.89 | 1.99 | 88.9 |
///
/// Measured with `bench/` on two cores, with client and server together: PostgreSQL 15.18,
/// MySQL 9.7, MariaDB 10.11, SQLite 3.53 in a file. SQLite always has one slot. It reads a row by
/// its key in 3 µs, because it has no server. The others take 100 µs.
///
/// # Errors
///
/// The query returns the database's own errors. It fails with:
///
/// - an [overflow](crate::is_overflow()), if a sum is out of the range of an `i64`. On SQLite, it
///   also does if the sum of some of the rows is out of this range;
/// - a [`SerializationError`](diesel::result::Error::SerializationError), if the day of
///   [`on`](Sums::on) is outside of 1000-01-01 to 9999-12-31.
pub fn counter_value<C: Counters>(_counters: C) -> CounterValue<C> {
    Sums::new((), Ungrouped, AllDays)
}

/// A query of the counters `C` of the entities `Id`; made by [`counter_value`].
pub type CounterValue<C, Id = (), Days = AllDays> = Sums<C, Id, Ungrouped, Days>;

impl<C: Counters, By, Days> Sums<C, (), By, Days> {
    /// Sets the entity, by its key. With fewer values than the key has columns, reads all entities whose
    /// keys begin with them: `crate_id` for all versions of a crate. Defaults to all entities.
    pub fn of<K, N>(self, id: K) -> Sums<C, PrefixExpression<K, C, N>, By, Days>
    where
        K: PrefixOf<KeyType<C>, N>,
    {
        self.of_id(id.into_id())
    }

    pub(crate) fn of_id<Id>(self, id: Id) -> Sums<C, Id, By, Days> {
        Sums::new(id, self.by, self.days)
    }

    /// Sets the entities to those whose keys `query` selects, or the first columns of their keys, such
    /// as `articles::table.filter(articles::author_id.eq(7)).select(articles::id)`. It reads one sum
    /// over all of them.
    pub fn of_any<Q>(self, query: Q) -> Sums<C, AnyOf<Q::Query, KeyType<C>>, By, Days>
    where
        Q: AsQuery<SqlType: SelectedKeys<KeyType<C>>>,
    {
        self.of_id(AnyOf::new(query.as_query()))
    }

    /// Sets many entities, by their keys, owned or borrowed, or by the values of the first columns of
    /// their keys.
    pub fn of_many<K, N>(self, ids: impl IntoIterator<Item = K>) -> CounterValues<C, K, N, Days, By>
    where
        K: PrefixOf<KeyType<C>, N, Types: FirstType>,
    {
        CounterValues {
            ids: ids.into_iter().collect(),
            query: self,
            columns: PhantomData,
        }
    }
}

impl<C: Counters, Id, Days> CounterValue<C, Id, Days> {
    /// Reads a row for each value of these columns of the counter table, in their order: the values, and
    /// the sums. For an index to be used, they are those that follow the ones given with
    /// [`of`](Sums::of).
    ///
    /// ```
    /// # fn main() -> diesel::QueryResult<()> {
    /// # use diesel::connection::SimpleConnection;
    /// # use diesel::prelude::*;
    /// # let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    /// # conn.batch_execute(
    /// #     "CREATE TABLE article_reactions (
    /// #          article_id BIGINT NOT NULL, emoji TEXT NOT NULL, day DATE NOT NULL,
    /// #          slot SMALLINT NOT NULL, given BIGINT NOT NULL DEFAULT 0,
    /// #          PRIMARY KEY (article_id, emoji, day, slot)
    /// #      )",
    /// # )?;
    /// diesel::table! {
    ///     article_reactions (article_id, emoji, day, slot) {
    ///         article_id -> BigInt,
    ///         emoji -> Text,
    ///         day -> Date,
    ///         slot -> SmallInt,
    ///         given -> BigInt,
    ///     }
    /// }
    /// diesel_counters::counter_table!(article_reactions);
    ///
    /// use article_reactions::{emoji, given};
    /// use diesel_counters::prelude::*;
    ///
    /// increment(given).of((7, "👍")).by(2).execute(conn)?;
    /// increment(given).of((7, "🎉")).execute(conn)?;
    ///
    /// let reactions: Vec<(String, i64)> = counter_value(given).of(7).group_by(emoji).load(conn)?;
    /// assert_eq!(reactions, [("🎉".to_owned(), 1), ("👍".to_owned(), 2)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn group_by<G>(self, columns: G) -> Sums<C, Id, Grouped<G>, Days>
    where
        G: SelectableExpression<C::Table> + ValidGrouping<(), IsAggregate = is_aggregate::No>,
    {
        Sums::new(self.entities, Grouped(columns), self.days)
    }
}

impl<C: Counters, Id, By, Days> Sums<C, Id, By, Days> {
    /// Reads only the count of `day`. If the table counts by another [`Period`](crate::Period) than the
    /// day, reads the period that contains `day`.
    pub fn on(self, day: NaiveDate) -> Sums<C, Id, By, DayRange> {
        self.days(DayRange::period_of(day, C::Table::PERIOD))
    }

    /// Reads only the counts of a range of days: `monday..=today`, `monday..`, `..today`. An empty or
    /// reversed range has 0.
    ///
    /// Counts without a day are stored under 1970-01-01. A range that contains this day includes
    /// them.
    ///
    /// If the table counts by another [`Period`](crate::Period) than the day, reads all periods that
    /// overlap the range.
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> Sums<C, Id, By, DayRange> {
        self.days(DayRange::whole(days, C::Table::PERIOD))
    }

    pub(crate) fn days(self, days: DayRange) -> Sums<C, Id, By, DayRange> {
        Sums::new(self.entities, self.by, days)
    }
}

/// A query of the counters `C` of many entities; made by
/// [`counter_value(…).of_many(…)`](Sums::of_many).
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// increment_many(views, [(1_i64, 10), (2, 20)], conn)?;
///
/// let totals: Vec<i64> = counter_value(views).of_many([2_i64, 7, 1, 2]).load(conn)?;
/// assert_eq!(totals, [20, 0, 10, 20]);
/// # Ok(())
/// # }
/// ```
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone)]
pub struct CounterValues<C: Counters, K, N, Days = AllDays, By = Ungrouped> {
    ids: Vec<K>,
    query: Sums<C, (), By, Days>,
    columns: PhantomData<N>,
}

impl<C: Counters, K, N, Days, By> CounterValues<C, K, N, Days, By> {
    /// Reads only the counts that are stored under `day`, as [`Sums::on`].
    pub fn on(self, day: NaiveDate) -> CounterValues<C, K, N, DayRange, By> {
        self.query(|query| query.on(day))
    }

    /// Reads only the counts that are stored under a range of days, as [`Sums::between`].
    pub fn between(
        self,
        days: impl RangeBounds<NaiveDate>,
    ) -> CounterValues<C, K, N, DayRange, By> {
        self.query(|query| query.between(days))
    }

    fn query<D, B>(
        self,
        change: impl FnOnce(Sums<C, (), By, Days>) -> Sums<C, (), B, D>,
    ) -> CounterValues<C, K, N, D, B> {
        CounterValues {
            ids: self.ids,
            query: change(self.query),
            columns: PhantomData,
        }
    }
}

impl<C: Counters, K, N, Days> CounterValues<C, K, N, Days> {
    /// Reads rows for each value of these columns of the counter table, as [`Sums::group_by`].
    pub fn group_by<G>(self, columns: G) -> CounterValues<C, K, N, Days, Grouped<G>>
    where
        G: SelectableExpression<C::Table> + ValidGrouping<(), IsAggregate = is_aggregate::No>,
    {
        self.query(|query| query.group_by(columns))
    }

    /// Runs the query. Returns a value for each key, in the order of the keys. A key can be given
    /// more than once. An entity that was never counted has 0.
    ///
    /// On PostgreSQL, it is one query for any number of keys. On the other databases, it is one
    /// query for each 1,000 keys. There the number of keys in a query is a power of two or 1,000, so
    /// that there are few texts to prepare; the last key is repeated to fill up the list.
    ///
    /// # Errors
    ///
    /// Those of [`counter_value`].
    pub fn load<'a, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<C::Value>>
    where
        Self: ReadOn<'a, Conn, Vec<C::Value>>,
    {
        self.read(conn)
    }
}

/// The values of the columns that sums of the counters `C` are grouped by, each with the sums.
pub type GroupedCounts<R, C> = Vec<(R, <C as Counters>::Value)>;

impl<C: Counters, K, N, Days, G> CounterValues<C, K, N, Days, Grouped<G>> {
    /// Runs the query. Returns, for each key in the order of the keys, the values of the columns with
    /// their counts. An entity that was never counted has none.
    ///
    /// # Errors
    ///
    /// Those of [`counter_value`].
    pub fn load<'a, R, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<GroupedCounts<R, C>>>
    where
        Self: ReadOn<'a, Conn, Vec<GroupedCounts<R, C>>>,
    {
        self.read(conn)
    }
}

/// A query that runs on the connection `Conn`, and returns `Returned`: counts of many entities, or a
/// series.
#[diagnostic::on_unimplemented(
    message = "these counters cannot be read on a `{Conn}`",
    label = "this requires a connection of Diesel's, and keys of the counter table's type"
)]
pub trait ReadOn<'a, Conn, Returned> {
    #[doc(hidden)]
    fn read(self, conn: &mut Conn) -> QueryResult<Returned>;
}

impl<'a, C, K, N, Days, Conn> ReadOn<'a, Conn, Vec<C::Value>> for CounterValues<C, K, N, Days>
where
    C: Counters,
    K: PrefixOf<KeyType<C>, N> + Clone,
    Conn: Connection<Backend: CounterBackend>,
    Days: Copy,
    NumberedSums<C, PrefixColumns<K, C, N>, Ungrouped, Days>: LoadQuery<'a, Conn, (i64, C::Value)>,
{
    fn read(self, conn: &mut Conn) -> QueryResult<Vec<C::Value>> {
        let mut values = vec![C::ZERO; self.ids.len()];
        let rows = read_numbered(&self.ids, self.query, conn)?;
        for (key, (_, value)) in rows {
            values[key] = C::amounts(value);
        }
        Ok(values.into_iter().map(C::value).collect())
    }
}

impl<'a, C, K, N, Days, G, R, Conn> ReadOn<'a, Conn, Vec<GroupedCounts<R, C>>>
    for CounterValues<C, K, N, Days, Grouped<G>>
where
    C: Counters,
    K: PrefixOf<KeyType<C>, N> + Clone,
    G: Clone,
    Conn: Connection<Backend: CounterBackend>,
    Days: Copy,
    NumberedSums<C, PrefixColumns<K, C, N>, Grouped<G>, Days>:
        LoadQuery<'a, Conn, (i64, R, C::Value)>,
{
    fn read(self, conn: &mut Conn) -> QueryResult<Vec<GroupedCounts<R, C>>> {
        let mut values: Vec<Vec<_>> = self.ids.iter().map(|_| Vec::new()).collect();
        let rows = read_numbered(&self.ids, self.query, conn)?;
        for (key, (_, column, value)) in rows {
            values[key].push((column, value));
        }
        Ok(values)
    }
}

/// Reads rows that begin with the number of a key. Returns each row, with the index of its key in
/// `ids`.
pub(crate) fn read_numbered<'a, C, K, N, By, Days, R, Conn>(
    ids: &[K],
    query: Sums<C, (), By, Days>,
    conn: &mut Conn,
) -> QueryResult<Vec<(usize, R)>>
where
    C: Counters,
    K: PrefixOf<KeyType<C>, N> + Clone,
    By: Clone,
    Days: Copy,
    R: Numbered,
    Conn: Connection<Backend: CounterBackend>,
    NumberedSums<C, PrefixColumns<K, C, N>, By, Days>: LoadQuery<'a, Conn, R>,
{
    let mut rows = Vec::new();
    let size = <ManyRows<Conn> as WalkRows<Conn::Backend>>::NUMBERED_LIMIT;
    for (chunk, keys) in ids.chunks(size).enumerate() {
        let listed = Keys::numbered::<_, _, Conn::Backend>(keys);
        let query = NumberedSums::<C, _, _, _>::new(listed, query.by.clone(), query.days);
        for row in query.load::<R>(conn)? {
            // The keys that fill up the list have greater numbers.
            let number = row.number() as usize - 1;
            if number < keys.len() {
                rows.push((chunk * size + number, row));
            }
        }
    }
    Ok(rows)
}

/// A row that begins with the number of a key, from 1.
pub(crate) trait Numbered {
    fn number(&self) -> i64;
}

impl<V> Numbered for (i64, V) {
    fn number(&self) -> i64 {
        self.0
    }
}

impl<R, V> Numbered for (i64, R, V) {
    fn number(&self) -> i64 {
        self.0
    }
}
