//! The rows of one table that are not written yet, when its types are not known.

use std::any::Any;
use std::rc::Rc;

use chrono::NaiveDate;
use diesel::QueryResult;

/// The names of counters, and an amount for each.
pub(crate) type NamedAmounts = Vec<(&'static str, i128)>;

/// The rows of one table, when its types are not known.
pub(crate) trait AnyTableRows<Conn>: Send {
    fn any(&self) -> &dyn Any;
    fn any_mut(&mut self) -> &mut dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    /// Returns the name of the table, and the names of its types. A `TypeId` would have another
    /// order in another program.
    fn table(&self) -> (&'static str, &'static str);
    fn len(&self) -> usize;
    /// Adds rows of the same table. Returns the number of their keys that were there already.
    fn append(&mut self, later: Box<dyn AnyTableRows<Conn>>) -> usize;
    /// Removes the rows of a batch. Returns their number.
    fn remove(&mut self, batch: &dyn AnyTableRows<Conn>) -> usize;
    /// Returns the rows in batches of this number of rows or fewer, in a random order: so that rows
    /// that cannot be written now do not keep back the same others each time.
    fn split(&self, number: usize) -> Vec<Rc<dyn AnyTableRows<Conn>>>;
    /// Writes the rows in the order of their days and keys, but those whose amounts are all 0.
    /// Returns the number of rows that it has written.
    fn write(&self, conn: &mut Conn) -> QueryResult<usize>;
    /// Returns the day, the printed key and the amounts of each row.
    fn list(&self) -> Vec<(NaiveDate, String, NamedAmounts)>;
}
