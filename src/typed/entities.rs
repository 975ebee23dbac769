//! The entities that a statement reads or writes.

use diesel::backend::Backend;
use diesel::query_builder::{Query, QueryFragment, QueryId};

use crate::shape::Name;
use crate::sql::{CounterBackend, Dialect, Keys, One, Sql, Values, fragment, list, row, sql};
use crate::typed::key::{BindKey, KeyTypes};

/// The entities that a statement reads or writes.
#[diagnostic::on_unimplemented(
    message = "the counts of each of several entities are not one query of Diesel's",
    label = "after `of_many`, write `load`",
    note = "help: `load` returns the counts of each entity, in the order of the keys: `let totals: Vec<i64> = counter_value(views).of_many(ids).load(conn)?`",
    note = "help: for a `ranking`, or for one sum of several entities, give a query of their keys: `.of_any(articles::table.filter(…).select(articles::id))`"
)]
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
    fn condition<'b>(&'b self, _: Dialect, entity: &[Name<'b>]) -> Option<Sql<'b, DB>> {
        let query = fragment(&self.query);
        Some(match &entity[..self.columns] {
            [column] => sql!("{*column} IN ({query})"),
            columns => sql!("({columns}) IN ({query})"),
        })
    }
}

/// Entities whose counts are read together, in one query: not those of `of_many`.
pub trait Together {}
impl Together for () {}
impl<Types, K> Together for One<Types, K> {}
impl<Q> Together for AnyOf<Q> {}

/// The SQL type of the first columns of a key with the SQL types `Key`, or of all.
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
