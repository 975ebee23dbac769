//! Runs the statements of several connections in one order, and reads what they leave.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date};
use diesel_counters_cli::recounts;

use super::worker::{Job, Worker};
use super::{ASK_AFTER, Conn, INTEGER, UNDATED, VACUUM, planted, waiting};
use crate::interleave::case::Case;
use crate::interleave::gate::Event;
use crate::interleave::operation::{Operation, Own};
use crate::interleave::outcome::{Ended, Kind, Outcome, Transaction};
use crate::interleave::schedule::Orders;
use crate::interleave::state::State;
use crate::interleave::trace::{Step, Trace};
use crate::tables::COUNTERS;

/// How long nothing may happen at all.
const PATIENCE: Duration = Duration::from_secs(60);
/// Emptied tables are vacuumed after this number of runs.
const RUNS_UNTIL_VACUUM: u64 = 200;

/// How each transaction ended.
type Transactions = Vec<(Transaction, Ended)>;

/// A connection that runs its script.
#[derive(Debug, Clone)]
struct Session {
    place: Place,
    /// The statement that it is to run, or runs.
    sql: String,
    in_a_transaction: bool,
}

impl Session {
    /// Whether the statement that has ended may have released locks. `next` is the one after it.
    fn has_released(&self, next: &str) -> bool {
        let ends = |sql: &str| sql.starts_with("COMMIT") || sql.starts_with("ROLLBACK");
        !self.in_a_transaction || ends(&self.sql) || ends(next)
    }

    fn runs(&self) -> bool {
        matches!(self.place, Place::Running { .. })
    }
}

/// Where a connection is in its script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It has a statement that may run, which is held.
    Ready,
    Running {
        /// Whether the trace shows it as waiting.
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
    /// The number of runs since the last vacuum.
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
    /// Connects several sessions, and the own one. The statements of `set_up` set up the sessions
    /// in turns: the first the first one, the second the second one, and so on from the start.
    pub fn new(url: &str, connections: usize, set_up: &[String]) -> Result<Self> {
        let (sender, events) = channel();
        let recounts = Arc::new(recounts(url, Path::new(COUNTERS))?);
        let workers = (0..connections)
            .zip(set_up.iter().cycle())
            .map(|(connection, set)| {
                let sender = sender.clone();
                let recounts = Arc::clone(&recounts);
                Worker::start(connection, url, set.clone(), sender, recounts)
            });
        let workers = workers.collect::<Result<_>>()?;
        let mut conn = Conn::establish(url)?;
        for set in set_up {
            conn.batch_execute(set)?;
        }
        Ok(Driver {
            conn,
            workers,
            events,
            runs: 0,
            state: None,
        })
    }

    /// Makes the case's starting state.
    fn reset(&mut self, case: &Case) -> Result<()> {
        let writes_rows = case.any(Operation::writes_rows);
        let is_new = self.state != Some(case.state);
        let sql = if is_new || writes_rows {
            case.state.sql()
        } else {
            case.state.counters_sql()
        };
        // The rows are not as they were if this fails, or after a case that writes them.
        self.state = (!writes_rows).then_some(case.state);
        self.conn.batch_execute(&format!("BEGIN; {sql} COMMIT"))?;
        self.runs += 1;
        if !VACUUM.is_empty() && self.runs > RUNS_UNTIL_VACUUM {
            self.conn.batch_execute(VACUUM)?;
            self.runs = 0;
        }
        Ok(())
    }

    /// Runs the transactions of a case one after another. Returns the outcome, or `None` if one of
    /// them fails in this order.
    pub fn run_serially(&mut self, case: &Case, order: &[Transaction]) -> Result<Option<Outcome>> {
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
    ) -> Result<(Transactions, Trace)> {
        self.reset(case)?;
        let mut all = Vec::new();
        let mut trace = Trace::default();
        let session = Session {
            place: Place::Running { waits: false },
            sql: String::new(),
            in_a_transaction: false,
        };
        let mut sessions = vec![session; case.scripts.len()];
        for (connection, script) in case.scripts.iter().enumerate() {
            let transactions = 0..script.operation.transactions();
            self.workers[connection].run(job(case, connection, transactions), true)?;
        }
        loop {
            self.settle(&mut sessions, &mut all, &mut trace)?;
            let ready = (0..sessions.len()).filter(|&i| sessions[i].place == Place::Ready);
            let ready: Vec<_> = ready.collect();
            if ready.is_empty() {
                break;
            }
            let chosen = orders.choose(&ready);
            trace.push(Step::Runs(chosen, sessions[chosen].sql.clone()));
            sessions[chosen].place = Place::Running { waits: false };
            self.workers[chosen].grant()?;
        }
        if case.runs(Own::PlantedLoss.into()) {
            planted::lose_a_row(&mut self.conn)?;
        }
        all.sort_by_key(|&(key, _)| key);
        Ok((all, trace))
    }

    /// Waits until each statement that runs has ended, or waits for a lock of another connection.
    ///
    /// If all connections wait, waits until the server ends the deadlock.
    fn settle(
        &mut self,
        sessions: &mut [Session],
        all: &mut Transactions,
        trace: &mut Trace,
    ) -> Result<()> {
        let began = Instant::now();
        loop {
            let running = (0..sessions.len()).filter(|&i| sessions[i].runs());
            let running: Vec<_> = running.collect();
            let is_any = |place| sessions.iter().any(|session| session.place == place);
            let waited = |&i: &usize| sessions[i].place == Place::Running { waits: true };
            let event = match running.as_slice() {
                [] if is_any(Place::Ready) || !is_any(Place::Waiting) => return Ok(()),
                [] => {
                    let event = self.event(PATIENCE)?;
                    Some(event.context("the server ends no deadlock")?)
                }
                // Another connection may have released the locks for which these wait. The server
                // is asked at once which of them still wait.
                running if running.iter().all(waited) => self.event(Duration::ZERO)?,
                _ => self.event(ASK_AFTER)?,
            };
            let Some(event) = event else {
                ensure!(began.elapsed() < PATIENCE, "a statement does not end");
                self.ask(&running, sessions, trace)?;
                continue;
            };
            let (connection, place, next) = match event {
                Event::Runs(connection, sql) => {
                    went_on(connection, sessions, trace);
                    let begins = sql.starts_with("BEGIN") || sql.starts_with("START");
                    sessions[connection].in_a_transaction |= begins;
                    trace.push(Step::Runs(connection, sql));
                    continue;
                }
                Event::Ready(connection, sql) => (connection, Place::Ready, sql),
                Event::Ended(connection, ended) => {
                    went_on(connection, sessions, trace);
                    for (transaction, ended) in ended.into_iter().enumerate() {
                        trace.push(Step::Ends(connection, ended.to_string()));
                        all.push(((connection, transaction), ended));
                    }
                    (connection, Place::Ended, String::new())
                }
            };
            went_on(connection, sessions, trace);
            if sessions[connection].has_released(&next) {
                let waiting = sessions.iter_mut();
                for other in waiting.filter(|other| other.place == Place::Waiting) {
                    other.place = Place::Running { waits: true };
                }
            }
            let session = &mut sessions[connection];
            let ends = session.sql == "COMMIT" || session.sql == "ROLLBACK";
            session.in_a_transaction &= !ends;
            session.place = place;
            session.sql = next;
        }
    }

    /// Asks the server which of these connections wait.
    fn ask(
        &mut self,
        running: &[usize],
        sessions: &mut [Session],
        trace: &mut Trace,
    ) -> Result<()> {
        let ids: Vec<_> = running.iter().map(|&i| self.workers[i].session).collect();
        let waits = waiting(&ids, &mut self.conn)?;
        for (&i, _) in running.iter().zip(waits).filter(|(_, waits)| *waits) {
            if sessions[i].place == (Place::Running { waits: false }) {
                trace.push(Step::Waits(i));
            }
            sessions[i].place = Place::Waiting;
        }
        Ok(())
    }

    fn event(&self, within: Duration) -> Result<Option<Event>> {
        match self.events.recv_timeout(within) {
            Ok(event) => Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("the connections' threads have ended"),
        }
    }

    /// Reads what the transactions that committed have left and returned.
    pub fn outcome(&mut self, case: &Case, ended: &[(Transaction, Ended)]) -> Result<Outcome> {
        let comparison = case.comparison();
        let mut outcome = Outcome::default();
        for row in diesel::sql_query(read_all()).load::<Row>(&mut self.conn)? {
            let kind = Kind::value_variants()[row.kind as usize];
            comparison.add(&mut outcome, (kind, row.article, row.day, row.value));
        }
        for (key, ended) in ended {
            let is_compared = case.scripts[key.0].operation.returns_what_is_compared();
            match ended {
                Ended::Committed(returned) if is_compared && !returned.is_empty() => {
                    outcome.returned.insert(*key, returned.clone());
                }
                _ => {}
            }
        }
        Ok(outcome)
    }
}

