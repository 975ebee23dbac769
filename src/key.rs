//! What names an entity: a value for the first column of a counter table's key.

use std::any::TypeId;

use diesel::Expression;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::expression::{AsExpression, ValidGrouping, is_aggregate};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Integer, SingleValue, SmallInt, SqlType};

use crate::counter::Counters;
use crate::table::{CounterTable, NoEntity};

/// A value that can stand in the first column of a counter table, which has the SQL
/// type `ST`.
///
/// Implemented for all that Diesel can bind as that column's type, owned and
/// borrowed; not for columns and other expressions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the key of an entity here: the counter table's first column is a `{ST}`",
    label = "the first column of that counter table has another type",
    note = "help: an entity is named by a value of the Rust type that belongs to that column"
)]
pub trait KeyOf<ST> {
    #[doc(hidden)]
    type Id;
    #[doc(hidden)]
    fn into_id(self) -> Self::Id;
}

// So that the compiler says the above, and not what is missing here.
#[diagnostic::do_not_recommend]
impl<K, ST> KeyOf<ST> for K
where
    ST: SqlType + SingleValue,
    K: AsExpression<ST>,
    // A bind value; a column, say, would be `No`.
    K::Expression: ValidGrouping<(), IsAggregate = is_aggregate::Never>,
{
    type Id = K::Expression;
    fn into_id(self) -> Self::Id {
        self.as_expression()
    }
}

#[diagnostic::do_not_recommend]
impl KeyOf<NoEntity> for &NoEntity {
    type Id = NoEntity;
    fn into_id(self) -> NoEntity {
        NoEntity
    }
}

/// The SQL type of the key of what `C` counts.
pub type KeyType<C> = <<C as Counters>::Table as CounterTable>::KeyType;

/// The key `K` of what `C` counts, as a Diesel expression.
pub type KeyExpression<K, C> = <K as KeyOf<KeyType<C>>>::Id;

/// Lets the derive point at a key of the wrong type.
#[doc(hidden)]
pub fn assert_key<'a, T: CounterTable, K>(_key: &'a K)
where
    &'a K: KeyOf<T::KeyType>,
{
}

/// The one entity that a statement on the counter table `T` is about, as SQL.
#[diagnostic::on_unimplemented(
    message = "this statement does not say of which entity",
    label = "say of which: `.of(id)`"
)]
pub trait Entity<T, DB: Backend>: Entities<T, DB> {
    /// As a row's first value: `?, `.
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

/// The entities that a statement on the counter table `T` is about, as SQL.
#[diagnostic::on_unimplemented(
    message = "this statement does not say of which entity",
    label = "say of which: `.of(id)`"
)]
pub trait Entities<T, DB: Backend> {
    /// A condition on the column `entity`, where there is one to be made:
    /// ` WHERE "article_id" = ?`. Answers with what leads to the next: ` AND `.
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

/// Whether keys of this SQL type are equal in each database when they are in Rust, and only
/// then. Of texts that is up to the collation.
pub(crate) fn is_exact<ST: SqlType>() -> bool {
    let exact = [
        TypeId::of::<SmallInt>(),
        TypeId::of::<Integer>(),
        TypeId::of::<BigInt>(),
        TypeId::of::<Binary>(),
        #[cfg(feature = "postgres")]
        TypeId::of::<diesel::sql_types::Uuid>(),
        #[cfg(feature = "mysql")]
        TypeId::of::<diesel::sql_types::Unsigned<SmallInt>>(),
        #[cfg(feature = "mysql")]
        TypeId::of::<diesel::sql_types::Unsigned<Integer>>(),
        #[cfg(feature = "mysql")]
        TypeId::of::<diesel::sql_types::Unsigned<BigInt>>(),
    ];
    exact.contains(&TypeId::of::<ST>())
}
