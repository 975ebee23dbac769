//! Writing the backlog, in batches that are written once.

use std::cell::Cell;
use std::sync::Mutex;

use diesel::connection::Connection;
use diesel::result::{DatabaseErrorKind, Error};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::CounterBackend;
use crate::buffering::backlog::{Backlog, Batch};
use crate::buffering::batches::{Batches, LockWaits};
use crate::buffering::shards::{Shards, lock};
use crate::buffering::write::{IfUnknown, Refused, WriteError};
use crate::error::{SQLITE_BUSY, is_of_one_row};
use crate::transaction::begin_read_committed;

/// What is known of the batches that were written.
pub(crate) struct Writer<Conn> {
    batches: Result<Batches, IfUnknown>,
    /// The batch that was sent last, until it is known whether it was written.
    unknown: Option<Box<dyn Batch<Conn>>>,
}

/// What one write has done.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) written: usize,
    pub(crate) refused: Vec<Refused>,
    /// The error of the last row that was set aside.
    pub(crate) held: Option<Error>,
}

/// How many rows of a table a write sets aside before it goes on with the next table. If it is not the
/// fault of these rows, all others would fail too.
const MOST_HELD: usize = 10;

/// What became of a batch whose COMMIT failed.
enum Outcome {
    Written,
    RolledBack,
    Unknown,
}

/// The number of parts of a batch that the database refused.
const PARTS: usize = 32;

/// Why a batch was not written.
enum Failed {
    /// No other batch can be written now.
    All(WriteError),
    /// The database refused the rows, and rolled them back.
    Rows(Error),
    /// The COMMIT failed, and the batch may be written.
    Unknown(Error),
}

