//! Removing counters.

use std::collections::HashSet;
use std::marker::PhantomData;

use diesel::connection::Connection;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::sql_types::BigInt;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{
    Bind, CounterBackend, Dialect, ManyRows, NUMBER, StoredKeys, WalkRows, push_names,
};
use crate::correcting::recount::lock_entities;
use crate::counter::NoCounters;
use crate::counting::increment::Increment;
use crate::counting::increment_many::AddRows;
use crate::day::{Day, UNDATED};
use crate::key::{BindColumns, Entities, KeyOf, KeyTypes, Keys, Part, PrefixId, PrefixOf, Whole};
use crate::layout::{ColumnNames, counters_of};
use crate::model::HasCounters;
use crate::table::{CounterTable, EntityTable, TableName};
use crate::transaction::{is_in_a_lasting_transaction, transaction};

/// Removes all counters of an entity from a counter table.
///
/// The entity is given with [`of`](DeleteCounters::of), and several entities with
/// [`of_many`](DeleteCounters::of_many). The counters read 0 afterwards, and can be incremented
/// again.
///
/// If the counter table has a foreign key with `ON DELETE CASCADE`, deleting the entity removes its
/// counters; see [below](#on-delete-cascade).
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::dsl::delete_counters;
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
/// # `ON DELETE CASCADE`
///
/// A foreign key with `ON DELETE CASCADE`, as in the reference migrations, removes the counters of
/// every entity that is deleted, in whatever way it is deleted. Prefer it if the counter table can
/// have a foreign key. Use `delete_counters`:
///
/// - if the entities are not rows of a table in this database;
/// - on MySQL and MariaDB, if the table has no foreign key because it locks the entity's row (see
///   the reference migration);
/// - to remove the counters of an entity that stays.
///
/// On SQLite, MySQL and MariaDB, `REPLACE INTO` deletes the existing row of an entity, and the
/// foreign key then removes its counters. Diesel's [`replace_into`](diesel::replace_into) uses it.
/// Use `insert_into(…).on_conflict(…).do_update()` instead.
///
/// # Concurrency
///
/// It runs up to six statements in a transaction, or in a savepoint if a transaction is open. With
/// [`of_many`](DeleteCounters::of_many), PostgreSQL runs the same statements for any number of
/// entities, and the other databases repeat most of them for each 1,000 entities. On MySQL and
/// MariaDB, the transaction is READ COMMITTED.
///
/// - An entity that has no rows is left as it is: an increment that commits meanwhile stays.
/// - An increment that waits for the removal continues from 0 if the table has no foreign key. If it
///   has one and the entity is deleted too, the increment fails.
/// - Other corrections of the same entities wait for it. The lock is the row of 1970-01-01 in slot 0
///   of each entity that has rows. A [partitioned table](crate::CounterTable#partitions) requires a
///   partition for it.
/// - It deletes rows until there are none. While a `DELETE` waits for a merge, the merge can move counts
///   to a new row, which only the next `DELETE` finds.
pub fn delete_counters<T: CounterTable>(_table: T) -> DeleteCounters<T> {
    DeleteCounters {
        entity: (),
        table: PhantomData,
    }
}

/// Removes the counters of the entity `E`; made by [`delete_counters`].
#[must_use = "counters are not removed until this is executed"]
#[derive(Debug, Clone)]
pub struct DeleteCounters<T, E = ()> {
    entity: E,
    table: PhantomData<T>,
}

/// Removes the counters of many entities; made by [`DeleteCounters::of_many`].
#[must_use = "counters are not removed until this is executed"]
#[derive(Debug, Clone)]
pub struct DeleteManyCounters<T, K> {
    ids: Vec<K>,
    table: PhantomData<T>,
}

impl<T: CounterTable> DeleteCounters<T> {
    /// Sets the entity, by its key.
    pub fn of<K: KeyOf<T::KeyType>>(self, id: K) -> DeleteCounters<T, K::Id> {
        DeleteCounters {
            entity: id.into_id(),
            table: PhantomData,
        }
    }

    /// Sets many entities, by their keys, owned or borrowed.
    pub fn of_many<K: KeyOf<T::KeyType>>(
        self,
        ids: impl IntoIterator<Item = K>,
    ) -> DeleteManyCounters<T, K>
    where
        T: EntityTable,
    {
        DeleteManyCounters {
            ids: ids.into_iter().collect(),
            table: PhantomData,
        }
    }

