//! Keys of entities: the values of the first columns of a counter table's primary key.
//!
//! A key is a tuple with a part for each column, from none to five. Statements that write require a
//! whole key. Queries take any prefix of it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use diesel::Expression;
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
pub trait FirstType: KeyTypes {
    /// The SQL type of the first column.
    type First: SingleValue + SqlType + 'static;
}

/// The SQL types of the first columns of a key with the SQL types `Key`: a tuple of some of them, of
/// all or of none.
#[diagnostic::on_unimplemented(
    message = "these are not the first columns of this counter table's key, which has the SQL types `{Key}`",
    label = "these expressions have the SQL types `{Self}`"
)]
pub trait StartOf<Key> {}

/// A value that identifies an entity of a counter table whose key has the SQL types `Key`.
///
/// For a key of one column, it is every value that Diesel can bind as the column's SQL type, owned or
/// borrowed. For a key of several columns, it is a tuple of such values, or a reference to a tuple:
/// `(tenant_id, article_id)`, `(article_id, "👍")`. It is not implemented for columns and other
/// expressions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of this counter table, whose key has the SQL types `{Key}`",
    label = "this requires a value for each of `{Key}`",
    note = "help: give the whole key as values, such as `article.id`, or `(article.id, \"👍\")` for a key of two columns; columns are not keys",
    note = "help: if the key is `()`, the table has no entities: leave out `.of(…)`, or derive `HasCounters` on a unit struct"
)]
pub trait KeyOf<Key> {
    /// The key as a tuple of Diesel expressions.
    #[doc(hidden)]
    type Id;
    /// Many keys, column by column.
    #[doc(hidden)]
    type Columns: Default + fmt::Debug;
    #[doc(hidden)]
    fn into_id(self) -> Self::Id;
    #[doc(hidden)]
    fn push_to(self, columns: &mut Self::Columns);
}

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
    type Types;
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

/// The SQL types of a key whose first `Columns` have the SQL type `Row` in a query.
pub trait StartsWith<Columns>: KeyTypes {
    type Row: TypedExpressionType + 'static;
}

/// The number of columns of a prefix of a key.
#[derive(Debug, Clone, Copy)]
pub struct Columns<const NUMBER: usize>;

impl<const NUMBER: usize> QueryId for Columns<NUMBER> {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

/// A value of a key's column as a bind value of the SQL type `ST`. Diesel's own expression does not
/// give the value back, which a transaction that gathers increments sorts by.
pub struct BoundKey<ST, K> {
    key: K,
    sql_type: PhantomData<ST>,
}

// An SQL type of the application's own need not be `Clone` or `Debug`.
impl<ST, K: Clone> Clone for BoundKey<ST, K> {
    fn clone(&self) -> Self {
        BoundKey {
            key: self.key.clone(),
            ..*self
        }
    }
}
impl<ST, K: Copy> Copy for BoundKey<ST, K> {}

impl<ST, K: fmt::Debug> fmt::Debug for BoundKey<ST, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BoundKey").field(&self.key).finish()
    }
}

impl<ST: SqlType + TypedExpressionType, K> Expression for BoundKey<ST, K> {
    type SqlType = ST;
}

impl<ST: QueryId, K> QueryId for BoundKey<ST, K> {
    type QueryId = BoundKey<ST::QueryId, ()>;
    const HAS_STATIC_QUERY_ID: bool = ST::HAS_STATIC_QUERY_ID;
}

impl<ST, K, DB> QueryFragment<DB> for BoundKey<ST, K>
where
    DB: Backend + HasSqlType<ST>,
    K: ToSql<ST, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_bind_param::<ST, _>(&self.key)
    }
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

/// The whole key `K` of an entity that `C` counts, as a tuple of Diesel expressions.
pub type KeyExpression<K, C> = <K as KeyOf<KeyType<C>>>::Id;

/// The key `K` of entities that `C` counts, or the values of its first columns, as a tuple of Diesel
/// expressions.
pub type PrefixExpression<K, C, Columns> = PrefixId<K, KeyType<C>, Columns>;

/// As [`PrefixExpression`], for keys of the SQL types `Key`.
pub type PrefixId<K, Key, Columns> = <K as KeyOf<<K as PrefixOf<Key, Columns>>::Types>>::Id;

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

