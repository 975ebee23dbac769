//! Removing counters.

use std::collections::HashSet;
use std::marker::PhantomData;

use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::sql_types::BigInt;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{
    Bind, CounterBackend, Dialect, ManyRows, NUMBER, StoredKeys, WalkRows, push_names,
};
use crate::correcting::recount::lock_entities;
use crate::counting::increment_many::AddRows;
use crate::day::{Day, UNDATED};
use crate::key::{BindColumns, Entities, KeyOf, KeyTypes, Keys, Part, Prefix, PrefixOf, Whole};
use crate::layout::{ColumnNames, counters_of};
use crate::slot::Partition;
use crate::table::{CounterTable, EntityTable};
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
/// # Several nodes
///
/// With a [`Slot::Partition`](crate::Slot::Partition), it removes only the rows of this node. Call it on
/// each node.
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
    DeleteCounters::new(())
}

/// Removes the counters of the entities `E`; made by [`delete_counters`].
#[must_use = "counters are not removed until this is executed"]
#[derive(Debug, Clone)]
pub struct DeleteCounters<T, E = ()> {
    entities: E,
    table: PhantomData<T>,
}

/// Entities, by their keys: in order, and each once.
#[derive(Debug, Clone)]
pub struct Listed<K>(Vec<K>);

/// The entities whose keys begin with the values `E`.
#[derive(Debug, Clone)]
pub struct Under<E>(E);

impl<K: Ord> Listed<K> {
    fn sorted(ids: impl IntoIterator<Item = K>) -> Self {
        let mut ids: Vec<K> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Listed(ids)
    }
}

impl<T, E> DeleteCounters<T, E> {
    fn new(entities: E) -> Self {
        DeleteCounters {
            entities,
            table: PhantomData,
        }
    }
}

impl<T: CounterTable> DeleteCounters<T> {
    /// Sets the entity, by its key.
    pub fn of<K: KeyOf<T::KeyType>>(self, id: K) -> DeleteCounters<T, Listed<K>> {
        DeleteCounters::new(Listed(vec![id]))
    }

    /// Sets many entities, by their keys, owned or borrowed. Their counters are removed in the order of
    /// the keys, so that two deletions do not deadlock. They can if they spell a key of text in two ways
    /// that the collation takes as equal.
    pub fn of_many<K>(self, ids: impl IntoIterator<Item = K>) -> DeleteCounters<T, Listed<K>>
    where
        T: EntityTable,
        K: KeyOf<T::KeyType> + Ord,
    {
        DeleteCounters::new(Listed::sorted(ids))
    }

    /// Sets the entities whose keys begin with these values: all versions of a crate, with
    /// `.under(crate_id)`. It first reads their keys, and removes the counters of these entities.
    pub fn under<K, N>(self, id: K) -> DeleteCounters<T, Under<Prefix<K, N>>>
    where
        K: PrefixOf<T::KeyType, N>,
    {
        DeleteCounters::new(Under(Prefix::new(id)))
    }
}

impl<T: CounterTable, E> DeleteCounters<T, E> {
    /// Removes the counters. Returns the number of entities that had counts. A row of zeros that
    /// corrections lock is not a count.
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

/// A [`DeleteCounters`] that runs on the connection `Conn`.
#[diagnostic::on_unimplemented(
    message = "these counters cannot be removed on a `{Conn}`",
    label = "this requires a connection of Diesel's, and the key of an entity: `.of(id)`"
)]
pub trait DeleteOn<'a, Conn> {
    #[doc(hidden)]
    fn delete(self, conn: &mut Conn) -> QueryResult<usize>;
}

impl<'a, T, K, Conn> DeleteOn<'a, Conn> for DeleteCounters<T, Listed<K>>
where
    T: CounterTable,
    Conn: Connection<Backend: CounterBackend>,
    Listed<K>: DeleteListed<'a, T, Conn>,
    DeleteRows<T, ()>: ExecuteDsl<Conn>,
{
    fn delete(self, conn: &mut Conn) -> QueryResult<usize> {
        write::<T, _>(conn, |latest, conn| self.entities.delete(latest, conn))
    }
}

impl<'a, T, E, K, Conn> DeleteOn<'a, Conn> for DeleteCounters<T, Under<E>>
where
    T: CounterTable<KeyType: StoredKeys<Keys = K>>,
    K: Ord,
    Conn: Connection<Backend: CounterBackend>,
    DeleteRows<T, ()>: ExecuteDsl<Conn>,
    FindEntities<T, E>: LoadQuery<'a, Conn, K>,
    Listed<K>: DeleteListed<'a, T, Conn>,
{
    fn delete(self, conn: &mut Conn) -> QueryResult<usize> {
        write::<T, _>(conn, |latest, conn| {
            let find = FindEntities::<T, E> {
                entities: self.entities.0,
                latest,
                table: PhantomData,
            };
            Listed::sorted(find.load(conn)?).delete(latest, conn)
        })
    }
}

