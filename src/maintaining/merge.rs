//! How rows are merged: in transactions of a batch each.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Instant;

use diesel::connection::Connection;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::Error;
use diesel::{QueryResult, RunQueryDsl};

use crate::error::is_overflow;
use crate::maintaining::compact::{Compact, Compacted};
use crate::maintaining::next_rows::{CountOtherDays, CountRows, NextRows};
use crate::maintaining::one_at_a_time::{TryLock, Unlock};
use crate::maintaining::rows::{Add, Columns, Delete, Lock, RowKey, Rows, StoredColumns};
use crate::maintaining::skipped::Skipped;
use crate::maintaining::targets::OpenTargets;
use crate::transaction::is_in_a_transaction;

impl<F, ST, K> Compact<'_, F, ST, K> {
    /// Tells how many rows there are to merge, and merges none.
    ///
    /// # Errors
    ///
    /// The database's own.
    pub fn dry_run<Conn>(&self, conn: &mut Conn) -> QueryResult<Compacted>
    where
        Self: MergeOn<Conn>,
    {
        Ok(Compacted {
            left: self.count(conn)?,
            ..Compacted::default()
        })
    }

    /// Merges the rows.
    ///
    /// # Errors
    ///
    /// Those of [`compact`](crate::compact()).
    pub fn run<Conn>(mut self, conn: &mut Conn) -> QueryResult<Compacted>
    where
        Conn: Connection,
        Self: MergeOn<Conn>,
    {
        if is_in_a_transaction(conn)? {
            return Err(Error::AlreadyInTransaction);
        }
        if self.layout.counters.is_empty() {
            return Err(Error::QueryBuilderError(
                format!("`{}` has no counter to merge", self.layout.name).into(),
            ));
        }
        if !self.try_lock(conn)? {
            return Ok(Compacted {
                already_running: true,
                ..Compacted::default()
            });
        }
        // The lock is the session's, and a pool keeps that.
        let merged = catch_unwind(AssertUnwindSafe(|| self.merge(conn)));
        let unlocked = self.unlock(conn);
        let merged = merged.unwrap_or_else(|panic| resume_unwind(panic))?;
        if !unlocked? {
            return Err(Error::QueryBuilderError(
                "the lock of this merge is not this session's any more: a connection pooler hands \
                 out another with each transaction; merge over a direct connection"
                    .into(),
            ));
        }
        Ok(merged)
    }
}

/// A merge that `Conn` can run: one for whose keys and days it has types.
pub trait MergeOn<Conn> {
    #[doc(hidden)]
    fn try_lock(&self, conn: &mut Conn) -> QueryResult<bool>;
    #[doc(hidden)]
    fn count(&self, conn: &mut Conn) -> QueryResult<u64>;
    #[doc(hidden)]
    fn merge(&mut self, conn: &mut Conn) -> QueryResult<Compacted>;
    #[doc(hidden)]
    fn unlock(&self, conn: &mut Conn) -> QueryResult<bool>;
}

