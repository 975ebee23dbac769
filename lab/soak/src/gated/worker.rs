//! A connection, and the thread that runs its scripts.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Context as _, Result};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::{ForeignKeyViolation, UniqueViolation};
use diesel::result::Error;
use diesel_counters::{is_overflow, is_retryable};
use diesel_counters_cli::Recount;

use super::operations;
use super::{Conn, IS_SQLITE, session_id, slot_number};
use crate::interleave::case::Script;
use crate::interleave::gate::{Event, Gate};
use crate::interleave::operation::{Operation, Own};
use crate::interleave::outcome::{Ended, Failed};

/// Transactions of a script to run.
pub struct Job {
    pub script: Script,
    pub transactions: Range<usize>,
    /// The number of the session, which chooses its slot.
    pub slot: i64,
    /// Whether the case deletes articles, and inserts them again. Then errors of keys are
    /// documented.
    pub deletes_articles: bool,
}

/// A connection whose thread waits for jobs.
pub struct Worker {
    /// The name of the session, as `waiting` takes it.
    pub session: i64,
    jobs: Sender<Job>,
    /// Lets the statement run that the gate holds.
    grants: Sender<()>,
    /// Whether the gate holds statements.
    is_closed: Arc<AtomicBool>,
}

impl Worker {
    /// Connects, and starts the thread. `set_up` is run on the connection.
    pub fn start(
        connection: usize,
        url: &str,
        set_up: String,
        events: Sender<Event>,
        recounts: Arc<Vec<Recount>>,
    ) -> Result<Worker> {
        let mut conn = Conn::establish(url)?;
        conn.batch_execute(&set_up)?;
        let session = session_id(&mut conn)?;
        let is_closed = Arc::new(AtomicBool::new(false));
        let (grants, granted) = channel();
        conn.set_instrumentation(Gate {
            connection,
            is_closed: Arc::clone(&is_closed),
            events: events.clone(),
            grants: granted,
            holds_begin: IS_SQLITE,
        });
        let (jobs, to_do) = channel();
        let thread = Thread {
            connection,
            is_closed: Arc::clone(&is_closed),
            events,
            recounts,
        };
        thread::spawn(move || thread.run(conn, to_do));
        Ok(Worker {
            session,
            jobs,
            grants,
            is_closed,
        })
    }

    /// Starts to run transactions, and holds their statements if `is_closed`. An
    /// [`Ended`](Event::Ended) follows.
    pub fn run(&self, job: Job, is_closed: bool) -> Result<()> {
        self.is_closed.store(is_closed, Relaxed);
        self.jobs
            .send(job)
            .context("a connection's thread has ended")
    }

    /// Lets the statement run that is held.
    pub fn grant(&self) -> Result<()> {
        self.grants
            .send(())
            .context("a connection's thread has ended")
    }
}

struct Thread {
    connection: usize,
    is_closed: Arc<AtomicBool>,
    events: Sender<Event>,
    recounts: Arc<Vec<Recount>>,
}

impl Thread {
    fn run(&self, mut conn: Conn, jobs: Receiver<Job>) {
        for job in jobs {
            let ended = job.transactions.clone().map(|transaction| {
                let result = self.transaction(&job, transaction, &mut conn);
                match result {
                    Ok(returned) => Ended::Committed(returned),
                    Err(error) => Ended::Failed(failed(&error, &job)),
                }
            });
            let ended = Event::Ended(self.connection, ended.collect());
            // What the thread runs between jobs is not held.
            self.is_closed.store(false, Relaxed);
            if self.events.send(ended).is_err() {
                return;
            }
        }
    }

    fn transaction(&self, job: &Job, transaction: usize, conn: &mut Conn) -> Result<String> {
        if transaction == job.transactions.start {
            // This statement is none of the operation: it is not held.
            let was_closed = self.is_closed.swap(false, Relaxed);
            let set = slot_number(job.slot, conn);
            self.is_closed.store(was_closed, Relaxed);
            set?;
        }
        match job.script.operation {
            Operation::Own(Own::RecountTriggers) => self.recount("article_counters", conn),
            Operation::Own(Own::RecountColumn) => self.recount("articles", conn),
            _ => Ok(operations::run(
                job.script,
                transaction,
                self.connection,
                conn,
            )?),
        }
    }

    /// Corrects the counters of triggers in a table, as the command does.
    fn recount(&self, table: &str, conn: &mut Conn) -> Result<String> {
        let mut recounts = self.recounts.iter();
        let recount = recounts.find(|recount| recount.table == table);
        let recount = recount.context("no triggers count in this table")?;
        Ok(recount.correct(conn, |_, _| {})?.len().to_string())
    }
}

fn failed(error: &anyhow::Error, job: &Job) -> Failed {
    let database = error.downcast_ref::<Error>();
    Failed {
        kind: database.and_then(|error| kind(error, job)),
        text: database.map_or_else(|| format!("{error:#}"), |error| format!("{error:?}")),
    }
}

/// Returns the kind of an error that the library documents, or `None` for any other error.
fn kind(error: &Error, job: &Job) -> Option<&'static str> {
    let text = error.to_string().to_lowercase();
    let has = |part: &str| text.contains(part);
    match error {
        error if is_retryable(error) => Some(match () {
            () if has("deadlock") => "deadlock",
            () if has("timeout") => "lock timeout",
            () if has("has changed since") => "changed since read",
            () if has("locked") => "busy",
            () => "serialization failure",
        }),
        error if is_overflow(error) => Some("overflow"),
        Error::DatabaseError(ForeignKeyViolation, _) if job.deletes_articles => Some("foreign key"),
        Error::DatabaseError(UniqueViolation, _) if job.deletes_articles => Some("unique key"),
        Error::QueryBuilderError(_) if has("transaction") => Some("refused in a transaction"),
        Error::DatabaseError(_, _) if has("truncate is counted ") => Some("TRUNCATE refused"),
        _ => None,
    }
}
