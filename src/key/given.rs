//! The keys that an app gives.

use diesel::expression::{AsExpression, ValidGrouping, is_aggregate};
use diesel::sql_types::{SingleValue, SqlType};

use crate::key::types::{HasColumns, KeyTypes};

/// A value that identifies an entity, or all entities whose keys begin with it, in a counter table
/// whose key has the SQL types `Key`.
///
/// - For one column, it's any value that Diesel can bind as the column's SQL type, owned or
///   borrowed. For several columns, it's a tuple of such values, for example `(article_id, "👍")`,
///   or a reference to a tuple. Columns and other expressions aren't keys.
/// - It can also be a reference to a model that [has counters](crate::HasCounters), for example
///   `&article`.
///
/// For example, `(crate_id, version_id)` is one version, `crate_id` is all versions of a crate, and
/// `()` is everything: see [keys of several
/// columns](crate::guide::reading#keys-of-several-columns). The compiler infers `N`, the number of
/// columns. Don't implement this trait yourself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of this counter table, whose key has the SQL types `{Key}`",
    label = "this requires values for `{Key}`, as in `.of(id)`",
    note = "help: give the key as values, for example `article.id`, or `(article.id, \"👍\")` for a key of two columns; columns aren't keys",
    note = "help: a key column has the type of the entity's own key: if that is `Integer`, make it `INTEGER` in the migration, and `Integer` in `table!`",
    note = "help: the model's field has the Rust type of the column, `i64` for `BigInt` and `i32` for `Integer`, and is no `Option`; on SQLite, `sqlite_integer_primary_key_is_bigint` in `diesel.toml` makes keys `BigInt`",
    note = "help: if the key is `()`, the table has no entities: leave out `.of(…)`, or derive `HasCounters` on a unit struct"
)]
pub trait KeyOf<Key, N> {
    /// The SQL types of the columns that it has values for.
    type Types: KeyTypes;
    /// The value.
    type Value;
    #[doc(hidden)]
    fn into_value(self) -> Self::Value;
}

/// The SQL types `Key` of a whole key.
#[diagnostic::on_unimplemented(
    message = "this is only part of an entity's key, which has the SQL types `{Key}`",
    label = "this has only `{Self}`",
    note = "help: give a value for each column, for example `(article.id, \"👍\")` for a key of two columns"
)]
pub trait WholeKey<Key>: KeyTypes {}
impl<Key: KeyTypes> WholeKey<Key> for Key {}

/// A number of columns of a key.
#[derive(Debug, Clone, Copy)]
pub struct Columns<const NUMBER: usize>;

/// A value for each of the columns with the SQL types `Types`. Columns and other expressions aren't
/// values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value for columns with the SQL types `{Types}`",
    label = "this requires values for `{Types}`"
)]
pub trait KeyValue<Types> {}

// A key of one column is just the value. With this attribute, the compiler prints the trait's
// message instead of the impl's bounds.
#[diagnostic::do_not_recommend]
impl<K, S> KeyValue<(S,)> for K
where
    S: SqlType + SingleValue,
    K: AsExpression<S>,
    // A bind value has `Never`. A column, for example, has `No`.
    K::Expression: ValidGrouping<(), IsAggregate = is_aggregate::Never>,
{
}

macro_rules! key_values {
    ($($number:tt: $([$i:tt $S:ident $K:ident])*;)*) => {
        $(key_values!(@key $number: $($S $K)*);)*
    };
    (@key 1: $S:ident $K:ident) => {};
    (@key $number:tt: $($S:ident $K:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<$($S, $K),*> KeyValue<($($S,)*)> for ($($K,)*)
        where
            $($K: KeyValue<($S,)>,)*
        {
        }

        #[diagnostic::do_not_recommend]
        impl<'k, $($S, $K),*> KeyValue<($($S,)*)> for &'k ($($K,)*)
        where
            $(&'k $K: KeyValue<($S,)>,)*
        {
        }
    };
}

each_key!(key_values);

// Each number of columns has its own impl, so that the compiler can infer it.
macro_rules! key_of {
    ($($number:literal of $Key:ident: $bound:path, $Types:ty;)*) => {$(
        #[doc(hidden)] // The docs of the trait say it in words.
        #[diagnostic::do_not_recommend]
        impl<K, $Key> KeyOf<$Key, Columns<$number>> for K
        where
            $Key: $bound,
            K: KeyValue<$Types>,
        {
            type Types = $Types;
            type Value = K;
            fn into_value(self) -> K {
                self
            }
        }
    )*};
}

key_of! {
    0 of Key: KeyTypes, ();
    1 of Key: HasColumns<1>, Key::First;
    2 of Key: HasColumns<2>, Key::First;
    3 of Key: HasColumns<3>, Key::First;
    4 of Key: HasColumns<4>, Key::First;
    5 of Key: HasColumns<5>, Key::First;
}
