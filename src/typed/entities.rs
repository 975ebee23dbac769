//! The entities that a statement reads or writes.

use diesel::query_builder::{Query, QueryFragment, QueryId};

use crate::shape::Name;
use crate::sql::{
    CounterBackend, Dialect, KeyPrefix, Keys, Out, Part as _, Sql, Values, each, fragment, part,
    value,
};
use crate::typed::key::{BindKey, KeyTypes};

/// The entities that a statement reads or writes.
#[diagnostic::on_unimplemented(
    message = "the counts of each of several entities are not one query of Diesel's",
    label = "after `of_many`, write `load`",
    note = "help: `load` returns the counts of each entity, in the order of the keys: `let totals: Vec<i64> = counter_value(views).of_many(ids).load(conn)?`",
    note = "help: for a `ranking`, or for one sum of several entities, give a query of their keys: `.of_any(articles::table.filter(…).select(articles::id))`"
)]
pub trait Entities<DB: CounterBackend> {
    /// Whether there is a condition. There is none for all entities.
    #[doc(hidden)]
    fn have_condition(&self) -> bool;

    /// Writes a condition on the first columns of `entity`: `"article_id" = ?`.
    #[doc(hidden)]
    fn write_condition<'b>(&'b self, db: Dialect, entity: &[Name<'b>], out: &mut Out<'_, 'b, DB>);

    /// The condition, if there is one.
    #[doc(hidden)]
    fn condition<'b>(&'b self, db: Dialect, entity: &[Name<'b>]) -> Option<Sql<'b, DB>> {
        let condition = || Sql::of(|out| self.write_condition(db, entity, out));
        self.have_condition().then(condition)
    }
}

/// All entities.
impl<DB: CounterBackend> Entities<DB> for () {
    fn have_condition(&self) -> bool {
        false
    }

    fn write_condition<'b>(&'b self, _: Dialect, _: &[Name<'b>], _: &mut Out<'_, 'b, DB>) {}
}

impl<Types, K, DB> Entities<DB> for KeyPrefix<Types, K>
where
    Types: KeyTypes,
    K: BindKey<Types, DB>,
    DB: CounterBackend,
{
    fn have_condition(&self) -> bool {
        Types::COLUMNS > 0
    }

    fn write_condition<'b>(&'b self, _: Dialect, entity: &[Name<'b>], out: &mut Out<'_, 'b, DB>) {
        let key = &entity[..Types::COLUMNS];
        each(" AND ", key, |i, name| {
            part!("{*name} = {value(self, i, 0)}")
        })
        .write(out);
    }
}

impl<C: Values<DB>, DB: CounterBackend> Entities<DB> for Keys<C> {
    fn have_condition(&self) -> bool {
        self.columns.columns() > 0
    }

    fn write_condition<'b>(&'b self, db: Dialect, entity: &[Name<'b>], out: &mut Out<'_, 'b, DB>) {
        let key = &entity[..self.columns.columns()];
        db.is_in(key, &self.columns, self.len).write(out);
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
    fn have_condition(&self) -> bool {
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

/// Entities whose counts are read together, in one query: not those of `of_many`.
pub trait Together {}
impl Together for () {}
impl<Types, K> Together for KeyPrefix<Types, K> {}
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
