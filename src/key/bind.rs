//! Keys as bind values: alone, in a row, or many at once.

use std::marker::PhantomData;
use std::ops::Range;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::AstPass;

use crate::sql::backend::BindsAs;
use crate::sql::{CounterBackend, Values};

/// A key whose columns have the SQL types `Types`, as bind values.
#[diagnostic::on_unimplemented(
    message = "this requires a key: if it is missing, add `.of(id)`; if the connection is generic, add the bound `{Self}: BindKey<{Types}, Conn::Backend>`",
    label = "`{Self}` is not known to be a key of the SQL types `{Types}`",
    note = "help: for functions that are generic over the connection, see https://docs.rs/diesel_counters/latest/diesel_counters/bounds/"
)]
pub trait BindKey<Types, DB: Backend> {
    /// Many keys, column by column.
    #[doc(hidden)]
    type Columns: Values<DB> + Default;
    /// Adds this key to `columns`.
    #[doc(hidden)]
    fn push_to(self, columns: &mut Self::Columns);
    /// Writes the value of one column.
    #[doc(hidden)]
    fn walk_column<'b>(&'b self, column: usize, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// Returns the values of these keys, column by column.
pub(crate) fn columns_of<Types, K, DB>(keys: impl IntoIterator<Item = K>) -> K::Columns
where
    K: BindKey<Types, DB>,
    DB: Backend,
{
    let mut columns = K::Columns::default();
    keys.into_iter().for_each(|key| key.push_to(&mut columns));
    columns
}

/// Returns `len` keys: these, and then the last one again and again. If there are no keys, it
/// returns none.
pub(crate) fn padded<K: Clone>(keys: &[K], len: usize) -> impl Iterator<Item = K> + '_ {
    keys.iter()
        .chain(keys.last().into_iter().cycle())
        .take(len)
        .cloned()
}

/// The values of many keys in one column, which has the SQL type `ST`.
pub struct KeyColumn<ST, K> {
    values: Vec<K>,
    sql_type: PhantomData<fn() -> ST>,
}

opaque_debug!(KeyColumn<ST, K>);

impl<ST, K> Default for KeyColumn<ST, K> {
    fn default() -> Self {
        KeyColumn {
            values: Vec::new(),
            sql_type: PhantomData,
        }
    }
}

/// The values of many keys: a tuple of [`KeyColumn`]s.
#[derive(Debug, Default)]
pub struct KeyColumns<C>(C);

macro_rules! many_keys {
    ($($number:literal: $([$i:tt $S:ident $K:ident])*;)*) => {$(
        #[allow(unused_variables)] // For a key without columns.
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
                let KeyColumns(columns) = self;
                match column {
                    $($i => <DB as BindsAs<$S, $K>>::push_value(&columns.$i.values[row], out),)*
                    _ => Ok(()),
                }
            }

            fn push_array<'b>(
                &'b self,
                column: usize,
                rows: Range<usize>,
                out: &mut AstPass<'_, 'b, DB>,
            ) -> QueryResult<()> {
                let KeyColumns(columns) = self;
                match column {
                    $($i => <DB as BindsAs<$S, $K>>::push_values(&columns.$i.values[rows], out),)*
                    _ => Ok(()),
                }
            }
        }
    )*};
}

each_key!(many_keys);

#[diagnostic::do_not_recommend]
impl<K, S, DB> BindKey<(S,), DB> for K
where
    DB: BindsAs<S, K>,
{
    type Columns = KeyColumns<(KeyColumn<S, K>,)>;

    fn push_to(self, columns: &mut Self::Columns) {
        let KeyColumns((column,)) = columns;
        column.values.push(self);
    }

    fn walk_column<'b>(
        &'b self,
        _only_column: usize,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        DB::push_value(self, out)
    }
}

macro_rules! bind_keys {
    ($($number:tt: $([$i:tt $S:ident $K:ident])*;)*) => {
        $(bind_keys!(@key $number: $([$i $S $K])*);)*
    };
    (@key 1: $column:tt) => {};
    (@key $number:tt: $([$i:tt $S:ident $K:ident])*) => {
        bind_keys!(@of ($($K,)*): $($i $S $K $K),*);
        bind_keys!(@of &'k ($($K,)*): $($i $S $K &'k $K),*);
    };
    // For a tuple, or for a reference to one. `$Part` is the type of a column's value, or a
    // reference to it.
    (@of $Key:ty: $($i:tt $S:ident $K:ident $Part:ty),*) => {
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
                let KeyColumns(columns) = columns;
                $(columns.$i.values.push($K);)*
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

each_key!(bind_keys);