impl<'a, T, Conn> DeleteOn<'a, Conn> for DeleteCounters<T>
where
    T: CounterTable<KeyType = ()>,
    DeleteCounters<T, Listed<()>>: DeleteOn<'a, Conn>,
{
    fn delete(self, conn: &mut Conn) -> QueryResult<usize> {
        self.of(()).delete(conn)
    }
}

/// Runs `delete` in a transaction that has written. It is given whether its queries must read the
/// latest rows.
fn write<T, Conn>(
    conn: &mut Conn,
    delete: impl FnOnce(bool, &mut Conn) -> QueryResult<usize>,
) -> QueryResult<usize>
where
    T: CounterTable,
    Conn: Connection<Backend: CounterBackend>,
    DeleteRows<T, ()>: ExecuteDsl<Conn>,
{
    let latest = is_in_a_lasting_transaction(conn)?;
    transaction(conn, |conn| {
        DeleteRows::<T, ()>::new((), Rows::None).execute(conn)?;
        delete(latest, conn)
    })
}

/// Keys of the table `T` whose counters the connection `Conn` can remove.
pub trait DeleteListed<'a, T, Conn> {
    fn delete(self, latest: bool, conn: &mut Conn) -> QueryResult<usize>;
}

impl<'a, T, K, Conn> DeleteListed<'a, T, Conn> for Listed<K>
where
    T: CounterTable,
    K: KeyOf<T::KeyType> + Clone,
    Conn: Connection<Backend: CounterBackend>,
    AddRows<T, K::Columns>: ExecuteDsl<Conn>,
    FindKeys<T, K::Columns>: LoadQuery<'a, Conn, i64>,
    DeleteRows<T, Keys<K::Columns>>: ExecuteDsl<Conn>,
{
    fn delete(self, latest: bool, conn: &mut Conn) -> QueryResult<usize> {
        let mut removed = 0;
        let size = <ManyRows<Conn> as WalkRows<Conn::Backend>>::NUMBERED_LIMIT;
        for keys in self.0.chunks(size) {
            let find = |keys: &[K], counts_only| FindKeys::<T, K::Columns> {
                keys: Keys::numbered::<T::KeyType, K, Conn::Backend>(keys),
                counts_only,
                latest,
                table: PhantomData,
            };
            let delete = |keys: &[K], rows| {
                let keys = Keys::listed::<T::KeyType, _, Conn::Backend>(keys);
                DeleteRows::<T, _>::new(keys, rows)
            };
            let numbers: Vec<i64> = find(keys, false).load(conn)?;
            // Nothing is locked yet, so nothing is deleted where no row was found: another correction
            // can have read a count that commits now.
            let (found, _) = split(keys, &numbers);
            if found.is_empty() {
                continue;
            }
            lock_entities::<T, _, _>(&found, &[], conn)?;
            // Another deletion can have removed them while this one waited.
            let numbers: Vec<i64> = find(&found, true).load(conn)?;
            let (counted, others) = split(&found, &numbers);
            removed += counted.len();
            // On PostgreSQL, and on the other databases at READ COMMITTED, a `DELETE` that waits for a
            // merge does not see the row of slot 0 that the merge inserts, and on MySQL and MariaDB it
            // can see one of two rows that another transaction commits. The next `DELETE` sees them.
            // This ends, because the rows that are deleted stay locked.
            while !counted.is_empty() && delete(&counted, Rows::All).execute(conn)? > 0 {}
            if !others.is_empty() {
                // An increment that commits now stays.
                delete(&others, Rows::Locks).execute(conn)?;
            }
        }
        Ok(removed)
    }
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

/// A statement that deletes rows of the entities `E`.
#[derive(Debug, Clone)]
pub struct DeleteRows<T, E> {
    entities: E,
    rows: Rows,
    partition: Partition,
    table: PhantomData<T>,
}
statement!(DeleteRows(T, E));

#[derive(Debug, Clone, Copy)]
enum Rows {
    /// No row. On SQLite it takes the write lock, before anything is read.
    None,
    All,
    /// The rows that corrections lock.
    Locks,
}

impl<T, E> DeleteRows<T, E> {
    fn new(entities: E, rows: Rows) -> Self {
        DeleteRows {
            entities,
            rows,
            partition: Partition::chosen(),
            table: PhantomData,
        }
    }
}

impl<T, E, DB> QueryFragment<DB> for DeleteRows<T, E>
where
    T: CounterTable + QueryFragment<DB>,
    E: Entities<T::KeyType, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Dialect::of(&out).push_verb("DELETE", &mut out);
        out.push_sql(" FROM ");
        T::TABLE.walk_ast(out.reborrow())?;
        if matches!(self.rows, Rows::None) {
            out.push_sql(" WHERE 1 = 0");
            return Ok(());
        }
        let and = self.entities.walk_where(T::ENTITY, out.reborrow())?;
        if matches!(self.rows, Rows::Locks) {
            out.push_sql(and);
            out.push_identifier(T::DAY)?;
            out.push_sql(" = ");
            DB::push_bind(Bind::Day(const { &Day(UNDATED) }), &mut out)?;
            out.push_sql(" AND ");
            out.push_identifier(T::SLOT)?;
            out.push_sql(" = ");
            return DB::push_bind(Bind::Slot(self.partition.merged()), &mut out);
        }
        self.partition.walk_and_own(and, T::SLOT, &mut out)
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
    out.push_sql(" OR ");
    out.push_identifier(T::SLOT)?;
    out.push_sql(" > 0");
    for name in counters_of::<T>() {
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
pub struct FindKeys<T, K> {
    keys: Keys<K>,
    /// Whether the rows of zeros that are locks are left out.
    counts_only: bool,
    /// Whether it reads the latest rows on MySQL and MariaDB, and locks them, in a transaction that can
    /// have an older snapshot.
    latest: bool,
    table: PhantomData<T>,
}
statement!(FindKeys(T, K) -> BigInt);

impl<T, K, DB> QueryFragment<DB> for FindKeys<T, K>
where
    T: CounterTable<AllColumns: ColumnNames> + QueryFragment<DB>,
    K: BindColumns<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        if K::NUMBER == 0 {
            // The only key has the number 1.
            out.push_sql("COUNT(DISTINCT 1) FROM ");
            T::TABLE.walk_ast(out.reborrow())?;
            dialect.push_by_key(&mut out);
            if self.counts_only {
                walk_counted::<T, DB>(" WHERE ", &mut out)?;
            }
        } else {
            out.push_sql("MIN(");
            out.push_identifier(NUMBER)?;
            out.push_sql(")");
            let (columns, rows) = (self.keys.columns(), self.keys.len);
            DB::ManyRows::walk_from_numbered(T::ENTITY, T::TABLE, columns, rows, out.reborrow())?;
            DB::ManyRows::walk_join_numbered(T::ENTITY, T::TABLE, columns, rows, out.reborrow())?;
            if self.counts_only {
                walk_counted::<T, DB>(" AND ", &mut out)?;
            }
            out.push_sql(" GROUP BY ");
            push_names(T::ENTITY, &mut out)?;
        }
        if self.latest {
            dialect.push_read_latest_to_delete(&mut out);
        }
        Ok(())
    }
}

