//! The entities with the greatest totals.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::associations::HasTable;
use diesel::expression::{Expression, TypedExpressionType, ValidGrouping, is_aggregate};
use diesel::internal::table_macro::{
    AliasAliasAppearsInFromClause, FieldAliasMapperAssociatedTypesDisjointnessTrick,
};
use diesel::query_builder::{AsQuery, AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::LimitDsl;
use diesel::query_source::{
    Alias, AliasSource, AliasedField, AppearsInFromClause, Column, Once, QuerySource, Table,
    TableNotEqual,
};
use diesel::sql_types::{BigInt, Bool, SingleValue};
use diesel::{AppearsOnTable, JoinOnDsl, QueryResult, RunQueryDsl, SelectableExpression};

use crate::backend::{Bind, CounterBackend, Dialect, numbered, push_names};
use crate::counter::Counters;
use crate::day::DayRange;
use crate::key::{AnyOf, Columns, Entities, KeyTypes, Prefix, PrefixOf, StartOf, StartsWith};
use crate::reading::days::Days;
use crate::reading::sums::Grouped;
use crate::reading::total::Parts;
use crate::settings::{ChildOf, ParentColumns};
use crate::table::{CounterTable, EntityTable};

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
/// To load the models too, join the ranking to a parent table, which is declared with
/// [`counter_table!`](crate::counter_table). The columns of the ranking are
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
/// `inner_join(top.on(top.entity().eq(comments::article_id)))`.
///
/// After a `left_join`, [`total`](Ranking::total) is 0 for a row that is not in the ranking, and
/// `entity().nullable()` is NULL.
///
/// # Keys of several columns
///
/// [`of`](Ranking::of) ranks only the entities whose keys begin with some values, such as the versions
/// of one crate. [`group_by`](Ranking::group_by) ranks the values of one column, such as crates by the
/// downloads of all their versions.
///
/// Select the columns of a join to a ranking of several columns. In a join to a parent table whose key
/// is the first column, such as crates, a row of the parent occurs once for each of its entities that
/// are ranked.
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
/// the range of an `i64`. `docs/reading.md` has a query that finds this entity.
pub fn ranking<C>(_counter: C) -> Ranking<C, C::Table>
where
    C: Counters<Value = i64, Table: EntityTable>,
{
    Ranking {
        entities: (),
        days: DayRange::ALL,
        limit: i64::MAX,
        of: PhantomData,
    }
}

/// A query of the entities with the greatest totals of the counter `C`, which can be joined to the
/// parent table; made by [`ranking`](crate::dsl::ranking()). It ranks the entities `E` by `By`.
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, QueryId)]
pub struct Ranking<C, T, E = (), By = WholeKey> {
    entities: E,
    days: DayRange,
    limit: i64,
    of: PhantomData<(C, T, By)>,
}

/// Ranks entities, by their whole keys.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct WholeKey;

/// The columns of the counter table `T` that are ranked.
pub trait RankBy<T> {
    /// The SQL type of a row of them.
    type SqlType: TypedExpressionType;
    /// Their names.
    const NAMES: &'static [&'static str];
}

impl<T: CounterTable> RankBy<T> for WholeKey {
    type SqlType = <T::KeyType as KeyTypes>::Row;
    const NAMES: &'static [&'static str] = T::ENTITY;
}

impl<T, Col> RankBy<T> for Grouped<Col>
where
    T: CounterTable,
    Col: Column<Table = T, SqlType: SingleValue>,
{
    type SqlType = Col::SqlType;
    const NAMES: &'static [&'static str] = &[Col::NAME];
}

impl<C: Counters<Table = T>, T: EntityTable, By> Ranking<C, T, (), By> {
    /// Ranks only the entities whose keys begin with these values.
    pub fn of<K, N>(self, id: K) -> Ranking<C, T, Prefix<K, N>, By>
    where
        K: PrefixOf<T::KeyType, N>,
    {
        self.entities(Prefix::new(id))
    }

    /// Ranks only the entities whose keys `query` selects, or the first columns of their keys.
    pub fn of_any<Q>(self, query: Q) -> Ranking<C, T, AnyOf<Q::Query>, By>
    where
        Q: AsQuery<SqlType: StartOf<T::KeyType>>,
    {
        self.entities(AnyOf(query.as_query()))
    }

