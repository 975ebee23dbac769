//! Reading the counters of one entity, or of many.

use diesel::connection::LoadConnection;
use diesel::deserialize::FromSqlRow;
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::query_builder::{QueryFragment, QueryId};
use diesel::row::Row;
use diesel::{Expression, QueryResult, SelectableExpression};

use crate::key::{BindKey, KeyTypes};
use crate::read::days::{AllDays, Days};
use crate::read::sums::{GroupColumns, GroupRow, Many, Sums, Ungrouped};
use crate::sql::{CounterBackend, Sql, fragment};
use crate::typed::counters::{Counters, amounts};

/// Reads the total of one or more counters of an entity.
///
/// You set the entity with [`of`](Sums::of), or several entities with [`of_many`](Sums::of_many).
/// It reads all days, unless you set a day with [`on`](Sums::on) or a range with
/// [`between`](Sums::between). It's a Diesel query that returns one row, with a `BigInt` for each
/// counter. If the entity was never counted, it returns 0.
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
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
/// let totals: Vec<i64> = counter_value(views).of_many([2, article_id]).load(conn)?;
/// assert_eq!(totals, [0, 3]);
/// # Ok(())
/// # }
/// ```
///
/// While the columns `views` and `likes` are in scope, give your variables other names. The query
/// reads one row for each slot and day that the entity was counted in, so [keep your tables
/// small](crate::guide::operations#keeping-tables-small).
///
/// # Errors
///
/// The query returns the database's own errors. It also fails with:
///
/// - an [overflow](crate::is_overflow()), if a sum is out of the range of an `i64`. On SQLite, it
///   also fails if the sum of only some of the rows is out of this range;
/// - a [`SerializationError`](diesel::result::Error::SerializationError), if the day of
///   [`on`](Sums::on) is outside of 1000-01-01 to 9999-12-31.
pub fn counter_value<C: Counters>(_counters: C) -> CounterValue<C> {
    Sums::new((), Ungrouped, AllDays)
}

/// A query for the counters `C` of the entities `Id`; made by [`counter_value`].
pub type CounterValue<C, Id = (), Days = AllDays> = Sums<C, Id, Ungrouped, Days>;

/// A row for each value of the columns `Columns`.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Grouped<Columns>(Columns);

impl<C: Counters, G: Expression> GroupRow<C> for Grouped<G> {
    type SqlType = (G::SqlType, <C as Expression>::SqlType);
}

impl<C, G, DB> GroupColumns<C, DB> for Grouped<G>
where
    C: Counters,
    G: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn columns(&self) -> Option<Sql<'_, DB>> {
        Some(fragment(&self.0))
    }
}

impl<C: Counters, Id, Days> CounterValue<C, Id, Days> {
    /// Reads a row for each value of these columns of the counter table, in the order of the
    /// values. A row has the values and the sums. For example,
    /// `counter_value(given).of(7).group_by(emoji).load::<(String, i64)>(conn)` reads how often
    /// each emoji was given to an article. For an index to be used, these columns must follow the
    /// ones that you set with [`of`](Sums::of).
    pub fn group_by<G>(self, columns: G) -> Sums<C, Id, Grouped<G>, Days>
    where
        G: SelectableExpression<C::Table> + ValidGrouping<(), IsAggregate = is_aggregate::No>,
    {
        Sums::new(self.entities, Grouped(columns), self.days)
    }
}

/// The values of the columns that the counters `C` are grouped by, each with its sums.
pub type GroupedCounts<R, C> = Vec<(R, <C as Counters>::Value)>;

impl<C, Types, K, D> Sums<C, Many<Types, K>, Ungrouped, D>
where
    C: Counters,
    Types: KeyTypes,
    D: Days,
{
    /// Runs the query. Returns a value for each key, in the order in which you gave the keys.
    ///
    /// # Errors
    ///
    /// Those of [`counter_value`].
    pub fn load<Conn>(self, conn: &mut Conn) -> QueryResult<Vec<C::Value>>
    where
        K: BindKey<Types, Conn::Backend> + Clone + Ord,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let mut values = vec![C::Amounts::default(); self.entities.ids.len()];
        // The first column is the number of the key.
        let first_sum = 1;
        self.read_each_key(
            conn,
            |row| amounts::<C, Conn::Backend>(row, first_sum),
            |index, sums| values[index] = sums,
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
    /// Runs the query. Returns [`GroupedCounts`] for each key, in the order in which you gave the
    /// keys. An entity that was never counted has none.
    ///
    /// # Errors
    ///
    /// Those of [`counter_value`].
    pub fn load<R, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<GroupedCounts<R, C>>>
    where
        K: BindKey<Types, Conn::Backend> + Clone + Ord,
        G: QueryFragment<Conn::Backend>,
        R: FromSqlRow<G::SqlType, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let mut groups_by_key = Vec::new();
        groups_by_key.resize_with(self.entities.ids.len(), Vec::new);
        self.read_each_key(
            conn,
            |row| {
                // A row has the number of its key, the columns of the group, and the sums.
                let first_sum = row.field_count() - C::NAMES.len();
                let group = R::build_from_row(&row.partial_row(1..first_sum))?;
                let sums = amounts::<C, Conn::Backend>(row, first_sum)?;
                Ok((group, C::value(sums)))
            },
            |index, group| groups_by_key[index].push(group),
        )?;
        Ok(groups_by_key)
    }
}
