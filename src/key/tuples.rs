//! Keys of none to five columns.

use std::ops::Range;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql};
use diesel::expression::{AsExpression, ValidGrouping, is_aggregate};
use diesel::query_builder::AstPass;
use diesel::row::Row;
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, SingleValue, SqlType, Untyped};

use super::{
    BindColumns, BindKey, Columns, KeyColumn, KeyOf, KeyTypes, LoadKey, NotEmpty, Part, PrefixOf,
    StartOf, StartsWith, Whole, field,
};
use crate::backend::{BindColumn, CounterBackend, is_exact};

impl KeyTypes for () {
    type Row = Untyped;
    const COLUMNS: usize = 0;
    fn is_exact() -> bool {
        true
    }
}

impl KeyOf<()> for () {
    type Columns = ();
    fn push_to(self, (): &mut ()) {}
}

impl<DB: Backend> BindColumns<DB> for () {
    const NUMBER: usize = 0;
    fn walk_binds<'b>(&'b self, _: Range<usize>, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

impl<DB: Backend> BindKey<(), DB> for () {
    fn walk_column<'b>(&'b self, _: usize, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

impl<DB: Backend> LoadKey<(), DB> for () {
    fn load<'a>(_: &impl Row<'a, DB>) -> deserialize::Result<Self> {
        Ok(())
    }
}

// A key of one column is the value alone.
impl<S: SqlType + SingleValue + 'static> KeyTypes for (S,) {
    type Row = S;
    const COLUMNS: usize = 1;
    fn is_exact() -> bool {
        is_exact::<S>()
    }
}

// With this attribute the compiler prints the message of the trait, and not the bounds of the impl.
#[diagnostic::do_not_recommend]
impl<K, S> KeyOf<(S,)> for K
where
    S: SqlType + SingleValue,
    K: AsExpression<S>,
    // A bind value has `Never`. A column, for example, has `No`.
    K::Expression: ValidGrouping<(), IsAggregate = is_aggregate::Never>,
{
    type Columns = (KeyColumn<S, K>,);

    fn push_to(self, (column,): &mut Self::Columns) {
        column.values.push(self);
    }
}

#[diagnostic::do_not_recommend]
impl<K, S, DB> BindKey<(S,), DB> for K
where
    DB: Backend + HasSqlType<S>,
    K: ToSql<S, DB>,
{
    fn walk_column<'b>(&'b self, _: usize, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_bind_param::<S, _>(self)
    }
}

impl<K, S, DB> LoadKey<(S,), DB> for K
where
    DB: Backend,
    K: FromSql<S, DB>,
{
    fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self> {
        field(row, 0)
    }
}

// For keys of several columns. `$i` is the number of the column, `$S` its SQL type, `$K` its value.
macro_rules! keys {
    ($($number:literal: $($i:tt: $S:ident $K:ident),*;)*) => {$(
        impl<$($S: SqlType + SingleValue + 'static),*> KeyTypes for ($($S,)*) {
            type Row = Self;
            const COLUMNS: usize = $number;
            fn is_exact() -> bool {
                $(is_exact::<$S>())&&*
            }
        }

        keys!(@of ($($K,)*): $($i: $S $K $K),*);
        keys!(@of &'k ($($K,)*): $($i: $S $K &'k $K),*);

        impl<$($S, $K,)* DB> LoadKey<($($S,)*), DB> for ($($K,)*)
        where
            DB: Backend,
            $($K: FromSql<$S, DB>,)*
        {
            fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self> {
                Ok(($(field::<$S, $K, DB>(row, $i)?,)*))
            }
        }
    )*};
    // A tuple, or a reference to a tuple. `$Part` is the type of the value of a column, or a reference.
    (@of $Key:ty: $($i:tt: $S:ident $K:ident $Part:ty),*) => {
        #[diagnostic::do_not_recommend]
        impl<'k, $($S, $K),*> KeyOf<($($S,)*)> for $Key
        where
            $($Part: KeyOf<($S,), Columns = (KeyColumn<$S, $Part>,)>,)*
        {
            type Columns = ($(KeyColumn<$S, $Part>,)*);

            #[allow(non_snake_case)] // The variables have the names of the types.
            fn push_to(self, columns: &mut Self::Columns) {
                let ($($K,)*) = self;
                $(columns.$i.values.push($K);)*
            }
        }

        #[diagnostic::do_not_recommend]
        impl<'k, $($S, $K,)* DB> BindKey<($($S,)*), DB> for $Key
        where
            DB: Backend,
            $($K: BindKey<($S,), DB>,)*
        {
            fn walk_column<'b>(&'b self, column: usize, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
                match column {
                    $($i => self.$i.walk_column(0, out),)*
                    _ => Ok(()),
                }
            }
        }
    };
}

