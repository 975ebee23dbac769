//! Keys of entities: a key is a list of columns, from none to five.
//!
//! Its SQL types are a tuple, [`KeyTypes`]. Its value is a tuple too, or the value alone if there is one
//! column. A statement takes a whole key ([`KeyOf`]), its first columns ([`PrefixOf`]), a list of keys
//! ([`Keys`]), or the keys of a query ([`AnyOf`]).

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql};
use diesel::expression::{AsExpression, TypedExpressionType, ValidGrouping, is_aggregate};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::row::{Field, Row};
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, SingleValue, SqlType, Untyped};

use crate::backend::{BindColumn, CounterBackend, WalkRows, is_exact, push_names};
use crate::counter::Counters;
use crate::day::Day;
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

/// The entities that a statement on a counter table reads or writes, whose keys have the SQL types
/// `Key`.
pub trait Entities<Key, DB: Backend> {
    /// Writes a condition on the first columns of `key`: ` WHERE "article_id" = ?`. Returns the word to
    /// write before the next condition: ` WHERE ` or ` AND `.
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str>;
}

/// All entities.
impl<Key, DB: Backend> Entities<Key, DB> for () {
    fn walk_where<'b>(&'b self, _: &[&str], _: AstPass<'_, 'b, DB>) -> QueryResult<&'static str> {
        Ok(" WHERE ")
    }
}

/// The entities whose keys begin with the first `N` columns `K`.
#[derive(Debug, Clone, Copy)]
pub struct Prefix<K, N>(K, PhantomData<N>);

impl<K, N> Prefix<K, N> {
    pub(crate) fn new(key: K) -> Self {
        Prefix(key, PhantomData)
    }
}

// The SQL does not depend on the Rust type of the key.
impl<K, N: QueryId> QueryId for Prefix<K, N> {
    type QueryId = Prefix<(), N::QueryId>;
    const HAS_STATIC_QUERY_ID: bool = N::HAS_STATIC_QUERY_ID;
}

impl<K, N, Key, DB> Entities<Key, DB> for Prefix<K, N>
where
    K: PrefixOf<Key, N> + BindKey<K::Types, DB>,
    DB: Backend,
{
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        walk_equal::<K::Types, _, _>(&self.0, key, out)
    }
}

/// The entity with the whole key `K`.
#[derive(Debug, Clone, Copy)]
pub struct One<K>(pub(crate) K);

impl<K, Key, DB> Entities<Key, DB> for One<K>
where
    K: BindKey<Key, DB>,
    Key: KeyTypes,
    DB: Backend,
{
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        walk_equal::<Key, _, _>(&self.0, key, out)
    }
}

fn walk_equal<'b, Key: KeyTypes, K: BindKey<Key, DB>, DB: Backend>(
    values: &'b K,
    key: &[&str],
    mut out: AstPass<'_, 'b, DB>,
) -> QueryResult<&'static str> {
    let mut and = " WHERE ";
    for (column, name) in key.iter().take(Key::COLUMNS).enumerate() {
        out.push_sql(and);
        out.push_identifier(name)?;
        out.push_sql(" = ");
        values.walk_column(column, out.reborrow())?;
        and = " AND ";
    }
    Ok(and)
}

/// Many keys, column by column, as bind values.
pub trait BindColumns<DB: Backend> {
    const NUMBER: usize;
    /// Writes the values of these rows: a value for each column, `?, ?`, if there is one row, or an
    /// array for each.
    fn walk_binds<'b>(&'b self, rows: Range<usize>, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// Many keys, and a day for each: keys of one more column.
#[derive(Debug, Default)]
pub struct Dated<Columns> {
    pub(crate) keys: Columns,
    pub(crate) days: Vec<Day>,
}

impl<Columns: BindColumns<DB>, DB: CounterBackend> BindColumns<DB> for Dated<Columns> {
    const NUMBER: usize = Columns::NUMBER + 1;
    fn walk_binds<'b>(
        &'b self,
        rows: Range<usize>,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        self.keys.walk_binds(rows.clone(), out.reborrow())?;
        out.push_sql(if Columns::NUMBER > 0 { ", " } else { "" });
        DB::ManyRows::walk_days(&self.days[rows], out)
    }
}

/// The entities with these keys.
#[derive(Debug)]
pub struct Keys<Columns> {
    columns: Arc<Columns>,
    /// How many keys the list has.
    pub(crate) len: usize,
    /// How many of them are not there to fill up the list.
    pub(crate) given: i64,
}

impl<Columns> Clone for Keys<Columns> {
    fn clone(&self) -> Self {
        Keys {
            columns: Arc::clone(&self.columns),
            len: self.len,
            given: self.given,
        }
    }
}

impl<Columns> Keys<Columns> {
    /// These keys, of which there are from one to [`WalkRows::LIMIT`].
    pub(crate) fn listed<Key, K, DB>(keys: &[K]) -> Self
    where
        K: KeyOf<Key, Columns = Columns> + Clone,
        DB: CounterBackend,
        Columns: Default,
    {
        Keys::padded(keys, DB::ManyRows::padded(keys.len(), DB::ManyRows::LIMIT))
    }

    /// These keys, of which there are from one to [`WalkRows::NUMBERED_LIMIT`].
    pub(crate) fn numbered<Key, K, DB>(keys: &[K]) -> Self
    where
        K: KeyOf<Key, Columns = Columns> + Clone,
        DB: CounterBackend,
        Columns: Default,
    {
        let limit = DB::ManyRows::NUMBERED_LIMIT;
        Keys::padded(keys, DB::ManyRows::padded(keys.len(), limit))
    }

    /// Fills up the list to `len` with its last key.
    fn padded<Key, K>(keys: &[K], len: usize) -> Self
    where
        K: KeyOf<Key, Columns = Columns> + Clone,
        Columns: Default,
    {
        assert!(keys.len() <= len);
        let mut columns = Columns::default();
        for key in keys.iter().chain(keys.last().into_iter().cycle()).take(len) {
            key.clone().push_to(&mut columns);
        }
        Keys {
            columns: Arc::new(columns),
            len,
            given: keys.len() as i64,
        }
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }
}

// Without a static id, Diesel caches a statement by its text. There are few texts.
impl<Columns> QueryId for Keys<Columns> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Columns, Key, DB> Entities<Key, DB> for Keys<Columns>
where
    Columns: BindColumns<DB>,
    DB: CounterBackend,
{
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        if Columns::NUMBER == 0 {
            return Ok(" WHERE ");
        }
        out.push_sql(" WHERE ");
        let key = &key[..Columns::NUMBER];
        DB::ManyRows::walk_in(key, &*self.columns, self.len, out.reborrow())?;
        Ok(" AND ")
    }
}

/// The entities whose keys, or the first columns of them, the query `Q` selects.
#[derive(Debug, Clone, QueryId)]
pub struct AnyOf<Q>(pub(crate) Q);

impl<Q, Key, DB> Entities<Key, DB> for AnyOf<Q>
where
    Q: Query<SqlType: StartOf<Key>> + QueryFragment<DB>,
    DB: Backend,
{
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        let key = &key[..Q::SqlType::COLUMNS];
        let (before, after) = if key.len() == 1 { ("", "") } else { ("(", ")") };
        out.push_sql(" WHERE ");
        out.push_sql(before);
        push_names(key, &mut out)?;
        out.push_sql(after);
        out.push_sql(" IN (");
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(" AND ")
    }
}

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