impl<F, ST, K, Conn> MergeOn<Conn> for Compact<'_, F, ST, K>
where
    K: Clone + Ord + Debug,
    Conn: Connection,
    for<'a> TryLock<F>: LoadQuery<'a, Conn, i64>,
    for<'a> Unlock<F>: LoadQuery<'a, Conn, i64>,
    for<'a> CountRows<F>: LoadQuery<'a, Conn, i64>,
    for<'a> CountOtherDays<F>: LoadQuery<'a, Conn, i64>,
    for<'a> StoredColumns<F, ST, K>: LoadQuery<'a, Conn, Columns>,
    for<'a> NextRows<F, ST, K>: LoadQuery<'a, Conn, RowKey<K>>,
    for<'a> Lock<F, ST, K>: LoadQuery<'a, Conn, RowKey<K>>,
    OpenTargets<F, ST, K>: ExecuteDsl<Conn>,
    Add<F, ST, K>: ExecuteDsl<Conn>,
    Delete<F, ST, K>: ExecuteDsl<Conn>,
{
    fn try_lock(&self, conn: &mut Conn) -> QueryResult<bool> {
        let locked = TryLock(Rc::clone(&self.layout)).get_result::<i64>(conn)?;
        Ok(locked != 0)
    }

    fn unlock(&self, conn: &mut Conn) -> QueryResult<bool> {
        let unlocked = Unlock(Rc::clone(&self.layout)).get_result::<i64>(conn)?;
        Ok(unlocked != 0)
    }

    fn count(&self, conn: &mut Conn) -> QueryResult<u64> {
        let count = CountRows {
            layout: Rc::clone(&self.layout),
            which: self.which,
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
        loop {
            let next = NextRows::<F, ST, K> {
                layout: Rc::clone(&self.layout),
                which: self.which,
                after,
                limit: self.batch,
                sql_type: PhantomData,
            };
            let keys: Vec<RowKey<K>> = next.load(conn)?;
            let Some(last) = keys.last() else {
                so_far.left = self.count(conn)?;
                let other_days = CountOtherDays(Rc::clone(&self.layout));
                skipped.other_days = other_days.get_result(conn)?;
                return skipped.report(&self.layout, so_far);
            };
            after = Some(last.clone());
            skipped.refuse_again(&keys, &self.layout)?;

            // One row that cannot be added to keeps no others from being merged.
            let mut batches = vec![keys];
            while let Some(keys) = batches.pop() {
                let began = Instant::now();
                match conn.transaction(|conn| self.merge_rows(&keys, conn)) {
                    Ok(merged) => {
                        so_far.merged += merged;
                        so_far.left = so_far.left.saturating_sub(merged);
                        if merged < keys.len() as u64 {
                            skipped.left.extend(keys);
                        }
                    }
                    Err(error) if is_overflow(&error) => match self.which.split_by_target(keys) {
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
    }
}

impl<F, ST, K> Compact<'_, F, ST, K> {
    fn merge_rows<Conn>(&self, keys: &[RowKey<K>], conn: &mut Conn) -> QueryResult<u64>
    where
        K: Clone + Ord,
        Conn: Connection,
        for<'a> StoredColumns<F, ST, K>: LoadQuery<'a, Conn, Columns>,
        for<'a> Lock<F, ST, K>: LoadQuery<'a, Conn, RowKey<K>>,
        OpenTargets<F, ST, K>: ExecuteDsl<Conn>,
        Add<F, ST, K>: ExecuteDsl<Conn>,
        Delete<F, ST, K>: ExecuteDsl<Conn>,
    {
        let layout = &self.layout;
        let targets = self.which.targets_of(keys);
        let open = OpenTargets::<F, ST, K> {
            layout: Rc::clone(layout),
            targets: targets.clone(),
            sql_type: PhantomData,
        };
        open.execute(conn)?;

        let wanted = targets.into_iter().chain(keys.iter().cloned()).collect();
        let locked: Vec<RowKey<K>> = Rows::new(layout, wanted).lock().load(conn)?;
        let rows = Rows::<F, ST, K>::new(layout, self.rows_with_target(locked));
        if rows.is_empty() {
            return Ok(0);
        }
        let Columns(names) = rows.columns().get_result(conn)?;
        self.refuse_to_lose(&names)?;
        rows.add(self.which.into).execute(conn)?;
        Ok(rows.delete().execute(conn)? as u64)
    }

    /// Of the rows that are locked those to merge: what they are added to is locked too.
    fn rows_with_target(&self, locked: Vec<RowKey<K>>) -> Vec<RowKey<K>>
    where
        K: Clone + Ord,
    {
        let is_target = |row: &RowKey<K>| self.which.target_of(row) == *row;
        let (targets, mut rows): (Vec<_>, Vec<_>) = locked.into_iter().partition(is_target);
        let targets = BTreeSet::from_iter(targets);
        rows.retain(|row| targets.contains(&self.which.target_of(row)));
        rows
    }

    fn refuse_to_lose(&self, columns: &[String]) -> QueryResult<()> {
        let layout = &self.layout;
        match columns.iter().find(|name| !layout.knows(name)) {
            None => Ok(()),
            Some(unknown) => Err(Error::QueryBuilderError(
                format!(
                    "merging rows of `{}` would lose what is in the column `{unknown}`: bring its \
                     `table!` up to date with `diesel print-schema`; a counter in it is a `BigInt` \
                     that is not `Nullable`",
                    layout.name
                )
                .into(),
            )),
        }
    }
}
