//! What names an entity: a value for the first column of a counter table's key.

use diesel::Expression;
use diesel::backend::Backend;
use diesel::dsl::AsExprOf;
use diesel::expression::{AsExpression, ValidGrouping, is_aggregate};
use diesel::query_builder::{QueryFragment, QueryId};

use crate::counter::Counters;
use crate::table::CounterTable;

/// A value that can stand in the first column of the counter table `T`.
///
/// Implemented for all that Diesel can bind as that column's type, owned and
/// borrowed; not for columns and other expressions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the key of an entity in `{T}`",
    label = "the first column of that counter table has another type",
    note = "help: an entity is named by a value of the Rust type that belongs to that column"
)]
pub trait KeyOf<T: CounterTable>: AsExpression<T::KeyType> {}

// So that the compiler says the above, and not what is missing here.
#[diagnostic::do_not_recommend]
impl<K, T> KeyOf<T> for K
where
    T: CounterTable,
    K: AsExpression<T::KeyType>,
    // A bind value; a column, say, would be `No`.
    K::Expression: ValidGrouping<(), IsAggregate = is_aggregate::Never>,
{
}

/// The SQL type of the key of what `C` counts.
pub type KeyType<C> = <<C as Counters>::Table as CounterTable>::KeyType;

/// The key `K` of what `C` counts, as a Diesel expression.
pub type KeyExpression<K, C> = AsExprOf<K, KeyType<C>>;

/// Lets the derive point at a key of the wrong type.
#[doc(hidden)]
pub fn assert_key<'a, T: CounterTable, K>(_key: &'a K)
where
    &'a K: KeyOf<T>,
{
}

/// In place of the entity, in a statement that lacks its `.of(id)`.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct NoEntity;

/// The entity of a statement, as SQL.
#[diagnostic::on_unimplemented(
    message = "this statement does not say of which entity",
    label = "say of which: `.of(id)`"
)]
pub trait Entity<DB: Backend>: QueryFragment<DB> {}

#[diagnostic::do_not_recommend]
impl<Expr: Expression + QueryFragment<DB>, DB: Backend> Entity<DB> for Expr {}