/// A query of the keys of the entities `E` that have rows, in order.
#[derive(Debug)]
pub struct FindEntities<T, E> {
    entities: E,
    latest: bool,
    table: PhantomData<T>,
}
statement!(FindEntities(T, E) -> <T::KeyType as KeyTypes>::Row where T: CounterTable);

impl<T, E, DB> QueryFragment<DB> for FindEntities<T, E>
where
    T: CounterTable + QueryFragment<DB>,
    E: Entities<T::KeyType, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        out.push_sql("DISTINCT ");
        push_names(T::ENTITY, &mut out)?;
        out.push_sql(" FROM ");
        T::TABLE.walk_ast(out.reborrow())?;
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

/// The counter tables of a model: `(article_counters::table, (votes::table, ()))`. Removes from each the
/// counters of these keys, which have the first `N` columns.
pub trait DeleteFromEach<'a, K, N, Conn> {
    fn delete(ids: Vec<K>, conn: &mut Conn) -> QueryResult<usize>;
}

impl<K, N, Conn> DeleteFromEach<'_, K, N, Conn> for () {
    fn delete(_: Vec<K>, _: &mut Conn) -> QueryResult<usize> {
        Ok(0)
    }
}

impl<'a, T, Rest, K, N, Conn> DeleteFromEach<'a, K, N, Conn> for (T, Rest)
where
    T: CounterTable,
    Rest: DeleteFromEach<'a, K, N, Conn>,
    K: PrefixOf<T::KeyType, N, Extent: DeleteKeys<'a, T, K, N, Conn>> + Clone,
{
    fn delete(ids: Vec<K>, conn: &mut Conn) -> QueryResult<usize> {
        let removed = K::Extent::delete(ids.clone(), conn)?;
        Ok(removed + Rest::delete(ids, conn)?)
    }
}

/// Removes the counters of keys of one extent: whole keys, or the first `N` columns of keys.
pub trait DeleteKeys<'a, T, K, N, Conn> {
    fn delete(ids: Vec<K>, conn: &mut Conn) -> QueryResult<usize>;
}

impl<'a, T, K, N, Conn> DeleteKeys<'a, T, K, N, Conn> for Whole
where
    T: CounterTable,
    K: KeyOf<T::KeyType>,
    DeleteCounters<T, Listed<K>>: DeleteOn<'a, Conn>,
{
    fn delete(ids: Vec<K>, conn: &mut Conn) -> QueryResult<usize> {
        DeleteCounters::<T, _>::new(Listed(ids)).execute(conn)
    }
}

impl<'a, T, K, N, Conn> DeleteKeys<'a, T, K, N, Conn> for Part
where
    T: CounterTable,
    K: PrefixOf<T::KeyType, N>,
    DeleteCounters<T, Under<Prefix<K, N>>>: DeleteOn<'a, Conn>,
{
    fn delete(ids: Vec<K>, conn: &mut Conn) -> QueryResult<usize> {
        let removed = ids.into_iter().map(|id| {
            let these = DeleteCounters::<T, _>::new(Under(Prefix::new(id)));
            these.execute(conn)
        });
        removed.sum()
    }
}
