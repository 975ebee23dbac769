//! Removing counters.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::slice;

use diesel::QueryResult;
use diesel::connection::LoadConnection;

use crate::correct::{lock_entities, padded_keys};
use crate::day::UNDATED;
use crate::error::not_written;
use crate::key::Entities;
use crate::key::KeyPrefix;
use crate::key::StoredKey;
use crate::key::{BindKey, HasColumns, KeyOf, KeyTypes, OwnedKey, WholeKey};
use crate::sql::transaction::{execute_on, is_in_a_real_transaction, transaction};
use crate::sql::{CounterBackend, Dialect, execute, list, load, rows, sql, where_all};
use crate::typed::table::CounterTable;

/// Removes all of an entity's counters from a counter table. They read 0 afterwards, and you can
/// increment them again.
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::dsl::delete_counters;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::{self, views};
///
/// increment(views).of_many([(1_i64, 10), (2, 20)]).execute(conn)?;
///
/// delete_counters(article_counters::table).of(1_i64).execute(conn)?;
/// assert_eq!(counter_value(views).of_many(&[1_i64, 2]).load(conn)?, [0, 20]);
/// # Ok(())
/// # }
/// ```
///
/// If the counter table can have a foreign key, prefer one with `ON DELETE CASCADE`: it removes an
/// entity's counters whenever the entity is deleted.
///
/// # Concurrency
///
/// The deletion runs several statements in a transaction, or in a savepoint if a transaction is
/// open.
///
/// - If an entity has no rows, nothing is deleted for it, so an increment that commits in the
///   meantime stays. If you give only the beginning of a key, the deletion looks again until it
///   finds no more entities, up to 100 times. So if an entity's first count commits while the
///   deletion waits for others, that count is removed too.
/// - An increment that waits for the deletion then counts from 0. If the table has a foreign key
///   and the entity itself is deleted too, the increment fails.
/// - Other corrections of the same entities wait for it, as they do for
///   [`set_counter`](crate::dsl::set_counter()).
pub fn delete_counters<T: CounterTable>(_table: T) -> DeleteCounters<T> {
    DeleteCounters((), PhantomData)
}

/// Removes the counters of the entities `E`; made by [`delete_counters`].
#[must_use = "counters are not removed until this is executed"]
#[derive(Debug, Clone)]
pub struct DeleteCounters<T, E = ()>(E, PhantomData<T>);

impl<T: CounterTable> DeleteCounters<T> {
    /// Sets the entity, by its key or by its model. **If you give fewer values than the key has
    /// columns, this removes the counters of every entity whose key begins with them.** For
    /// example, `.of(crate_id)` removes the counters of all versions of a crate, and `.of(())`
    /// those of the whole table. In a table without entities, write `.of(())`.
    pub fn of<K, N>(self, id: K) -> DeleteCounters<T, KeyPrefix<K::Types, K::Value>>
    where
        K: KeyOf<T::KeyType, N>,
    {
        DeleteCounters(KeyPrefix::new(id.into_value()), PhantomData)
    }

    /// Sets many entities, by their keys, owned or borrowed. Their counters are removed in key
    /// order, so two deletions don't deadlock.
    pub fn of_many<K, N>(self, ids: impl IntoIterator<Item = K>) -> DeleteCounters<T, Vec<K::Value>>
    where
        T: CounterTable<KeyType: HasColumns<1>>,
        K: KeyOf<T::KeyType, N, Types: WholeKey<T::KeyType>, Value: Ord>,
    {
        let mut keys = Vec::from_iter(ids.into_iter().map(K::into_value));
        keys.sort_unstable();
        DeleteCounters(keys, PhantomData)
    }
}

