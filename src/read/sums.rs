//! Sums of counters over the rows of their table: for which entities, on which days, and what they
//! are grouped by.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::query_builder::{AsQuery, AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::LimitDsl;
use diesel::{Expression, QueryResult, RunQueryDsl};

use crate::day::DayRange;
use crate::key::KeyPrefix;
use crate::key::{AnyOf, Entities, StartOf};
use crate::key::{HasColumns, KeyOf};
use crate::read::days::{AllDays, Days};
use crate::sql::{CounterBackend, Dialect, Part, Sql, part, part_of, where_both};
use crate::typed::counters::{Counters, KeyType};
use crate::typed::table::CounterTable;

/// A query for the sums of the counters `C` of the entities `E` over `Days`, grouped by `By`; made
/// by [`counter_value`](crate::dsl::counter_value()),
/// [`counter_series`](crate::dsl::counter_series()) and [`ranking`](crate::dsl::ranking()).
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Sums<C, E = (), By = Ungrouped, Days = AllDays> {
    pub(crate) entities: E,
    pub(crate) days: Days,
    pub(crate) by: By,
    counters: PhantomData<C>,
}

impl<C, E, By, Days> Sums<C, E, By, Days> {
    pub(crate) fn new(entities: E, by: By, days: Days) -> Self {
        Sums {
            entities,
            days,
            by,
            counters: PhantomData,
        }
    }
}

impl<C: Counters, By, Days> Sums<C, (), By, Days> {
    /// Sets the entity, by its key or by its model. Defaults to all entities. If you give fewer
    /// values than the key has columns, this reads all entities whose keys begin with them. For
    /// example, `crate_id` reads all versions of a crate.
    pub fn of<K, N>(self, id: K) -> Sums<C, KeyPrefix<K::Types, K::Value>, By, Days>
    where
        K: KeyOf<KeyType<C>, N>,
    {
        Sums::new(KeyPrefix::new(id.into_value()), self.by, self.days)
    }

    /// Sets the entities to those whose keys, or the first columns of their keys, are selected by
    /// `query`, for example
    /// `articles::table.filter(articles::author_id.eq(7)).select(articles::id)`. They are read
    /// together, unlike with [`of_many`](Sums::of_many).
    pub fn of_any<Q>(self, query: Q) -> Sums<C, AnyOf<Q::Query>, By, Days>
    where
        Q: AsQuery<SqlType: StartOf<KeyType<C>>>,
    {
        let entities = AnyOf::new::<KeyType<C>>(query.as_query());
        Sums::new(entities, self.by, self.days)
    }

    /// Sets many entities, by their keys, by the first columns of their keys, or by their models.
    /// `load` returns each one's counts, in the same order. You can give a key more than once. On
    /// PostgreSQL, this is one query. On SQLite, it's one query for every 1,000 keys, and on MySQL,
    /// on MariaDB and with a `MultiConnection`, one for every 100.
    pub fn of_many<K, N>(
        self,
        ids: impl IntoIterator<Item = K>,
    ) -> Sums<C, Many<K::Types, K::Value>, By, Days>
    where
        K: KeyOf<KeyType<C>, N, Types: HasColumns<1>>,
    {
        let many = Many {
            ids: ids.into_iter().map(K::into_value).collect(),
            types: PhantomData,
        };
        Sums::new(many, self.by, self.days)
    }
}

impl<C: Counters, E, By, Days> Sums<C, E, By, Days> {
    /// Reads only the count of `day`. If the table counts by a [`Period`](crate::Period) other than
    /// the day, reads the period that contains `day`.
    pub fn on(self, day: NaiveDate) -> Sums<C, E, By, DayRange> {
        let days = DayRange::period_of(day, C::Table::PERIOD);
        Sums::new(self.entities, self.by, days)
    }