/// Expressions for the first columns of a key, as SQL.
#[diagnostic::on_unimplemented(
    message = "this statement has no key of an entity",
    label = "add the key, with values of the types of the table's first columns: `.of(id)`"
)]
pub trait Parts<DB: Backend> {
    const NUMBER: usize;
    /// Writes the expression for one column.
    fn walk_part<'b>(&'b self, part: usize, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// The one entity that a statement writes, as SQL. Its key has the SQL types `Key`.
#[diagnostic::on_unimplemented(
    message = "this statement has no key of an entity",
    label = "add the key, with a value for each of `{Key}`: `.of(id)`",
    note = "help: for a model whose key is the first of two columns, add the second one: `article.with_key(\"👍\").incr_counter(…)`"
)]
pub trait Entity<Key> {
    /// The key.
    type Value;
    fn into_value(self) -> Self::Value;
}

/// The entities that a statement on a counter table reads or writes, as SQL.
pub trait Entities<DB: Backend> {
    /// Writes a condition on the first columns of `key`: ` WHERE "article_id" = ?`. Returns the word to
    /// write before the next condition: ` WHERE ` or ` AND `.
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str>;
}

fn walk_equal<'b, P: Parts<DB>, DB: Backend>(
    parts: &'b P,
    key: &[&str],
    mut out: AstPass<'_, 'b, DB>,
) -> QueryResult<&'static str> {
    let mut and = " WHERE ";
    for (part, column) in key.iter().take(P::NUMBER).enumerate() {
        out.push_sql(and);
        out.push_identifier(column)?;
        out.push_sql(" = ");
        parts.walk_part(part, out.reborrow())?;
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

/// The entities with these keys.
#[derive(Debug)]
pub struct Keys<Columns> {
    columns: Arc<Columns>,
    pub(crate) len: usize,
}

impl<Columns> Clone for Keys<Columns> {
    fn clone(&self) -> Self {
        Keys {
            columns: Arc::clone(&self.columns),
            len: self.len,
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

#[diagnostic::do_not_recommend]
impl<Columns, DB> Entities<DB> for Keys<Columns>
where
    Columns: BindColumns<DB>,
    DB: CounterBackend,
{
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        out.push_sql(" WHERE ");
        let key = &key[..Columns::NUMBER];
        DB::ManyRows::walk_in(key, &*self.columns, self.len, out.reborrow())?;
        Ok(" AND ")
    }
}

/// The entities whose keys, or the first columns of them, the query `Q` selects. The keys have the SQL
/// types `Key`.
pub struct AnyOf<Q, Key> {
    query: Q,
    of: PhantomData<Key>,
}

impl<Q, Key> AnyOf<Q, Key> {
    pub(crate) fn new(query: Q) -> Self {
        AnyOf {
            query,
            of: PhantomData,
        }
    }
}

impl<Q: Clone, Key> Clone for AnyOf<Q, Key> {
    fn clone(&self) -> Self {
        AnyOf::new(self.query.clone())
    }
}

impl<Q, Key> fmt::Debug for AnyOf<Q, Key> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyOf").finish_non_exhaustive()
    }
}

impl<Q: QueryId, Key> QueryId for AnyOf<Q, Key> {
    type QueryId = AnyOf<Q::QueryId, ()>;
    const HAS_STATIC_QUERY_ID: bool = Q::HAS_STATIC_QUERY_ID;
}

#[diagnostic::do_not_recommend]
impl<Q, Key, DB> Entities<DB> for AnyOf<Q, Key>
where
    Q: Query<SqlType: SelectedKeys<Key>> + QueryFragment<DB>,
    DB: Backend,
{
    fn walk_where<'b>(
        &'b self,
        key: &[&str],
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        let key = &key[..<Q::SqlType as SelectedKeys<Key>>::COLUMNS];
        let (before, after) = if key.len() == 1 { ("", "") } else { ("(", ")") };
        out.push_sql(" WHERE ");
        out.push_sql(before);
        push_names(key, &mut out)?;
        out.push_sql(after);
        out.push_sql(" IN (");
        self.query.walk_ast(out.reborrow())?;
        out.push_sql(")");
        Ok(" AND ")
    }
}

/// The SQL type of a query of keys: the first columns of a key with the SQL types `Key`, or all.
#[diagnostic::on_unimplemented(
    message = "this is not a query of keys of this counter table, whose key has the SQL types `{Key}`",
    label = "this query selects `{Self}`",
    note = "help: select the key, as in `articles::table.filter(…).select(articles::id)`"
)]
pub trait SelectedKeys<Key> {
    const COLUMNS: usize;
}

