//! Reading counters: the sum of an entity's rows.

use chrono::NaiveDate;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::Date;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect};
use crate::counter::{Counters, TableOf, table_of};
use crate::key::{Entity, KeyExpression, KeyOf, NoEntity};
use crate::period::Day;
use crate::table::CounterTable;

/// Reads one or more counters of an entity, with no model in hand.
///
/// The entity is named with [`of`](CounterValue::of), a day with
/// [`on`](CounterValue::on). It is a Diesel query of one row, a `BigInt` for each
/// counter: load it with [`get_result`](RunQueryDsl::get_result). An entity that
/// was never counted has 0.
///
/// ```
/// # include!("doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let (article_id, today) = (1_i64, chrono::Utc::now().date_naive());
/// use diesel_counters::prelude::*;
/// use schema::article_counters::{likes, views};
///
/// increment(views).of(article_id).by(3).on(today).execute(conn)?;
///
/// let n: i64 = counter_value(views).of(article_id).get_result(conn)?;
/// let (v, l): (i64, i64) = counter_value((views, likes)).of(article_id).on(today).get_result(conn)?;
/// assert_eq!((n, v, l), (3, 3, 0));
/// # Ok(())
/// # }
/// ```
///
/// (Rust takes `let (views, likes) = …` for a pattern of the columns' own types
/// while those are in scope: call the values otherwise, or name the columns with
/// their table.)
///
/// # Errors
///
/// The database's own, among them one for a sum that leaves the range of an `i64`
/// (on MySQL and MariaDB that is a
/// [`DeserializationError`](diesel::result::Error::DeserializationError); on SQLite
/// it is enough that a part of the sum does), and a
/// [`SerializationError`](diesel::result::Error::SerializationError) for a day
/// outside 1000-01-01 to 9999-12-31.
pub fn counter_value<C: Counters>(_counters: C) -> CounterValue<C> {
    CounterValue {
        table: table_of::<C>(),
        id: NoEntity,
        days: AllDays,
    }
}

/// A query of the counters `C` of the entity `Id`, over `Days`; made by
/// [`counter_value`].
#[must_use = "a query reads nothing until it is loaded"]
pub struct CounterValue<C: Counters, Id = NoEntity, Days = AllDays> {
    table: TableOf<C>,
    id: Id,
    days: Days,
}

/// Every day of a counter.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct AllDays;

/// One day of a counter.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct OnDay(Day);

impl<C: Counters> CounterValue<C> {
    /// Names the entity by its key.
    pub fn of<K: KeyOf<C::Table>>(self, id: K) -> CounterValue<C, KeyExpression<K, C>> {
        CounterValue {
            table: self.table,
            id: id.as_expression(),
            days: self.days,
        }
    }
}

impl<C: Counters, Id> CounterValue<C, Id> {
    /// Reads only what is filed under `day`. Where a model counts by another
    /// [`Period`](crate::Period) than the day, that is the first of it:
    /// `Period::Week.start(day)`.
    pub fn on(self, day: NaiveDate) -> CounterValue<C, Id, OnDay> {
        CounterValue {
            table: self.table,
            id: self.id,
            days: OnDay(Day(day)),
        }
    }
}

impl<C: Counters, Id, Days, Conn> RunQueryDsl<Conn> for CounterValue<C, Id, Days> {}

impl<C: Counters, Id, Days> Query for CounterValue<C, Id, Days> {
    type SqlType = C::SqlType;
}

impl<C, Id, Days> QueryId for CounterValue<C, Id, Days>
where
    C: Counters + QueryId,
    Id: QueryId,
    Days: QueryId,
{
    type QueryId = (AllDays, C::QueryId, Id::QueryId, Days::QueryId);
    const HAS_STATIC_QUERY_ID: bool =
        C::HAS_STATIC_QUERY_ID && Id::HAS_STATIC_QUERY_ID && Days::HAS_STATIC_QUERY_ID;
}

impl<C, Id, Days, DB> QueryFragment<DB> for CounterValue<C, Id, Days>
where
    C: Counters,
    Id: Entity<DB>,
    Days: AndDays<DB>,
    TableOf<C>: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        let [entity, day, _slot] = C::Table::KEY;
        for (i, counter) in C::NAMES.iter().enumerate() {
            out.push_sql(if i == 0 { "SELECT " } else { ", " });
            dialect.push_sum(counter, &mut out)?;
        }
        out.push_sql(" FROM ");
        self.table.walk_ast(out.reborrow())?;
        out.push_sql(" WHERE ");
        out.push_identifier(entity)?;
        out.push_sql(" = ");
        self.id.walk_ast(out.reborrow())?;
        self.days.walk_and(day, out)
    }
}

/// Narrows a `WHERE` to some days.
#[doc(hidden)]
pub trait AndDays<DB: CounterBackend> {
    fn walk_and<'b>(&'b self, day: &str, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

impl<DB: CounterBackend> AndDays<DB> for AllDays {
    fn walk_and<'b>(&'b self, _day: &str, _out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

impl<DB: CounterBackend> AndDays<DB> for OnDay
where
    Day: ToSql<Date, DB>,
{
    fn walk_and<'b>(&'b self, day: &str, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(" AND ");
        out.push_identifier(day)?;
        out.push_sql(" = ");
        out.push_bind_param::<Date, _>(&self.0)
    }
}