impl<T, Types, K> DeleteCounters<T, KeyPrefix<Types, K>>
where
    T: CounterTable<KeyType: StoredKey>,
    Types: KeyTypes,
{
    /// Removes the counters. Returns how many entities had counts.
    ///
    /// This loads the entities' keys. If the table's key has an SQL type of your own, implement
    /// [`StoredKey`](crate::bounds::StoredKey) for it.
    ///
    /// # Errors
    ///
    /// Returns the database's own errors. If the counter table has a foreign key and another
    /// transaction deletes the entity at the same time, the error can be a
    /// [`ForeignKeyViolation`](diesel::result::DatabaseErrorKind::ForeignKeyViolation).
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: BindKey<Types, Conn::Backend>,
        Stored<T>: OwnedKey<T::KeyType, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let is_prefix = Types::COLUMNS < T::KeyType::COLUMNS;
        delete::<T, _, _>(slice::from_ref(&self.0), is_prefix, conn)
    }
}

impl<T: CounterTable<KeyType: StoredKey>, K: Clone> DeleteCounters<T, Vec<K>> {
    /// Removes the counters. Returns how many entities had counts. The errors are the same as for
    /// one entity.
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: BindKey<T::KeyType, Conn::Backend>,
        Stored<T>: OwnedKey<T::KeyType, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let lists = self.0.chunks(rows::max_numbered_keys::<Conn::Backend>());
        let lists = Vec::from_iter(lists.map(padded_keys::<T::KeyType, K, Conn::Backend>));
        let are_prefixes = false;
        delete::<T, _, _>(&lists, are_prefixes, conn)
    }
}

/// The Rust type of a table's keys.
type Stored<T> = <<T as CounterTable>::KeyType as StoredKey>::Key;

/// Removes the counters of these entities, or, if `are_prefixes`, of every entity whose key begins
/// with one of them. Returns how many had counts.
fn delete<T, E, Conn>(each: &[E], are_prefixes: bool, conn: &mut Conn) -> QueryResult<usize>
where
    T: CounterTable<KeyType: StoredKey>,
    E: Entities<Conn::Backend>,
    Stored<T>: OwnedKey<T::KeyType, Conn::Backend>,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let in_transaction = is_in_a_real_transaction(conn)?;
    let shape = T::shape();
    let table = shape.table;
    transaction(conn, |conn| {
        // This deletes nothing, but takes the write lock before anything is read.
        let lock = sql!("DELETE FROM {table} WHERE 1 = 0");
        execute_on(Dialect::Sqlite, lock, conn)?;
        let mut removed = BTreeSet::new();
        for entities in each {
            for _ in 0..MAX_LOOKS {
                // Nothing is locked yet, so an entity without rows is left alone: its first count
                // may be committing right now, and another correction may already have read it.
                let found = find::<T, _>(entities, Find::Stored, in_transaction, conn)?;
                for keys in found.chunks(rows::max_numbered_keys::<Conn::Backend>()) {
                    lock_entities::<T::KeyType, _, _>(shape, &[], keys, conn)?;
                    // Another deletion may have removed them while this one waited.
                    let locked = padded_keys::<T::KeyType, _, _>(keys);
                    let counted = find::<T, _>(&locked, Find::Counted, in_transaction, conn)?;
                    delete_locked::<T, _>(keys, &counted, conn)?;
                    removed.extend(counted);
                }
                // An entity may have got its first count while this waited for other entities'
                // locks.
                if found.is_empty() || !are_prefixes {
                    break;
                }
            }
        }
        Ok(removed.len())
    })
}

/// Which entities to find.
#[derive(Clone, Copy, PartialEq)]
enum Find {
    /// Those that have rows.
    Stored,
    /// Those that have rows with counts, or other rows than their lock row.
    Counted,
}

