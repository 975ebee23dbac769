//! Removing counters.

use std::collections::HashSet;
use std::marker::PhantomData;

use diesel::QueryResult;
use diesel::connection::LoadConnection;

use crate::correct::lock_entities;
use crate::day::UNDATED;
use crate::slot::Partition;
use crate::sql::transaction::{is_in_a_lasting_transaction, transaction};
use crate::sql::{
    Binds as _, CounterBackend, Dialect, Keys, NUMBER, One, Sql, Values, and, execute, list, load,
    rows, sql, where_all,
};
use crate::typed::key::{
    BindKey, Entities, KeyOf, KeyTypes, LoadKey, WholeKey, columns_of, padded,
};
use crate::typed::stored_key::StoredKeys;
use crate::typed::table::{CounterTable, NotEmpty};

/// Removes all counters of an entity from a counter table. They read 0 afterwards, and can be
/// incremented again.
///
/// The entity is given with [`of`](DeleteCounters::of), and several entities with
/// [`of_many`](DeleteCounters::of_many) or [`under`](DeleteCounters::under).
///
/// ```
/// # include!("../doctest_setup.rs");
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
/// A foreign key with `ON DELETE CASCADE`, as in the reference migrations, removes the counters of
/// every entity that is deleted. Prefer it if the counter table can have a foreign key. (On SQLite,
/// MySQL and MariaDB, `REPLACE INTO`, as by [`replace_into`](diesel::replace_into), deletes the
/// existing row of an entity, and with it its counters: use `on_conflict(…).do_update()`.)
///
/// With a [`Slot::Partition`](crate::Slot::Partition), it removes only the rows of this node. Call
/// it on each node.
///
/// # Concurrency
///
/// It runs up to six statements in a transaction, or in a savepoint if a transaction is open. With
/// several entities, PostgreSQL runs the same statements for any number of them, and the other
/// databases repeat most for each 1,000. On MySQL and MariaDB, the transaction is READ COMMITTED.
///
/// - An entity that has no rows is left as it is: an increment that commits meanwhile stays.
/// - An increment that waits for the removal continues from 0 if the table has no foreign key. If
///   it has one and the entity is deleted too, the increment fails.
/// - Other corrections of the same entities wait for it. The lock is the row of 1970-01-01 in slot
///   0 of each entity that has rows. A [partitioned table](crate::CounterTable#partitions) requires
///   a partition for it.
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

/// The entities whose keys begin with the values `K`, which have the SQL types `Types`.
#[derive(Debug, Clone)]
pub struct Under<Types, K>(One<Types, K>);

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
    /// Sets the entity, by its key or by its model.
    pub fn of<K, N>(self, id: K) -> DeleteCounters<T, Listed<K::Value>>
    where
        K: KeyOf<T::KeyType, N, Types: WholeKey<T::KeyType>>,
    {
        DeleteCounters::new(Listed(vec![id.into_value()]))
    }

    /// Sets many entities, by their keys, owned or borrowed. Their counters are removed in the
    /// order of the keys, so that two deletions do not deadlock, unless they spell a key of text in
    /// two ways that the collation takes as equal.
    pub fn of_many<K, N>(
        self,
        ids: impl IntoIterator<Item = K>,
    ) -> DeleteCounters<T, Listed<K::Value>>
    where
        T: CounterTable<KeyType: NotEmpty>,
        K: KeyOf<T::KeyType, N, Types: WholeKey<T::KeyType>, Value: Ord>,
    {
        DeleteCounters::new(Listed::sorted(ids.into_iter().map(K::into_value)))
    }

    /// Sets the entities whose keys begin with these values: all versions of a crate, with
    /// `.under(crate_id)`. It first reads their keys, and removes the counters of these entities.
    pub fn under<K, N>(self, id: K) -> DeleteCounters<T, Under<K::Types, K::Value>>
    where
        K: KeyOf<T::KeyType, N>,
    {
        DeleteCounters::new(Under(One::new(id.into_value())))
    }
}

