//! The unwritten rows of one table, for code that doesn't know the table's types.

use std::any::Any;
use std::rc::Rc;

use chrono::NaiveDate;
use diesel::QueryResult;

/// The names of counters, each with its amount.
pub(crate) type NamedAmounts = Vec<(&'static str, i128)>;

/// The unwritten rows of one table, whose types aren't known.
pub(crate) trait AnyTableRows<Conn>: Send {
    /// Returns the [`TableRows`](crate::add::table_rows::TableRows), to be downcast.
    fn any(&self) -> &dyn Any;
    /// Returns the [`TableRows`](crate::add::table_rows::TableRows), to be downcast.
    fn any_mut(&mut self) -> &mut dyn Any;
    /// Returns the [`TableRows`](crate::add::table_rows::TableRows), to be downcast.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    /// Returns the table's name.
    fn table(&self) -> &'static str;
    /// Returns what to sort tables by: the table's name and the names of its types. `TypeId`s could
    /// be in another order in another program.
    fn sort_key(&self) -> (&'static str, &'static str);
    /// Returns the number of rows: one for each day and key.
    fn len(&self) -> usize;
    /// Adds rows of the same table. Returns how many of their keys were there already.
    fn append(&mut self, later: Box<dyn AnyTableRows<Conn>>) -> usize;
    /// Removes the rows of a batch. Returns how many it removed.
    fn remove(&mut self, batch: &dyn AnyTableRows<Conn>) -> usize;
    /// Returns the rows in batches of at most `number` rows. The batches are in a random order, so
    /// that rows that can't be written now don't hold up the same other rows every time.
    fn split(&self, number: usize) -> Vec<Rc<dyn AnyTableRows<Conn>>>;
    /// Writes the rows in the order of their days and keys, except those whose amounts are all 0.
    /// Returns the number of rows written.
    fn write(&self, conn: &mut Conn) -> QueryResult<usize>;
    /// Returns each row's day, its printed key, and the amounts that aren't 0.
    fn printed_rows(&self) -> Vec<(NaiveDate, String, NamedAmounts)>;
}
