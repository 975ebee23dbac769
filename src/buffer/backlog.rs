//! What is to be written, added up by table and row.

use std::any::{Any, TypeId};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::marker::PhantomData;
use std::time::Instant;

use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::result::Error;

use crate::add::gathered::{RowKey, Rows, Sums, TableId, add_sums, table_id, write_rows};
use crate::buffer::shards::{BufferKey, Shards, room};
use crate::buffer::write::Refused;
use crate::sql::CounterBackend;
use crate::typed::key::BindKey;
use crate::typed::table::{CounterTable, module_name};

/// The number of rows of a transaction. Others can wait for these rows.
const BATCH: usize = 2_500;

/// The rows to write, by table. A row stays here until it is written.
pub(crate) struct Backlog<Conn> {
    tables: BTreeMap<TableId, Box<dyn BacklogTable<Conn>>>,
    oldest: Option<Instant>,
}

/// The rows of one table, with keys of one type.
trait BacklogTable<Conn>: Any + Send {
    fn is_empty(&self) -> bool;
    fn held(&self) -> usize;
    fn amount(&self) -> i128;
    fn first(&self) -> Option<Box<dyn Batch<Conn>>>;
    fn next_held(&mut self) -> Option<Box<dyn Batch<Conn>>>;
    fn add_pending(&self, key: &dyn Any, to: &mut Sums);
}

/// Rows of one table to write in one transaction.
pub(crate) trait Batch<Conn>: Send {
    fn len(&self) -> usize;
    fn write(&self, conn: &mut Conn) -> QueryResult<()>;
    /// Returns this number of parts of the batch, the last one first.
    fn split(&self, parts: usize) -> Vec<Box<dyn Batch<Conn>>>;
    /// Returns the same rows with amounts of 1 and -1 that point towards 0.
    fn reversed(&self) -> Box<dyn Batch<Conn>>;
    /// Removes the rows from the backlog, and releases their room.
    fn remove_from(&self, backlog: &mut Backlog<Conn>, shards: &Shards<Conn>);
    /// Sets the rows aside, to be written one by one after others.
    fn hold_in(&self, backlog: &mut Backlog<Conn>);
    fn refused(&self, error: Error) -> Refused;
}

struct Pending<T, K> {
    rows: Rows<K>,
    /// Rows that failed alone, for a reason that may pass.
    held: Rows<K>,
    /// The order in which to try them.
    turns: VecDeque<RowKey<K>>,
    table: PhantomData<fn() -> T>,
}

impl<Conn> Default for Backlog<Conn> {
    fn default() -> Self {
        Backlog {
            tables: BTreeMap::new(),
            oldest: None,
        }
    }
}

impl<Conn: 'static> Backlog<Conn> {
    /// Adds rows, and returns the room of the new ones.
    pub(crate) fn append<T, K>(&mut self, rows: impl Iterator<Item = (RowKey<K>, Sums)>) -> usize
    where
        T: CounterTable + 'static,
        K: BufferKey + BindKey<T::KeyType, Conn::Backend>,
        Conn: Connection<Backend: CounterBackend>,
    {
        let pending = self.pending::<T, K>();
        let mut taken = 0;
        for (row, sums) in rows {
            if let Some(held) = pending.held.get_mut(&row) {
                add_sums(held, &sums);
                continue;
            }
            match pending.rows.entry(row) {
                Entry::Occupied(pending) => add_sums(pending.into_mut(), &sums),
                Entry::Vacant(new) => {
                    let (_, key) = new.key();
                    taken += room(key);
                    new.insert(sums);
                }
            }
        }
        taken
    }

    fn pending<T, K>(&mut self) -> &mut Pending<T, K>
    where
        T: CounterTable + 'static,
        K: BufferKey + BindKey<T::KeyType, Conn::Backend>,
        Conn: Connection<Backend: CounterBackend>,
    {
        let tables = self.tables.entry(table_id::<T, K>());
        let table = tables.or_insert_with(|| {
            Box::new(Pending::<T, K> {
                rows: Rows::new(),
                held: Rows::new(),
                turns: VecDeque::new(),
                table: PhantomData,
            })
        });
        let table: &mut dyn Any = &mut **table;
        let table = table.downcast_mut();
        table.expect("a table is found by the id of its type")
    }

    pub(crate) fn amount(&self) -> i128 {
        self.tables.values().map(|table| table.amount()).sum()
    }

    pub(crate) fn oldest(&self) -> Option<Instant> {
        let is_empty = self.tables.values().all(|table| table.is_empty());
        self.oldest.filter(|_| !is_empty)
    }

    /// Rows that were first counted at this moment are appended.
    pub(crate) fn is_older(&mut self, oldest: Option<Instant>) {
        self.oldest = [self.oldest(), oldest].into_iter().flatten().min();
    }

    /// Returns the next rows of this table to write.
    pub(crate) fn first(&self, table: TableId) -> Option<Box<dyn Batch<Conn>>> {
        self.tables.get(&table)?.first()
    }

    /// Returns the tables, and how many of their rows were set aside.
    pub(crate) fn tables(&self) -> Vec<(TableId, usize)> {
        let tables = self.tables.iter();
        tables.map(|(id, table)| (*id, table.held())).collect()
    }

    /// Returns the next row of this table that was set aside.
    pub(crate) fn next_held(&mut self, table: TableId) -> Option<Box<dyn Batch<Conn>>> {
        self.tables.get_mut(&table)?.next_held()
    }

    pub(crate) fn add_pending(&self, table: TypeId, key: &dyn Any, to: &mut Sums) {
        for ((_, _, id), pending) in &self.tables {
            if *id == table {
                pending.add_pending(key, to);
            }
        }
    }
}

