//! Keys of entities: a key is a list of columns, from none to five.
//!
//! Its SQL types are a tuple, [`KeyTypes`]. Its value is a tuple too, or the value alone if there is one
//! column. A statement takes a whole key ([`KeyOf`]), its first columns ([`PrefixOf`]), a list of keys
//! ([`Keys`]), or the keys of a query ([`AnyOf`]).

mod entities;
mod tuples;

use std::fmt;
use std::marker::PhantomData;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql};
use diesel::expression::TypedExpressionType;
use diesel::query_builder::{AstPass, QueryId};
use diesel::row::{Field, Row};

pub use entities::{AnyOf, BindColumns, Dated, Entities, Keys, One, Prefix};

use crate::counter::Counters;
use crate::table::CounterTable;

/// The SQL types of the columns of a key, as a tuple.
pub trait KeyTypes: 'static {
    /// The SQL type of a key in a query: the type of the column, or a tuple of several types.
    type Row: TypedExpressionType + 'static;
    #[doc(hidden)]
    const COLUMNS: usize;
    /// Whether keys are equal in every database if and only if they are equal in Rust.
    #[doc(hidden)]
    fn is_exact() -> bool;
}

/// The SQL types of a key of one or more columns.
#[diagnostic::on_unimplemented(
    message = "this counter table has no entities: its primary key is (day, slot)",
    label = "this requires a key of one or more columns"
)]
pub trait NotEmpty: KeyTypes {}

/// The SQL types of a key whose first `Columns` have the SQL type `Row` in a query.
pub trait StartsWith<Columns>: KeyTypes {
    type Row: TypedExpressionType + 'static;
}

/// The SQL type of the first columns of a key with the SQL types `Key`, or of all.
#[diagnostic::on_unimplemented(
    message = "these are not the first columns of this counter table's key, which has the SQL types `{Key}`",
    label = "this has the SQL type `{Self}`",
    note = "help: in a query of keys, select the key, as in `articles::table.filter(…).select(articles::id)`"
)]
pub trait StartOf<Key> {
    const COLUMNS: usize;
}

/// A value that identifies an entity of a counter table whose key has the SQL types `Key`.
///
/// For a key of one column, it is every value that Diesel can bind as the column's SQL type, owned or
/// borrowed. For a key of several columns, it is a tuple of such values, or a reference to a tuple:
/// `(tenant_id, article_id)`, `(article_id, "👍")`. It is not implemented for columns and other
/// expressions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of this counter table, whose key has the SQL types `{Key}`",
    label = "this requires a value for each of `{Key}`, as in `.of(id)`",
    note = "help: give the whole key as values, such as `article.id`, or `(article.id, \"👍\")` for a key of two columns; columns are not keys",
    note = "help: for a model whose key is the first of two columns, add the second one: `article.with_key(\"👍\").incr_counter(…)`",
    note = "help: if the key is `()`, the table has no entities: leave out `.of(…)`, or derive `HasCounters` on a unit struct"
)]
pub trait KeyOf<Key> {
    /// Many keys, column by column.
    #[doc(hidden)]
    type Columns: Default + fmt::Debug;
    #[doc(hidden)]
    fn push_to(self, columns: &mut Self::Columns);
}

/// The SQL types of a key whose value is `K`. For the key of a model, the compiler's error for this bound
/// names the key, and that for `K: KeyOf<…>` does not.
pub trait IsKey<K> {}
impl<K: KeyOf<Key>, Key> IsKey<K> for Key {}

/// A value that identifies entities of a counter table whose key has the SQL types `Key`: a whole
/// key, or the values of its first columns.
///
/// `(crate_id, version_id)` is a version, `crate_id` is all versions of a crate, and `()` is
/// everything. The compiler infers `Columns`, the number of columns.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of this counter table, whose key has the SQL types `{Key}`",
    label = "this requires values for the first of `{Key}`",
    note = "help: give the key of the entity as a value, such as `article.id`, or `(article.id, \"👍\")` for the first two columns; columns are not keys",
    note = "help: if the key is `()`, the table has no entities: leave out `.of(…)`, or derive `HasCounters` on a unit struct"
)]
pub trait PrefixOf<Key, Columns>: KeyOf<Self::Types> {
    /// The SQL types of these columns.
    type Types: KeyTypes;
    /// [`Whole`] or [`Part`].
    #[doc(hidden)]
    type Extent;
}

/// A prefix that is the whole key.
#[derive(Debug)]
pub struct Whole;

/// A prefix that is a part of the key.
#[derive(Debug)]
pub struct Part;

/// The number of columns of a prefix of a key.
#[derive(Debug, Clone, Copy)]
pub struct Columns<const NUMBER: usize>;

impl<const NUMBER: usize> QueryId for Columns<NUMBER> {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

/// A key whose columns have the SQL types `Key`, as bind values.
#[diagnostic::on_unimplemented(
    message = "this statement has no key of an entity, or not the whole key",
    label = "add the key, with a value for each of `{Key}`: `.of(id)`"
)]
pub trait BindKey<Key, DB: Backend> {
    /// Writes the value of one column.
    fn walk_column<'b>(&'b self, column: usize, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// A key whose columns have the SQL types `Key`, in rows that are loaded.
pub trait LoadKey<Key, DB: Backend>: Sized {
    /// Loads the key from the first fields of a row.
    fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self>;
}

/// Returns the field with the index `i` of a row.
pub(crate) fn field<'a, ST, T, DB>(row: &impl Row<'a, DB>, i: usize) -> deserialize::Result<T>
where
    DB: Backend,
    T: FromSql<ST, DB>,
{
    let field = row.get(i).ok_or("a row has too few fields")?;
    T::from_nullable_sql(field.value())
}

/// The values of many keys for one column, whose SQL type is `ST`.
pub struct KeyColumn<ST, K> {
    values: Vec<K>,
    sql_type: PhantomData<ST>,
}

impl<ST, K> Default for KeyColumn<ST, K> {
    fn default() -> Self {
        KeyColumn {
            values: Vec::new(),
            sql_type: PhantomData,
        }
    }
}

impl<ST, K> fmt::Debug for KeyColumn<ST, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = &self.values.len();
        f.debug_tuple("KeyColumn").field(number).finish()
    }
}

/// The SQL types of the entity's key in the table of the counters `C`.
pub type KeyType<C> = <<C as Counters>::Table as CounterTable>::KeyType;

/// Many keys `K` of entities that `C` counts, column by column.
pub type KeyColumns<K, C> = <K as KeyOf<KeyType<C>>>::Columns;

/// As [`KeyColumns`], for the values of the first columns of the keys.
pub type PrefixColumns<K, C, Columns> =
    <K as KeyOf<<K as PrefixOf<KeyType<C>, Columns>>::Types>>::Columns;

/// Lets the derive report a key of the wrong type at that type.
#[doc(hidden)]
pub fn assert_key<T: CounterTable, K, N>(_key: K)
where
    K: PrefixOf<T::KeyType, N>,
{
}