impl<T: CounterTable<KeyType = ()>> DeleteCounters<T> {
    /// Removes the counters of a table without entities. Returns 1 if it had counts, and otherwise 0.
    ///
    /// # Errors
    ///
    /// The database's own errors.
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        DeleteCounters::<T, _>::new(Listed(vec![()])).execute(conn)
    }
}

impl<T: CounterTable, K> DeleteCounters<T, Listed<K>> {
    /// Removes the counters. Returns the number of entities that had counts. A row of zeros that
    /// corrections lock is not a count.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors. If the counter table has a foreign key, and another
    /// transaction deletes the entity at the same time, the error can be a
    /// [`ForeignKeyViolation`](diesel::result::DatabaseErrorKind::ForeignKeyViolation).
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: BindKey<T::KeyType, Conn::Backend> + Clone,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        write::<T, _>(conn, |latest, conn| {
            self.entities.delete::<T, _>(latest, conn)
        })
    }
}

impl<T, Types, K> DeleteCounters<T, Under<Types, K>>
where
    T: CounterTable<KeyType: StoredKeys>,
    Types: KeyTypes,
{
    /// Removes the counters. Returns the number of entities that had counts.
    ///
    /// # Errors
    ///
    /// Those of a deletion of listed entities.
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: BindKey<Types, Conn::Backend>,
        <T::KeyType as StoredKeys>::Keys:
            BindKey<T::KeyType, Conn::Backend> + LoadKey<T::KeyType, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let entities = &self.entities.0;
        write::<T, _>(conn, |latest, conn| {
            let found = load(
                conn,
                |db| find_entities::<T, _>(db, entities, latest),
                <T::KeyType as StoredKeys>::Keys::load,
            )?;
            Listed::sorted(found).delete::<T, _>(latest, conn)
        })
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
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let latest = is_in_a_lasting_transaction(conn)?;
    transaction(conn, |conn| {
        // On SQLite it takes the write lock, before anything is read.
        let table = T::shape().table;
        execute(conn, |db| {
            let delete = db.verb("DELETE");
            sql!("{delete} FROM {table} WHERE 1 = 0")
        })?;
        delete(latest, conn)
    })
}

impl<K: Clone> Listed<K> {
    fn delete<T, Conn>(self, latest: bool, conn: &mut Conn) -> QueryResult<usize>
    where
        T: CounterTable,
        K: BindKey<T::KeyType, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let keys_of = |keys: &[K], is_numbered| {
            let len = rows::padded::<Conn::Backend>(keys.len(), is_numbered);
            let columns = columns_of::<T::KeyType, K, Conn::Backend>(padded(keys, len));
            Keys { columns, len }
        };
        let find = |keys: &[K], counts_only, conn: &mut Conn| {
            let listed = keys_of(keys, true);
            load(
                conn,
                |db| find_keys::<T, _>(db, &listed, counts_only, latest),
                |row| Conn::Backend::amount(row, 0),
            )
        };
        let delete = |keys: &[K], locks_only, conn: &mut Conn| {
            let (listed, partition) = (keys_of(keys, false), Partition::chosen());
            execute(conn, |db| {
                delete_rows::<T, _>(db, &listed, locks_only, &partition)
            })
        };
        let mut removed = 0;
        for keys in self.0.chunks(rows::most_numbered::<Conn::Backend>()) {
            let numbers = find(keys, false, conn)?;
            // Nothing is locked yet, so nothing is deleted where no row was found: another correction
            // can have read a count that commits now.
            let (found, _) = split(keys, &numbers);
            if found.is_empty() {
                continue;
            }
            let locked = found.iter().cloned();
            lock_entities::<T::KeyType, K, _>(T::shape(), &[], locked, conn)?;
            // Another deletion can have removed them while this one waited.
            let numbers = find(&found, true, conn)?;
            let (counted, others) = split(&found, &numbers);
            removed += counted.len();
            // On PostgreSQL, and on the other databases at READ COMMITTED, a `DELETE` that waits for a
            // merge does not see the row of slot 0 that the merge inserts, and on MySQL and MariaDB it
            // can see one of two rows that another transaction commits. The next `DELETE` sees them.
            // This ends, because the rows that are deleted stay locked.
            while !counted.is_empty() && delete(&counted, false, conn)? > 0 {}
            if !others.is_empty() {
                // An increment that commits now stays.
                delete(&others, true, conn)?;
            }
        }
        Ok(removed)
    }
}

