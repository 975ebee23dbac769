//! A thread that counts: one transaction after another, each until it commits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use diesel::QueryResult;
use diesel::r2d2::Pool;
use diesel::result::Error;
use diesel_counters::is_retryable;
use rand::rngs::ThreadRng;

use crate::pool::{Session, Sessions};
use crate::tally::Tally;
use crate::way::{Count, Counting, Way};
use crate::worker::Spec;

pub struct Counter<'a, C: Count> {
    spec: &'a Spec,
    pool: &'a Pool<Sessions<C>>,
    rng: ThreadRng,
}

/// When threads stop to count.
#[derive(Clone, Copy)]
pub enum Limit<'a> {
    Time(Instant),
    /// When all threads together have counted this many.
    Transactions(&'a AtomicU64),
}

/// A transaction that is late by more is stalled by deadlocks.
const GRACE: Duration = Duration::from_millis(500);

impl Limit<'_> {
    pub fn time(time: Duration) -> Self {
        Limit::Time(Instant::now() + time)
    }

    fn is_in_time(self) -> bool {
        match self {
            Limit::Time(end) => Instant::now() < end,
            Limit::Transactions(_) => true,
        }
    }

    fn is_long_over(self) -> bool {
        match self {
            Limit::Time(end) => Instant::now() > end + GRACE,
            Limit::Transactions(_) => false,
        }
    }

    pub fn begins_another(self) -> bool {
        match self {
            Limit::Time(_) => self.is_in_time(),
            Limit::Transactions(left) => left
                .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1))
                .is_ok(),
        }
    }
}

impl<'a, C: Count> Counter<'a, C> {
    pub fn new(spec: &'a Spec, pool: &'a Pool<Sessions<C>>) -> Self {
        Counter {
            spec,
            pool,
            rng: rand::rng(),
        }
    }

    /// Counts up to the limit. Ends the process where the database fails, because the other threads
    /// wait for this one.
    pub fn count(&mut self, limit: Limit<'_>) -> Tally {
        let mut tally = Tally::default();
        while limit.begins_another() {
            if let Err(error) = self.count_once(limit, &mut tally) {
                eprintln!("{}: {error:#}", self.spec.way.name());
                std::process::exit(1);
            }
        }
        tally
    }

    fn count_once(&mut self, limit: Limit<'_>, tally: &mut Tally) -> Result<()> {
        let Spec { entities, way, .. } = *self.spec;
        let mut session = self.pool.get().context("no connection from the pool")?;
        let ids = entities.choose(way, session.slot, &mut self.rng);
        if !limit.is_in_time() {
            return Ok(());
        }
        commit(limit, tally, || self.transaction(&mut session, &ids, limit))
    }

    fn transaction(
        &self,
        session: &mut Session<C>,
        ids: &[i64],
        limit: Limit<'_>,
    ) -> QueryResult<()> {
        let counting = Counting {
            way: self.spec.way,
            connections: self.spec.all_connections,
            slot: session.slot,
        };
        if counting.way.is_alone() {
            return session.conn.count_alone(counting, ids[0]);
        }
        session.conn.write(|conn| {
            conn.insert_comment(ids[0])?;
            if counting.way == Way::HundredAtOnce {
                conn.count_many(counting, ids)?;
            } else {
                for &id in ids {
                    if limit.is_long_over() {
                        return Err(Error::RollbackTransaction);
                    }
                    conn.count(counting, id)?;
                }
            }
            if self.spec.audit {
                conn.audit()?;
            }
            if !self.spec.hold.is_zero() {
                thread::sleep(self.spec.hold);
            }
            Ok(())
        })
    }
}

/// Runs a transaction until it commits, or until the limit.
pub fn commit(
    limit: Limit<'_>,
    tally: &mut Tally,
    mut transaction: impl FnMut() -> QueryResult<()>,
) -> Result<()> {
    let began = Instant::now();
    loop {
        match transaction() {
            Ok(()) => break,
            Err(Error::RollbackTransaction) => {}
            Err(error) if is_deadlock(&error) => tally.deadlocks += 1,
            Err(error) if is_retryable(&error) => tally.aborts += 1,
            Err(error) => return Err(error.into()),
        }
        // Retries after the end could go on forever. The transaction took at least this long.
        if !limit.is_in_time() {
            tally.latencies.record(began.elapsed());
            return Ok(());
        }
    }
    tally.latencies.record(began.elapsed());
    tally.committed += 1;
    tally.in_time += u64::from(limit.is_in_time());
    Ok(())
}

/// PostgreSQL's, and MySQL's and MariaDB's.
fn is_deadlock(error: &Error) -> bool {
    matches!(error, Error::DatabaseError(_, info)
        if ["deadlock detected", "Deadlock found"].iter().any(|text| info.message().starts_with(text)))
}