    /// Reads only the counts of a range of days, for example `monday..=today`, `monday..` or
    /// `..today`. An empty or reversed range has no counts. If the table counts by a
    /// [`Period`](crate::Period) other than the day, reads every period that overlaps the range.
    /// Counts without a day are stored under 1970-01-01.
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> Sums<C, E, By, DayRange> {
        let days = DayRange::whole(days, C::Table::PERIOD);
        Sums::new(self.entities, self.by, days)
    }
}

/// Several entities, given by their keys `K`. The columns of the keys have the SQL types `Types`.
#[derive(Debug, Clone)]
pub struct Many<Types, K> {
    pub(crate) ids: Vec<K>,
    types: PhantomData<fn() -> Types>,
}

// Diesel can't read this query, so the id is never used. Without it, the compiler's error would
// name `QueryId`.
impl<Types, K> QueryId for Many<Types, K> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

/// What sums of `C` are grouped by.
pub trait GroupColumns<C: Counters, DB: CounterBackend> {
    /// Whether the columns are just names, without their table.
    #[doc(hidden)]
    const HAS_NAMES: bool = false;

    /// The columns, or `None` for a single row.
    #[doc(hidden)]
    fn columns(&self) -> Option<Sql<'_, DB>>;

    /// The query. `from` is its end: the `FROM` and the `WHERE`.
    #[doc(hidden)]
    fn query<'b>(&'b self, db: Dialect, from: impl Part<'b, DB> + Copy) -> impl Part<'b, DB> {
        let sums = db.sums(C::NAMES);
        let by = self.columns();
        let total = db.cacheable_row(C::NAMES.len(), part!("SELECT {sums}{from}"));
        part!(match &by {
            None => "{total}",
            Some(by) => "{db.select()}{by}, {sums}{from} GROUP BY {by} ORDER BY {by}",
        })
    }
}

/// The row of each group, in a query that Diesel can read.
#[diagnostic::on_unimplemented(
    message = "Diesel can't load a series",
    label = "after `counter_series`, write `load`",
    note = "help: `load` returns the first day and the count of each period: `let days: Vec<(NaiveDate, i64)> = counter_series(views).of(id).load(conn)?`"
)]
pub trait GroupRow<C> {
    /// The SQL type of a row.
    #[doc(hidden)]
    type SqlType;
}

impl<C: Counters, E, By: GroupRow<C>, Days> Query for Sums<C, E, By, Days> {
    type SqlType = By::SqlType;
}

/// A single row with the sums of all rows.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Ungrouped;

impl<C: Counters> GroupRow<C> for Ungrouped {
    type SqlType = <C as Expression>::SqlType;
}

impl<C: Counters, DB: CounterBackend> GroupColumns<C, DB> for Ungrouped {
    const HAS_NAMES: bool = true;
    fn columns(&self) -> Option<Sql<'_, DB>> {
        None
    }
}

impl<C, E, By, Days, Conn> RunQueryDsl<Conn> for Sums<C, E, By, Days> {}

// `first` requires this. It does the same as `get_result`.
impl<C, E, Days> LimitDsl for Sums<C, E, Ungrouped, Days> {
    type Output = Self;

    fn limit(self, _limit: i64) -> Self {
        // A total is always a single row.
        self
    }
}

impl<C, E, B, D, DB> QueryFragment<DB> for Sums<C, E, B, D>
where
    C: Counters,
    E: Entities<DB>,
    B: GroupColumns<C, DB>,
    D: Days,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.sql(Dialect::from_pass(&out)).walk(out)
    }
}

impl<C: Counters, E, B, D: Days> Sums<C, E, B, D> {
    /// The whole query, as SQL.
    pub(crate) fn sql<DB>(&self, db: Dialect) -> impl Part<'_, DB>
    where
        E: Entities<DB>,
        B: GroupColumns<C, DB>,
        DB: CounterBackend,
    {
        let shape = C::Table::shape();
        let condition = part_of(move |out| {
            self.entities.write_condition(db, shape.entity(), out);
        });
        let is_entity = self.entities.has_condition().then_some(condition);
        let rows = where_both(is_entity, self.days.condition(shape.day()));
        self.by.query(db, part!(" FROM {shape.table}{rows}"))
    }
}
