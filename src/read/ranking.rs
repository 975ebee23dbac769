//! The entities with the greatest totals.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::expression::TypedExpressionType;
use diesel::query_builder::{AsQuery, AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::LimitDsl;
use diesel::sql_types::{BigInt, SingleValue};
use diesel::{Column, QueryResult, RunQueryDsl};

use crate::day::DayRange;
use crate::read::days::Days;
use crate::read::sums::Grouped;
use crate::shape::Name;
use crate::sql::{CounterBackend, Dialect, ENTITY, Number, One, Sql, list, sql, where_all};
use crate::typed::counters::{Counters, KeyType};
use crate::typed::key::{AnyOf, Entities, KeyOf, KeyTypes, StartOf};
use crate::typed::settings::CounterSettings;
use crate::typed::table::{CounterTable, NotEmpty};

/// Reads the entities that have the greatest totals of a counter, greatest first. Entities with
/// equal totals are in the order of their keys.
///
/// [`limit`](Ranking::limit) sets the number of entities, and [`between`](Ranking::between) the
/// days. Each row has the key of an entity and its total, a `BigInt`. Load the models by the keys,
/// in a second query:
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let today = chrono::Utc::now().date_naive();
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// increment(views).of_many([(1_i64, 10), (2, 200)]).execute(conn)?;
///
/// let most_read: Vec<(i64, i64)> = ranking(views).between(today..).limit(10).load(conn)?;
/// assert_eq!(most_read, [(2, 200), (1, 10)]);
///
/// let ids = most_read.iter().map(|(id, _)| *id);
/// let mut models: Vec<Article> = articles::table.filter(articles::id.eq_any(ids)).load(conn)?;
/// models.sort_by_key(|article| most_read.iter().position(|(id, _)| *id == article.id));
/// assert_eq!(models[0].title, "Two");
/// # Ok(())
/// # }
/// ```
///
/// Of keys of several columns, [`of`](Ranking::of) ranks only the entities whose keys begin with
/// some values, such as the versions of one crate, and [`group_by`](Ranking::group_by) ranks the
/// values of one column, such as crates by the downloads of all their versions.
///
/// # Cost
///
/// The database sums the counts of all entities that were counted on these days. For a large table,
/// this costs far less than a [`total`](crate::dsl::total()) for each row, and more than an index
/// on a column that has the totals; see [`materialize`](crate::HasCounters::materialize).
///
/// # Errors
///
/// The query fails with an [overflow](crate::is_overflow()) if the total of any entity is out of
/// the range of an `i64`. `docs/reading.md` has a query that finds this entity.
pub fn ranking<C>(_counter: C) -> Ranking<C>
where
    C: Counters<Value = i64, Table: CounterTable<KeyType: NotEmpty>>,
{
    Ranking {
        entities: (),
        days: DayRange::ALL,
        limit: i64::MAX,
        of: PhantomData,
    }
}

/// A query of the entities with the greatest totals of the counter `C`; made by
/// [`ranking`](crate::dsl::ranking()). It ranks the entities `E` by `By`.
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, QueryId)]
pub struct Ranking<C, E = (), By = WholeKey> {
    entities: E,
    days: DayRange,
    limit: i64,
    of: PhantomData<(C, By)>,
}

/// Ranks entities, by their whole keys.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct WholeKey;

/// The columns of the counter table `T` that are ranked.
pub trait RankBy<T> {
    /// The SQL type of a row of them.
    type SqlType: TypedExpressionType;
    /// Their names.
    const NAMES: &'static [Name<'static>];
}

impl<T: CounterTable> RankBy<T> for WholeKey {
    type SqlType = <T::KeyType as KeyTypes>::Row;
    const NAMES: &'static [Name<'static>] = T::ENTITY;
}

impl<T, Col> RankBy<T> for Grouped<Col>
where
    T: CounterTable,
    Col: Column<Table = T, SqlType: SingleValue>,
{
    type SqlType = Col::SqlType;
    const NAMES: &'static [Name<'static>] = &[Name(Col::NAME)];
}