impl<T, K, Conn> BacklogTable<Conn> for Pending<T, K>
where
    T: CounterTable + 'static,
    K: BufferKey + BindKey<T::KeyType, Conn::Backend>,
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.held.is_empty()
    }

    fn held(&self) -> usize {
        self.held.len()
    }

    fn amount(&self) -> i128 {
        let rows = self.rows.values().chain(self.held.values());
        rows.flatten().map(|(_, sum)| sum).sum()
    }

    fn first(&self) -> Option<Box<dyn Batch<Conn>>> {
        let rows = self.rows.iter().take(BATCH);
        let rows: Vec<_> = rows
            .map(|(row, sums)| (row.clone(), sums.clone()))
            .collect();
        (!rows.is_empty()).then(|| RowBatch::<T, K>::boxed(rows))
    }

    fn next_held(&mut self) -> Option<Box<dyn Batch<Conn>>> {
        let row = self.turns.pop_front()?;
        let sums = self.held.get(&row)?.clone();
        self.turns.push_back(row.clone());
        Some(RowBatch::<T, K>::boxed(vec![(row, sums)]))
    }

    fn add_pending(&self, key: &dyn Any, to: &mut Sums) {
        for rows in [&self.rows, &self.held] {
            for ((_, other), sums) in rows {
                if key.downcast_ref() == Some(other) {
                    add_sums(to, sums);
                }
            }
        }
    }
}

struct RowBatch<T, K> {
    rows: Vec<(RowKey<K>, Sums)>,
    table: PhantomData<fn() -> T>,
}

impl<T, K> RowBatch<T, K> {
    fn boxed<Conn>(rows: Vec<(RowKey<K>, Sums)>) -> Box<dyn Batch<Conn>>
    where
        T: CounterTable + 'static,
        K: BufferKey + BindKey<T::KeyType, Conn::Backend>,
        Conn: Connection<Backend: CounterBackend> + 'static,
    {
        Box::new(RowBatch::<T, K> {
            rows,
            table: PhantomData,
        })
    }
}

impl<T, K, Conn> Batch<Conn> for RowBatch<T, K>
where
    T: CounterTable + 'static,
    K: BufferKey + BindKey<T::KeyType, Conn::Backend>,
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn write(&self, conn: &mut Conn) -> QueryResult<()> {
        let rows = self.rows.iter().map(|(row, sums)| (row.clone(), sums));
        write_rows::<T, K, Conn>(rows, conn)
    }

    fn split(&self, parts: usize) -> Vec<Box<dyn Batch<Conn>>> {
        let parts = self.rows.chunks(self.rows.len().div_ceil(parts)).rev();
        parts
            .map(|part| RowBatch::<T, K>::boxed(part.to_vec()))
            .collect()
    }

    fn reversed(&self) -> Box<dyn Batch<Conn>> {
        let mut rows = self.rows.clone();
        for (_, sum) in rows.iter_mut().flat_map(|(_, sums)| sums) {
            *sum = -sum.signum();
        }
        RowBatch::<T, K>::boxed(rows)
    }

    fn remove_from(&self, backlog: &mut Backlog<Conn>, shards: &Shards<Conn>) {
        let pending = backlog.pending::<T, K>();
        for (row, _) in &self.rows {
            if pending.rows.remove(row).is_none() && pending.held.remove(row).is_some() {
                pending.turns.retain(|other| other != row);
            }
        }
        let released = self.rows.iter().map(|((_, key), _)| room(key)).sum();
        shards.release(TypeId::of::<T>(), released);
    }

    fn hold_in(&self, backlog: &mut Backlog<Conn>) {
        let pending = backlog.pending::<T, K>();
        for (row, _) in &self.rows {
            if let Some(sums) = pending.rows.remove(row) {
                pending.held.insert(row.clone(), sums);
                pending.turns.push_back(row.clone());
            }
        }
    }

    fn refused(&self, error: Error) -> Refused {
        let ((day, key), sums) = self.rows.first().expect("a batch has rows");
        Refused {
            table: module_name::<T>(),
            key: format!("{key:?}"),
            day: *day,
            amounts: sums.clone(),
            error,
        }
    }
}
