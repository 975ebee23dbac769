//! Removing counters.

use std::marker::PhantomData;

use diesel::connection::Connection;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::serialize::ToSql;
use diesel::sql_types::Date;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, ManyRows, push_names};
use crate::counting::increment::Cell;
use crate::days::Day;
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
/// On SQLite, MySQL and MariaDB, `REPLACE INTO`, which is Diesel's
/// [`replace_into`](diesel::replace_into), deletes the entity's row and so its counters. Use
/// `insert_into(…).on_conflict(…).do_update()`.
///
/// Either way, an increment that waits for the deletion counts on from 0 where there is
/// no foreign key, and fails where there is one.
///
/// # While others count
///
/// It takes three statements, in a transaction, or in a savepoint of the current one; four
/// for each batch of many entities. The first locks out corrections of the entity: it writes
/// the row of 1970-01-01 in slot 0, where the entity has any rows. A
/// [partitioned table](crate::CounterTable#partitions) requires a partition for it. The last removes the rows
/// twice, as a merge may have moved counts to a new row while the first time waited for it.
///
/// Two deletions that wait for the same increment can deadlock on MySQL and MariaDB at
/// REPEATABLE READ, their default. One of them fails then, and
/// [can be run again](crate::is_retryable()).
pub fn delete_counters<T: CounterTable>(_table: T) -> DeleteCounters<T> {
    DeleteCounters {
        entity: NoEntity,
        table: PhantomData,
    }
}

/// Removes the counters of the entity `E`; made by [`delete_counters`].
#[must_use = "nothing is removed until it is executed"]
pub struct DeleteCounters<T, E = NoEntity> {
    entity: E,
    table: PhantomData<T>,
}

/// Removes the counters of many entities; made by [`DeleteCounters::of_many`].
#[must_use = "nothing is removed until it is executed"]
pub struct DeleteManyCounters<'a, T, K> {
    ids: Vec<&'a K>,
    table: PhantomData<T>,
}