impl<C: Counters, By> Ranking<C, (), By> {
    /// Ranks only the entities whose keys begin with these values.
    pub fn of<K, N>(self, id: K) -> Ranking<C, One<K::Types, K::Value>, By>
    where
        K: KeyOf<KeyType<C>, N>,
    {
        self.entities(One::new(id.into_value()))
    }

    /// Ranks only the entities whose keys `query` selects, or the first columns of their keys.
    pub fn of_any<Q>(self, query: Q) -> Ranking<C, AnyOf<Q::Query>, By>
    where
        Q: AsQuery<SqlType: StartOf<KeyType<C>>>,
    {
        self.entities(AnyOf::new::<KeyType<C>>(query.as_query()))
    }

    fn entities<E>(self, entities: E) -> Ranking<C, E, By> {
        Ranking {
            entities,
            days: self.days,
            limit: self.limit,
            of: PhantomData,
        }
    }
}

impl<C: Counters, E> Ranking<C, E> {
    /// Ranks the values of this column of the counter table, by the totals of all entities that have
    /// them.
    pub fn group_by<Col>(self, _column: Col) -> Ranking<C, E, Grouped<Col>>
    where
        Col: Column<Table = C::Table, SqlType: SingleValue>,
    {
        Ranking {
            entities: self.entities,
            days: self.days,
            limit: self.limit,
            of: PhantomData,
        }
    }
}

impl<C: Counters, E, By> Ranking<C, E, By> {
    /// Ranks only by the counts of a range of days; see [`Sums::between`](crate::dsl::Sums::between).
    /// Entities without counts in the range are not in the ranking.
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.days = DayRange::whole(days, C::Table::PERIOD);
        self
    }

    /// Sets the greatest number of entities. By default there is no limit. A negative number is no
    /// limit on SQLite and MariaDB, and an error on PostgreSQL and MySQL.
    pub fn limit(mut self, limit: i64) -> Self {
        self.limit = limit;
        self
    }
}

impl<C: Counters, E, By: RankBy<C::Table>> Query for Ranking<C, E, By> {
    type SqlType = (By::SqlType, BigInt);
}

impl<C, E, By, Conn> RunQueryDsl<Conn> for Ranking<C, E, By> {}

// Diesel's `first` requires it.
impl<C: Counters, E, By> LimitDsl for Ranking<C, E, By> {
    type Output = Self;

    fn limit(self, limit: i64) -> Self {
        self.limit(limit)
    }
}

const TOTAL: Name<'static> = Name("diesel_counters_total");

impl<C, E, By, DB> QueryFragment<DB> for Ranking<C, E, By>
where
    C: Counters,
    E: Entities<DB>,
    By: RankBy<C::Table>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let (db, shape) = (Dialect::of(&out), C::Table::shape());
        let (names, table, total) = (By::NAMES, shape.table, Number(By::NAMES.len() + 1));
        let ranked = names.iter().zip(ENTITY);
        let ranked = list(
            "",
            ranked.map(|(column, name)| sql!("{*column} AS {name}, ")),
        );
        let entities = self.entities.condition(db, shape.entity());
        let rows = where_all([entities, self.days.condition(shape.day())]);
        let by = list(
            "",
            (1..=names.len()).map(|column| sql!(", {Number(column)}")),
        );
        let query: Sql<'b, DB> = sql!(
            "{db.select()}{ranked}{db.sum(C::NAMES[0])} AS {TOTAL} FROM {table}{rows} \
             GROUP BY {names} ORDER BY {total} DESC{by} LIMIT {&self.limit}"
        );
        query.walk(out)
    }
}

// Whatever the types of the columns are, which are not part of the value.
impl<C, E: Clone, By> Clone for Ranking<C, E, By> {
    fn clone(&self) -> Self {
        Ranking {
            entities: self.entities.clone(),
            ..*self
        }
    }
}
impl<C, E: Copy, By> Copy for Ranking<C, E, By> {}
