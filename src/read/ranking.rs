//! The entities with the highest totals.

use std::marker::PhantomData;

use diesel::query_builder::QueryId;
use diesel::query_dsl::methods::LimitDsl;
use diesel::sql_types::{BigInt, SingleValue};
use diesel::{Column, Expression};

use crate::day::DayRange;
use crate::key::{HasColumns, KeyTypes};
use crate::read::sums::{GroupColumns, GroupRow, Sums};
use crate::sql::{CounterBackend, Dialect, ENTITY, Number, Part, Sql, aliased, list, sql};
use crate::typed::counters::Counters;
use crate::typed::names::ColumnNames;
use crate::typed::table::{CounterTable, EntityOf};

/// Reads the entities with the highest totals of a counter, highest first. Entities with equal
/// totals are in the order of their keys.
///
/// [`limit`](Ranking::limit) sets how many entities to read, and [`between`](Sums::between) sets
/// the days. Each row has an entity's key and its total, a `BigInt`. An entity is in the ranking if
/// it has a row in the range, so its total is 0 if only its other counters were counted. Load the
/// models by their keys, in a second query:
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
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
/// If the key has several columns, [`of`](Ranking::of) ranks only the entities whose keys begin
/// with some values, for example the versions of one crate, and [`group_by`](Ranking::group_by)
/// ranks the values of one column.
///
/// The database sums the counts of all entities that were counted on these days. For a large table,
/// this costs far less than a [`total`](crate::dsl::total()) for each row, but more than an index
/// on a [column that has the totals](crate::guide::operations#sorting-by-a-count).
///
/// # Errors
///
/// The query fails with an [overflow](crate::is_overflow()) if any entity's total is out of the
/// range of an `i64`. [This query](crate::guide::reading#a-total-beyond-an-i64) finds the entity.
pub fn ranking<C>(_counter: C) -> Ranking<C>
where
    C: Counters<Value = i64, Table: CounterTable<KeyType: HasColumns<1>>>,
{
    let by = ByTotal {
        limit: i64::MAX,
        by: PhantomData,
    };
    Sums::new((), by, DayRange::ALL)
}

/// A query for the highest totals of the counter `C` among the entities `E`; made by
/// [`ranking`](crate::dsl::ranking()). `By` is a tuple of the columns that are ranked.
pub type Ranking<C, E = (), By = EntityOf<<C as Counters>::Table>> =
    Sums<C, E, ByTotal<By>, DayRange>;

/// Ranks the values of the columns `By` by their totals.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct ByTotal<By> {
    limit: i64,
    by: PhantomData<By>,
}

impl<C: Counters, E> Ranking<C, E> {
    /// Ranks the values of this column of the counter table. The total of a value is that of all
    /// entities that have it.
    pub fn group_by<Col>(self, _column: Col) -> Ranking<C, E, (Col,)>
    where
        Col: Column<Table = C::Table, SqlType: SingleValue>,
    {
        let by = ByTotal {
            limit: self.by.limit,
            by: PhantomData,
        };
        Sums::new(self.entities, by, self.days)
    }
}

impl<C, E, By> Ranking<C, E, By> {
    /// Sets the maximum number of entities. By default, there is no limit. A negative number means
    /// no limit on SQLite and MariaDB, and is an error on PostgreSQL and MySQL.
    pub fn limit(mut self, limit: i64) -> Self {
        self.by.limit = limit;
        self
    }
}

// Diesel's `first` requires this.
impl<C, E, By> LimitDsl for Ranking<C, E, By> {
    type Output = Self;

    fn limit(self, limit: i64) -> Self {
        // This is the inherent method, not a recursion.
        self.limit(limit)
    }
}

impl<C, By: Expression<SqlType: KeyTypes>> GroupRow<C> for ByTotal<By> {
    type SqlType = (<By::SqlType as KeyTypes>::Row, BigInt);
}

const TOTAL: &str = "total";

impl<C, By, DB> GroupColumns<C, DB> for ByTotal<By>
where
    C: Counters,
    By: ColumnNames,
    DB: CounterBackend,
{
    fn columns(&self) -> Option<Sql<'_, DB>> {
        let names = By::column_names().into_iter().map(|(name, _type)| name);
        Some(list(", ", names))
    }

    fn query<'b>(&'b self, db: Dialect, from: impl Part<'b, DB> + Copy) -> impl Part<'b, DB> {
        let columns = By::column_names();
        let ranked = aliased(columns.iter().map(|(column, _type)| *column), &ENTITY);
        let counter = C::NAMES[0];
        let names = GroupColumns::<C, DB>::columns(self);
        // The result's columns are the ranked ones and then the total. `ORDER BY` names them by
        // their numbers.
        let total = Number(columns.len() + 1);
        let then_by = (1..=columns.len()).map(|column| sql!("{Number(column)}"));
        let then_by = list(", ", then_by);
        sql!(
            "{db.select()}{ranked}, {db.sum(counter)} AS {TOTAL}{from} \
             GROUP BY {names} ORDER BY {total} DESC, {then_by} LIMIT {&self.limit}"
        )
    }
}
