//! Removing counters.

use std::marker::PhantomData;

use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::CounterBackend;
use crate::key::{Entities, KeyOf};
use crate::keys::{Keys, ListKeys};
use crate::table::{CounterTable, EntityTable, NoEntity};

/// Removes the counters of an entity from a counter table: all of its rows.
///
/// The entity is named with [`of`](DeleteCounters::of), and several with
/// [`of_many`](DeleteCounters::of_many).
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::delete_counters;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::{self, views};
///
/// increment_many(views, [(1_i64, 10), (2, 20)], conn)?;
///
/// delete_counters(article_counters::table).of(1_i64).execute(conn)?;
/// assert_eq!(counter_value(views).of_many(&[1_i64, 2]).load(conn)?, [0, 20]);
///
/// delete_counters(article_counters::table).of_many(&[1_i64, 2, 7]).execute(conn)?;
/// assert_eq!(counter_value(views).of_many(&[1_i64, 2]).load(conn)?, [0, 0]);
/// # Ok(())
/// # }
/// ```
///
/// # Or `ON DELETE CASCADE`
///
/// A foreign key with `ON DELETE CASCADE`, as in the reference migrations, removes an
/// entity's counters with the entity, whoever deletes it, and leaves none behind.
/// Prefer it where there is such a key. This is for where there is none: counters of
/// rows that are elsewhere, or on MySQL and MariaDB where the key was left out because
/// it locks the entity's row (see the reference migration); and for counters whose
/// entity stays.
///
/// Either way, an increment that waits for the deletion counts on from 0 where there is
/// no foreign key, and fails where there is one.
pub fn delete_counters<T: CounterTable>(_table: T) -> DeleteCounters<T> {
    DeleteCounters {
        table: T::table().from_clause(),
        entities: NoEntity,
    }
}

/// A statement that removes the counters of the entities `E`; made by
/// [`delete_counters`].
#[must_use = "nothing is removed until it is executed"]
pub struct DeleteCounters<T: CounterTable, E = NoEntity> {
    table: T::FromClause,
    entities: E,
}

/// A statement for each chunk of many entities; made by [`DeleteCounters::of_many`].
#[must_use = "nothing is removed until it is executed"]
pub struct DeleteManyCounters<'a, T, K> {
    ids: Vec<&'a K>,
    table: PhantomData<T>,
}

impl<T: CounterTable> DeleteCounters<T> {
    /// Names the entity by its key.
    pub fn of<K: KeyOf<T::KeyType>>(self, id: K) -> DeleteCounters<T, K::Id> {
        DeleteCounters {
            table: self.table,
            entities: id.into_id(),
        }
    }

    /// Names many entities by their keys.
    pub fn of_many<'a, K>(
        self,
        ids: impl IntoIterator<Item = &'a K>,
    ) -> DeleteManyCounters<'a, T, K>
    where
        T: EntityTable,
    {
        DeleteManyCounters {
            ids: ids.into_iter().collect(),
            table: PhantomData,
        }
    }
}

impl<'a, T: CounterTable, K> DeleteManyCounters<'a, T, K> {
    /// Runs the statement: one, or on other databases than PostgreSQL one for each
    /// 32,764 keys. Answers with the number of rows removed.
    ///
    /// # Errors
    ///
    /// The database's own.
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: Ord,
        Conn: Connection<Backend: CounterBackend<ManyRows: ListKeys>>,
        DeleteCounters<T, Keys<&'a K>>: ExecuteDsl<Conn>,
    {
        let mut removed = 0;
        for keys in Keys::chunks::<<Conn::Backend as CounterBackend>::ManyRows>(self.ids) {
            let statement = DeleteCounters {
                table: T::table().from_clause(),
                entities: keys,
            };
            removed += statement.execute(conn)?;
        }
        Ok(removed)
    }
}

impl<T: CounterTable, E, Conn> RunQueryDsl<Conn> for DeleteCounters<T, E> {}

impl<T: CounterTable + QueryId, E: QueryId> QueryId for DeleteCounters<T, E> {
    type QueryId = (NoEntity, T::QueryId, E::QueryId);
    const HAS_STATIC_QUERY_ID: bool = T::HAS_STATIC_QUERY_ID && E::HAS_STATIC_QUERY_ID;
}

impl<T, E, DB> QueryFragment<DB> for DeleteCounters<T, E>
where
    T: CounterTable<FromClause: QueryFragment<DB>>,
    E: Entities<T, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("DELETE FROM ");
        self.table.walk_ast(out.reborrow())?;
        self.entities
            .walk_where(T::ENTITY.unwrap_or_default(), out.reborrow())?;
        Ok(())
    }
}

/// The counter tables of a model: `(article_counters::table, (votes::table, ()))`.
#[doc(hidden)]
pub trait DeleteFromEach<'a, K, Conn> {
    fn delete(id: &'a K, conn: &mut Conn) -> QueryResult<usize>;
}

impl<K, Conn> DeleteFromEach<'_, K, Conn> for () {
    fn delete(_: &K, _: &mut Conn) -> QueryResult<usize> {
        Ok(0)
    }
}

impl<'a, T, Rest, K, Conn> DeleteFromEach<'a, K, Conn> for (T, Rest)
where
    T: CounterTable,
    Rest: DeleteFromEach<'a, K, Conn>,
    K: 'a,
    &'a K: KeyOf<T::KeyType>,
    Conn: Connection,
    DeleteCounters<T, <&'a K as KeyOf<T::KeyType>>::Id>: ExecuteDsl<Conn>,
{
    fn delete(id: &'a K, conn: &mut Conn) -> QueryResult<usize> {
        let removed = delete_counters(T::table()).of(id).execute(conn)?;
        Ok(removed + Rest::delete(id, conn)?)
    }
}

/// The counter tables of a model, for many entities.
#[doc(hidden)]
pub trait DeleteManyFromEach<'a, K, Conn> {
    fn delete(ids: &[&'a K], conn: &mut Conn) -> QueryResult<usize>;
}

impl<K, Conn> DeleteManyFromEach<'_, K, Conn> for () {
    fn delete(_: &[&K], _: &mut Conn) -> QueryResult<usize> {
        Ok(0)
    }
}

impl<'a, T, Rest, K, Conn> DeleteManyFromEach<'a, K, Conn> for (T, Rest)
where
    T: EntityTable,
    Rest: DeleteManyFromEach<'a, K, Conn>,
    K: Ord + 'a,
    Conn: Connection<Backend: CounterBackend<ManyRows: ListKeys>>,
    DeleteCounters<T, Keys<&'a K>>: ExecuteDsl<Conn>,
{
    fn delete(ids: &[&'a K], conn: &mut Conn) -> QueryResult<usize> {
        let these = delete_counters(T::table()).of_many(ids.iter().copied());
        Ok(these.execute(conn)? + Rest::delete(ids, conn)?)
    }
}