/// A value of a column whose SQL type is `ST`, in rows that are loaded and written back.
///
/// It is implemented for every type that Diesel can load from this column, and bind.
pub trait KeyValue<ST, DB: Backend>: Sized {
    /// Writes the value.
    fn walk_value<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
    /// Loads the value.
    fn load(value: Option<DB::RawValue<'_>>) -> deserialize::Result<Self>;
}

impl<K, ST, DB> KeyValue<ST, DB> for K
where
    DB: Backend + HasSqlType<ST>,
    K: ToSql<ST, DB> + FromSql<ST, DB>,
{
    fn walk_value<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_bind_param::<ST, _>(self)
    }

    fn load(value: Option<DB::RawValue<'_>>) -> deserialize::Result<Self> {
        K::from_nullable_sql(value)
    }
}

/// A key whose columns have the SQL types `Key`, in rows that are loaded and written back.
pub trait StoredValues<Key, DB: Backend>: Sized {
    /// Writes the value of one column.
    fn walk_column<'b>(&'b self, column: usize, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
    /// Loads the key from the first fields of a row.
    fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self>;
}

/// Returns the field with the index `i` of a row.
pub(crate) fn field<'a, ST, K, DB>(row: &impl Row<'a, DB>, i: usize) -> deserialize::Result<K>
where
    DB: Backend,
    K: KeyValue<ST, DB>,
{
    let field = row.get(i).ok_or("a row has too few fields")?;
    K::load(field.value())
}

impl KeyTypes for () {
    type Row = Untyped;
    const COLUMNS: usize = 0;
    fn is_exact() -> bool {
        true
    }
}

impl KeyOf<()> for () {
    type Id = ();
    type Columns = ();
    fn into_id(self) {}
    fn push_to(self, (): &mut ()) {}
}

impl Entity<()> for () {
    type Value = ();
    fn into_value(self) {}
}

impl<DB: Backend> Parts<DB> for () {
    const NUMBER: usize = 0;
    fn walk_part<'b>(&'b self, _: usize, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

impl<DB: Backend> Entities<DB> for () {
    fn walk_where<'b>(&'b self, _: &[&str], _: AstPass<'_, 'b, DB>) -> QueryResult<&'static str> {
        Ok(" WHERE ")
    }
}