    /// Sets the entities whose keys begin with these values: all versions of a crate, with
    /// `.under(crate_id)`. It first reads their keys, and removes the counters of these entities.
    pub fn under<K, N>(self, id: K) -> DeleteCountersUnder<T, PrefixId<K, T::KeyType, N>>
    where
        K: PrefixOf<T::KeyType, N>,
    {
        DeleteCountersUnder {
            entities: id.into_id(),
            table: PhantomData,
        }
    }
}

/// Removes the counters of all entities whose keys begin with some values; made by
/// [`DeleteCounters::under`].
#[must_use = "counters are not removed until this is executed"]
#[derive(Debug, Clone)]
pub struct DeleteCountersUnder<T, E> {
    entities: E,
    table: PhantomData<T>,
}

impl<T: CounterTable, E> DeleteCountersUnder<T, E> {
    /// Removes the counters. Returns the number of entities that had counts.
    ///
    /// # Errors
    ///
    /// Those of [`DeleteCounters::execute`].
    pub fn execute<'a, Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        Self: DeleteOn<'a, Conn>,
    {
        self.delete(conn)
    }
}

impl<'a, T, E, K, Conn> DeleteOn<'a, Conn> for DeleteCountersUnder<T, E>
where
    T: CounterTable<KeyType: StoredKeys<Keys = K>>,
    K: KeyOf<T::KeyType>,
    Conn: Connection<Backend: CounterBackend>,
    StartWriting<T>: ExecuteDsl<Conn>,
    FindEntities<T, E>: LoadQuery<'a, Conn, K>,
    DeleteManyCounters<T, K>: DeleteManyOn<'a, Conn>,
{
    fn delete(self, conn: &mut Conn) -> QueryResult<usize> {
        let latest = is_in_a_lasting_transaction(conn)?;
        transaction(conn, |conn| {
            StartWriting::<T>::new(()).execute(conn)?;
            let find = FindEntities::<T, E> {
                table: TableName::new(),
                entities: self.entities,
                latest,
            };
            let ids = find.load(conn)?;
            let these = DeleteManyCounters {
                ids,
                table: self.table,
            };
            these.delete_many(latest, conn)
        })
    }
}

impl<T: CounterTable, E> DeleteCounters<T, E> {
    /// Removes the counters. Returns 1 if the entity had counts, and 0 if it had none. A row of zeros
    /// that corrections lock is not a count.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors. If the counter table has a foreign key, and another
    /// transaction deletes the entity at the same time, the error can be a
    /// [`ForeignKeyViolation`](diesel::result::DatabaseErrorKind::ForeignKeyViolation).
    pub fn execute<'a, Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        Self: DeleteOn<'a, Conn>,
    {
        self.delete(conn)
    }
}

/// A [`DeleteCounters`], or a [`DeleteManyCounters`], that runs on the connection `Conn`.
#[diagnostic::on_unimplemented(
    message = "these counters cannot be removed on a `{Conn}`",
    label = "this requires a connection of Diesel's, and the key of an entity: `.of(id)`"
)]
pub trait DeleteOn<'a, Conn> {
    #[doc(hidden)]
    fn delete(self, conn: &mut Conn) -> QueryResult<usize>;
}

impl<'a, T, E, Conn> DeleteOn<'a, Conn> for DeleteCounters<T, E>
where
    T: CounterTable,
    E: Clone,
    Conn: Connection<Backend: CounterBackend>,
    StartWriting<T>: ExecuteDsl<Conn>,
    CountRows<T, E>: LoadQuery<'a, Conn, i64>,
    CountCounts<T, E>: LoadQuery<'a, Conn, i64>,
    Increment<NoCounters<T>, E>: ExecuteDsl<Conn>,
    DeleteRows<T, E>: ExecuteDsl<Conn>,
    DeleteLocks<T, E>: ExecuteDsl<Conn>,
{
    fn delete(self, conn: &mut Conn) -> QueryResult<usize> {
        let latest = is_in_a_lasting_transaction(conn)?;
        transaction(conn, |conn| {
            StartWriting::<T>::new(()).execute(conn)?;
            let count = CountRows::new(self.entity.clone()).latest(latest);
            // Nothing is locked yet, so nothing is deleted: another correction can have read a count
            // that commits now.
            if count.get_result(conn)? == 0_i64 {
                return Ok(0);
            }
            let lock = Increment::<NoCounters<T>, E>::lock(self.entity.clone());
            ExecuteDsl::execute(lock, conn)?;
            // Another deletion can have removed them while this one waited.
            let counts = CountCounts::new(self.entity.clone()).latest(latest);
            if counts.get_result(conn)? == 0_i64 {
                // An increment that commits now stays.
                DeleteLocks::<T, E>::new(self.entity).execute(conn)?;
                return Ok(0);
            }
            delete_rows::<T, E, _>(self.entity, conn)?;
            Ok(1)
        })
    }
}