    fn entities<E>(self, entities: E) -> Ranking<C, T, E, By> {
        Ranking {
            entities,
            days: self.days,
            limit: self.limit,
            of: PhantomData,
        }
    }
}

impl<T: CounterTable<KeyType: StartsWith<Columns<N>>>, const N: usize> RankBy<T> for Columns<N> {
    type SqlType = <T::KeyType as StartsWith<Columns<N>>>::Row;
    const NAMES: &'static [&'static str] = T::ENTITY.split_at(N).0;
}

impl<C: Counters<Table = T>, T: EntityTable, E> Ranking<C, T, E> {
    /// Ranks the values of this column of the counter table, by the totals of all entities that have
    /// them.
    pub fn group_by<Col>(self, _column: Col) -> Ranking<C, T, E, Grouped<Col>>
    where
        Col: Column<Table = T, SqlType: SingleValue>,
    {
        self.by()
    }

    pub(crate) fn by<By>(self) -> Ranking<C, T, E, By> {
        Ranking {
            entities: self.entities,
            days: self.days,
            limit: self.limit,
            of: PhantomData,
        }
    }
}

impl<C: Counters<Table = T>, T: EntityTable, E, By> Ranking<C, T, E, By> {
    /// Ranks only by the counts of a range of days; see [`Sums::between`](crate::dsl::Sums::between).
    /// Entities without counts in the range are not in the ranking.
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.days = DayRange::whole(days, T::PERIOD);
        self
    }

    /// Sets the greatest number of entities. By default there is no limit. A negative number is no
    /// limit on SQLite and MariaDB, and an error on PostgreSQL and MySQL.
    pub fn limit(mut self, limit: i64) -> Self {
        self.limit = limit;
        self
    }
}

impl<C: Counters<Table = T>, T: EntityTable, E: Clone, By: RankBy<T>> Ranking<C, T, E, By> {
    /// Returns the column of the entities' keys, or of the values of the column that the ranking is
    /// grouped by. It is for a ranking of one column.
    pub fn entity(&self) -> RankedEntity<Self> {
        const {
            assert!(
                By::NAMES.len() == 1,
                "this ranking has several columns: group it by one with `.group_by(…)`"
            );
        }
        self.alias().field(RankingKey(PhantomData))
    }

    /// Returns the column of the totals.
    pub fn total(&self) -> RankedTotal<Self> {
        RankedTotal(PhantomData)
    }

    /// Adds the condition of a join, as Diesel's [`on`](diesel::JoinOnDsl::on). A join to the parent
    /// table of [`counter_table!`](crate::counter_table) does not require it.
    pub fn on<On>(self, condition: On) -> diesel::dsl::On<Alias<RankingTable<Self>>, On> {
        self.alias().on(condition)
    }

    fn alias(&self) -> Alias<RankingTable<Self>> {
        Alias::new(RankingTable(self.clone()))
    }
}

/// What a ranking `R`, and its condition, are in a join to the parent table `P`.
pub type Joined<P, R> = (Alias<RankingTable<R>>, IsParent<P, R>);

/// Joins a ranking to the parent table `P`.
pub fn join_parent<P, C, T, E, By>(
    ranking: &Ranking<C, T, E, By>,
) -> Joined<P, Ranking<C, T, E, By>>
where
    C: Counters<Table = T>,
    T: ChildOf<P>,
    E: Clone,
    By: RankBy<T>,
{
    const {
        let (ranked, key) = (By::NAMES, T::ENTITY);
        let mut i = 0;
        while i < ranked.len() {
            assert!(
                crate::counter::same(ranked[i], key[i]),
                "this ranking cannot be joined to the parent table: it is not grouped by the first \
                 column of the key"
            );
            i += 1;
        }
    }
    (ranking.alias(), IsParent(PhantomData))
}

impl<C: Counters<Table = T>, T: EntityTable, E, By: RankBy<T>> Query for Ranking<C, T, E, By> {
    type SqlType = (By::SqlType, BigInt);
}

impl<C, T, E, By, Conn> RunQueryDsl<Conn> for Ranking<C, T, E, By> {}

