//! The entities that a statement reads or writes, by their keys.

use std::fmt;
use std::marker::PhantomData;

use diesel::Expression;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::expression::{AsExpression, TypedExpressionType, ValidGrouping, is_aggregate};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, SingleValue, SqlType};

use crate::backend::{CounterBackend, ListRows, WalkRows};
use crate::counter::Counters;
use crate::table::{CounterTable, NoEntity};

/// A value that identifies an entity: it can be stored in the first column of a counter table,
/// which has the SQL type `ST`.
///
/// It is implemented for every value that Diesel can bind as that type, owned or borrowed. It is
/// not implemented for columns and other expressions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of this counter table, whose keys have the SQL type `{ST}`",
    label = "this is not a value that Diesel can bind as `{ST}`",
    note = "help: give the key of the entity as a value, such as `article.id`; columns are not keys",
    note = "help: if the SQL type is `NoEntity`, the table has no entities: leave out `.of(…)`, or derive `HasCounters` on a unit struct"
)]
pub trait KeyOf<ST> {
    #[doc(hidden)]
    type Id;
    #[doc(hidden)]
    fn into_id(self) -> Self::Id;
}

// With this attribute the compiler prints the message above, and not the bounds of this impl.
#[diagnostic::do_not_recommend]
impl<K, ST> KeyOf<ST> for K
where
    ST: SqlType + SingleValue,
    K: AsExpression<ST>,
    // A bind value has `Never`. A column, for example, has `No`.
    K::Expression: ValidGrouping<(), IsAggregate = is_aggregate::Never>,
{
    type Id = BoundKey<ST, K>;
    fn into_id(self) -> Self::Id {
        BoundKey {
            key: self,
            sql_type: PhantomData,
        }
    }
}

#[diagnostic::do_not_recommend]
impl KeyOf<NoEntity> for &NoEntity {
    type Id = NoEntity;
    fn into_id(self) -> NoEntity {
        NoEntity
    }
}

/// The key of an entity as a bind value of the SQL type `ST`. Diesel's own expression does not give
/// the value back, which a transaction that gathers increments sorts by.
pub struct BoundKey<ST, K> {
    pub(crate) key: K,
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

/// The SQL type of the entity's key in the table of the counters `C`.
pub type KeyType<C> = <<C as Counters>::Table as CounterTable>::KeyType;

/// The key `K` of an entity that `C` counts, as a Diesel expression.
pub type KeyExpression<K, C> = <K as KeyOf<KeyType<C>>>::Id;

/// Lets the derive report a key of the wrong type at that type.
#[doc(hidden)]
pub fn assert_key<'a, T: CounterTable, K>(_key: &'a K)
where
    &'a K: KeyOf<T::KeyType>,
{
}

/// The one entity that a statement on the counter table `T` writes, as SQL.
#[diagnostic::on_unimplemented(
    message = "this statement has no key of an entity",
    label = "add the key, a value of the type of the table's first key column: `.of(id)`"
)]
pub trait Entity<T, DB: Backend>: Entities<T, DB> {
    /// Writes the first value of a row: `?, `.
    fn walk_value<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

#[diagnostic::do_not_recommend]
impl<Expr, T, DB> Entity<T, DB> for Expr
where
    Expr: Expression + QueryFragment<DB>,
    DB: Backend,
{
    fn walk_value<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.walk_ast(out.reborrow())?;
        out.push_sql(", ");
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<T: CounterTable<KeyType = NoEntity>, DB: Backend> Entity<T, DB> for NoEntity {
    fn walk_value<'b>(&'b self, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

/// The entities that a statement on the counter table `T` reads or writes, as SQL.
#[diagnostic::on_unimplemented(
    message = "this statement has no key of an entity",
    label = "add the key, a value of the type of the table's first key column: `.of(id)`"
)]
pub trait Entities<T, DB: Backend> {
    /// Writes a condition on the column `entity`, if the table has one: ` WHERE "article_id" = ?`.
    /// Returns the word to write before the next condition: ` WHERE ` or ` AND `.
    fn walk_where<'b>(
        &'b self,
        entity: &str,
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str>;
}

#[diagnostic::do_not_recommend]
impl<Expr, T, DB> Entities<T, DB> for Expr
where
    Expr: Expression + QueryFragment<DB>,
    DB: Backend,
{
    fn walk_where<'b>(
        &'b self,
        entity: &str,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        out.push_sql(" WHERE ");
        out.push_identifier(entity)?;
        out.push_sql(" = ");
        self.walk_ast(out.reborrow())?;
        Ok(" AND ")
    }
}

#[diagnostic::do_not_recommend]
impl<T: CounterTable<KeyType = NoEntity>, DB: Backend> Entities<T, DB> for NoEntity {
    fn walk_where<'b>(&'b self, _: &str, _: AstPass<'_, 'b, DB>) -> QueryResult<&'static str> {
        Ok(" WHERE ")
    }
}

/// Every entity of a counter table.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct AllEntities;

impl<T, DB: Backend> Entities<T, DB> for AllEntities {
    fn walk_where<'b>(&'b self, _: &str, _: AstPass<'_, 'b, DB>) -> QueryResult<&'static str> {
        Ok(" WHERE ")
    }
}

/// The entities with these keys.
#[derive(Debug, Clone)]
pub struct Keys<K>(Vec<K>);

impl<K: Clone> Keys<K> {
    /// These keys, of which there are from one to [`ListRows::LIMIT`].
    pub(crate) fn listed<M: ListRows>(keys: Vec<K>) -> Keys<K> {
        Keys(padded(keys, M::padded, M::LIMIT))
    }

    /// These keys, of which there are from one to [`ListRows::NUMBERED_LIMIT`].
    pub(crate) fn numbered<M: ListRows>(keys: &[K]) -> Keys<K> {
        Keys(padded(keys.to_vec(), M::padded, M::NUMBERED_LIMIT))
    }
}

impl<K> Keys<K> {
    pub(crate) fn as_slice(&self) -> &[K] {
        &self.0
    }
}

/// Fills up the list with its last key, to the number that `padded` returns.
fn padded<K: Clone>(mut keys: Vec<K>, padded: fn(usize, usize) -> usize, limit: usize) -> Vec<K> {
    assert!(keys.len() <= limit);
    if let Some(last) = keys.last().cloned() {
        keys.resize(padded(keys.len(), limit), last);
    }
    keys
}

// Without a static id, Diesel caches a statement by its text. There are few texts.
impl<K> QueryId for Keys<K> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<K, T, DB> Entities<T, DB> for Keys<K>
where
    T: CounterTable,
    DB: CounterBackend<ManyRows: WalkRows<K, T::KeyType, DB>>,
{
    fn walk_where<'b>(
        &'b self,
        entity: &str,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str> {
        out.push_sql(" WHERE ");
        out.push_identifier(entity)?;
        DB::ManyRows::walk_in(&self.0, out.reborrow())?;
        Ok(" AND ")
    }
}