impl<T: CounterTable, K> DeleteManyCounters<T, K> {
    /// Removes the counters. Returns the number of entities that had counts.
    ///
    /// It locks the entities in the order of their keys, so that two calls do not deadlock. This
    /// is why a key is `Ord`. Two calls can deadlock if they spell a key of text in two ways that
    /// the collation takes as equal.
    ///
    /// # Errors
    ///
    /// Those of [`DeleteCounters::execute`].
    pub fn execute<'a, Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        Self: DeleteOn<'a, Conn>,
    {
        self.delete(conn)
    }
}

impl<'a, T, K, Conn> DeleteOn<'a, Conn> for DeleteManyCounters<T, K>
where
    T: CounterTable,
    Conn: Connection<Backend: CounterBackend>,
    Self: DeleteManyOn<'a, Conn>,
    StartWriting<T>: ExecuteDsl<Conn>,
{
    fn delete(self, conn: &mut Conn) -> QueryResult<usize> {
        let latest = is_in_a_lasting_transaction(conn)?;
        transaction(conn, |conn| {
            StartWriting::<T>::new(()).execute(conn)?;
            self.delete_many(latest, conn)
        })
    }
}

/// A [`DeleteManyCounters`] that runs in a transaction of the connection `Conn`.
pub trait DeleteManyOn<'a, Conn> {
    /// Removes the counters. `latest` is that of [`EntityRows`].
    fn delete_many(self, latest: bool, conn: &mut Conn) -> QueryResult<usize>;
}

impl<'a, T, K, Conn> DeleteManyOn<'a, Conn> for DeleteManyCounters<T, K>
where
    T: CounterTable,
    K: KeyOf<T::KeyType> + Ord + Clone,
    Conn: Connection<Backend: CounterBackend>,
    AddRows<T, K::Columns>: ExecuteDsl<Conn>,
    FindKeys<T, K::Columns>: LoadQuery<'a, Conn, i64>,
    DeleteRows<T, Keys<K::Columns>>: ExecuteDsl<Conn>,
    DeleteLocks<T, Keys<K::Columns>>: ExecuteDsl<Conn>,
{
    fn delete_many(mut self, latest: bool, conn: &mut Conn) -> QueryResult<usize> {
        self.ids.sort_unstable();
        self.ids.dedup();
        let mut removed = 0;
        let size = <ManyRows<Conn> as WalkRows<Conn::Backend>>::NUMBERED_LIMIT;
        for keys in self.ids.chunks(size) {
            let find = |keys, counts_only| FindKeys::<T, K::Columns> {
                table: TableName::new(),
                keys: Keys::numbered::<T::KeyType, K, Conn::Backend>(keys),
                counts_only,
                latest,
            };
            let numbers: Vec<i64> = find(keys, false).load(conn)?;
            let (found, _) = split(keys, &numbers);
            if found.is_empty() {
                continue;
            }
            lock_entities::<NoCounters<T>, _, _>(&found, conn)?;
            let numbers: Vec<i64> = find(&found, true).load(conn)?;
            let (counted, others) = split(&found, &numbers);
            removed += counted.len();
            if !counted.is_empty() {
                delete_rows::<T, _, _>(
                    Keys::listed::<T::KeyType, _, Conn::Backend>(&counted),
                    conn,
                )?;
            }
            if !others.is_empty() {
                // An increment that commits now stays.
                let others = Keys::listed::<T::KeyType, _, Conn::Backend>(&others);
                DeleteLocks::<T, _>::new(others).execute(conn)?;
            }
        }
        Ok(removed)
    }
}