fn job(case: &Case, connection: usize, transactions: std::ops::Range<usize>) -> Job {
    Job {
        script: case.scripts[connection],
        transactions,
        slot: if case.one_slot { 0 } else { connection as i64 },
        deletes_articles: case.any(Operation::deletes_articles),
    }
}

/// Notes in the trace that a statement goes on, if it waited.
fn went_on(connection: usize, sessions: &mut [Session], trace: &mut Trace) {
    let place = &mut sessions[connection].place;
    if matches!(place, Place::Waiting | Place::Running { waits: true }) {
        trace.push(Step::GoesOn(connection));
        *place = Place::Running { waits: false };
    }
}

/// The query of everything that is compared.
fn read_all() -> String {
    let label = "100 * article_id + CASE label WHEN 'a' THEN 1 ELSE 2 END";
    let parts = [
        (
            Kind::Views,
            "article_id",
            "day",
            "views",
            "article_counters",
        ),
        (
            Kind::Likes,
            "article_id",
            "day",
            "likes",
            "article_counters",
        ),
        (
            Kind::Comments,
            "article_id",
            "day",
            "comments",
            "article_counters",
        ),
        (Kind::Column, "id", UNDATED, "total_views", "articles"),
        (Kind::LikeCount, "id", UNDATED, "like_count", "articles"),
        (Kind::LikeRows, "article_id", UNDATED, "1", "article_likes"),
        (Kind::CommentRows, "article_id", "day", "1", "comments"),
        // A label is an entity of its own. One that has only zeros is the same as one without rows.
        (
            Kind::LabelViews,
            label,
            "day",
            "SUM(views)",
            "label_counters GROUP BY article_id, label, day HAVING SUM(views) <> 0",
        ),
        (
            Kind::LabelComments,
            label,
            "day",
            "SUM(comments)",
            "label_counters GROUP BY article_id, label, day HAVING SUM(comments) <> 0",
        ),
        (Kind::Tickets, "article_id", "day", "remaining", "tickets"),
    ];
    let queries = parts.map(|(kind, article, day, value, table)| {
        let number = kind as usize;
        format!(
            "SELECT CAST({number} AS {INTEGER}) AS kind, {article} AS article, {day} AS day, \
             CAST({value} AS {INTEGER}) AS value FROM {table}"
        )
    });
    queries.join(" UNION ALL ")
}
