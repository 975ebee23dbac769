//! The entities that a statement reads or writes.

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

use crate::key::bind::BindKey;
use crate::key::types::{KeyTypes, StartOf};
use crate::shape::Name;
use crate::sql::{
    CounterBackend, Dialect, Out, Part as _, Sql, Values, each, fragment, key_value, part,
};

/// The entities that a statement reads or writes.
#[diagnostic::on_unimplemented(
    message = "`of_many` doesn't make a Diesel query",
    label = "after `of_many`, write `load`",
    note = "help: `load` returns the counts of each entity, in the order of your keys: `let totals: Vec<i64> = counter_value(views).of_many(ids).load(conn)?`",
    note = "help: for a `ranking`, or for the sum over several entities, give a query of their keys: `.of_any(articles::table.filter(…).select(articles::id))`"
)]
pub trait Entities<DB: CounterBackend> {
    /// Whether there's a condition. All entities together have none.
    #[doc(hidden)]
    fn has_condition(&self) -> bool;

    /// Writes a condition on the first columns of `entity`, for example `"article_id" = ?`.
    #[doc(hidden)]
    fn write_condition<'b>(&'b self, db: Dialect, entity: &[Name<'b>], out: &mut Out<'_, 'b, DB>);

    /// The condition, if there is one.
    #[doc(hidden)]
    fn condition<'b>(&'b self, db: Dialect, entity: &[Name<'b>]) -> Option<Sql<'b, DB>> {
        let condition = || Sql::from_write(|out| self.write_condition(db, entity, out));
        self.has_condition().then(condition)
    }
}

/// All entities.
impl<DB: CounterBackend> Entities<DB> for () {
    fn has_condition(&self) -> bool {
        false
    }

    fn write_condition<'b>(&'b self, _: Dialect, _: &[Name<'b>], _: &mut Out<'_, 'b, DB>) {}
}

/// The entity with the key `K`, or all entities whose keys begin with it. `Types` are the SQL types
/// of its columns.
pub struct KeyPrefix<Types, K>(pub(crate) K, PhantomData<fn() -> Types>);

/// All entities: a prefix without columns.
pub type AllEntities = KeyPrefix<(), ()>;

impl<Types, K> KeyPrefix<Types, K> {
    pub(crate) fn new(key: K) -> Self {
        KeyPrefix(key, PhantomData)
    }
}

impl<Types, K: Clone> Clone for KeyPrefix<Types, K> {
    fn clone(&self) -> Self {
        KeyPrefix::new(self.0.clone())
    }
}
impl<Types, K: Copy> Copy for KeyPrefix<Types, K> {}

impl<Types, K: fmt::Debug> fmt::Debug for KeyPrefix<Types, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<Types, K: PartialEq> PartialEq for KeyPrefix<Types, K> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<Types, K: Eq> Eq for KeyPrefix<Types, K> {}

impl<Types, K: PartialOrd> PartialOrd for KeyPrefix<Types, K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.0.partial_cmp(&other.0)
    }
}
impl<Types, K: Ord> Ord for KeyPrefix<Types, K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

// The SQL doesn't depend on the Rust type of the key.
impl<Types: 'static, K> QueryId for KeyPrefix<Types, K> {
    type QueryId = KeyPrefix<Types, ()>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<Types, K, DB> Values<DB> for KeyPrefix<Types, K>
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
        _row: usize,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        self.0.walk_column(column, out)
    }
}

impl<Types, K, DB> Entities<DB> for KeyPrefix<Types, K>
where
    Types: KeyTypes,
    K: BindKey<Types, DB>,
    DB: CounterBackend,
{
    fn has_condition(&self) -> bool {
        Types::COLUMNS > 0
    }

    fn write_condition<'b>(&'b self, _: Dialect, entity: &[Name<'b>], out: &mut Out<'_, 'b, DB>) {
        let key = &entity[..Types::COLUMNS];
        each(" AND ", key, |i, name| {
            part!("{*name} = {key_value(self, i)}")
        })
        .write(out);
    }
}

/// Many keys. `C` has their values, column by column.
#[derive(Debug)]
pub struct Keys<C> {
    pub(crate) columns: C,
    /// The number of keys.
    pub(crate) len: usize,
}

impl<C: Values<DB>, DB: CounterBackend> Entities<DB> for Keys<C> {
    fn has_condition(&self) -> bool {
        self.columns.columns() > 0
    }

    fn write_condition<'b>(&'b self, db: Dialect, entity: &[Name<'b>], out: &mut Out<'_, 'b, DB>) {
        let key = &entity[..self.columns.columns()];
        db.is_in(key, &self.columns, self.len).write(out);
    }
}

/// The entities that the query `Q` selects, by their keys or by the first columns of their keys.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct AnyOf<Q> {
    query: Q,
    columns: usize,
}

impl<Q> AnyOf<Q> {
    pub(crate) fn new<Key>(query: Q) -> Self
    where
        Q: Query<SqlType: StartOf<Key>>,
    {
        let columns = Q::SqlType::COLUMNS;
        AnyOf { query, columns }
    }
}

impl<Q: QueryFragment<DB>, DB: CounterBackend> Entities<DB> for AnyOf<Q> {
    fn has_condition(&self) -> bool {
        true
    }

    fn write_condition<'b>(&'b self, _: Dialect, entity: &[Name<'b>], out: &mut Out<'_, 'b, DB>) {
        let query = fragment(&self.query);
        let is_any = part!(match &entity[..self.columns] {
            [column] => "{*column} IN ({query})",
            columns => "({columns}) IN ({query})",
        });
        is_any.write(out);
    }
}

/// Entities whose counts are read together, in one query, unlike those of `of_many`.
pub trait Together {}
impl Together for () {}
impl<Types, K> Together for KeyPrefix<Types, K> {}
impl<Q> Together for AnyOf<Q> {}
