//! Keys of entities: a key is a list of columns, from none to five.
//!
//! Its SQL types are a tuple, [`KeyTypes`]. Its value is a tuple too, or the value alone if there
//! is one column: [`KeyOf`]. Statements bind it as [`BindKey`], whatever it is.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize;
use diesel::expression::TypedExpressionType;
use diesel::query_builder::AstPass;
use diesel::row::Row;

use crate::sql::{KeyPrefix, Values};
use crate::typed::stored_key::is_exact;

/// The SQL types of the columns of a key, as a tuple.
pub trait KeyTypes: 'static {
    /// The SQL type of a key in a query: the type of the column, a tuple of several types, or
    /// `Untyped` for no column.
    #[doc(hidden)]
    type Row: TypedExpressionType + 'static;
    #[doc(hidden)]
    const COLUMNS: usize;
    #[doc(hidden)]
    fn sql_types() -> Vec<TypeId>;
    /// Whether keys are equal in every database if and only if they are equal in Rust.
    #[doc(hidden)]
    fn is_exact() -> bool {
        Self::sql_types().iter().all(is_exact)
    }
}

/// The SQL types of a key of `N` columns or more, which is 1 to 5.
#[diagnostic::on_unimplemented(
    message = "this counter table has no entities: its primary key is (day, slot)",
    label = "this requires a counter table whose primary key is (entity, day, slot)"
)]
pub trait HasColumns<const N: usize>: KeyTypes {
    /// The SQL types of its first `N` columns.
    #[doc(hidden)]
    type First: KeyTypes;
}

/// A value that identifies an entity of a counter table whose key has the SQL types `Key`, or
/// entities whose keys begin with it.
///
/// - For a column, it is every value that Diesel can bind as the column's SQL type, owned or
///   borrowed. For several columns, it is a tuple of such values, or a reference to a tuple:
///   `(article_id, "👍")`. Columns and other expressions are not keys.
/// - It is a reference to a model that [has counters](crate::HasCounters): `&article`.
///
/// `(crate_id, version_id)` is a version, `crate_id` is all versions of a crate, and `()` is
/// everything: see [keys of several columns](crate::guide::reading#keys-of-several-columns). The
/// compiler infers `N`, the number of columns. Do not implement this trait yourself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of this counter table, whose key has the SQL types `{Key}`",
    label = "this requires values for `{Key}`, as in `.of(id)`",
    note = "help: give the key as values, such as `article.id`, or `(article.id, \"👍\")` for a key of two columns; columns are not keys",
    note = "help: a key column has the type of the entity's own key: if that is `Integer`, make it `INTEGER` in the migration, and `Integer` in `table!`",
    note = "help: if the key is `()`, the table has no entities: leave out `.of(…)`, or derive `HasCounters` on a unit struct"
)]
pub trait KeyOf<Key, N> {
    /// The SQL types of these columns.
    type Types: KeyTypes;
    /// The value.
    type Value;
    #[doc(hidden)]
    fn into_value(self) -> Self::Value;
}

/// The SQL types `Key` of a whole key.
#[diagnostic::on_unimplemented(
    message = "this is not the whole key of an entity, which has the SQL types `{Key}`",
    label = "this has only `{Self}`",
    note = "help: give a value for each column, such as `(article.id, \"👍\")` for a key of two columns"
)]
pub trait WholeKey<Key>: KeyTypes {}
impl<Key: KeyTypes> WholeKey<Key> for Key {}

/// A number of columns of a key.
#[derive(Debug, Clone, Copy)]
pub struct Columns<const NUMBER: usize>;

/// A value for each of the columns with the SQL types `Types`. A column or another expression is
/// none.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value for columns with the SQL types `{Types}`",
    label = "this requires values for `{Types}`"
)]
pub trait KeyValue<Types> {}

/// A key whose columns have the SQL types `Types`, as bind values.
#[diagnostic::on_unimplemented(
    message = "this requires a key: if it is missing, add `.of(id)`; if the connection is generic, add the bound `{Self}: BindKey<{Types}, Conn::Backend>`",
    label = "`{Self}` is not known to be a key of the SQL types `{Types}`",
    note = "help: for functions that are generic over the connection, see https://docs.rs/diesel_counters/latest/diesel_counters/guide/generic/"
)]
pub trait BindKey<Types, DB: Backend> {
    /// Many keys, column by column.
    #[doc(hidden)]
    type Columns: Values<DB> + Default;
    /// Adds this key to others.
    #[doc(hidden)]
    fn push_to(self, columns: &mut Self::Columns);
    /// Writes the value of one column.
    #[doc(hidden)]
    fn walk_column<'b>(&'b self, column: usize, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// A key that is loaded, compared and written again.
#[diagnostic::on_unimplemented(
    message = "this requires an owned key, as in `.of(id)`, or `.of((id, name.to_owned()))` for several columns; if the connection is generic, add the bound `{Self}: OwnedKey<{Types}, Conn::Backend>`",
    label = "`{Self}` is not known to be an owned key of the SQL types `{Types}`",
    note = "help: for functions that are generic over the connection, see https://docs.rs/diesel_counters/latest/diesel_counters/guide/generic/"
)]
pub trait OwnedKey<Types, DB: Backend>: BindKey<Types, DB> + Clone + Ord + fmt::Debug {
    /// Loads the key from the first fields of a row.
    #[doc(hidden)]
    fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self>;
}

/// Loads the keys of a table, for statements that write them again.
pub trait LoadKey<DB: Backend> {
    /// A key, as bind values of one row. Keys are ordered as statements lock their rows.
    type Key: Values<DB> + Clone + Ord + fmt::Debug;
    /// Loads a key from the first fields of a row.
    fn load<'a>(&self, row: &impl Row<'a, DB>) -> deserialize::Result<Self::Key>;
}

/// Loads keys of columns with the SQL types `Types` as `K`.
pub(crate) struct OwnedKeys<Types, K>(PhantomData<fn() -> (Types, K)>);

impl<Types, K> OwnedKeys<Types, K> {
    pub(crate) fn new() -> Self {
        OwnedKeys(PhantomData)
    }
}

impl<Types, K, DB> LoadKey<DB> for OwnedKeys<Types, K>
where
    Types: KeyTypes,
    K: OwnedKey<Types, DB>,
    DB: Backend,
{
    type Key = KeyPrefix<Types, K>;

    fn load<'a>(&self, row: &impl Row<'a, DB>) -> deserialize::Result<KeyPrefix<Types, K>> {
        K::load(row).map(KeyPrefix::new)
    }
}

/// Returns keys, column by column.
pub(crate) fn columns_of<Types, K, DB>(keys: impl IntoIterator<Item = K>) -> K::Columns
where
    K: BindKey<Types, DB>,
    DB: Backend,
{
    let mut columns = K::Columns::default();
    keys.into_iter().for_each(|key| key.push_to(&mut columns));
    columns
}

/// Returns `len` keys: these, and then the last one again and again. Returns none if there are
/// none.
pub(crate) fn padded<K: Clone>(keys: &[K], len: usize) -> impl Iterator<Item = K> + '_ {
    keys.iter()
        .chain(keys.last().into_iter().cycle())
        .take(len)
        .cloned()
}

impl<Types, K, DB> Values<DB> for KeyPrefix<Types, K>
where
    Types: KeyTypes,
    K: BindKey<Types, DB>,
    DB: Backend,
{
    fn columns(&self) -> usize {
        Types::COLUMNS
    }

    fn push<'b>(
        &'b self,
        column: usize,
        _: usize,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        self.0.walk_column(column, out)
    }
}