/// Returns the keys of the entities that have rows, or only of those that have counts. In a
/// transaction, this reads the latest committed rows, not those of the transaction's snapshot.
fn find<T, Conn>(
    entities: &dyn Entities<Conn::Backend>,
    which: Find,
    in_transaction: bool,
    conn: &mut Conn,
) -> QueryResult<Vec<Stored<T>>>
where
    T: CounterTable<KeyType: StoredKey>,
    Stored<T>: OwnedKey<T::KeyType, Conn::Backend>,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let shape = T::shape();
    let (table, day, slot) = (shape.table, shape.day(), shape.slot());
    let query = |db: Dialect| {
        let is_counted = (which == Find::Counted).then(|| {
            let counters = shape.counters.iter();
            let or_not_zero = list("", counters.map(|name| sql!(" OR {*name} <> 0")));
            sql!("({day} <> {&UNDATED} OR {slot} <> 0{or_not_zero})")
        });
        let rows = where_all([entities.condition(db, shape.entity()), is_counted]);
        // A table without entities has no key to select, so this selects a number.
        let key = match shape.entity() {
            [] => sql!("1"),
            key => sql!("{key}"),
        };
        let end = in_transaction.then(|| sql!("{db.read_latest_to_change()}"));
        let select = db.select();
        let index_hint = db.index_hint();
        sql!("{select}DISTINCT {&key} FROM {table}{index_hint}{rows} ORDER BY {&key}{end}")
    };
    let mut keys = load(conn, query, Stored::<T>::load)?;
    keys.sort_unstable();
    // SQLite can store the same key as values of two types, which load as one key.
    keys.dedup();
    Ok(keys)
}

/// How many times a deletion by a key prefix looks for entities, so that it ends even if others
/// keep counting.
const MAX_LOOKS: usize = 100;

/// Deletes rows of locked entities: every row if the entity is in `counted`, and otherwise only its
/// lock row.
fn delete_locked<T, Conn>(
    keys: &[Stored<T>],
    counted: &[Stored<T>],
    conn: &mut Conn,
) -> QueryResult<()>
where
    T: CounterTable<KeyType: StoredKey>,
    Stored<T>: OwnedKey<T::KeyType, Conn::Backend>,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    if !counted.is_empty() {
        // There's at least the lock row.
        if delete_rows::<T, _>(counted, DeletedRows::All, conn)? == 0 {
            return not_written(T::shape().label);
        }
        // A statement that waits for a merge doesn't see the row of slot 0 that the merge inserts
        // (on PostgreSQL, and on the other databases at READ COMMITTED). On MySQL and MariaDB, it
        // can also see just one of two rows that another transaction commits. The next statement
        // sees them. The loop ends because the deleted rows stay locked.
        while delete_rows::<T, _>(counted, DeletedRows::InsertedSince, conn)? > 0 {}
    }
    // Each of the other entities has a lock row. Their keys can't be found by leaving out those in
    // `counted`, where a text may be spelled differently, so this deletes the lock rows of all
    // `keys`. If an increment of the others commits now, it stays.
    let others = keys.len() - counted.len();
    if others > 0 && delete_rows::<T, _>(keys, DeletedRows::LockOnly, conn)? < others {
        return not_written(T::shape().label);
    }
    Ok(())
}

/// Which rows to delete.
#[derive(Clone, Copy, PartialEq)]
enum DeletedRows {
    All,
    /// Rows that were inserted while the first DELETE waited.
    InsertedSince,
    /// Only the lock rows.
    LockOnly,
}

/// Deletes rows of these entities. Returns how many it deleted.
fn delete_rows<T, Conn>(
    keys: &[Stored<T>],
    deleted: DeletedRows,
    conn: &mut Conn,
) -> QueryResult<usize>
where
    T: CounterTable<KeyType: StoredKey>,
    Stored<T>: BindKey<T::KeyType, Conn::Backend>,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let shape = T::shape();
    let table = shape.table;
    let day = shape.day();
    let slot = shape.slot();
    let entities = padded_keys::<T::KeyType, _, Conn::Backend>(keys);
    execute(conn, |db| {
        let is_lock_row = sql!("{day} = {&UNDATED} AND {slot} = 0");
        let is_deleted = Some(is_lock_row).filter(|_| deleted == DeletedRows::LockOnly);
        let rows = where_all([entities.condition(db, shape.entity()), is_deleted]);
        let reason = match deleted {
            DeletedRows::InsertedSince => "/* a merge may have inserted rows */ ",
            DeletedRows::All | DeletedRows::LockOnly => "",
        };
        sql!("DELETE {reason}FROM {table}{rows}")
    })
}