impl<Conn> Writer<Conn>
where
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    pub(crate) fn new(if_unknown: Option<IfUnknown>) -> Self {
        Writer {
            batches: if_unknown.map_or_else(|| Ok(Batches::new()), Err),
            unknown: None,
        }
    }

    /// Whether the backlog may have rows that are written already. Nothing can be added to them then.
    pub(crate) fn is_unknown(&self) -> bool {
        self.unknown.is_some()
    }

    /// Writes all that was counted before the call.
    pub(crate) fn write(
        &mut self,
        shards: &Shards<Conn>,
        backlog: &Mutex<Backlog<Conn>>,
        conn: &mut Conn,
        done: &mut Done,
    ) -> Result<(), WriteError> {
        let written = self.write_batches(shards, backlog, conn, done);
        if <Conn::Backend as CounterBackend>::MAY_BE_MYSQL {
            // It fails only if the connection is broken.
            let _ = LockWaits::Restored.execute(conn);
        }
        written
    }

    fn write_batches(
        &mut self,
        shards: &Shards<Conn>,
        backlog: &Mutex<Backlog<Conn>>,
        conn: &mut Conn,
        done: &mut Done,
    ) -> Result<(), WriteError> {
        if self.is_unknown() {
            let outcome = self.resolve(conn).map_err(WriteError::Batches)?;
            let batch = self.unknown.take();
            if let (Outcome::Written, Some(batch)) = (outcome, batch) {
                remove(&*batch, shards, backlog, done);
            }
        }
        shards.drain(&mut lock(backlog));
        let tables = lock(backlog).tables();
        for &(table, _) in &tables {
            let mut held = 0;
            while held < MOST_HELD {
                let first = lock(backlog).first(table);
                let Some(batch) = first else { break };
                self.write_parts(batch, shards, backlog, conn, done, &mut held)?;
            }
        }
        for (table, earlier) in tables {
            let mut held = 0;
            for _ in 0..earlier {
                let next = lock(backlog).next_held(table);
                let Some(batch) = next else { break };
                self.write_parts(batch, shards, backlog, conn, done, &mut held)?;
                // The others wait for their turn at the next write.
                if held > 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Writes a batch. If the database refuses it, writes its parts, down to each row.
    fn write_parts(
        &mut self,
        batch: Box<dyn Batch<Conn>>,
        shards: &Shards<Conn>,
        backlog: &Mutex<Backlog<Conn>>,
        conn: &mut Conn,
        done: &mut Done,
        held: &mut usize,
    ) -> Result<(), WriteError> {
        let mut batches = vec![batch];
        while let Some(next) = batches.pop() {
            // Also if Diesel's instrumentation panics.
            let batch = &**self.unknown.insert(next);
            let result = match write_one(batch, &mut self.batches, conn) {
                Err(Failed::Unknown(error)) => match self.resolve(conn) {
                    Ok(Outcome::Written) => Ok(()),
                    // A deferred constraint, for example.
                    Ok(Outcome::RolledBack) => Err(Failed::Rows(error)),
                    Ok(Outcome::Unknown) => Err(Failed::Unknown(error)),
                    Err(_) => return Err(WriteError::Database(error)),
                },
                result => result,
            };
            let Some(batch) = self.unknown.take() else {
                break;
            };
            let error = match result {
                Ok(()) => {
                    remove(&*batch, shards, backlog, done);
                    continue;
                }
                Err(Failed::All(error)) => return Err(error),
                Err(Failed::Rows(error)) => error,
                Err(Failed::Unknown(error)) => {
                    if self.batches.as_ref().err() == Some(&IfUnknown::Discard) {
                        discard(&*batch, &error, shards, backlog, done);
                    }
                    return Err(WriteError::Database(error));
                }
            };
            if batch.len() > 1 {
                batches.extend(batch.split(PARTS));
            } else if is_of_one_row(&error) {
                shards.release(1);
                let mut backlog = lock(backlog);
                batch.remove_from(&mut backlog);
                done.refused.push(batch.refused(error));
            } else {
                batch.hold_in(&mut lock(backlog));
                *held += 1;
                done.held = Some(error);
                if *held == MOST_HELD {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns what became of the batch whose COMMIT failed.
    fn resolve(&mut self, conn: &mut Conn) -> QueryResult<Outcome> {
        match &mut self.batches {
            Ok(batches) => Ok(match batches.resolve(conn)? {
                true => Outcome::Written,
                false => Outcome::RolledBack,
            }),
            // The server itself has answered with the error.
            Err(_) if conn.batch_execute("SELECT 1").is_ok() => Ok(Outcome::RolledBack),
            Err(_) => Ok(Outcome::Unknown),
        }
    }

    /// Whether the table of batches has a row of this buffer.
    pub(crate) fn has_row(&self) -> bool {
        self.batches.as_ref().is_ok_and(Batches::has_row)
    }

    /// Removes the buffer's row from the table of batches, if all is written.
    pub(crate) fn end(&mut self, conn: &mut Conn) -> QueryResult<()> {
        match &mut self.batches {
            Ok(batches) if self.unknown.is_none() => batches.end(conn),
            _ => Ok(()),
        }
    }
}

fn write_one<Conn>(
    batch: &dyn Batch<Conn>,
    batches: &mut Result<Batches, IfUnknown>,
    conn: &mut Conn,
) -> Result<(), Failed>
where
    Conn: Connection<Backend: CounterBackend>,
{
    #[derive(Clone, Copy)]
    enum Step {
        Begin,
        Claim,
        Rows,
        Commit,
    }
    let step = Cell::new(Step::Begin);
    let claim = |conn: &mut Conn| -> QueryResult<()> {
        match &*batches {
            Ok(batches) if !batches.claim(conn)? => Err(Error::NotFound),
            _ => Ok(()),
        }
    };
    let result = begin_read_committed(conn).and_then(|()| {
        conn.transaction(|conn| {
            LockWaits::Limited.execute(conn)?;
            step.set(Step::Claim);
            claim(conn)?;
            step.set(Step::Rows);
            batch.write(conn)?;
            step.set(Step::Commit);
            Ok(())
        })
    });
    let error = match (result, &mut *batches) {
        (Ok(()), Ok(batches)) => {
            batches.written(batches.next());
            return Ok(());
        }
        (Ok(()), Err(_)) => return Ok(()),
        (Err(error), _) => error,
    };
    Err(match step.get() {
        Step::Begin => Failed::All(WriteError::Database(error)),
        Step::Claim => {
            if let (Error::NotFound, Ok(batches)) = (&error, batches) {
                // Somebody deleted the row, or another buffer has the same id.
                *batches = Batches::new();
            }
            Failed::All(WriteError::Batches(error))
        }
        Step::Rows if is_of_all(&error) || conn.batch_execute("SELECT 1").is_err() => {
            Failed::All(WriteError::Database(error))
        }
        Step::Rows => Failed::Rows(error),
        Step::Commit => Failed::Unknown(error),
    })
}

fn remove<Conn: 'static>(
    batch: &dyn Batch<Conn>,
    shards: &Shards<Conn>,
    backlog: &Mutex<Backlog<Conn>>,
    done: &mut Done,
) {
    batch.remove_from(&mut lock(backlog));
    shards.release(batch.len());
    done.written += batch.len();
}

/// Reports the rows of a batch, each with this error.
fn discard<Conn: 'static>(
    batch: &dyn Batch<Conn>,
    error: &Error,
    shards: &Shards<Conn>,
    backlog: &Mutex<Backlog<Conn>>,
    done: &mut Done,
) {
    batch.remove_from(&mut lock(backlog));
    shards.release(batch.len());
    for row in batch.split(batch.len()) {
        let error = Error::DatabaseError(DatabaseErrorKind::Unknown, Box::new(error.to_string()));
        done.refused.push(row.refused(error));
    }
}

/// Whether the database takes no rows at all.
fn is_of_all(error: &Error) -> bool {
    use DatabaseErrorKind::{ClosedConnection, ReadOnlyTransaction, UnableToSendCommand, Unknown};
    match error {
        Error::DatabaseError(ReadOnlyTransaction | ClosedConnection | UnableToSendCommand, _)
        | Error::BrokenTransactionManager => true,
        Error::DatabaseError(Unknown, info) => info.message() == SQLITE_BUSY,
        _ => false,
    }
}
