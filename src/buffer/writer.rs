//! Writing the backlog, in batches that are written once.

use std::cell::Cell;
use std::sync::Mutex;

use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::result::{DatabaseErrorKind, Error};

use crate::buffer::backlog::{Backlog, Batch};
use crate::buffer::batches::{Batches, limit_lock_waits, restore_lock_waits};
use crate::buffer::refusing::{self, NotWritten, PARTS, is_of_all};
use crate::buffer::shards::{Shards, lock};
use crate::buffer::write::{IfUnknown, Refused, WriteError};
use crate::error::{is_of_one_row, is_passing};
use crate::sql::transaction::begin_read_committed;
use crate::sql::{CounterBackend, Dialect};

/// What is known of the batches that were written.
pub(crate) struct Writer<Conn> {
    batches: Result<Batches, IfUnknown>,
    /// What was written in the last transaction, until it is known whether it has committed.
    unknown: Option<refusing::Batches<Conn>>,
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
pub(crate) const MOST_HELD: usize = 10;

/// What a write has done to one table.
struct OfTable<Conn> {
    held: usize,
    /// Some rows that were written.
    written: Option<Box<dyn Batch<Conn>>>,
}

/// What became of a batch whose COMMIT failed.
enum Outcome {
    Written,
    RolledBack,
    Unknown,
}

/// Why a batch was not written.
enum Failed {
    /// No other batch can be written now.
    All(WriteError),
    /// The database refused the rows, and rolled them back.
    Rows(Error),
    /// The database refused the rows at the COMMIT, as a deferred constraint does.
    Commit(Error),
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
        if Dialect::MySql.may_be_of::<Conn::Backend>() {
            // It fails only if the connection is broken.
            let _ = restore_lock_waits(conn);
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
            let parts = self.unknown.take();
            if let (Outcome::Written, Some(parts)) = (outcome, parts) {
                remove(&parts, shards, backlog, done);
            }
        }
        shards.drain(&mut lock(backlog));
        let tables = lock(backlog).tables().into_iter();
        let mut tables: Vec<_> = tables
            .map(|(table, earlier)| {
                let of_table = OfTable {
                    held: 0,
                    written: None,
                };
                (table, earlier, of_table)
            })
            .collect();
        for (table, _, of_table) in &mut tables {
            while of_table.held < MOST_HELD {
                let first = lock(backlog).first(*table);
                let Some(batch) = first else { break };
                self.write_batch(batch, of_table, shards, backlog, conn, done)?;
            }
        }
        for (table, earlier, mut of_table) in tables {
            of_table.held = 0;
            for _ in 0..earlier {
                let next = lock(backlog).next_held(table);
                let Some(batch) = next else { break };
                self.write_batch(batch, &mut of_table, shards, backlog, conn, done)?;
                // The others wait for their turn at the next write.
                if of_table.held > 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Writes a batch. If the database refuses it, writes the rows that it takes in a second transaction.
    /// If that conflicts with other transactions, writes parts of the batch, each in its own transaction.
    fn write_batch(
        &mut self,
        batch: Box<dyn Batch<Conn>>,
        of_table: &mut OfTable<Conn>,
        shards: &Shards<Conn>,
        backlog: &Mutex<Backlog<Conn>>,
        conn: &mut Conn,
        done: &mut Done,
    ) -> Result<(), WriteError> {
        let mut batches = vec![batch];
        while let Some(batch) = batches.pop() {
            let mut others = NotWritten::default();
            let (mut written, mut result) = self.in_transaction(conn, |conn, written| {
                written.push(batch);
                written[0].write(conn)
            });
            let rolled_back = match result {
                Err(Failed::Rows(_) | Failed::Commit(_)) => written.pop(),
                _ => None,
            };
            if let (Err(Failed::Rows(error)), Some(batch)) = (&result, &rolled_back) {
                if !is_passing(error) {
                    let earlier = of_table.written.as_deref();
                    (written, result) = self.in_transaction(conn, |conn, written| {
                        others.write_others(&**batch, earlier, written, conn)
                    });
                }
            }
            match result {
                Ok(()) => {
                    remove(&written, shards, backlog, done);
                    of_table.written = written.pop().or(of_table.written.take());
                }
                Err(Failed::All(error)) => return Err(error),
                Err(Failed::Unknown(error)) => {
                    if self.batches.as_ref().err() == Some(&IfUnknown::Discard) {
                        discard(&written, &error, shards, backlog, done);
                    }
                    return Err(WriteError::Database(error));
                }
                Err(Failed::Rows(error) | Failed::Commit(error)) => {
                    let Some(batch) = rolled_back else {
                        return Err(WriteError::Database(error));
                    };
                    if batch.len() > 1 {
                        batches.extend(batch.split(PARTS));
                        continue;
                    }
                    others = NotWritten::default();
                    if is_of_one_row(&error) {
                        others.refused.push((batch, error));
                    } else {
                        others.held.push((batch, error));
                    }
                }
            }
            for (row, error) in others.refused {
                row.remove_from(&mut lock(backlog), shards);
                done.refused.push(row.refused(error));
            }
            for (row, error) in others.held {
                row.hold_in(&mut lock(backlog));
                of_table.held += 1;
                done.held = Some(error);
            }
            if of_table.held >= MOST_HELD {
                break;
            }
        }
        Ok(())
    }

    /// Writes rows in one transaction, which commits if `write` returns no error. Returns the rows that
    /// `write` has pushed, which are written if the result is no error.
    fn in_transaction(
        &mut self,
        conn: &mut Conn,
        write: impl FnOnce(&mut Conn, &mut refusing::Batches<Conn>) -> QueryResult<()>,
    ) -> (refusing::Batches<Conn>, Result<(), Failed>) {
        // Also if Diesel's instrumentation panics.
        let written = self.unknown.insert(Vec::new());
        let result = write_one(|conn| write(conn, written), &mut self.batches, conn);
        let result = match result {
            Err(Failed::Unknown(error)) => match self.resolve(conn) {
                Ok(Outcome::Written) => Ok(()),
                Ok(Outcome::RolledBack) => Err(Failed::Commit(error)),
                Ok(Outcome::Unknown) => Err(Failed::Unknown(error)),
                Err(_) => {
                    let failed = Failed::All(WriteError::Database(error));
                    return (Vec::new(), Err(failed));
                }
            },
            result => result,
        };
        (self.unknown.take().unwrap_or_default(), result)
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
    write: impl FnOnce(&mut Conn) -> QueryResult<()>,
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
            limit_lock_waits(conn)?;
            step.set(Step::Claim);
            claim(conn)?;
            step.set(Step::Rows);
            write(conn)?;
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
    batches: &refusing::Batches<Conn>,
    shards: &Shards<Conn>,
    backlog: &Mutex<Backlog<Conn>>,
    done: &mut Done,
) {
    for batch in batches {
        batch.remove_from(&mut lock(backlog), shards);
        done.written += batch.len();
    }
}

/// Reports the rows of these batches, each with this error.
fn discard<Conn: 'static>(
    batches: &refusing::Batches<Conn>,
    error: &Error,
    shards: &Shards<Conn>,
    backlog: &Mutex<Backlog<Conn>>,
    done: &mut Done,
) {
    for batch in batches {
        batch.remove_from(&mut lock(backlog), shards);
        for row in batch.split(batch.len()) {
            let error =
                Error::DatabaseError(DatabaseErrorKind::Unknown, Box::new(error.to_string()));
            done.refused.push(row.refused(error));
        }
    }
}
