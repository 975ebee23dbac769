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
/// statements. It is for PostgreSQL only, and requires the feature `postgres`.
pub trait CountingDsl: Sized {
    /// Adds an increment to this statement: `WITH … AS (<the increment>) INSERT INTO …`. The row is
    /// written and counted in one statement, which needs no transaction: both happen, or neither
    /// does. To count in several tables, call `counting` several times.
    ///
    /// ```
    /// # include!("../doctest_setup.rs");
    /// # use diesel::connection::LoadConnection;
    /// # use schema::comments;
    /// use diesel_counters::prelude::*;
    ///
    /// #[derive(Insertable)]
    /// #[diesel(table_name = comments, treat_none_as_default_value = false)]
    /// struct NewComment<'a> {
    ///     article_id: i64,
    ///     body: &'a str,
    /// }
    ///
    /// # fn post<PgConnection: LoadConnection<Backend = diesel::pg::Pg>>(
    /// #     (article, new_comment): (Article, NewComment),
    /// #     conn: &mut PgConnection,
    /// # ) -> QueryResult<()> {
    /// let id: i64 = diesel::insert_into(comments::table)
    ///     .values(&new_comment)
    ///     .returning(comments::id)
    ///     .counting(increment(article_counters::comments).of(article.id))
    ///     .get_result(conn)?;
    /// # let _ = id;
    /// # Ok(())
    /// # }
    /// # fn main() {}
    /// ```
    ///
    /// [`execute`](RunQueryDsl::execute) returns the number of rows that the statement itself
    /// wrote. [`load`](RunQueryDsl::load) and [`get_result`](RunQueryDsl::get_result) return its
    /// rows. Call [`returning`](InsertStatement::returning) and `on_conflict` before `counting`.
    ///
    /// **It counts even if the statement writes no row**, as with `ON CONFLICT DO NOTHING` or a
    /// `DELETE` that finds nothing, and it counts once if the statement writes several rows. If the
    /// count depends on the rows that are written, count them with a trigger: `diesel-counters
    /// generate trigger`. The statement and the increment read the same snapshot. Foreign keys are
    /// checked at the end: the entity can be the row that the statement inserts.
    ///
    /// # Cost
    ///
    /// It saves three round trips: `BEGIN`, the increment and `COMMIT`. This pays if the statement
    /// is prepared once. Diesel prepares it once for each connection if it would do so for the
    /// statement without the increment:
    ///
    /// - for `values((column.eq(…), …))`, an array, and a `DELETE`;
    /// - for a `#[derive(Insertable)]` **with `treat_none_as_default_value = false`**, as above.
    ///
    /// Diesel does not for other structs, for a `Vec`, for `do_update().set(…)` and for an
    /// `UPDATE`. To parse and plan the increment each time takes about as long as the round trips
    /// that are saved on a local connection.
    ///
    /// # Errors
    ///
    /// The errors of the statement, and those of [`increment`](crate::dsl::increment()). After an
    /// error, nothing is written and nothing is counted. It fails if two increments of the
    /// statement add to the same row: for several counters of an entity, use one increment,
    /// `increment((views, likes))`.
    fn counting<C: Counters, K>(
        self,
        increment: Increment<C, K>,
    ) -> CountingStatement<Self, (Increment<C, K>, ())> {
        CountingStatement {
            statement: self,
            increments: (increment, ()),
        }
    }
}

impl<T: QuerySource, U, Op, Ret> CountingDsl for InsertStatement<T, U, Op, Ret> {}
impl<T: QuerySource, U, V, Ret> CountingDsl for UpdateStatement<T, U, V, Ret> {}
impl<T: QuerySource, U, Ret> CountingDsl for DeleteStatement<T, U, Ret> {}

/// The statement `S` with the increments `I`; made by [`counting`](CountingDsl::counting).
#[must_use = "a statement does nothing until it is executed"]
#[derive(Debug, Clone, Copy, QueryId)]
pub struct CountingStatement<S, I> {
    statement: S,
    increments: I,
}

impl<S, I> CountingStatement<S, I> {
    /// Adds another increment, of another table or of other entities.
    pub fn counting<C: Counters, K>(
        self,
        increment: Increment<C, K>,
    ) -> CountingStatement<S, (Increment<C, K>, I)> {
        CountingStatement {
            statement: self.statement,
            increments: (increment, self.increments),
        }
    }
}

impl<S, I, Conn> RunQueryDsl<Conn> for CountingStatement<S, I> {}

impl<S, I, DB> QueryFragment<DB> for CountingStatement<S, I>
where
    S: QueryFragment<DB>,
    I: Upserts<DB>,
    DB: WritesInWith,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("WITH ");
        self.increments.walk_all(out.reborrow())?;
        out.push_sql(" ");
        self.statement.walk_ast(out)
    }
}

impl<S: AsQuery, I> AsQuery for CountingStatement<S, I> {
    type SqlType = S::SqlType;
    type Query = CountingQuery<S::Query, I>;

    fn as_query(self) -> Self::Query {
        CountingQuery(CountingStatement {
            statement: self.statement.as_query(),
            increments: self.increments,
        })
    }
}

/// The rows that a [`CountingStatement`] returns, as a query.
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone, Copy, QueryId)]
pub struct CountingQuery<S, I>(CountingStatement<S, I>);

impl<S: Query, I> Query for CountingQuery<S, I> {
    type SqlType = S::SqlType;
}

impl<S, I, Conn> RunQueryDsl<Conn> for CountingQuery<S, I> {}

impl<S, I, DB> QueryFragment<DB> for CountingQuery<S, I>
where
    DB: Backend,
    CountingStatement<S, I>: QueryFragment<DB>,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }
}

/// A backend whose statements can write other rows in a `WITH`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot count in the statement that writes the row: only PostgreSQL can",
    label = "on this database, run the statement and the increment in one transaction"
)]
pub trait WritesInWith: Backend {}
impl WritesInWith for Pg {}

/// The increments of a statement, the last one first: `(c, (b, (a, ())))`.
pub trait Upserts<DB: Backend> {
    const NUMBER: usize;
    /// Writes what follows `WITH`: `"diesel_counters_counted_1" AS (…), …`.
    fn walk_all<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

impl<DB: Backend> Upserts<DB> for () {
    const NUMBER: usize = 0;
    fn walk_all<'b>(&'b self, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

impl<I, Others, DB> Upserts<DB> for (I, Others)
where
    DB: Backend,
    I: QueryFragment<DB>,
    Others: Upserts<DB>,
{
    const NUMBER: usize = Others::NUMBER + 1;
    fn walk_all<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let (last, others) = self;
        others.walk_all(out.reborrow())?;
        if Self::NUMBER > 1 {
            out.push_sql(", ");
        }
        out.push_identifier(&format!("diesel_counters_counted_{}", Self::NUMBER))?;
        out.push_sql(" AS (");
        last.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(())
    }
}
