//! Runs the statements of several connections in one order, and reads what they leave.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date};

use super::super::{Conn, INTEGER, UNDATED, VACUUM, planted, waiting};
use super::worker::{Job, Worker};
use crate::interleave::case::Case;
use crate::interleave::gate::Event;
use crate::interleave::operation::Operation;
use crate::interleave::outcome::{Ended, Kind, Outcome};
use crate::interleave::schedule::Orders;
use crate::interleave::state::State;
use crate::interleave::trace::{Step, Trace};

/// How long a statement may take until the server is asked whether it waits.
const SHORTLY: Duration = Duration::from_micros(300);
/// How long nothing may happen at all.
const PATIENCE: Duration = Duration::from_secs(60);
/// Emptied tables are tidied after so many runs.
const RUNS_UNTIL_VACUUM: u64 = 200;

/// Where a connection is in its script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It has a statement that may run.
    Ready,
    /// Its statement runs. `waits` says that the trace shows it as waiting.
    Running {
        waits: bool,
    },
    /// The server has said that its statement waits.
    Waiting,
    Ended,
}

pub struct Driver {
    pub conn: Conn,
    workers: Vec<Worker>,
    events: Receiver<Event>,
    runs: u64,
    /// The state whose rows are stored; the counters can be others.
    state: Option<State>,
}

#[derive(Debug, QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    kind: i64,
    #[diesel(sql_type = BigInt)]
    article: i64,
    #[diesel(sql_type = Date)]
    day: chrono::NaiveDate,
    #[diesel(sql_type = BigInt)]
    value: i64,
}

impl Driver {
    /// Connects so many sessions, each of which `set_up` sets up.
    pub fn new(url: &str, connections: usize, set_up: &str) -> Result<Self> {
        let (sender, events) = channel();
        let workers = (0..connections)
            .map(|connection| Worker::start(connection, url, set_up.to_owned(), sender.clone()));
        let workers = workers.collect::<Result<_>>()?;
        let mut conn = Conn::establish(url)?;
        conn.batch_execute(set_up)?;
        Ok(Driver {
            conn,
            workers,
            events,
            runs: 0,
            state: None,
        })
    }

    /// Makes the case's starting state, and sets the slots.
    fn reset(&mut self, case: &Case) -> Result<()> {
        let writes_rows = case.scripts.iter().any(|script| script.operation.writes_rows());
        let is_new = self.state != Some(case.state);
        let sql = match is_new || writes_rows {
            true => case.state.sql(),
            false => case.state.counters_sql(),
        };
        // The rows are not as they were if this fails, or after a case that writes them.
        self.state = (!writes_rows).then_some(case.state);
        self.conn.batch_execute(&format!("BEGIN; {sql} COMMIT"))?;
        self.runs += 1;
        if !VACUUM.is_empty() && self.runs % RUNS_UNTIL_VACUUM == 0 {
            self.conn.batch_execute(VACUUM)?;
        }
        for (worker, n) in self.workers.iter().zip(0..) {
            worker.set_slot(if case.one_slot { 0 } else { n })?;
        }
        Ok(())
    }

    /// Runs the transactions of a case one after another. Returns the outcome, or nothing if one of
    /// them fails in this order.
    pub fn run_serially(
        &mut self,
        case: &Case,
        order: &[(usize, usize)],
    ) -> Result<Option<Outcome>> {
        self.reset(case)?;
        let mut all = Vec::new();
        for &(connection, transaction) in order {
            self.workers[connection]
                .run(job(case, connection, transaction..transaction + 1), false)?;
            let Event::Ended(_, ended) = self.event(PATIENCE)?.context("a transaction hangs")?
            else {
                bail!("a statement was held that was not to be");
            };
            let [ended] = <[_; 1]>::try_from(ended).expect("it was one transaction");
            if !ended.has_committed() {
                return Ok(None);
            }
            all.push(((connection, transaction), ended));
        }
        self.outcome(case, &all).map(Some)
    }

    /// Runs all connections of a case at the same time, their statements in an order.
    pub fn run_in_order(
        &mut self,
        case: &Case,
        orders: &mut Orders,
    ) -> Result<(Vec<((usize, usize), Ended)>, Trace)> {
        self.reset(case)?;
        let mut all = Vec::new();
        let mut trace = Trace::default();
        let mut places = vec![Place::Running { waits: false }; case.scripts.len()];
        let mut held = vec![String::new(); case.scripts.len()];
        for (connection, script) in case.scripts.iter().enumerate() {
            let transactions = 0..script.operation.transactions();
            self.workers[connection].run(job(case, connection, transactions), true)?;
        }
        loop {
            self.settle(&mut places, &mut held, &mut all, &mut trace)?;
            let ready = (0..places.len()).filter(|&i| places[i] == Place::Ready);
            let ready: Vec<_> = ready.collect();
            if ready.is_empty() {
                break;
            }
            let chosen = orders.choose(&ready);
            trace.push(Step::Runs(chosen, std::mem::take(&mut held[chosen])));
            places[chosen] = Place::Running { waits: false };
            self.workers[chosen].grant()?;
        }
        if case
            .scripts
            .iter()
            .any(|script| script.operation == Operation::PlantedLoss)
        {
            planted::lose_a_row(&mut self.conn)?;
        }
        all.sort_by_key(|&(key, _)| key);
        Ok((all, trace))
    }

