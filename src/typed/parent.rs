//! Parent tables, whose rows are the entities of a counter table.

use diesel::{AppearsOnTable, Expression};

use crate::key::HasColumns;
use crate::key::StartOf;
use crate::typed::names::ColumnNames;
use crate::typed::table::CounterTable;

/// A counter table whose entities are rows of the table `P`. Declare it with
/// [`counter_table!`](crate::counter_table).
#[diagnostic::on_unimplemented(
    message = "`{P}` is not a parent table of `{Self}`",
    label = "this requires a parent table of the counter table",
    note = "help: add the parent to the declaration of the table: `counter_table! {{ article_counters {{ parent = articles::id }} }}`"
)]
// `HasColumns<1>`: the key has at least one column.
pub trait ChildOf<P>: CounterTable<KeyType: HasColumns<1>> {
    /// The columns of `P` that the first columns of this table's key refer to, as a tuple.
    type ParentKey: Expression<SqlType: StartOf<Self::KeyType>>
        + AppearsOnTable<P>
        + ColumnNames
        + 'static;
    /// The columns of `ParentKey`, for queries.
    #[doc(hidden)]
    const PARENT_KEY: &'static Self::ParentKey;
}

/// A counter table with a parent table. Declare it with [`counter_table!`](crate::counter_table).
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no parent table",
    label = "this requires a counter table with a parent table",
    note = "help: add the parent to the declaration of the table: `counter_table! {{ article_counters {{ parent = articles::id }} }}`",
    note = "help: for a total, you can give the entity's key instead: `total(…).of(articles::id)`"
)]
pub trait HasParent: ChildOf<Self::Parent> {
    /// The parent table, or the first one if there are several.
    type Parent;
}
