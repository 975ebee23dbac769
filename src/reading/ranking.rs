//! The entities with the greatest totals.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::expression::{Expression, ValidGrouping, is_aggregate};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::LimitDsl;
use diesel::query_source::{AppearsInFromClause, Never, Once, QuerySource, Table};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Bool, Date};
use diesel::{AppearsOnTable, QueryResult, RunQueryDsl, SelectableExpression};

use crate::backend::{CounterBackend, Dialect};
use crate::counter::{Counters, TableOf};
use crate::day::{Day, DayRange, Days};
use crate::entity::KeyType;
use crate::table::{EntityTable, HasParent, TableName};

/// Reads the entities that have the greatest totals of a counter, greatest first. Entities with
/// equal totals are in the order of their keys.
///
/// [`limit`](Ranking::limit) sets the number of entities, and [`between`](Ranking::between) the
/// days. Each row has the key of an entity and its total, a `BigInt`:
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let today = chrono::Utc::now().date_naive();
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// increment_many(views, [(1_i64, 10), (2, 200)], conn)?;
///
/// let most_read: Vec<(i64, i64)> =
///     ranking(views).between(today..).limit(2).load(conn)?;
/// assert_eq!(most_read, [(2, 200), (1, 10)]);
/// # Ok(())
/// # }
/// ```
///
/// # Joins
///
/// To load the models too, join the ranking to the model's table, which requires
/// [`has_parent!`](crate::has_parent). The columns of the ranking are
/// [`entity`](Ranking::entity) and [`total`](Ranking::total). Set the order of the query, because a
/// join does not keep the order of the ranking:
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// # increment_many(views, [(1_i64, 10), (2, 200)], conn)?;
/// let top = ranking(views).limit(10);
/// let most_read: Vec<(Article, i64)> = articles::table
///     .inner_join(top)
///     .order((top.total().desc(), articles::id))
///     .select((Article::as_select(), top.total()))
///     .load(conn)?;
/// assert_eq!(most_read[0].0.title, "Two");
/// # Ok(())
/// # }
/// ```
///
/// A query that joins another table too, such as `comments`, requires this in the crate that has
/// the table: `impl<C: Counters> AppearsInFromClause<Ranking<C>> for comments::table`, with
/// `type Count = Never`. It tells Diesel that the table is not the ranking.
///
/// # Cost
///
/// The database sums the counts of all entities that were counted on these days. For a large table,
/// this costs far less than a [`total`](crate::dsl::total()) for each row, and more than an index on
/// a column that has the totals; see [`materialize`](crate::HasCounters::materialize).
pub fn ranking<C>(_counter: C) -> Ranking<C>
where
    C: Counters<Value = i64, Table: EntityTable>,
{
    Ranking {
        table: TableName::new(),
        days: DayRange::ALL,
        limit: i64::MAX,
        of: PhantomData,
    }
}

/// A query of the entities with the greatest totals of the counter `C`, which can be joined to the
/// model's table; made by [`ranking`](crate::dsl::ranking()).
#[must_use = "a query reads nothing until it is loaded"]
pub struct Ranking<C: Counters, T = <C as Counters>::Table> {
    table: TableOf<C>,
    days: DayRange,
    limit: i64,
    of: PhantomData<(C, T)>,
}

impl<C: Counters<Table = T>, T: EntityTable> Ranking<C, T> {
    /// Ranks only by the counts that are stored under a range of days. Entities without counts in
    /// the range are not in the ranking.
    ///
    /// If a model counts by another [`Period`](crate::Period) than the day, begin the range with the
    /// first day of a period. See [`CounterValue::between`](crate::dsl::CounterValue::between).
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.days(DayRange::new(days))
    }

    pub(crate) fn days(mut self, days: DayRange) -> Self {
        self.days = days;
        self
    }

    /// Sets the greatest number of entities. By default there is no limit. A negative number is no
    /// limit on SQLite and MariaDB, and an error on PostgreSQL and MySQL.
    pub fn limit(mut self, limit: i64) -> Self {
        self.limit = limit;
        self
    }

    /// Returns the column of the entities' keys.
    pub fn entity(&self) -> RankedEntity<C> {
        RankedEntity(PhantomData)
    }

    /// Returns the column of the totals.
    pub fn total(&self) -> RankedTotal<C> {
        RankedTotal(PhantomData)
    }
}

impl<C: Counters<Table = T>, T: EntityTable> Query for Ranking<C, T> {
    type SqlType = (KeyType<C>, BigInt);
}

impl<C: Counters, T, Conn> RunQueryDsl<Conn> for Ranking<C, T> {}

// Diesel's `first` requires it.
impl<C: Counters<Table = T>, T: EntityTable> LimitDsl for Ranking<C, T> {
    type Output = Self;

    fn limit(self, limit: i64) -> Self {
        self.limit(limit)
    }
}

impl<C: Counters + QueryId, T: 'static> QueryId for Ranking<C, T> {
    type QueryId = RankedRow<C::QueryId>;
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID;
}

const RANKING: &str = "diesel_counters_ranking";
const ENTITY: &str = "diesel_counters_entity";
const TOTAL: &str = "diesel_counters_total";

