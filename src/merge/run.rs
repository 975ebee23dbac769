//! The run of a merge: a transaction for each batch.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::deserialize;
use diesel::result::Error;
use diesel::row::{Field, Row};

use crate::merge::compact::{Compact, Compacted};
use crate::merge::range::RowKey;
use crate::merge::statements::{self, RowKeys};
use crate::sql::transaction::{is_in_a_lasting_transaction, transaction_on_all_rows};
use crate::sql::{CounterBackend, execute, load, load_number};
use crate::typed::key::{BindKey, KeyTypes, LoadKey, OwnedKey, columns_of};

impl<Types, K> Compact<'_, Types, K> {
    /// Returns the number of rows to merge, in [`left`](Compacted::left), and merges none.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors.
    pub fn dry_run<Conn>(&self, conn: &mut Conn) -> QueryResult<Compacted>
    where
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        Ok(Compacted {
            left: self.count(conn)?,
            ..Compacted::default()
        })
    }

    /// Merges the rows. Returns the number of rows that were merged, and of rows that are left.
    ///
    /// # Errors
    ///
    /// Those of [`compact`](crate::dsl::compact()).
    pub fn execute<Conn>(mut self, conn: &mut Conn) -> QueryResult<Compacted>
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        if is_in_a_lasting_transaction(conn)? {
            return Err(Error::AlreadyInTransaction);
        }
        if self.shape.counters.is_empty() {
            return Err(Error::QueryBuilderError(
                format!("`{}` has no counter to merge", self.shape.label).into(),
            ));
        }
        if !self.lock(true, conn)? {
            return Ok(Compacted {
                already_running: true,
                ..Compacted::default()
            });
        }
        // The lock belongs to the session, and a pool keeps the session. So it is released after a
        // panic too.
        let merged = catch_unwind(AssertUnwindSafe(|| self.merge(conn)));
        let unlocked = self.lock(false, conn);
        let merged = merged.unwrap_or_else(|panic| resume_unwind(panic))?;
        if !unlocked? {
            return Err(Error::QueryBuilderError(
                "the advisory lock of this merge belongs to another session: a connection pooler \
                 gives each transaction another session; merge over a direct connection"
                    .into(),
            ));
        }
        Ok(merged)
    }

    /// Takes the advisory lock of the table, or releases it. Returns whether it did.
    ///
    /// The lock lets one merge of a table run at a time. Two merges would be exact too, because each
    /// merges only rows that it has locked, but they would wait for each other.
    fn lock<Conn>(&self, takes: bool, conn: &mut Conn) -> QueryResult<bool>
    where
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        if !self.takes_lock {
            return Ok(true);
        }
        let table = self.shape.table;
        let name = table.to_string().replace('`', "");
        let number = load_number(conn, |db| db.session_lock(takes, table, &name))?;
        Ok(number != 0)
    }

    /// Counts the rows to merge.
    fn count<Conn>(&self, conn: &mut Conn) -> QueryResult<u64>
    where
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let (shape, range) = (self.shape, self.range());
        let rows = load_number(conn, |db| statements::count(db, shape, &range))?;
        Ok(rows.unsigned_abs())
    }

    fn merge<Conn>(&mut self, conn: &mut Conn) -> QueryResult<Compacted>
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let (shape, range, limit) = (self.shape, self.range(), self.batch);
        let mut so_far = Compacted::default();
        if (self.is_stopped)() {
            return Ok(so_far);
        }
        so_far.left = self.count(conn)?;
        // Rows that were read and not merged, because another transaction had locked them.
        let mut skipped: BTreeSet<RowKey<K>> = BTreeSet::new();
        let mut after: Option<RowKey<K>> = None;
        // A run that finds nothing to merge reads the table once, or only an index of it.
        while so_far.left > 0 || after.is_some() {
            let last = after.map(|row| row_keys::<Types, K, Conn::Backend>([row]));
            let keys = load(
                conn,
                |db| statements::next(db, shape, &range, last.as_ref(), &limit),
                |row| row_key::<Types, K, _>(row),
            )?;
            let Some(last) = keys.last() else {
                so_far.left = self.count(conn)?;
                break;
            };
            after = Some(last.clone());
            // SQLite stores any value in any column. If a key is stored as a value that sorts after the
            // key that is read for it, the run would read the row again and again.
            if let Some(again) = keys.iter().find(|key| skipped.contains(*key)) {
                return Err(Error::QueryBuilderError(
                    format!(
                        "SQLite stores a key of `{}` as another type than its column's, and returns \
                         another key for it, so the rows after it cannot be merged: {again:?}",
                        shape.label
                    )
                    .into(),
                ));
            }
            let began = Instant::now();
            let merged = transaction_on_all_rows(conn, |conn| self.merge_rows(&keys, conn))?;
            so_far.merged += merged;
            so_far.left = so_far.left.saturating_sub(merged);
            so_far.longest_transaction = so_far.longest_transaction.max(began.elapsed());
            if merged < keys.len() as u64 {
                skipped.extend(keys);
            }
            (self.on_progress)(&so_far);
            if (self.is_stopped)() {
                return Ok(so_far);
            }
        }
        match load_number(conn, |db| statements::count_other_days(db, shape))? {
            0 => Ok(so_far),
            rows => Err(Error::QueryBuilderError(
                format!(
                    "{rows} rows of `{table}` were skipped, because their day is not stored as \
                     YYYY-MM-DD: find them with SELECT * FROM {table} WHERE {day} IS NOT date({day}); \
                     the other rows: {so_far}",
                    table = shape.label,
                    day = shape.day(),
                )
                .into(),
            )),
        }
    }

    fn merge_rows<Conn>(&self, keys: &[RowKey<K>], conn: &mut Conn) -> QueryResult<u64>
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let (shape, range) = (self.shape, self.range());
        let targets = range.targets_of(keys);
        let opened = row_keys::<Types, K, Conn::Backend>(targets.clone());
        execute(conn, |db| {
            statements::open(db, shape, &opened, &range.partition)
        })?;

        let wanted = targets.into_iter().chain(keys.iter().cloned());
        let wanted = row_keys::<Types, K, Conn::Backend>(wanted);
        let mut columns = None;
        let locked = load(
            conn,
            |db| statements::lock(db, shape, &wanted),
            |row| {
                columns.get_or_insert_with(|| names::<Types, _>(row));
                row_key::<Types, K, _>(row)
            },
        )?;
        self.refuse_to_lose(&columns.unwrap_or_default())?;
        let rows = self.rows_with_target(locked);
        if rows.is_empty() {
            return Ok(0);
        }
        let rows = row_keys::<Types, K, Conn::Backend>(rows);
        execute(conn, |db| statements::add(db, shape, &rows, &range))?;
        Ok(execute(conn, |db| statements::delete(db, shape, &rows))? as u64)
    }

    /// Returns the locked rows that can be merged, because the row that they are added to is locked
    /// too.
    fn rows_with_target(&self, locked: Vec<RowKey<K>>) -> Vec<RowKey<K>>
    where
        K: Clone + Ord,
    {
        let range = self.range();
        let is_target = |row: &RowKey<K>| range.target_of(row) == *row;
        let (targets, mut rows): (Vec<_>, Vec<_>) = locked.into_iter().partition(is_target);
        let targets = BTreeSet::from_iter(targets);
        rows.retain(|row| targets.contains(&range.target_of(row)));
        rows
    }

    /// Fails if the rows of the table have a column that could be a new counter.
    fn refuse_to_lose(&self, columns: &[String]) -> QueryResult<()> {
        let shape = self.shape;
        match columns.iter().find(|name| !shape.knows(name, columns)) {
            None => Ok(()),
            Some(unknown) => Err(Error::QueryBuilderError(
                format!(
                    "merging rows of `{}` would lose the values of the column `{unknown}`: update its \
                     `table!` with `diesel print-schema`; a counter is a `BigInt` that is not \
                     `Nullable`",
                    shape.label
                )
                .into(),
            )),
        }
    }
}

