//! Counting in the statement that writes the counted row, on PostgreSQL.

use diesel::backend::Backend;
use diesel::pg::Pg;
use diesel::query_builder::{
    AsQuery, AstPass, DeleteStatement, InsertStatement, Query, QueryFragment, QueryId,
    UpdateStatement,
};
use diesel::{QueryResult, QuerySource, RunQueryDsl};

use crate::add::increment::Increment;
use crate::typed::counters::Counters;

/// Adds the method [`counting`](CountingDsl::counting) to Diesel's `INSERT`, `UPDATE` and `DELETE`
/// statements. It works only on PostgreSQL, and requires the feature `postgres`.
pub trait CountingDsl: Sized {
    /// Adds an increment to this statement: `WITH … AS (<the increment>) INSERT INTO …`. The row is
    /// written and counted in one statement, so you don't need a transaction: both happen, or
    /// neither does. To count in several tables, call `counting` several times.
    ///
    /// ```
    /// # include!("../../docs/doctest_setup.rs");
    /// # use diesel::connection::LoadConnection;
    /// use diesel_counters::prelude::*;
    /// use schema::comments;
    ///
    /// # fn post<PgConnection: LoadConnection<Backend = diesel::pg::Pg>>(
    /// #     (article, conn): (Article, &mut PgConnection),
    /// # ) -> QueryResult<i64> {
    /// diesel::insert_into(comments::table)
    ///     .values((comments::article_id.eq(article.id), comments::body.eq("Nice.")))
    ///     .returning(comments::id)
    ///     .counting(increment(article_counters::comments).of(article.id))
    ///     .get_result(conn)
    /// # }
    /// # fn main() {}
    /// ```
    ///
    /// [`execute`](diesel::RunQueryDsl::execute) returns the number of rows that the statement
    /// itself wrote. [`load`](diesel::RunQueryDsl::load) and
    /// [`get_result`](diesel::RunQueryDsl::get_result) return its rows. Call
    /// [`returning`](diesel::query_builder::InsertStatement::returning) and `on_conflict` before
    /// `counting`.
    ///
    /// **It counts even if the statement writes no row**, for example with `ON CONFLICT DO NOTHING`
    /// or for a `DELETE` that finds nothing, and it counts only once if the statement writes
    /// several rows. If the count depends on which rows are written, count them with
    /// [triggers](crate::guide::triggers) instead. The statement and the increment read the same
    /// snapshot. Foreign keys are checked at the end, so the entity can be the row that the
    /// statement inserts.
    ///
    /// # Cost
    ///
    /// It saves three round trips: `BEGIN`, the increment and `COMMIT`. This pays if Diesel
    /// prepares the statement once for each connection. It does so for `values((column.eq(…), …))`,
    /// an array, a `DELETE`, and a `#[derive(Insertable)]` **with
    /// `treat_none_as_default_value = false`**. Other structs, a `Vec`, `do_update().set(…)` and an
    /// `UPDATE` are prepared every time, which takes about as long as the round trips on a local
    /// connection.
    ///
    /// # Errors
    ///
    /// Those of the statement, and those of [`increment`](crate::dsl::increment()). After an error,
    /// nothing is written and nothing is counted. It fails if two increments in the statement add
    /// to the same row: for several counters of one entity, use `increment((views, likes))`.
    fn counting<C: Counters, K>(
        self,
        increment: Increment<C, K>,
    ) -> CountingStatement<Self, WithIncrement<(), Increment<C, K>>> {
        let none = CountingStatement {
            statement: self,
            increments: (),
            number: 0,
        };
        none.counting(increment)
    }
}

impl<T: QuerySource, U, Op, Ret> CountingDsl for InsertStatement<T, U, Op, Ret> {}
impl<T: QuerySource, U, V, Ret> CountingDsl for UpdateStatement<T, U, V, Ret> {}
impl<T: QuerySource, U, Ret> CountingDsl for DeleteStatement<T, U, Ret> {}

/// The statement `S` with the increments `I`; made by [`counting`](CountingDsl::counting). It
/// returns rows if `RETURNS_ROWS` is `true`.
#[must_use = "a statement does nothing until it is executed"]
#[derive(Debug, Clone, Copy, QueryId)]
pub struct CountingStatement<S, I, const RETURNS_ROWS: bool = false> {
    statement: S,
    increments: I,
    /// The number of increments.
    number: usize,
}

impl<S, I> CountingStatement<S, I> {
    /// Adds another increment, for another table or for other entities.
    pub fn counting<C: Counters, K>(
        self,
        increment: Increment<C, K>,
    ) -> CountingStatement<S, WithIncrement<I, Increment<C, K>>> {
        let number = self.number + 1;
        CountingStatement {
            statement: self.statement,
            increments: WithIncrement {
                earlier: self.increments,
                increment,
                number,
            },
            number,
        }
    }
}

impl<S, I, Conn, const Q: bool> RunQueryDsl<Conn> for CountingStatement<S, I, Q> {}

impl<S, I, DB, const Q: bool> QueryFragment<DB> for CountingStatement<S, I, Q>
where
    S: QueryFragment<DB>,
    I: QueryFragment<DB>,
    DB: WritesInWith,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("WITH ");
        self.increments.walk_ast(out.reborrow())?;
        out.push_sql(" ");
        self.statement.walk_ast(out)
    }
}

impl<S: AsQuery, I> AsQuery for CountingStatement<S, I> {
    type SqlType = S::SqlType;
    type Query = CountingStatement<S::Query, I, true>;

    fn as_query(self) -> Self::Query {
        CountingStatement {
            statement: self.statement.as_query(),
            increments: self.increments,
            number: self.number,
        }
    }
}

impl<S: Query, I> Query for CountingStatement<S, I, true> {
    type SqlType = S::SqlType;
}

/// A backend that can write other rows in a statement's `WITH`.
#[diagnostic::on_unimplemented(
    message = "`counting` works only on PostgreSQL, not on `{Self}`",
    label = "on this database, run the statement and the increment in one transaction"
)]
pub trait WritesInWith: Backend {}
impl WritesInWith for Pg {}

/// The increments `Earlier` of a statement, followed by another one.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct WithIncrement<Earlier, I> {
    earlier: Earlier,
    increment: I,
    /// The increment's number in the statement, starting at 1.
    number: usize,
}

/// Writes what follows `WITH`: `"diesel_counters_counted_1" AS (…), …`.
impl<Earlier, I, DB> QueryFragment<DB> for WithIncrement<Earlier, I>
where
    Earlier: QueryFragment<DB>,
    I: QueryFragment<DB>,
    DB: Backend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.earlier.walk_ast(out.reborrow())?;
        if self.number > 1 {
            out.push_sql(", ");
        }
        out.push_identifier(&format!("diesel_counters_counted_{}", self.number))?;
        out.push_sql(" AS (");
        self.increment.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(())
    }
}