/// Deletes all rows of these entities, which are already locked.
///
/// It deletes until nothing is left. On PostgreSQL, and on the other databases at READ COMMITTED, a
/// `DELETE` that waits for a merge does not see the row of slot 0 that the merge inserts, and on MySQL
/// and MariaDB it can see one of two rows that another transaction commits. The next `DELETE` sees
/// them. This ends, because the rows that are deleted stay locked.
fn delete_rows<T, E, Conn>(entities: E, conn: &mut Conn) -> QueryResult<()>
where
    T: CounterTable,
    E: Clone,
    Conn: Connection,
    DeleteRows<T, E>: ExecuteDsl<Conn>,
{
    while DeleteRows::<T, E>::new(entities.clone()).execute(conn)? > 0 {}
    Ok(())
}

/// Returns the keys with these numbers, from 1, and the others. The last key of a list is repeated to
/// fill it up; [`FindKeys`] returns the least number of each key.
fn split<K: Clone>(keys: &[K], numbers: &[i64]) -> (Vec<K>, Vec<K>) {
    let numbers: HashSet<_> = numbers.iter().copied().collect();
    let numbered = (1..).zip(keys).map(|(number, key)| (number, key.clone()));
    let (found, others): (Vec<_>, Vec<_>) =
        numbered.partition(|(number, _)| numbers.contains(number));
    let keys = |of: Vec<(i64, K)>| of.into_iter().map(|(_, key)| key).collect();
    (keys(found), keys(others))
}

/// A statement on rows of the entities `E`: it counts them, or deletes them.
#[derive(Debug)]
pub struct EntityRows<T: CounterTable, E, const COUNTS: bool, const ROWS: usize> {
    table: TableName<T>,
    entities: E,
    /// Whether to count the latest committed rows. Otherwise MySQL and MariaDB can count those of the
    /// first query of the transaction.
    latest: bool,
}

// Which rows of the entities. An enum cannot be a const parameter.
const NONE: usize = 0;
const ALL: usize = 1;
const COUNTED: usize = 2;
const LOCK: usize = 3;

/// Deletes no rows. On SQLite it takes the write lock first, because a transaction that reads before
/// it writes fails at once if another transaction has written in between.
pub type StartWriting<T> = EntityRows<T, (), false, NONE>;

/// Counts the rows.
pub type CountRows<T, E> = EntityRows<T, E, true, ALL>;

/// Counts the rows that have counts: all but the one of zeros that is the lock.
pub type CountCounts<T, E> = EntityRows<T, E, true, COUNTED>;

/// Deletes the rows.
pub type DeleteRows<T, E> = EntityRows<T, E, false, ALL>;

/// Deletes the rows that are the locks.
pub type DeleteLocks<T, E> = EntityRows<T, E, false, LOCK>;

impl<T: CounterTable, E, const COUNTS: bool, const ROWS: usize> EntityRows<T, E, COUNTS, ROWS> {
    fn new(entities: E) -> Self {
        EntityRows {
            table: TableName::new(),
            entities,
            latest: false,
        }
    }

    fn latest(mut self, latest: bool) -> Self {
        self.latest = latest;
        self
    }
}

impl<T, E, const COUNTS: bool, const ROWS: usize, Conn> RunQueryDsl<Conn>
    for EntityRows<T, E, COUNTS, ROWS>
where
    T: CounterTable,
{
}

impl<T: CounterTable, E, const ROWS: usize> Query for EntityRows<T, E, true, ROWS> {
    type SqlType = BigInt;
}

impl<T, E, const COUNTS: bool, const ROWS: usize> QueryId for EntityRows<T, E, COUNTS, ROWS>
where
    T: CounterTable + QueryId,
    E: QueryId,
{
    type QueryId = EntityRowsId<T::QueryId, E::QueryId, COUNTS, ROWS>;
    const HAS_STATIC_QUERY_ID: bool = T::HAS_STATIC_QUERY_ID && E::HAS_STATIC_QUERY_ID;
}

/// The query id of [`EntityRows`].
#[derive(Debug)]
pub struct EntityRowsId<T, E, const COUNTS: bool, const ROWS: usize>(PhantomData<(T, E)>);

impl<T, E, const COUNTS: bool, const ROWS: usize, DB> QueryFragment<DB>
    for EntityRows<T, E, COUNTS, ROWS>