impl<T: CounterTable> DeleteCounters<T> {
    /// Names the entity by its key.
    pub fn of<K: KeyOf<T::KeyType>>(self, id: K) -> DeleteCounters<T, K::Id> {
        DeleteCounters {
            entity: id.into_id(),
            table: PhantomData,
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

impl<T: CounterTable, E: Clone> DeleteCounters<T, E> {
    /// Removes the counters. Returns 1, or 0 if the entity had none.
    ///
    /// # Errors
    ///
    /// The database's own.
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        Conn: Connection,
        LockEntities<T, E>: ExecuteDsl<Conn>,
        DeleteRows<T, E>: ExecuteDsl<Conn>,
    {
        conn.transaction(|conn| {
            let locked = LockEntities::<T, E>::new(self.entity.clone()).execute(conn)?;
            if locked > 0 {
                delete_rows::<T, E, _>(self.entity, conn)?;
            }
            Ok(locked.min(1))
        })
    }
}

impl<'a, T: CounterTable, K> DeleteManyCounters<'a, T, K> {
    /// Removes the counters. Returns the number of entities that had some.
    ///
    /// # Errors
    ///
    /// The database's own.
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: Ord + Clone,
        Conn: Connection<Backend: CounterBackend<ManyRows: ListKeys>>,
        LockEntities<T, Keys<&'a K>>: ExecuteDsl<Conn>,
        LockedEntities<T, Keys<&'a K>>: LoadQuery<'a, Conn, K>,
        DeleteRows<T, Keys<K>>: ExecuteDsl<Conn>,
    {
        conn.transaction(|conn| {
            let mut removed = 0;
            for keys in Keys::chunks::<ManyRows<Conn>>(self.ids) {
                let keys = Keys::listed::<ManyRows<Conn>>(keys);
                LockEntities::<T, _>::new(keys.clone()).execute(conn)?;
                let locked: Vec<K> = LockedEntities::<T, _>::new(keys).load(conn)?;
                removed += locked.len();
                for locked in Keys::chunks::<ManyRows<Conn>>(locked) {
                    let locked = Keys::listed::<ManyRows<Conn>>(locked);
                    delete_rows::<T, _, _>(locked, conn)?;
                }
            }
            Ok(removed)
        })
    }
}

/// Deletes all rows of entities that are locked.
///
/// In PostgreSQL, and elsewhere at READ COMMITTED, a statement that waits for a merge misses
/// the row of slot 0 that this inserts. The next statement finds it, and no merge can move
/// its counts any further: to fold them it would have to lock the entity.
fn delete_rows<T, E, Conn>(entities: E, conn: &mut Conn) -> QueryResult<()>
where
    T: CounterTable,
    E: Clone,
    Conn: Connection,
    DeleteRows<T, E>: ExecuteDsl<Conn>,
{
    DeleteRows::<T, E>::new(entities.clone()).execute(conn)?;
    DeleteRows::<T, E>::new(entities).execute(conn)?;
    Ok(())
}

/// A statement about all rows of the entities `E`.
#[doc(hidden)]
pub struct EntityRows<T: CounterTable, E, Do> {
    table: T::FromClause,
    entities: E,
    what: PhantomData<Do>,
}

/// Locks those of the entities that have rows, by the row that corrections and folds lock
/// first.
#[doc(hidden)]
pub type LockEntities<T, E> = EntityRows<T, E, Lock>;

/// Reads the keys of those that are locked.
#[doc(hidden)]
pub type LockedEntities<T, E> = EntityRows<T, E, Locked>;

/// Deletes the rows.
#[doc(hidden)]
pub type DeleteRows<T, E> = EntityRows<T, E, Delete>;

/// The day of the row that locks an entity.
const LOCK_DAY: &Day = &Cell::LOCK.day;

#[doc(hidden)]
pub struct Lock;
#[doc(hidden)]
pub struct Locked;
#[doc(hidden)]
pub struct Delete;

impl<T: CounterTable, E, Do> EntityRows<T, E, Do> {
    fn new(entities: E) -> Self {
        EntityRows {
            table: T::table().from_clause(),
            entities,
            what: PhantomData,
        }
    }
}

impl<T: CounterTable, E, Do, Conn> RunQueryDsl<Conn> for EntityRows<T, E, Do> {}

impl<T: CounterTable, E> Query for LockedEntities<T, E> {
    type SqlType = T::KeyType;
}

impl<T: CounterTable + QueryId, E: QueryId, Do: 'static> QueryId for EntityRows<T, E, Do> {
    type QueryId = (Do, T::QueryId, E::QueryId);
    const HAS_STATIC_QUERY_ID: bool = T::HAS_STATIC_QUERY_ID && E::HAS_STATIC_QUERY_ID;
}

impl<T, E, DB> QueryFragment<DB> for LockEntities<T, E>
where
    T: CounterTable<FromClause: QueryFragment<DB>>,
    E: Entities<T, DB>,
    DB: CounterBackend,
    Day: ToSql<Date, DB>,
{
    // INSERT INTO t (entity, day, slot) SELECT DISTINCT entity, ?, 0 FROM t WHERE … ON CONFLICT …
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_insert_into(&self.table, &mut out)?;
        push_names(T::KEY, &mut out)?;
        out.push_sql(") SELECT DISTINCT ");
        if let Some(entity) = T::ENTITY {
            out.push_identifier(entity)?;
            out.push_sql(", ");
        }
        out.push_bind_param::<Date, _>(LOCK_DAY)?;
        out.push_sql(", 0 FROM ");
        self.table.walk_ast(out.reborrow())?;
        dialect.push_by_key(&mut out);
        let entity = T::ENTITY.unwrap_or_default();
        let and = self.entities.walk_where(entity, out.reborrow())?;
        out.push_sql(and);
        // SQLite takes an ON right after a table for that of a join.
        out.push_sql("1 = 1 ORDER BY 1");
        dialect.push_lock_rows(&mut out);
        dialect.push_on_conflict_lock(T::KEY, T::SLOT, &mut out)
    }
}

impl<T, E, DB> QueryFragment<DB> for LockedEntities<T, E>
where
    T: CounterTable<FromClause: QueryFragment<DB>>,
    E: Entities<T, DB>,
    DB: CounterBackend,
    Day: ToSql<Date, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        let entity = T::ENTITY.unwrap_or_default();
        dialect.push_select(&mut out);
        out.push_identifier(entity)?;
        out.push_sql(" FROM ");
        self.table.walk_ast(out.reborrow())?;
        dialect.push_by_key(&mut out);
        let and = self.entities.walk_where(entity, out.reborrow())?;
        out.push_sql(and);
        out.push_identifier(T::DAY)?;
        out.push_sql(" = ");
        out.push_bind_param::<Date, _>(LOCK_DAY)?;
        out.push_sql(" AND ");
        out.push_identifier(T::SLOT)?;
        out.push_sql(" = 0");
        dialect.push_lock_rows(&mut out);
        Ok(())
    }
}

impl<T, E, DB> QueryFragment<DB> for DeleteRows<T, E>
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
    <&'a K as KeyOf<T::KeyType>>::Id: Clone,
    Conn: Connection,
    LockEntities<T, <&'a K as KeyOf<T::KeyType>>::Id>: ExecuteDsl<Conn>,
    DeleteRows<T, <&'a K as KeyOf<T::KeyType>>::Id>: ExecuteDsl<Conn>,
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
    K: Ord + Clone + 'a,
    Conn: Connection<Backend: CounterBackend<ManyRows: ListKeys>>,
    LockEntities<T, Keys<&'a K>>: ExecuteDsl<Conn>,
    LockedEntities<T, Keys<&'a K>>: LoadQuery<'a, Conn, K>,
    DeleteRows<T, Keys<K>>: ExecuteDsl<Conn>,
{
    fn delete(ids: &[&'a K], conn: &mut Conn) -> QueryResult<usize> {
        let these = delete_counters(T::table()).of_many(ids.iter().copied());
        Ok(these.execute(conn)? + Rest::delete(ids, conn)?)
    }
}
