//! Reading the counters of one entity, or of many.

use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::connection::LoadConnection;
use diesel::deserialize::FromSqlRow;
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::query_builder::{AsQuery, QueryFragment};
use diesel::row::Row;
use diesel::{Expression, QueryResult, SelectableExpression};

use crate::day::DayRange;
use crate::read::days::{AllDays, Days};
use crate::read::sums::{Grouped, Many, Sums, Ungrouped};
use crate::sql::{CounterBackend, One};
use crate::typed::counters::{Counters, KeyType, amounts};
use crate::typed::key::{AnyOf, BindKey, KeyOf, KeyTypes, StartOf};
use crate::typed::settings::CounterSettings;
use crate::typed::table::NotEmpty;

/// Reads the total of one or more counters of an entity.
///
/// The entity is given with [`of`](Sums::of), and several entities with [`of_many`](Sums::of_many).
/// It reads all days, unless a day is given with [`on`](Sums::on) or a range with
/// [`between`](Sums::between). It is a Diesel query of one row, with a `BigInt` for each counter:
/// load it with [`get_result`](diesel::RunQueryDsl::get_result). An entity that was never counted
/// has 0.
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
/// While the columns `views` and `likes` are in scope, Rust takes `let (views, likes) = …` as a
/// pattern of the two columns: give variables other names.
///
/// # Cost
///
/// It reads one row for each slot and day that the entity was counted in. If a counter is read with
/// every page and has been counted by day for years, merge its slots with
/// [`compact`](crate::dsl::compact()), count by a longer period, or
/// [materialize](crate::HasCounters::materialize) it. `docs/performance.md` has measurements.
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
    pub fn of<K, N>(self, id: K) -> Sums<C, One<K::Types, K::Value>, By, Days>
    where
        K: KeyOf<KeyType<C>, N>,
    {
        self.of_id(One::new(id.into_value()))
    }

    pub(crate) fn of_id<Id>(self, id: Id) -> Sums<C, Id, By, Days> {
        Sums::new(id, self.by, self.days)
    }

    /// Sets the entities to those whose keys `query` selects, or the first columns of their keys, such
    /// as `articles::table.filter(articles::author_id.eq(7)).select(articles::id)`. It reads one sum
    /// over all of them.
    pub fn of_any<Q>(self, query: Q) -> Sums<C, AnyOf<Q::Query>, By, Days>
    where
        Q: AsQuery<SqlType: StartOf<KeyType<C>>>,
    {
        self.of_id(AnyOf::new::<KeyType<C>>(query.as_query()))
    }

    /// Sets many entities, by their keys, owned or borrowed, by the first columns of their keys, or
    /// by their models.
    ///
    /// ```
    /// # include!("../doctest_setup.rs");
    /// # fn main() -> diesel::QueryResult<()> {
    /// # let conn = &mut establish_connection();
    /// use diesel_counters::prelude::*;
    /// use schema::article_counters::views;
    ///
    /// increment(views).of_many([(1_i64, 10), (2, 20)]).execute(conn)?;
    ///
    /// let totals: Vec<i64> = counter_value(views).of_many([2_i64, 7, 1, 2]).load(conn)?;
    /// assert_eq!(totals, [20, 0, 10, 20]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn of_many<K, N>(
        self,
        ids: impl IntoIterator<Item = K>,
    ) -> Sums<C, Many<K::Types, K::Value>, By, Days>
    where
        K: KeyOf<KeyType<C>, N, Types: NotEmpty>,
    {
        self.of_id(Many::new(ids.into_iter().map(K::into_value)))
    }
}

impl<C: Counters, Id, Days> CounterValue<C, Id, Days> {
    /// Reads a row for each value of these columns of the counter table, in their order: the
    /// values, and the sums. For an index to be used, they are those that follow the ones given
    /// with [`of`](Sums::of): the counts of each emoji of an article are
    /// `counter_value(given).of(7).group_by(emoji).load::<(String, i64)>(conn)`.
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

    /// Reads only the counts of a range of days: `monday..=today`, `monday..`, `..today`. An empty
    /// or reversed range has 0. If the table counts by another [`Period`](crate::Period) than the
    /// day, reads all periods that overlap the range. Counts without a day are those of 1970-01-01.
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> Sums<C, Id, By, DayRange> {
        self.days(DayRange::whole(days, C::Table::PERIOD))
    }

    pub(crate) fn days(self, days: DayRange) -> Sums<C, Id, By, DayRange> {
        Sums::new(self.entities, self.by, days)
    }
}

/// The values of the columns that sums of the counters `C` are grouped by, each with the sums.
pub type GroupedCounts<R, C> = Vec<(R, <C as Counters>::Value)>;

impl<C, Types, K, D> Sums<C, Many<Types, K>, Ungrouped, D>
where
    C: Counters,
    Types: KeyTypes,
    D: Days,
{
    /// Runs the query. Returns a value for each key, in the order of the keys. A key can be given
    /// more than once. An entity that was never counted has 0.
    ///
    /// On PostgreSQL, it is one query for any number of keys. On the other databases, it is one
    /// query for each 1,000 keys, whose number of keys is filled up to a power of two, so that
    /// there are few texts to prepare.
    ///
    /// # Errors
    ///
    /// Those of [`counter_value`].
    pub fn load<Conn>(self, conn: &mut Conn) -> QueryResult<Vec<C::Value>>
    where
        K: BindKey<Types, Conn::Backend> + Clone,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let mut values = vec![C::ZERO; self.entities.ids.len()];
        self.read_numbered(
            conn,
            |row| amounts::<C, Conn::Backend>(row, 1),
            |key, value| values[key] = value,
        )?;
        Ok(values.into_iter().map(C::value).collect())
    }
}

impl<C, Types, K, G, D> Sums<C, Many<Types, K>, Grouped<G>, D>
where
    C: Counters,
    Types: KeyTypes,
    G: Expression,
    D: Days,
{
    /// Runs the query, as it does without [`group_by`](Sums::group_by). Returns [`GroupedCounts`] for
    /// each key. An entity that was never counted has none.
    ///
    /// # Errors
    ///
    /// Those of [`counter_value`].
    pub fn load<R, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<GroupedCounts<R, C>>>
    where
        K: BindKey<Types, Conn::Backend> + Clone,
        G: QueryFragment<Conn::Backend>,
        R: FromSqlRow<G::SqlType, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let mut values: Vec<Vec<_>> = self.entities.ids.iter().map(|_| Vec::new()).collect();
        self.read_numbered(
            conn,
            |row| {
                let sums = row.field_count() - C::NAMES.len();
                let group = R::build_from_row(&row.partial_row(1..sums))?;
                Ok((group, C::value(amounts::<C, Conn::Backend>(row, sums)?)))
            },
            |key, group| values[key].push(group),
        )?;
        Ok(values)
    }
}