where
    T: CounterTable<FromClause: QueryFragment<DB>, AllColumns: ColumnNames>,
    E: Entities<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        if COUNTS {
            dialect.push_select(&mut out);
            out.push_sql("COUNT(*)");
        } else {
            dialect.push_verb("DELETE", &mut out);
        }
        out.push_sql(" FROM ");
        self.table.walk_ast(out.reborrow())?;
        if ROWS == NONE {
            out.push_sql(" WHERE 1 = 0");
            return Ok(());
        }
        if self.latest {
            dialect.push_by_key(&mut out);
        }
        let and = self.entities.walk_where(T::ENTITY, out.reborrow())?;
        match ROWS {
            COUNTED => walk_counted::<T, DB>(and, &mut out)?,
            LOCK => {
                out.push_sql(and);
                out.push_identifier(T::DAY)?;
                out.push_sql(" = ");
                DB::push_bind(Bind::Day(const { &Day(UNDATED) }), &mut out)?;
                out.push_sql(" AND ");
                out.push_identifier(T::SLOT)?;
                out.push_sql(" = 0");
            }
            _ => {}
        }
        if self.latest {
            dialect.push_read_latest_to_delete(&mut out);
        }
        Ok(())
    }
}

/// Writes another condition of a query of rows: they are not the row of zeros that is the lock.
fn walk_counted<T, DB>(and: &str, out: &mut AstPass<'_, '_, DB>) -> QueryResult<()>
where
    T: CounterTable<AllColumns: ColumnNames>,
    DB: CounterBackend,
{
    out.push_sql(and);
    out.push_sql("(");
    out.push_identifier(T::DAY)?;
    out.push_sql(" <> ");
    DB::push_bind(Bind::Day(const { &Day(UNDATED) }), out)?;
    for name in [T::SLOT].into_iter().chain(counters_of::<T>()) {
        out.push_sql(" OR ");
        out.push_identifier(name)?;
        out.push_sql(" <> 0");
    }
    out.push_sql(")");
    Ok(())
}

/// A query of the numbers, from 1, of the keys of a list that have rows. If the collation treats
/// several keys of the list as equal, it returns the number of one.
#[derive(Debug)]
pub struct FindKeys<T: CounterTable, K> {
    table: TableName<T>,
    keys: Keys<K>,
    /// Whether the rows of zeros that are locks are left out.
    counts_only: bool,
    /// As that of [`EntityRows`].
    latest: bool,
}

impl<T: CounterTable, K, Conn> RunQueryDsl<Conn> for FindKeys<T, K> {}

impl<T: CounterTable, K> Query for FindKeys<T, K> {
    type SqlType = BigInt;
}

impl<T: CounterTable, K> QueryId for FindKeys<T, K> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T, K, DB> QueryFragment<DB> for FindKeys<T, K>
where
    T: CounterTable<FromClause: QueryFragment<DB>, AllColumns: ColumnNames>,
    K: BindColumns<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        out.push_sql("MIN(");
        out.push_identifier(NUMBER)?;
        out.push_sql(")");
        let (columns, rows) = (self.keys.columns(), self.keys.len);
        DB::ManyRows::walk_from_numbered(T::ENTITY, &self.table, columns, rows, out.reborrow())?;
        if self.counts_only {
            walk_counted::<T, DB>(" AND ", &mut out)?;
        }
        out.push_sql(" GROUP BY ");
        push_names(T::ENTITY, &mut out)?;
        if self.latest {
            dialect.push_read_latest_to_delete(&mut out);
        }
        Ok(())
    }
}

/// A query of the keys of the entities `E` that have rows, in order.
#[derive(Debug)]
pub struct FindEntities<T: CounterTable, E> {
    table: TableName<T>,
    entities: E,
    /// As that of [`EntityRows`].
    latest: bool,
}

impl<T: CounterTable, E, Conn> RunQueryDsl<Conn> for FindEntities<T, E> {}

impl<T: CounterTable, E> Query for FindEntities<T, E> {
    type SqlType = <T::KeyType as KeyTypes>::Row;
}

impl<T: CounterTable, E> QueryId for FindEntities<T, E> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T, E, DB> QueryFragment<DB> for FindEntities<T, E>
where
    T: CounterTable<FromClause: QueryFragment<DB>>,
    E: Entities<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        out.push_sql("DISTINCT ");
        push_names(T::ENTITY, &mut out)?;
        out.push_sql(" FROM ");
        self.table.walk_ast(out.reborrow())?;
        if self.latest {
            dialect.push_by_key(&mut out);
        }
        self.entities.walk_where(T::ENTITY, out.reborrow())?;
        out.push_sql(" ORDER BY ");
        push_names(T::ENTITY, &mut out)?;
        if self.latest {
            dialect.push_read_latest_to_delete(&mut out);
        }
        Ok(())
    }
}