impl<C, T, DB> QueryFragment<DB> for Ranking<C, T>
where
    C: Counters<Table = T>,
    T: EntityTable,
    TableOf<C>: QueryFragment<DB>,
    DB: CounterBackend,
    Day: ToSql<Date, DB>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        let entity = T::ENTITY.unwrap_or_default();
        dialect.push_select(&mut out);
        out.push_identifier(entity)?;
        out.push_sql(" AS ");
        out.push_identifier(ENTITY)?;
        out.push_sql(", ");
        dialect.push_sum(C::NAMES[0], &mut out)?;
        out.push_sql(" AS ");
        out.push_identifier(TOTAL)?;
        out.push_sql(" FROM ");
        self.table.walk_ast(out.reborrow())?;
        self.days.walk_where(" WHERE ", T::DAY, out.reborrow())?;
        out.push_sql(" GROUP BY ");
        out.push_identifier(entity)?;
        out.push_sql(" ORDER BY 2 DESC, 1 LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)
    }
}

/// A ranking in a `FROM` clause.
#[doc(hidden)]
#[derive(Clone)]
pub struct RankingSource<C: Counters>(Ranking<C>);

impl<C: Counters + Copy> Copy for RankingSource<C> where TableOf<C>: Copy {}

impl<C, DB> QueryFragment<DB> for RankingSource<C>
where
    C: Counters,
    Ranking<C>: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("(");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(") AS ");
        out.push_identifier(RANKING)
    }
}

// The impls below make a ranking a table that can be joined, as Diesel's `table!` does for a table.

impl<C: Counters, T> fmt::Debug for Ranking<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranking")
            .field("table", &self.table)
            .field("days", &self.days)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

impl<C: Counters> fmt::Debug for RankingSource<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<C: Counters, T> Clone for Ranking<C, T> {
    fn clone(&self) -> Self {
        Ranking {
            table: self.table.clone(),
            ..*self
        }
    }
}
impl<C: Counters, T> Copy for Ranking<C, T> where TableOf<C>: Copy {}

impl<C> QuerySource for Ranking<C>
where
    C: Counters<Table: EntityTable>,
{
    type FromClause = RankingSource<C>;
    type DefaultSelection = (RankedEntity<C>, RankedTotal<C>);

    fn from_clause(&self) -> RankingSource<C> {
        RankingSource(self.clone())
    }

    fn default_selection(&self) -> Self::DefaultSelection {
        (self.entity(), self.total())
    }
}

impl<C: Counters> AppearsInFromClause<Ranking<C>> for Ranking<C> {
    type Count = Once;
}

// A table is not a ranking.
impl<C: Counters, T, P: Table> AppearsInFromClause<P> for Ranking<C, T> {
    type Count = Never;
}

/// The column of the entities' keys in a [`ranking`](crate::dsl::ranking()).
#[derive(Debug, Clone, Copy, QueryId)]
pub struct RankedEntity<C>(PhantomData<C>);

impl<C: Counters> Expression for RankedEntity<C> {
    type SqlType = KeyType<C>;
}

impl<C: Counters> SelectableExpression<Ranking<C>> for RankedEntity<C> {}

impl<C: Counters, DB: CounterBackend> QueryFragment<DB> for RankedEntity<C> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_identifier(RANKING)?;
        out.push_sql(".");
        out.push_identifier(ENTITY)
    }
}

/// The column of the totals of the counter `C` in a [`ranking`](crate::dsl::ranking()). It is never
/// NULL: in a left join, it is 0 for a row that is not in the ranking.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct RankedTotal<C>(PhantomData<C>);

impl<C: Counters> Expression for RankedTotal<C> {
    type SqlType = BigInt;
}

impl<C, QS> SelectableExpression<QS> for RankedTotal<C>
where
    C: Counters,
    QS: AppearsInFromClause<Ranking<C>, Count = Once>,
{
}

impl<C: Counters, DB: CounterBackend> QueryFragment<DB> for RankedTotal<C> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("COALESCE(");
        out.push_identifier(RANKING)?;
        out.push_sql(".");
        out.push_identifier(TOTAL)?;
        out.push_sql(", 0)");
        Ok(())
    }
}

macro_rules! ranking_column {
    ($Column:ident) => {
        impl<C> ValidGrouping<()> for $Column<C> {
            type IsAggregate = is_aggregate::No;
        }

        impl<C, QS> AppearsOnTable<QS> for $Column<C>
        where
            C: Counters,
            QS: AppearsInFromClause<Ranking<C>, Count = Once>,
        {
        }
    };
}

ranking_column!(RankedEntity);
ranking_column!(RankedTotal);

/// The condition of a join of a ranking of `C` to the model's table: their keys are equal.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct RankedRow<C>(RankedEntity<C>);

impl<C: Counters> RankedRow<C> {
    /// Returns the ranking and the condition of a join to it.
    pub fn join_target(ranking: Ranking<C>) -> (Ranking<C>, Self) {
        (ranking, RankedRow(RankedEntity(PhantomData)))
    }
}

impl<C: QueryId> QueryId for RankedRow<C> {
    type QueryId = RankedRow<C::QueryId>;
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID;
}

impl<C> Expression for RankedRow<C> {
    type SqlType = Bool;
}

impl<C: Counters, QS> AppearsOnTable<QS> for RankedRow<C> where RankedEntity<C>: AppearsOnTable<QS> {}

impl<C, DB> QueryFragment<DB> for RankedRow<C>
where
    C: Counters<Table: HasParent<ParentKey: QueryFragment<DB>>>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(" = ");
        C::Table::PARENT_KEY.walk_ast(out.reborrow())
    }
}