/// Returns the keys with these numbers, from 1, and the others. The last key of a list is repeated to
/// fill it up; [`find_keys`] returns the least number of each key.
fn split<K: Clone>(keys: &[K], numbers: &[i64]) -> (Vec<K>, Vec<K>) {
    let numbers: HashSet<_> = numbers.iter().copied().collect();
    let numbered = (1..).zip(keys).map(|(number, key)| (number, key.clone()));
    let (found, others): (Vec<_>, Vec<_>) =
        numbered.partition(|(number, _)| numbers.contains(number));
    let keys = |of: Vec<(i64, K)>| of.into_iter().map(|(_, key)| key).collect();
    (keys(found), keys(others))
}

/// A statement that deletes rows: all, or those that corrections lock.
fn delete_rows<'a, T: CounterTable, DB: CounterBackend>(
    db: Dialect,
    entities: &'a dyn Entities<DB>,
    locks_only: bool,
    partition: &'a Partition,
) -> Sql<'a, DB> {
    let shape = T::shape();
    let (table, day, slot) = (shape.table, shape.day(), shape.slot());
    let rows = match locks_only {
        false => db.is_own(partition, slot),
        true => {
            let merged = partition.merged();
            Some(sql!("{day} = {&UNDATED} AND {slot} = {merged}"))
        }
    };
    let rows = where_all([entities.condition(db, shape.entity()), rows]);
    let delete = db.verb("DELETE");
    sql!("{delete} FROM {table}{rows}")
}

/// A query of the numbers, from 1, of the keys of a list that have rows. If the collation treats
/// several keys of the list as equal, it returns the number of one. `counts_only` leaves out the rows of
/// zeros that are locks. `latest` reads the latest rows on MySQL and MariaDB, and locks them, in a
/// transaction that can have an older snapshot.
fn find_keys<'a, T: CounterTable, DB: CounterBackend>(
    db: Dialect,
    keys: &'a Keys<impl Values<DB>>,
    counts_only: bool,
    latest: bool,
) -> Sql<'a, DB> {
    let shape = T::shape();
    let (select, table, key) = (db.select(), shape.table, shape.entity());
    let end = if latest {
        db.read_latest_to_delete()
    } else {
        ""
    };
    let counted = counts_only.then(|| {
        let counters = shape.counters.iter();
        let counted = list("", counters.map(|name| sql!(" OR {*name} <> 0")));
        let (day, slot) = (shape.day(), shape.slot());
        sql!("({day} <> {&UNDATED} OR {slot} > 0{counted})")
    });
    if key.is_empty() {
        // The only key has the number 1.
        let counted = where_all([counted]);
        return sql!("{select}COUNT(DISTINCT 1) FROM {table}{db.by_key()}{counted}{end}");
    }
    let listed = db.numbered_keys(table, key, &keys.columns, keys.len);
    let joined = db.join_numbered(table, key, &keys.columns, keys.len);
    let counted = and(counted);
    sql!("{select}MIN({NUMBER}){listed}{joined}{counted} GROUP BY {key}{end}")
}

/// A query of the keys of the entities that have rows, in order.
fn find_entities<'a, T: CounterTable, DB: CounterBackend>(
    db: Dialect,
    entities: &'a dyn Entities<DB>,
    latest: bool,
) -> Sql<'a, DB> {
    let shape = T::shape();
    let (select, table, key) = (db.select(), shape.table, shape.entity());
    let (by_key, end) = match latest {
        true => (db.by_key(), db.read_latest_to_delete()),
        false => ("", ""),
    };
    let rows = where_all([entities.condition(db, key)]);
    sql!("{select}DISTINCT {key} FROM {table}{by_key}{rows} ORDER BY {key}{end}")
}
