//! The run of a merge: a transaction for each batch.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Instant;

use diesel::connection::Connection;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::Error;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, MysqlName};
use crate::error::is_overflow;
use crate::maintaining::compact::{Compact, Compacted};
use crate::maintaining::range::RowKey;
use crate::maintaining::skipped::Skipped;
use crate::maintaining::statements::{
    Add, CountRows, Delete, LoadedRow, Lock, NextRows, OpenTargets, Rows, SessionLock,
};
use crate::transaction::{is_in_a_lasting_transaction, transaction_on_all_rows};

impl<F, ST, K> Compact<'_, F, ST, K> {
    /// Returns the number of rows to merge, in [`left`](Compacted::left), and merges none.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors.
    pub fn dry_run<Conn>(&self, conn: &mut Conn) -> QueryResult<Compacted>
    where
        Self: MergeOn<Conn>,
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
        Conn: Connection,
        Self: MergeOn<Conn>,
    {
        if is_in_a_lasting_transaction(conn)? {
            return Err(Error::AlreadyInTransaction);
        }
        if self.layout.counters.is_empty() {
            return Err(Error::QueryBuilderError(
                format!("`{}` has no counter to merge", self.layout.name).into(),
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
}

/// A merge that a connection `Conn` can run, because its backend has the types of the keys.
pub trait MergeOn<Conn>: Merge<Conn> {}
impl<M: Merge<Conn>, Conn> MergeOn<Conn> for M {}

/// The steps of a merge.
pub trait Merge<Conn> {
    /// Takes the advisory lock of the table, or releases it. Returns whether it did.
    fn lock(&self, takes: bool, conn: &mut Conn) -> QueryResult<bool>;
    /// Counts the rows to merge.
    fn count(&self, conn: &mut Conn) -> QueryResult<u64>;
    fn merge(&mut self, conn: &mut Conn) -> QueryResult<Compacted>;
}

impl<F, ST, K, Conn> Merge<Conn> for Compact<'_, F, ST, K>
where
    F: MysqlName,
    K: Clone + Ord + Debug,
    Conn: Connection<Backend: CounterBackend>,
    for<'a> SessionLock<F>: LoadQuery<'a, Conn, i64>,
    for<'a> CountRows<F>: LoadQuery<'a, Conn, i64>,
    for<'a> NextRows<F, ST, K>: LoadQuery<'a, Conn, LoadedRow<ST, K>>,
    for<'a> Lock<F, ST, K>: LoadQuery<'a, Conn, LoadedRow<ST, K>>,
    OpenTargets<F, ST, K>: ExecuteDsl<Conn>,
    Add<F, ST, K>: ExecuteDsl<Conn>,
    Delete<F, ST, K>: ExecuteDsl<Conn>,
{
    fn lock(&self, takes: bool, conn: &mut Conn) -> QueryResult<bool> {
        let lock = SessionLock {
            layout: Arc::clone(&self.layout),
            mysql_name: self.layout.table.mysql_name()?,
            takes,
        };
        Ok(lock.get_result::<i64>(conn)? != 0)
    }

    fn count(&self, conn: &mut Conn) -> QueryResult<u64> {
        let count = CountRows {
            layout: Arc::clone(&self.layout),
            range: Some(self.range()),
        };
        let rows: i64 = count.get_result(conn)?;
        Ok(rows.unsigned_abs())
    }

    fn merge(&mut self, conn: &mut Conn) -> QueryResult<Compacted> {
        let mut so_far = Compacted::default();
        if (self.is_stopped)() {
            return Ok(so_far);
        }
        so_far.left = self.count(conn)?;
        let mut skipped = Skipped::none();
        let mut after = None;
        // A run that finds nothing to merge reads the table once, or only an index of it.
        while so_far.left > 0 || after.is_some() {
            let next = NextRows::<F, ST, K> {
                layout: Arc::clone(&self.layout),
                range: self.range(),
                after,
                limit: self.batch,
                sql_type: PhantomData,
            };
            let keys: Vec<LoadedRow<ST, K>> = next.load(conn)?;
            let keys: Vec<RowKey<K>> = keys.into_iter().map(|row| row.key).collect();
            let Some(last) = keys.last() else {
                so_far.left = self.count(conn)?;
                break;
            };
            after = Some(last.clone());
            skipped.refuse_again(&keys, &self.layout)?;

            // If a sum is out of range, the rows of the other sums are merged anyway.
            let mut batches = vec![keys];
            while let Some(keys) = batches.pop() {
                let began = Instant::now();
                match transaction_on_all_rows(conn, |conn| self.merge_rows(&keys, conn)) {
                    Ok(merged) => {
                        so_far.merged += merged;
                        so_far.left = so_far.left.saturating_sub(merged);
                        if merged < keys.len() as u64 {
                            skipped.left.extend(keys);
                        }
                    }
                    Err(error) if is_overflow(&error) => match self.range().split_by_target(keys) {
                        Ok(smaller) => batches.extend(smaller),
                        Err(key) => skipped.overflows.push((key, error)),
                    },
                    Err(error) => return Err(error),
                }
                so_far.longest_transaction = so_far.longest_transaction.max(began.elapsed());
                (self.on_progress)(&so_far);
                if (self.is_stopped)() {
                    return skipped.report(&self.layout, so_far);
                }
            }
        }
        let other_days = CountRows {
            layout: Arc::clone(&self.layout),
            range: None,
        };
        skipped.other_days = other_days.get_result(conn)?;
        skipped.report(&self.layout, so_far)
    }
}

impl<F, ST, K> Compact<'_, F, ST, K> {
    fn merge_rows<Conn>(&self, keys: &[RowKey<K>], conn: &mut Conn) -> QueryResult<u64>
    where
        K: Clone + Ord,
        Conn: Connection,
        for<'a> Lock<F, ST, K>: LoadQuery<'a, Conn, LoadedRow<ST, K>>,
        OpenTargets<F, ST, K>: ExecuteDsl<Conn>,
        Add<F, ST, K>: ExecuteDsl<Conn>,
        Delete<F, ST, K>: ExecuteDsl<Conn>,
    {
        let layout = &self.layout;
        let targets = self.range().targets_of(keys);
        let open = OpenTargets::<F, ST, K> {
            layout: Arc::clone(layout),
            targets: targets.clone(),
            partition: self.range().partition,
            sql_type: PhantomData,
        };
        open.execute(conn)?;

        let wanted = targets.into_iter().chain(keys.iter().cloned()).collect();
        let locked: Vec<LoadedRow<ST, K>> = Rows::new(layout, wanted).lock().load(conn)?;
        if let Some(row) = locked.first() {
            self.refuse_to_lose(&row.columns)?;
        }
        let locked = locked.into_iter().map(|row| row.key).collect();
        let rows = Rows::<F, ST, K>::new(layout, self.rows_with_target(locked));
        if rows.is_empty() {
            return Ok(0);
        }
        rows.add(self.range()).execute(conn)?;
        Ok(rows.delete().execute(conn)? as u64)
    }

    /// Returns the locked rows that can be merged, because the row that they are added to is locked
    /// too.
    fn rows_with_target(&self, locked: Vec<RowKey<K>>) -> Vec<RowKey<K>>
    where
        K: Clone + Ord,
    {
        let is_target = |row: &RowKey<K>| self.range().target_of(row) == *row;
        let (targets, mut rows): (Vec<_>, Vec<_>) = locked.into_iter().partition(is_target);
        let targets = BTreeSet::from_iter(targets);
        rows.retain(|row| targets.contains(&self.range().target_of(row)));
        rows
    }

    fn refuse_to_lose(&self, columns: &[String]) -> QueryResult<()> {
        let layout = &self.layout;
        match columns.iter().find(|name| !layout.knows(name, columns)) {
            None => Ok(()),
            Some(unknown) => Err(Error::QueryBuilderError(
                format!(
                    "merging rows of `{}` would lose the values of the column `{unknown}`: update its \
                     `table!` with `diesel print-schema`; a counter is a `BigInt` that is not \
                     `Nullable`",
                    layout.name
                )
                .into(),
            )),
        }
    }
}