/// The counter tables of the model `M`: `(article_counters::table, (votes::table, ()))`.
pub trait DeleteFromEach<'a, M, Conn> {
    fn delete(model: &'a M, conn: &mut Conn) -> QueryResult<usize>;
}

impl<M, Conn> DeleteFromEach<'_, M, Conn> for () {
    fn delete(_: &M, _: &mut Conn) -> QueryResult<usize> {
        Ok(0)
    }
}

impl<'a, T, Rest, M, Conn> DeleteFromEach<'a, M, Conn> for (T, Rest)
where
    T: CounterTable,
    Rest: DeleteFromEach<'a, M, Conn>,
    M: HasCounters + 'a,
    M::KeyRef<'a>: PrefixOf<
            T::KeyType,
            M::KeyColumns,
            Extent: DeleteKeys<'a, T, M::KeyRef<'a>, M::KeyColumns, Conn>,
        >,
{
    fn delete(model: &'a M, conn: &mut Conn) -> QueryResult<usize> {
        let removed =
            ExtentOf::<M::KeyRef<'a>, T, M::KeyColumns>::delete(model.counter_key(), conn)?;
        Ok(removed + Rest::delete(model, conn)?)
    }
}

type ExtentOf<K, T, N> = <K as PrefixOf<<T as CounterTable>::KeyType, N>>::Extent;

/// The counter tables of the model `M`, for many entities.
pub trait DeleteManyFromEach<'a, M: HasCounters, Conn> {
    fn delete(ids: &[&'a M::Key], conn: &mut Conn) -> QueryResult<usize>;
}

impl<'a, M: HasCounters<Key: 'a>, Conn> DeleteManyFromEach<'a, M, Conn> for () {
    fn delete(_: &[&'a M::Key], _: &mut Conn) -> QueryResult<usize> {
        Ok(0)
    }
}

impl<'a, T, Rest, M, Conn> DeleteManyFromEach<'a, M, Conn> for (T, Rest)
where
    T: EntityTable,
    Rest: DeleteManyFromEach<'a, M, Conn>,
    M: HasCounters<Key: 'a>,
    &'a M::Key: PrefixOf<
            T::KeyType,
            M::KeyColumns,
            Extent: DeleteKeys<'a, T, &'a M::Key, M::KeyColumns, Conn>,
        >,
{
    fn delete(ids: &[&'a M::Key], conn: &mut Conn) -> QueryResult<usize> {
        let removed = ExtentOf::<&'a M::Key, T, M::KeyColumns>::delete_many(ids.to_vec(), conn)?;
        Ok(removed + Rest::delete(ids, conn)?)
    }
}

/// Removes the counters of entities by keys `K`, which are whole keys of the table `T`, or the values
/// of its first `Columns`.
pub trait DeleteKeys<'a, T, K, Columns, Conn> {
    fn delete(id: K, conn: &mut Conn) -> QueryResult<usize>;
    fn delete_many(ids: Vec<K>, conn: &mut Conn) -> QueryResult<usize>;
}

impl<'a, T, K, N, Conn> DeleteKeys<'a, T, K, N, Conn> for Whole
where
    T: CounterTable,
    K: KeyOf<T::KeyType>,
    DeleteCounters<T, K::Id>: DeleteOn<'a, Conn>,
    DeleteManyCounters<T, K>: DeleteOn<'a, Conn>,
{
    fn delete(id: K, conn: &mut Conn) -> QueryResult<usize> {
        delete_counters(T::table()).of(id).execute(conn)
    }

    fn delete_many(ids: Vec<K>, conn: &mut Conn) -> QueryResult<usize> {
        let these = DeleteManyCounters {
            ids,
            table: PhantomData,
        };
        these.execute(conn)
    }
}

impl<'a, T, K, N, Conn> DeleteKeys<'a, T, K, N, Conn> for Part
where
    T: CounterTable,
    K: PrefixOf<T::KeyType, N>,
    DeleteCountersUnder<T, PrefixId<K, T::KeyType, N>>: DeleteOn<'a, Conn>,
{
    fn delete(id: K, conn: &mut Conn) -> QueryResult<usize> {
        delete_counters(T::table()).under(id).execute(conn)
    }

    fn delete_many(ids: Vec<K>, conn: &mut Conn) -> QueryResult<usize> {
        let removed = ids.into_iter().map(|id| Self::delete(id, conn));
        removed.sum()
    }
}
