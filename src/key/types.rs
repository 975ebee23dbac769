//! The SQL types of keys.

use std::any::TypeId;

use diesel::expression::TypedExpressionType;
use diesel::sql_types::{SingleValue, SqlType, Untyped};

use crate::key::stored::is_exact;

/// The SQL types of the columns of a key, as a tuple.
pub trait KeyTypes: 'static {
    /// The SQL type of a key in a query: the type of the column, a tuple of several types, or
    /// `Untyped` for no column.
    #[doc(hidden)]
    type Row: TypedExpressionType + 'static;
    #[doc(hidden)]
    const COLUMNS: usize;
    /// Returns the SQL types of the columns, in their order.
    #[doc(hidden)]
    fn sql_types() -> Vec<TypeId>;
    /// Whether every database agrees with Rust on which keys are equal.
    #[doc(hidden)]
    fn is_exact() -> bool {
        Self::sql_types().iter().all(is_exact)
    }
}

/// The SQL types of a key that has at least `N` columns, from 1 to 5.
#[diagnostic::on_unimplemented(
    message = "this counter table has no entities: its primary key is (day, slot)",
    label = "this requires a counter table whose primary key is (entity, day, slot)"
)]
pub trait HasColumns<const N: usize>: KeyTypes {
    /// The SQL types of its first `N` columns.
    #[doc(hidden)]
    type First: KeyTypes;
}

/// The SQL type of the first columns of a key, or of all of them. The key has the SQL types `Key`.
#[diagnostic::on_unimplemented(
    message = "these are not the first columns of this counter table's key, which has the SQL types `{Key}`",
    label = "this has the SQL type `{Self}`",
    note = "help: a key column has the type of the entity's own key: if that is `Integer`, make it `INTEGER` in the migration, and `Integer` in `table!`",
    note = "help: in a query of keys, select the key, as in `articles::table.filter(…).select(articles::id)`"
)]
pub trait StartOf<Key> {
    #[doc(hidden)]
    const COLUMNS: usize;
}

macro_rules! key_types {
    ($($number:literal: $([$i:tt $S:ident $K:ident])*;)*) => {$(
        impl<$($S: SqlType + SingleValue + 'static),*> KeyTypes for ($($S,)*) {
            type Row = key_types!(@row $($S)*);
            const COLUMNS: usize = $number;
            fn sql_types() -> Vec<TypeId> {
                vec![$(TypeId::of::<$S>()),*]
            }
        }
    )*};
    (@row) => { Untyped };
    (@row $S:ident) => { $S };
    (@row $($S:ident)*) => { Self };
}

each_key!(key_types);

macro_rules! first_columns {
    ($($Key:tt: $($number:tt $First:tt),*;)*) => {
        $($(first_columns!(@of $Key $number $First);)*)*
        $(first_columns!(@one $Key);)*
    };
    // A query of one column has that column's SQL type, not a tuple.
    (@one ($First:ident $($T:ident)*)) => {
        impl<$First $(, $T)*> StartOf<($First, $($T,)*)> for $First {
            const COLUMNS: usize = 1;
        }
    };
    (@of ($($T:ident)*) $number:tt ($($S:ident)*)) => {
        impl<$($T),*> HasColumns<$number> for ($($T,)*)
        where
            Self: KeyTypes,
            ($($S,)*): KeyTypes,
        {
            type First = ($($S,)*);
        }

        impl<$($T),*> StartOf<($($T,)*)> for ($($S,)*) {
            const COLUMNS: usize = $number;
        }
    };
}

first_columns! {
    (A): 1 (A);
    (A B): 1 (A), 2 (A B);
    (A B C): 1 (A), 2 (A B), 3 (A B C);
    (A B C D): 1 (A), 2 (A B), 3 (A B C), 4 (A B C D);
    (A B C D E): 1 (A), 2 (A B), 3 (A B C), 4 (A B C D), 5 (A B C D E);
}