impl<DB: Backend> BindColumns<DB> for () {
    const NUMBER: usize = 0;
    fn walk_binds<'b>(&'b self, _: Range<usize>, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

impl<DB: Backend> StoredValues<(), DB> for () {
    fn walk_column<'b>(&'b self, _: usize, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
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

// With this attribute the compiler prints the message of `KeyOf`, and not the bounds of this impl.
#[diagnostic::do_not_recommend]
impl<K, S> KeyOf<(S,)> for K
where
    S: SqlType + SingleValue,
    K: AsExpression<S>,
    // A bind value has `Never`. A column, for example, has `No`.
    K::Expression: ValidGrouping<(), IsAggregate = is_aggregate::Never>,
{
    type Id = (BoundKey<S, K>,);
    type Columns = (KeyColumn<S, K>,);

    fn into_id(self) -> Self::Id {
        (bound(self),)
    }

    fn push_to(self, (column,): &mut Self::Columns) {
        column.values.push(self);
    }
}

impl<S, K> Entity<(S,)> for (BoundKey<S, K>,) {
    type Value = K;
    fn into_value(self) -> K {
        self.0.key
    }
}

impl<K, S, DB> StoredValues<(S,), DB> for K
where
    DB: Backend,
    K: KeyValue<S, DB>,
{
    fn walk_column<'b>(&'b self, _: usize, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.walk_value(out)
    }
    fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self> {
        field(row, 0)
    }
}

fn bound<S, K>(key: K) -> BoundKey<S, K> {
    BoundKey {
        key,
        sql_type: PhantomData,
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

        #[diagnostic::do_not_recommend]
        impl<$($S, $K),*> KeyOf<($($S,)*)> for ($($K,)*)
        where
            $($K: KeyOf<($S,), Id = (BoundKey<$S, $K>,), Columns = (KeyColumn<$S, $K>,)>,)*
        {
            type Id = ($(BoundKey<$S, $K>,)*);
            type Columns = ($(KeyColumn<$S, $K>,)*);

            fn into_id(self) -> Self::Id {
                ($(bound(self.$i),)*)
            }

            fn push_to(self, columns: &mut Self::Columns) {
                $(columns.$i.values.push(self.$i);)*
            }
        }

        #[diagnostic::do_not_recommend]
        impl<'k, $($S, $K),*> KeyOf<($($S,)*)> for &'k ($($K,)*)
        where
            $(&'k $K: KeyOf<($S,), Id = (BoundKey<$S, &'k $K>,), Columns = (KeyColumn<$S, &'k $K>,)>,)*
        {
            type Id = ($(BoundKey<$S, &'k $K>,)*);
            type Columns = ($(KeyColumn<$S, &'k $K>,)*);

            fn into_id(self) -> Self::Id {
                ($(bound(&self.$i),)*)
            }

            fn push_to(self, columns: &mut Self::Columns) {
                $(columns.$i.values.push(&self.$i);)*
            }
        }

        impl<$($S, $K),*> Entity<($($S,)*)> for ($(BoundKey<$S, $K>,)*) {
            type Value = ($($K,)*);
            fn into_value(self) -> Self::Value {
                ($(self.$i.key,)*)
            }
        }

        impl<$($S, $K,)* DB> StoredValues<($($S,)*), DB> for ($($K,)*)
        where
            DB: Backend,
            $($K: KeyValue<$S, DB>,)*
        {
            fn walk_column<'b>(&'b self, column: usize, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
                match column {
                    $($i => self.$i.walk_value(out),)*
                    _ => Ok(()),
                }
            }
            fn load<'a>(row: &impl Row<'a, DB>) -> deserialize::Result<Self> {
                Ok(($(field(row, $i)?,)*))
            }
        }
    )*};
}

keys! {
    2: 0: S0 K0, 1: S1 K1;
    3: 0: S0 K0, 1: S1 K1, 2: S2 K2;
    4: 0: S0 K0, 1: S1 K1, 2: S2 K2, 3: S3 K3;
    5: 0: S0 K0, 1: S1 K1, 2: S2 K2, 3: S3 K3, 4: S4 K4;
}

macro_rules! key_tuples {
    ($($number:literal: $($i:tt: $S:ident $K:ident),*;)*) => {$(
        key_tuples!(@first $($S)*);

        #[diagnostic::do_not_recommend]
        impl<$($K,)* DB> Parts<DB> for ($($K,)*)
        where
            DB: Backend,
            $($K: QueryFragment<DB>,)*
        {
            const NUMBER: usize = $number;
            fn walk_part<'b>(&'b self, part: usize, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
                match part {
                    $($i => self.$i.walk_ast(out),)*
                    _ => Ok(()),
                }
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($K,)* DB> Entities<DB> for ($($K,)*)
        where
            DB: Backend,
            Self: Parts<DB>,
        {
            fn walk_where<'b>(
                &'b self,
                key: &[&str],
                out: AstPass<'_, 'b, DB>,
            ) -> QueryResult<&'static str> {
                walk_equal(self, key, out)
            }
        }

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
                    out.push_sql(if $i == 0 { "" } else { ", " });
                    <DB::ManyRows as BindColumn<$S, $K, DB>>::walk_values(
                        &self.$i.values[rows.clone()],
                        out.reborrow(),
                    )?;
                )*
                Ok(())
            }
        }
    )*};
    (@first $First:ident $($S:ident)*) => {
        impl<$First, $($S),*> FirstType for ($First, $($S,)*)
        where
            Self: KeyTypes,
            $First: SingleValue + SqlType + 'static,
        {
            type First = $First;
        }
    };
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
        impl<$($T),*> StartOf<($($T,)*)> for ($($S,)*) {}

        #[diagnostic::do_not_recommend]
        impl<K, $($T),*> PrefixOf<($($T,)*), Columns<$number>> for K
        where
            K: KeyOf<($($S,)*)>,
        {
            type Types = ($($S,)*);
            type Extent = $Extent;
        }

        impl<$($T: SqlType + SingleValue + 'static),*> StartsWith<Columns<$number>> for ($($T,)*)
        where
            Self: KeyTypes,
        {
            type Row = prefixes!(@row $($S)*);
        }

        prefixes!(@selected $number: ($($S)*) of ($($T)*));
    )*};
    (@row) => { Untyped };
    (@row $S:ident) => { $S };
    (@row $($S:ident)*) => { ($($S,)*) };
    (@selected 0: () of $key:tt) => {};
    (@selected 1: ($S:ident) of ($($T:ident)*)) => {
        impl<$($T),*> SelectedKeys<($($T,)*)> for $S {
            const COLUMNS: usize = 1;
        }
    };
    (@selected $number:tt: ($($S:ident)*) of ($($T:ident)*)) => {
        impl<$($T),*> SelectedKeys<($($T,)*)> for ($($S,)*) {
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
