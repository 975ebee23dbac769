//! Keys of entities: a key is a list of columns, from none to five.
//!
//! Its SQL types are a tuple, [`KeyTypes`]. Its value is a tuple too, or the value alone if there is one
//! column: [`KeyOf`]. Statements bind it as [`BindKey`], whatever it is.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql};
use diesel::expression::{AsExpression, TypedExpressionType, ValidGrouping, is_aggregate};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::row::Row;
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, SingleValue, SqlType, Untyped};

use crate::shape::Name;
use crate::sql::bind::field;
use crate::sql::{CounterBackend, Dialect, Keys, One, Sql, Values, fragment, list, row, sql};
use crate::typed::stored_key::is_exact;
use crate::typed::table::NotEmpty;

/// The SQL types of the columns of a key, as a tuple.
pub trait KeyTypes: 'static {
    /// The SQL type of a key in a query: the type of the column, or a tuple of several types.
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

/// The SQL type of the first columns of a key with the SQL types `Key`, or of all.
#[diagnostic::on_unimplemented(
    message = "these are not the first columns of this counter table's key, which has the SQL types `{Key}`",
    label = "this has the SQL type `{Self}`",
    note = "help: in a query of keys, select the key, as in `articles::table.filter(…).select(articles::id)`"
)]
pub trait StartOf<Key> {
    #[doc(hidden)]
    const COLUMNS: usize;
}

/// A value that identifies an entity of a counter table whose key has the SQL types `Key`, or entities
/// whose keys begin with it.
///
/// - For a column, it is every value that Diesel can bind as the column's SQL type, owned or borrowed.
///   For several columns, it is a tuple of such values, or a reference to a tuple: `(article_id, "👍")`.
///   Columns and other expressions are not keys.
/// - It is a reference to a model that [has counters](crate::HasCounters): `&article`.
///
/// `(crate_id, version_id)` is a version, `crate_id` is all versions of a crate, and `()` is everything.
/// The compiler infers `N`, the number of columns.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of this counter table, whose key has the SQL types `{Key}`",
    label = "this requires values for `{Key}`, as in `.of(id)`",
    note = "help: give the key as values, such as `article.id`, or `(article.id, \"👍\")` for a key of two columns; columns are not keys",
    note = "help: if the key is `()`, the table has no entities: leave out `.of(…)`, or derive `HasCounters` on a unit struct"
)]
pub trait KeyOf<Key, N>: Sealed<N> {
    /// The SQL types of these columns.
    type Types: KeyTypes;
    /// The value.
    type Value;
    #[doc(hidden)]
    fn into_value(self) -> Self::Value;
}

/// Nobody else implements [`KeyOf`].
pub trait Sealed<N> {}
impl<K, const N: usize> Sealed<Columns<N>> for K {}

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

/// A value for each of the columns with the SQL types `Types`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value for columns with the SQL types `{Types}`",
    label = "this requires values for `{Types}`"
)]
pub trait KeyValue<Types> {}

/// A key whose columns have the SQL types `Types`, as bind values.
#[diagnostic::on_unimplemented(
    message = "this statement has no key of an entity, or not the whole key",
    label = "add the key, with a value for each of `{Types}`: `.of(id)`"
)]
pub trait BindKey<Types, DB: Backend> {
    /// Many keys, column by column.
    type Columns: Values<DB> + Default;
    /// Adds this key to others.
    fn push_to(self, columns: &mut Self::Columns);
    /// Writes the value of one column.
    fn walk_column<'b>(&'b self, column: usize, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// A key whose columns have the SQL types `Types`, in rows that are loaded.
pub trait LoadKey<Types, DB: Backend>: Sized {
    /// Loads the key from the first fields of a row.
    fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self>;
}

/// A key that is loaded, compared and written again.
pub trait OwnedKey<Types, DB: Backend>:
    BindKey<Types, DB> + LoadKey<Types, DB> + Clone + Ord + fmt::Debug
{
}
#[diagnostic::do_not_recommend]
impl<K, Types, DB: Backend> OwnedKey<Types, DB> for K where
    K: BindKey<Types, DB> + LoadKey<Types, DB> + Clone + Ord + fmt::Debug
{
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

/// Returns the first `len` of these keys again and again: to fill up a list with its last key.
pub(crate) fn padded<K: Clone>(keys: &[K], len: usize) -> impl Iterator<Item = K> + '_ {
    keys.iter()
        .chain(keys.last().into_iter().cycle())
        .take(len)
        .cloned()
}

impl<Types, K, DB> Values<DB> for One<Types, K>
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

