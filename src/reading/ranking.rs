//! The entities with the greatest totals.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::associations::HasTable;
use diesel::expression::{Expression, ValidGrouping, is_aggregate};
use diesel::internal::table_macro::{
    AliasAliasAppearsInFromClause, FieldAliasMapperAssociatedTypesDisjointnessTrick,
};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::LimitDsl;
use diesel::query_source::{
    Alias, AliasSource, AliasedField, AppearsInFromClause, Column, Once, QuerySource, Table,
    TableNotEqual,
};
use diesel::sql_types::BigInt;
use diesel::{AppearsOnTable, JoinOnDsl, QueryResult, RunQueryDsl, SelectableExpression};

use crate::backend::{Bind, CounterBackend, Dialect};
use crate::counter::{Counters, TableOf};
use crate::day::DayRange;
use crate::entity::KeyType;
use crate::reading::days::Days;
use crate::table::{EntityTable, TableName};

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
/// The query can join other tables too, but no [`alias!`](diesel::alias) and no second ranking. To
/// join the ranking to another table than the first of the query, add the condition, as in
/// `inner_join(top.on(top.entity().eq(comments::article_id)))`. This does not require
/// [`has_parent!`](crate::has_parent).
///
/// After a `left_join`, [`total`](Ranking::total) is 0 for a row that is not in the ranking, and
/// `entity().nullable()` is NULL.
///
/// # Cost
///
/// The database sums the counts of all entities that were counted on these days. For a large table,
/// this costs far less than a [`total`](crate::dsl::total()) for each row, and more than an index on
/// a column that has the totals; see [`materialize`](crate::HasCounters::materialize).
///
/// # Errors
///
/// The query fails with an [overflow](crate::is_overflow()) if the total of any entity is out of
/// the range of an `i64`. `docs/operations.md` has a query that finds this entity.
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
        self.alias().field(RankingKey(PhantomData))
    }

    /// Returns the column of the totals.
    pub fn total(&self) -> RankedTotal<C> {
        RankedTotal(PhantomData)
    }

    /// Adds the condition of a join, as Diesel's [`on`](diesel::JoinOnDsl::on). A join to the parent
    /// table of [`has_parent!`](crate::has_parent) does not require it.
    pub fn on<On>(self, condition: On) -> diesel::dsl::On<Alias<RankingTable<C>>, On> {
        self.alias().on(condition)
    }

    #[doc(hidden)]
    pub fn alias(&self) -> Alias<RankingTable<C>> {
        Alias::new(RankingTable(self.clone()))
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
    type QueryId = RankingKey<C::QueryId>;
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
        DB::push_bind(Bind::Amount(&self.limit), &mut out)
    }
}

impl<C: Counters, T> fmt::Debug for Ranking<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranking")
            .field("table", &self.table)
            .field("days", &self.days)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
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

/// A ranking as a table of two columns. A query joins it under an alias, because each table of
/// `table!` can be in one query with each alias, in whichever crates they are.
#[doc(hidden)]
#[derive(Debug)]
pub struct RankingTable<C: Counters>(Ranking<C>);

impl<C: Counters> Clone for RankingTable<C> {
    fn clone(&self) -> Self {
        RankingTable(self.0.clone())
    }
}

impl<C: Counters> Copy for RankingTable<C> where TableOf<C>: Copy {}

impl<C: Counters + QueryId> QueryId for RankingTable<C> {
    type QueryId = RankingKey<C::QueryId>;
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID;
}

impl<C: Counters> AliasSource for RankingTable<C> {
    const NAME: &'static str = RANKING;
    type Target = Self;

    fn target(&self) -> &Self {
        self
    }
}

impl<C, DB> QueryFragment<DB> for RankingTable<C>
where
    C: Counters,
    Ranking<C>: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("(");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(())
    }
}

impl<C: Counters<Table: EntityTable>> QuerySource for RankingTable<C> {
    type FromClause = Self;
    type DefaultSelection = (RankingKey<C>, RankingSum<C>);

    fn from_clause(&self) -> Self {
        self.clone()
    }

    fn default_selection(&self) -> Self::DefaultSelection {
        Self::all_columns()
    }
}

impl<C: Counters<Table: EntityTable>> Query for RankingTable<C> {
    type SqlType = (KeyType<C>, BigInt);
}

impl<C: Counters<Table: EntityTable>> Table for RankingTable<C> {
    type PrimaryKey = RankingKey<C>;
    type AllColumns = (RankingKey<C>, RankingSum<C>);

    fn primary_key(&self) -> Self::PrimaryKey {
        RankingKey(PhantomData)
    }

    fn all_columns() -> Self::AllColumns {
        (RankingKey(PhantomData), RankingSum(PhantomData))
    }
}

// Only a table of `table!` is `HasTable`, so that a ranking is not distinct from itself.
impl<C, T> TableNotEqual<T> for RankingTable<C>
where
    C: Counters<Table: EntityTable>,
    T: Table + HasTable<Table = T>,
{
}

impl<C: Counters> AliasAliasAppearsInFromClause<Self, Self, Self> for RankingTable<C> {
    type Count = Once;
}

impl<C, F> FieldAliasMapperAssociatedTypesDisjointnessTrick<Self, Self, F> for RankingTable<C>
where
    C: Counters,
    F: Column<Table = Self>,
{
    type Out = AliasedField<Self, F>;

    fn map(column: F, alias: &Alias<Self>) -> Self::Out {
        alias.field(column)
    }
}

macro_rules! ranking_column {
    ($Column:ident, $SqlType:ty, $name:expr) => {
        #[doc(hidden)]
        #[derive(Debug, Clone, Copy, QueryId)]
        pub struct $Column<C>(PhantomData<C>);

        impl<C: Counters> Expression for $Column<C> {
            type SqlType = $SqlType;
        }

        impl<C: Counters<Table: EntityTable>> Column for $Column<C> {
            type Table = RankingTable<C>;
            const NAME: &'static str = $name;
        }

        impl<C> ValidGrouping<()> for $Column<C> {
            type IsAggregate = is_aggregate::No;
        }

        impl<C: Counters> AppearsOnTable<RankingTable<C>> for $Column<C> {}
        impl<C: Counters> SelectableExpression<RankingTable<C>> for $Column<C> {}
    };
}

ranking_column!(RankingKey, KeyType<C>, ENTITY);
ranking_column!(RankingSum, BigInt, TOTAL);

/// The column of the entities' keys in a [`ranking`](crate::dsl::ranking()).
pub type RankedEntity<C> = AliasedField<RankingTable<C>, RankingKey<C>>;

/// The column of the totals of the counter `C` in a [`ranking`](crate::dsl::ranking()). It is never
/// NULL: after a left join, it is 0 for a row that is not in the ranking.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct RankedTotal<C>(PhantomData<C>);

impl<C: Counters> Expression for RankedTotal<C> {
    type SqlType = BigInt;
}

impl<C> ValidGrouping<()> for RankedTotal<C> {
    type IsAggregate = is_aggregate::No;
}

impl<C, QS> AppearsOnTable<QS> for RankedTotal<C>
where
    C: Counters,
    QS: AppearsInFromClause<Alias<RankingTable<C>>, Count = Once>,
{
}

impl<C: Counters, QS> SelectableExpression<QS> for RankedTotal<C> where Self: AppearsOnTable<QS> {}

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