fn row_keys<Types, K, DB>(keys: impl IntoIterator<Item = RowKey<K>>) -> RowKeys<K::Columns>
where
    K: BindKey<Types, DB>,
    DB: CounterBackend,
{
    let mut days_and_slots = Vec::new();
    let entities = columns_of(keys.into_iter().map(|(entity, day, slot)| {
        days_and_slots.push((day, slot));
        entity
    }));
    RowKeys {
        entities,
        days_and_slots,
    }
}

/// Returns the key of a row, which begins with it.
fn row_key<'a, Types, K, DB>(row: &impl Row<'a, DB>) -> deserialize::Result<(K, NaiveDate, i16)>
where
    Types: KeyTypes,
    K: LoadKey<Types, DB>,
    DB: CounterBackend,
{
    let (day, slot) = (Types::COLUMNS, Types::COLUMNS + 1);
    Ok((K::load(row)?, DB::day(row, day)?, DB::slot(row, slot)?))
}

/// Returns the names of the columns of a row after its key.
fn names<'a, Types: KeyTypes, DB: CounterBackend>(row: &impl Row<'a, DB>) -> Vec<String> {
    let columns = (Types::COLUMNS + 2)..row.field_count();
    let name = |i| {
        row.get(i)
            .map(|field| field.field_name().unwrap_or_default().to_owned())
    };
    columns.filter_map(name).collect()
}