    /// Waits until each statement that runs has ended, or waits for another one. If all wait, the
    /// server ends the deadlock.
    fn settle(
        &mut self,
        places: &mut [Place],
        held: &mut [String],
        all: &mut Vec<((usize, usize), Ended)>,
        trace: &mut Trace,
    ) -> Result<()> {
        loop {
            let runs = |place: &Place| matches!(place, Place::Running { .. });
            let running: Vec<_> = (0..places.len()).filter(|&i| runs(&places[i])).collect();
            let is_ready = places.contains(&Place::Ready);
            let event = match running.as_slice() {
                [] if is_ready || !places.contains(&Place::Waiting) => return Ok(()),
                [] => Some(
                    self.event(PATIENCE)?
                        .context("the server ends no deadlock")?,
                ),
                // What waited is asked for at once: another one has ended its transaction.
                running if places_wait(places, running) => self.event(Duration::ZERO)?,
                _ => self.event(SHORTLY)?,
            };
            let Some(event) = event else {
                let sessions = running.iter().map(|&i| self.workers[i].session);
                let sessions: Vec<_> = sessions.collect();
                let waits = waiting(&sessions, &mut self.conn)?;
                for (&i, _) in running.iter().zip(waits).filter(|(_, waits)| *waits) {
                    if places[i] == (Place::Running { waits: false }) {
                        trace.push(Step::Waits(i));
                    }
                    places[i] = Place::Waiting;
                }
                continue;
            };
            let (connection, place) = match event {
                Event::Runs(connection, sql) => {
                    went_on(connection, places, trace);
                    trace.push(Step::Runs(connection, sql));
                    continue;
                }
                Event::Ready(connection, sql) => {
                    held[connection] = sql;
                    (connection, Place::Ready)
                }
                Event::Ended(connection, ended) => {
                    went_on(connection, places, trace);
                    for (transaction, ended) in ended.into_iter().enumerate() {
                        trace.push(Step::Ends(connection, ended.to_string()));
                        all.push(((connection, transaction), ended));
                    }
                    (connection, Place::Ended)
                }
            };
            went_on(connection, places, trace);
            places[connection] = place;
            // It may have released what others wait for.
            for place in places.iter_mut().filter(|place| **place == Place::Waiting) {
                *place = Place::Running { waits: true };
            }
        }
    }

    fn event(&self, within: Duration) -> Result<Option<Event>> {
        match self.events.recv_timeout(within) {
            Ok(event) => Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("the connections' threads have ended"),
        }
    }

    /// Reads what the transactions that committed have left and returned.
    pub fn outcome(&mut self, case: &Case, ended: &[((usize, usize), Ended)]) -> Result<Outcome> {
        let comparison = case.comparison();
        let mut outcome = Outcome::default();
        for row in diesel::sql_query(read_all()).load::<Row>(&mut self.conn)? {
            let kind = Kind::ALL[row.kind as usize];
            comparison.add(&mut outcome, (kind, row.article, row.day, row.value));
        }
        for (key, ended) in ended {
            let operation = case.scripts[key.0].operation;
            if let Ended::Committed(returned) = ended {
                if operation.returns_what_is_compared() && !returned.is_empty() {
                    outcome.returned.insert(*key, returned.clone());
                }
            }
        }
        Ok(outcome)
    }
}

fn job(case: &Case, connection: usize, transactions: std::ops::Range<usize>) -> Job {
    Job {
        script: case.scripts[connection],
        transactions,
        deletes_articles: case.deletes_articles(),
    }
}

/// Whether all of these are statements that the server has said to wait.
fn places_wait(places: &[Place], running: &[usize]) -> bool {
    running
        .iter()
        .all(|&i| places[i] == Place::Running { waits: true })
}

fn went_on(connection: usize, places: &mut [Place], trace: &mut Trace) {
    let place = &mut places[connection];
    if matches!(place, Place::Waiting | Place::Running { waits: true }) {
        trace.push(Step::GoesOn(connection));
        *place = Place::Running { waits: false };
    }
}

/// The query of everything that is compared.
fn read_all() -> String {
    let parts = [
        ("article_id", "day", "views", "article_counters"),
        ("article_id", "day", "likes", "article_counters"),
        ("article_id", "day", "comments", "article_counters"),
        ("id", UNDATED, "total_views", "articles"),
        ("article_id", UNDATED, "1", "article_likes"),
        ("article_id", "day", "1", "comments"),
    ];
    let parts = parts
        .iter()
        .zip(0..)
        .map(|((article, day, value, table), kind)| {
            format!(
                "SELECT CAST({kind} AS {INTEGER}) AS kind, {article} AS article, {day} AS day, \
             CAST({value} AS {INTEGER}) AS value FROM {table}"
            )
        });
    parts.collect::<Vec<_>>().join(" UNION ALL ")
}