// Diesel's `first` requires it.
impl<C: Counters<Table = T>, T: EntityTable, E, By> LimitDsl for Ranking<C, T, E, By> {
    type Output = Self;

    fn limit(self, limit: i64) -> Self {
        self.limit(limit)
    }
}

const RANKING: &str = "diesel_counters_ranking";
const ENTITY: &str = "diesel_counters_entity";
const TOTAL: &str = "diesel_counters_total";

impl<C, T, E, By, DB> QueryFragment<DB> for Ranking<C, T, E, By>
where
    C: Counters<Table = T>,
    T: EntityTable + QueryFragment<DB>,
    E: Entities<T::KeyType, DB>,
    By: RankBy<T>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        for (i, column) in By::NAMES.iter().enumerate() {
            out.push_identifier(column)?;
            out.push_sql(" AS ");
            out.push_identifier(&numbered(ENTITY, i))?;
            out.push_sql(", ");
        }
        dialect.push_sum(C::NAMES[0], &mut out)?;
        out.push_sql(" AS ");
        out.push_identifier(TOTAL)?;
        out.push_sql(" FROM ");
        T::TABLE.walk_ast(out.reborrow())?;
        let and = self.entities.walk_where(T::ENTITY, out.reborrow())?;
        self.days.walk_where(and, T::DAY, out.reborrow())?;
        out.push_sql(" GROUP BY ");
        push_names(By::NAMES, &mut out)?;
        let columns = By::NAMES.len();
        out.push_sql(&format!(" ORDER BY {} DESC", columns + 1));
        for column in 1..=columns {
            out.push_sql(&format!(", {column}"));
        }
        out.push_sql(" LIMIT ");
        DB::push_bind(Bind::Amount(&self.limit), &mut out)
    }
}

// Whatever the types of the columns are, which are not part of the value.
impl<C, T, E: Clone, By> Clone for Ranking<C, T, E, By> {
    fn clone(&self) -> Self {
        Ranking {
            entities: self.entities.clone(),
            ..*self
        }
    }
}
impl<C, T, E: Copy, By> Copy for Ranking<C, T, E, By> {}

/// The type of a [`Ranking`], for the types that are made of it.
pub trait Ranked {
    /// The SQL type of the column that is ranked.
    type SqlType: TypedExpressionType;
}

impl<C: Counters<Table = T>, T: EntityTable, E, By: RankBy<T>> Ranked for Ranking<C, T, E, By> {
    type SqlType = By::SqlType;
}

/// The ranking `R` as a table of two columns. A query joins it under an alias, because each table of
/// `table!` can be in one query with each alias, in whichever crates they are.
#[derive(Debug, Clone, Copy)]
pub struct RankingTable<R>(R);

impl<R: QueryId> QueryId for RankingTable<R> {
    type QueryId = RankingKey<R::QueryId>;
    const HAS_STATIC_QUERY_ID: bool = R::HAS_STATIC_QUERY_ID;
}

impl<R> AliasSource for RankingTable<R> {
    const NAME: &'static str = RANKING;
    type Target = Self;

    fn target(&self) -> &Self {
        self
    }
}

impl<R: QueryFragment<DB>, DB: CounterBackend> QueryFragment<DB> for RankingTable<R> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("(");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(())
    }
}

impl<R: Ranked + Clone> QuerySource for RankingTable<R> {
    type FromClause = Self;
    type DefaultSelection = (RankingKey<R>, RankingSum<R>);

    fn from_clause(&self) -> Self {
        self.clone()
    }

    fn default_selection(&self) -> Self::DefaultSelection {
        Self::all_columns()
    }
}

impl<R: Ranked> Query for RankingTable<R> {
    type SqlType = (R::SqlType, BigInt);
}

impl<R: Ranked + Clone> Table for RankingTable<R>
where
    Self: Query + AsQuery,
{
    type PrimaryKey = RankingKey<R>;
    type AllColumns = (RankingKey<R>, RankingSum<R>);

    fn primary_key(&self) -> Self::PrimaryKey {
        RankingKey(PhantomData)
    }

    fn all_columns() -> Self::AllColumns {
        (RankingKey(PhantomData), RankingSum(PhantomData))
    }
}