keys! {
    2: 0: S0 K0, 1: S1 K1;
    3: 0: S0 K0, 1: S1 K1, 2: S2 K2;
    4: 0: S0 K0, 1: S1 K1, 2: S2 K2, 3: S3 K3;
    5: 0: S0 K0, 1: S1 K1, 2: S2 K2, 3: S3 K3, 4: S4 K4;
}

macro_rules! key_tuples {
    ($($number:literal: $($i:tt: $S:ident $K:ident),*;)*) => {$(
        impl<$($S),*> NotEmpty for ($($S,)*) where Self: KeyTypes {}

        impl<$($S, $K,)* DB> BindColumns<DB> for ($(KeyColumn<$S, $K>,)*)
        where
            DB: CounterBackend,
            $(DB::ManyRows: BindColumn<$S, $K, DB>,)*
        {
            const NUMBER: usize = $number;
            fn walk_binds<'b>(
                &'b self,
                rows: Range<usize>,
                mut out: AstPass<'_, 'b, DB>,
            ) -> QueryResult<()> {
                $(
                    if $i > 0 {
                        out.push_sql(", ");
                    }
                    <DB::ManyRows as BindColumn<$S, $K, DB>>::walk_values(
                        &self.$i.values[rows.clone()],
                        out.reborrow(),
                    )?;
                )*
                Ok(())
            }
        }
    )*};
}

key_tuples! {
    1: 0: S0 K0;
    2: 0: S0 K0, 1: S1 K1;
    3: 0: S0 K0, 1: S1 K1, 2: S2 K2;
    4: 0: S0 K0, 1: S1 K1, 2: S2 K2, 3: S3 K3;
    5: 0: S0 K0, 1: S1 K1, 2: S2 K2, 3: S3 K3, 4: S4 K4;
}

// Each prefix of a key has an impl of its own, so that the compiler infers the number of columns.
macro_rules! prefixes {
    ($($number:tt: ($($S:ident)*) of ($($T:ident)*) $Extent:ident;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<K, $($T),*> PrefixOf<($($T,)*), Columns<$number>> for K
        where
            K: KeyOf<($($S,)*)>,
            ($($S,)*): KeyTypes,
        {
            type Types = ($($S,)*);
            type Extent = $Extent;
        }

        impl<$($T: SqlType + SingleValue + 'static),*> StartsWith<Columns<$number>> for ($($T,)*)
        where
            Self: KeyTypes,
        {
            type Row = <($($S,)*) as KeyTypes>::Row;
        }

        prefixes!(@start $number: ($($S)*) of ($($T)*));
    )*};
    (@start 0: () of $key:tt) => {};
    (@start 1: ($S:ident) of ($($T:ident)*)) => {
        // A query of one column has the SQL type of the column.
        impl<$($T),*> StartOf<($($T,)*)> for $S {
            const COLUMNS: usize = 1;
        }
        impl<$($T),*> StartOf<($($T,)*)> for ($S,) {
            const COLUMNS: usize = 1;
        }
    };
    (@start $number:tt: ($($S:ident)*) of ($($T:ident)*)) => {
        impl<$($T),*> StartOf<($($T,)*)> for ($($S,)*) {
            const COLUMNS: usize = $number;
        }
    };
}

prefixes! {
    0: () of () Whole;
    0: () of (A) Part;
    1: (A) of (A) Whole;
    0: () of (A B) Part;
    1: (A) of (A B) Part;
    2: (A B) of (A B) Whole;
    0: () of (A B C) Part;
    1: (A) of (A B C) Part;
    2: (A B) of (A B C) Part;
    3: (A B C) of (A B C) Whole;
    0: () of (A B C D) Part;
    1: (A) of (A B C D) Part;
    2: (A B) of (A B C D) Part;
    3: (A B C) of (A B C D) Part;
    4: (A B C D) of (A B C D) Whole;
    0: () of (A B C D E) Part;
    1: (A) of (A B C D E) Part;
    2: (A B) of (A B C D E) Part;
    3: (A B C) of (A B C D E) Part;
    4: (A B C D) of (A B C D E) Part;
    5: (A B C D E) of (A B C D E) Whole;
}
