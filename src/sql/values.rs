//! The values of rows.

use std::ops::Range;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::AstPass;

/// The values of rows, column by column: bind values, or expressions for one row.
pub trait Values<DB: Backend> {
    /// The number of columns.
    #[doc(hidden)]
    fn columns(&self) -> usize;

    /// Writes the value of a column of one row.
    #[doc(hidden)]
    fn push<'b>(
        &'b self,
        column: usize,
        row: usize,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>;

    /// Writes a column's values as an array, for a backend that has
    /// [arrays](super::CounterBackend::HAS_ARRAYS). Values that can only be one row don't implement
    /// it, because they are never written as an array.
    #[doc(hidden)]
    fn push_array<'b>(
        &'b self,
        column: usize,
        rows: Range<usize>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        self.push(column, rows.start, out)
    }
}