    fn push_array<'b>(
        &'b self,
        column: usize,
        _: Range<usize>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        self.0.walk_column(column, out)
    }
}

/// The entities that a statement reads or writes.
pub trait Entities<DB: Backend> {
    /// A condition on the first columns of `entity`: `"article_id" = ?`.
    fn condition<'b>(&'b self, db: Dialect, entity: &[Name<'b>]) -> Option<Sql<'b, DB>>;
}

/// All entities.
impl<DB: Backend> Entities<DB> for () {
    fn condition<'b>(&'b self, _: Dialect, _: &[Name<'b>]) -> Option<Sql<'b, DB>> {
        None
    }
}

impl<Types, K, DB> Entities<DB> for One<Types, K>
where
    Types: KeyTypes,
    K: BindKey<Types, DB>,
    DB: CounterBackend,
{
    fn condition<'b>(&'b self, _: Dialect, entity: &[Name<'b>]) -> Option<Sql<'b, DB>> {
        let equal = entity.iter().zip(row(self, 0));
        let equal = equal.map(|(name, value)| sql!("{*name} = {value}"));
        (Types::COLUMNS > 0).then(|| list(" AND ", equal))
    }
}

impl<C: Values<DB>, DB: CounterBackend> Entities<DB> for Keys<C> {
    fn condition<'b>(&'b self, db: Dialect, entity: &[Name<'b>]) -> Option<Sql<'b, DB>> {
        let key = &entity[..self.columns.columns()];
        (!key.is_empty()).then(|| db.is_in(key, &self.columns, self.len))
    }
}

/// The entities whose keys, or the first columns of them, the query `Q` selects.
#[derive(Debug, Clone, QueryId)]
pub struct AnyOf<Q> {
    query: Q,
    columns: usize,
}

impl<Q> AnyOf<Q> {
    pub(crate) fn new<Key>(query: Q) -> Self
    where
        Q: diesel::query_builder::Query<SqlType: StartOf<Key>>,
    {
        let columns = Q::SqlType::COLUMNS;
        AnyOf { query, columns }
    }
}

impl<Q: QueryFragment<DB>, DB: CounterBackend> Entities<DB> for AnyOf<Q> {
    fn condition<'b>(&'b self, _: Dialect, entity: &[Name<'b>]) -> Option<Sql<'b, DB>> {
        let query = fragment(&self.query);
        Some(match &entity[..self.columns] {
            [column] => sql!("{*column} IN ({query})"),
            columns => sql!("({columns}) IN ({query})"),
        })
    }
}

/// The values of many keys for one column, whose SQL type is `ST`.
pub struct KeyColumn<ST, K>(Vec<K>, PhantomData<fn() -> ST>);

impl<ST, K> fmt::Debug for KeyColumn<ST, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyColumn").field(&self.0.len()).finish()
    }
}

impl<ST, K> Default for KeyColumn<ST, K> {
    fn default() -> Self {
        KeyColumn(Vec::new(), PhantomData)
    }
}

macro_rules! key_types {
    ($($number:literal $Row:ty: $([$i:tt $S:ident $K:ident])*;)*) => {$(
        impl<$($S: SqlType + SingleValue + 'static),*> KeyTypes for ($($S,)*) {
            type Row = $Row;
            const COLUMNS: usize = $number;
            fn sql_types() -> Vec<TypeId> {
                vec![$(TypeId::of::<$S>()),*]
            }
        }

        #[allow(unused_variables)] // of a key without columns
        impl<$($S, $K,)* DB> Values<DB> for ($(KeyColumn<$S, $K>,)*)
        where
            DB: CounterBackend $(+ HasSqlType<$S>)*,
            $($K: ToSql<$S, DB>, $S: SingleValue,)*
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
                    $($i => out.push_bind_param::<$S, _>(&self.$i.0[row]),)*
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
                    $($i => DB::push_array::<$S, _>(&self.$i.0[rows], out),)*
                    _ => Ok(()),
                }
            }
        }
    )*};
}

