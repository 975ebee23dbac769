//! The values that are keys, of no column to five: alone, in a row, and many of them.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize;
use diesel::expression::{AsExpression, ValidGrouping, is_aggregate};
use diesel::query_builder::AstPass;
use diesel::row::Row;
use diesel::sql_types::{SingleValue, SqlType, Untyped};

use crate::sql::backend::{BindsAs, LoadsAs};
use crate::sql::{CounterBackend, Values};
use crate::typed::entities::StartOf;
use crate::typed::key::{BindKey, Columns, HasColumns, KeyOf, KeyTypes, KeyValue, OwnedKey};

/// The values of many keys for one column, whose SQL type is `ST`.
pub struct KeyColumn<ST, K>(Vec<K>, PhantomData<fn() -> ST>);

opaque_debug!(KeyColumn<ST, K>);

impl<ST, K> Default for KeyColumn<ST, K> {
    fn default() -> Self {
        KeyColumn(Vec::new(), PhantomData)
    }
}

/// The values of many keys: a tuple of [`KeyColumn`]s.
#[derive(Debug, Default)]
pub struct KeyColumns<C>(C);

macro_rules! key_types {
    ($($number:literal: $([$i:tt $S:ident $K:ident])*;)*) => {$(
        impl<$($S: SqlType + SingleValue + 'static),*> KeyTypes for ($($S,)*) {
            type Row = key_types!(@row $($S)*);
            const COLUMNS: usize = $number;
            fn sql_types() -> Vec<TypeId> {
                vec![$(TypeId::of::<$S>()),*]
            }
        }

        #[allow(unused_variables)] // of a key without columns
        impl<$($S, $K,)* DB> Values<DB> for KeyColumns<($(KeyColumn<$S, $K>,)*)>
        where
            DB: CounterBackend $(+ BindsAs<$S, $K>)*,
        {
            fn columns(&self) -> usize {
                $number
            }

            fn push<'b>(
                &'b self,
                column: usize,
                row: usize,
                out: &mut AstPass<'_, 'b, DB>,
            ) -> QueryResult<()> {
                match column {
                    $($i => <DB as BindsAs<$S, $K>>::push_value(&self.0.$i.0[row], out),)*
                    _ => Ok(()),
                }
            }

            fn push_array<'b>(
                &'b self,
                column: usize,
                rows: Range<usize>,
                out: &mut AstPass<'_, 'b, DB>,
            ) -> QueryResult<()> {
                match column {
                    $($i => <DB as BindsAs<$S, $K>>::push_values(&self.0.$i.0[rows], out),)*
                    _ => Ok(()),
                }
            }
        }
    )*};
    (@row) => { Untyped };
    (@row $S:ident) => { $S };
    (@row $($S:ident)*) => { Self };
}

each_key!(key_types);

// A key of one column is the value alone.
// With this attribute the compiler prints the message of the trait, and not the bounds of the impl.
#[diagnostic::do_not_recommend]
impl<K, S> KeyValue<(S,)> for K
where
    S: SqlType + SingleValue,
    K: AsExpression<S>,
    // A bind value has `Never`. A column, for example, has `No`.
    K::Expression: ValidGrouping<(), IsAggregate = is_aggregate::Never>,
{
}

#[diagnostic::do_not_recommend]
impl<K, S, DB> BindKey<(S,), DB> for K
where
    DB: BindsAs<S, K>,
{
    type Columns = KeyColumns<(KeyColumn<S, K>,)>;

    fn push_to(self, columns: &mut Self::Columns) {
        columns.0.0.0.push(self);
    }

    fn walk_column<'b>(&'b self, _: usize, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()> {
        DB::push_value(self, out)
    }
}

#[diagnostic::do_not_recommend]
impl<K, S, DB> OwnedKey<(S,), DB> for K
where
    DB: LoadsAs<S, K>,
    K: BindKey<(S,), DB> + Clone + Ord + fmt::Debug,
{
    fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self> {
        DB::field(row, 0)
    }
}

// For keys of no column, and of several. `$i` is the number of the column, `$S` its SQL type, `$K`
// its value.
macro_rules! keys {
    ($($number:tt: $([$i:tt $S:ident $K:ident])*;)*) => { $(keys!(@key $number: $([$i $S $K])*);)* };
    (@key 1: $column:tt) => {};
    (@key $number:tt: $([$i:tt $S:ident $K:ident])*) => {
        keys!(@of ($($K,)*): $($i $S $K $K),*);
        keys!(@of &'k ($($K,)*): $($i $S $K &'k $K),*);

        #[allow(unused_variables)] // of a key without columns
        #[diagnostic::do_not_recommend]
        impl<$($S, $K,)* DB> OwnedKey<($($S,)*), DB> for ($($K,)*)
        where
            DB: Backend $(+ LoadsAs<$S, $K>)*,
            Self: BindKey<($($S,)*), DB>,
            $($K: Clone + Ord + fmt::Debug,)*
        {
            fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self> {
                Ok(($(<DB as LoadsAs<$S, $K>>::field(row, $i)?,)*))
            }
        }
    };
    // A tuple, or a reference to a tuple. `$Part` is the type of the value of a column, or a reference.
    (@of $Key:ty: $($i:tt $S:ident $K:ident $Part:ty),*) => {
        #[diagnostic::do_not_recommend]
        impl<'k, $($S, $K),*> KeyValue<($($S,)*)> for $Key
        where
            $($Part: KeyValue<($S,)>,)*
        {
        }

        #[allow(unused_variables)]
        #[diagnostic::do_not_recommend]
        impl<'k, $($S, $K,)* DB> BindKey<($($S,)*), DB> for $Key
        where
            DB: CounterBackend $(+ BindsAs<$S, $K> + BindsAs<$S, $Part>)*,
        {
            type Columns = KeyColumns<($(KeyColumn<$S, $Part>,)*)>;

            #[allow(non_snake_case)] // The variables have the names of the types.
            fn push_to(self, columns: &mut Self::Columns) {
                let ($($K,)*) = self;
                $(columns.0.$i.0.push($K);)*
            }

            fn walk_column<'b>(
                &'b self,
                column: usize,
                out: &mut AstPass<'_, 'b, DB>,
            ) -> QueryResult<()> {
                match column {
                    $($i => <DB as BindsAs<$S, $K>>::push_value(&self.$i, out),)*
                    _ => Ok(()),
                }
            }
        }
    };
}

each_key!(keys);

// Each number of columns has an impl of its own, so that the compiler infers it.
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

macro_rules! first_columns {
    ($($Key:tt: $($number:tt $First:tt),*;)*) => {
        $($(first_columns!(@of $Key $number $First);)*)*
        $(first_columns!(@one $Key);)*
    };
    // A query of one column has the SQL type of the column.
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
