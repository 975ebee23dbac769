//! The days that a query reads.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryId};

use crate::backend::{Bind, CounterBackend};
use crate::day::DayRange;

/// The days that a query reads, as SQL.
pub trait Days<DB: Backend> {
    /// Writes `and`, which is ` WHERE ` or ` AND `, and then a condition on the column `day`.
    fn walk_where<'b>(&'b self, and: &str, day: &str, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// All days.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct AllDays;

impl<DB: Backend> Days<DB> for AllDays {
    fn walk_where<'b>(&'b self, _: &str, _: &str, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

impl<DB: CounterBackend> Days<DB> for DayRange {
    fn walk_where<'b>(
        &'b self,
        and: &str,
        day: &str,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        out.push_sql(and);
        out.push_identifier(day)?;
        out.push_sql(" BETWEEN ");
        DB::push_bind(Bind::Day(&self.first), &mut out)?;
        out.push_sql(" AND ");
        DB::push_bind(Bind::Day(&self.last), &mut out)
    }
}