key_types! {
    0 Untyped:;
    1 S0: [0 S0 K0];
    2 Self: [0 S0 K0] [1 S1 K1];
    3 Self: [0 S0 K0] [1 S1 K1] [2 S2 K2];
    4 Self: [0 S0 K0] [1 S1 K1] [2 S2 K2] [3 S3 K3];
    5 Self: [0 S0 K0] [1 S1 K1] [2 S2 K2] [3 S3 K3] [4 S4 K4];
}

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
    DB: CounterBackend + HasSqlType<S>,
    K: ToSql<S, DB>,
    S: SingleValue,
{
    type Columns = (KeyColumn<S, K>,);

    fn push_to(self, (column,): &mut Self::Columns) {
        column.0.push(self);
    }

    fn walk_column<'b>(&'b self, _: usize, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()> {
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

// For keys of no column, and of several. `$i` is the number of the column, `$S` its SQL type, `$K` its
// value.
macro_rules! keys {
    ($($([$i:tt $S:ident $K:ident])*;)*) => {$(
        keys!(@of ($($K,)*): $($i $S $K $K),*);
        keys!(@of &'k ($($K,)*): $($i $S $K &'k $K),*);

        #[allow(unused_variables)] // of a key without columns
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
            DB: CounterBackend $(+ HasSqlType<$S>)*,
            $($K: ToSql<$S, DB>, $S: SingleValue,)*
        {
            type Columns = ($(KeyColumn<$S, $Part>,)*);

            #[allow(non_snake_case)] // The variables have the names of the types.
            fn push_to(self, columns: &mut Self::Columns) {
                let ($($K,)*) = self;
                $(columns.$i.0.push($K);)*
            }

            fn walk_column<'b>(
                &'b self,
                column: usize,
                out: &mut AstPass<'_, 'b, DB>,
            ) -> QueryResult<()> {
                match column {
                    $($i => out.push_bind_param::<$S, _>(&self.$i),)*
                    _ => Ok(()),
                }
            }
        }
    };
}

keys! {
    ;
    [0 S0 K0] [1 S1 K1];
    [0 S0 K0] [1 S1 K1] [2 S2 K2];
    [0 S0 K0] [1 S1 K1] [2 S2 K2] [3 S3 K3];
    [0 S0 K0] [1 S1 K1] [2 S2 K2] [3 S3 K3] [4 S4 K4];
}

// Each prefix of a key has an impl of its own, so that the compiler infers the number of columns.
macro_rules! prefixes {
    ($($Key:tt: $($number:tt $Start:tt),*;)*) => {
        $($(prefixes!(@key $number $Start of $Key);)*)*
        $($(prefixes!(@start $number $Start of $Key);)*)*
    };
    (@key $number:tt ($($S:ident)*) of ($($T:ident)*)) => {
        #[diagnostic::do_not_recommend]
        impl<K, $($T),*> KeyOf<($($T,)*), Columns<$number>> for K
        where
            K: KeyValue<($($S,)*)>,
            ($($S,)*): KeyTypes,
        {
            type Types = ($($S,)*);
            type Value = K;
            fn into_value(self) -> K {
                self
            }
        }
    };
    (@start 0 () of $Key:tt) => {};
    (@start 1 ($S:ident) of ($($T:ident)*)) => {
        // A query of one column has the SQL type of the column.
        impl<$($T),*> StartOf<($($T,)*)> for $S {
            const COLUMNS: usize = 1;
        }
        impl<$($T),*> StartOf<($($T,)*)> for ($S,) {
            const COLUMNS: usize = 1;
        }
        impl<$($T),*> NotEmpty for ($($T,)*) where Self: KeyTypes {}
    };
    (@start $number:tt ($($S:ident)*) of ($($T:ident)*)) => {
        impl<$($T),*> StartOf<($($T,)*)> for ($($S,)*) {
            const COLUMNS: usize = $number;
        }
    };
}

prefixes! {
    (): 0 ();
    (A): 0 (), 1 (A);
    (A B): 0 (), 1 (A), 2 (A B);
    (A B C): 0 (), 1 (A), 2 (A B), 3 (A B C);
    (A B C D): 0 (), 1 (A), 2 (A B), 3 (A B C), 4 (A B C D);
    (A B C D E): 0 (), 1 (A), 2 (A B), 3 (A B C), 4 (A B C D), 5 (A B C D E);
}