// Only a table of `table!` is `HasTable`, so that a ranking is not distinct from itself.
impl<R, T> TableNotEqual<T> for RankingTable<R>
where
    Self: Table,
    T: Table + HasTable<Table = T>,
{
}

impl<R> AliasAliasAppearsInFromClause<Self, Self, Self> for RankingTable<R> {
    type Count = Once;
}

impl<R, F> FieldAliasMapperAssociatedTypesDisjointnessTrick<Self, Self, F> for RankingTable<R>
where
    F: Column<Table = Self>,
{
    type Out = AliasedField<Self, F>;

    fn map(column: F, alias: &Alias<Self>) -> Self::Out {
        alias.field(column)
    }
}

macro_rules! ranking_column {
    ($Column:ident, $SqlType:ty, $name:expr) => {
        #[derive(Debug, Clone, Copy, QueryId)]
        pub struct $Column<R>(PhantomData<R>);

        impl<R: Ranked> Expression for $Column<R> {
            type SqlType = $SqlType;
        }

        impl<R: Ranked + Clone> Column for $Column<R>
        where
            RankingTable<R>: Table,
        {
            type Table = RankingTable<R>;
            const NAME: &'static str = $name;
        }

        impl<R> ValidGrouping<()> for $Column<R> {
            type IsAggregate = is_aggregate::No;
        }

        impl<R> AppearsOnTable<RankingTable<R>> for $Column<R> where Self: Expression {}
        impl<R> SelectableExpression<RankingTable<R>> for $Column<R> where Self: Expression {}
    };
}

ranking_column!(RankingKey, R::SqlType, ENTITY);
ranking_column!(RankingSum, BigInt, TOTAL);

/// The column of the entities' keys in a [`ranking`](crate::dsl::ranking()) of the type `R`.
pub type RankedEntity<R> = AliasedField<RankingTable<R>, RankingKey<R>>;

/// The column of the totals in a [`ranking`](crate::dsl::ranking()) of the type `R`. It is never
/// NULL: after a left join, it is 0 for a row that is not in the ranking.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct RankedTotal<R>(PhantomData<R>);

impl<R> Expression for RankedTotal<R> {
    type SqlType = BigInt;
}

impl<R> ValidGrouping<()> for RankedTotal<R> {
    type IsAggregate = is_aggregate::No;
}

impl<R, QS> AppearsOnTable<QS> for RankedTotal<R> where
    QS: AppearsInFromClause<Alias<RankingTable<R>>, Count = Once>
{
}

impl<R, QS> SelectableExpression<QS> for RankedTotal<R> where Self: AppearsOnTable<QS> {}

impl<R, DB: CounterBackend> QueryFragment<DB> for RankedTotal<R> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("COALESCE(");
        out.push_identifier(RANKING)?;
        out.push_sql(".");
        out.push_identifier(TOTAL)?;
        out.push_sql(", 0)");
        Ok(())
    }
}

/// The condition of a join of the ranking `R` to the parent table of the counters `C`.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct IsParent<P, R>(PhantomData<(P, R)>);

impl<P, R> Expression for IsParent<P, R> {
    type SqlType = Bool;
}

impl<P, R> ValidGrouping<()> for IsParent<P, R> {
    type IsAggregate = is_aggregate::No;
}

impl<P, R, QS> AppearsOnTable<QS> for IsParent<P, R> {}

impl<P, C, T, E, By, DB> QueryFragment<DB> for IsParent<P, Ranking<C, T, E, By>>
where
    C: Counters<Table = T>,
    T: ChildOf<P, ParentKey: Parts<DB>>,
    By: RankBy<T>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let columns = <T::ParentKey as ParentColumns<T::KeyType>>::NAMES.len();
        for part in 0..columns.min(By::NAMES.len()) {
            out.push_sql(if part == 0 { "" } else { " AND " });
            T::PARENT_KEY.walk_part(part, out.reborrow())?;
            out.push_sql(" = ");
            out.push_identifier(RANKING)?;
            out.push_sql(".");
            out.push_identifier(&numbered(ENTITY, part))?;
        }
        Ok(())
    }
}
