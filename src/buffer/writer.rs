//! Writing the backlog, in batches that are written at most once.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::result::{DatabaseErrorKind, Error};

use crate::add::gathered::{Gathered, Rows, TableId};
use crate::background::{BackgroundError, WithSource, lock};
use crate::buffer::lock_waits::{limit_lock_waits, restore_lock_waits};
use crate::buffer::shards::Shards;
use crate::buffer::write::{Dropped, Write};
use crate::error::{SQLITE_BUSY, is_ambiguous, is_of_one_row, is_passing};
use crate::sql::transaction::{begin_read_committed, is_in_a_lasting_transaction};
use crate::sql::{CounterBackend, Dialect};

/// Writes the backlog on one connection.
pub(crate) struct Writer<'a, Conn> {
    shards: &'a Shards<Conn>,
    backlog: &'a Mutex<Gathered<Conn>>,
    /// What it has done. The error is that of the last row that is held.
    write: &'a mut Write,
    /// What the last transaction does, from before its COMMIT until that is answered.
    unanswered: Option<(TableId, Outcome<Conn>)>,
}

type Batch<Conn> = Box<dyn Rows<Conn>>;

/// What a transaction does with the rows of a batch, if it commits.
type Outcome<Conn> = Vec<(Batch<Conn>, Fate)>;

enum Fate {
    Written,
    /// The database does not take this row.
    Refused(Error),
    /// This row may be written later.
    Held(Error),
}

/// What a write has done to one table.
struct Table<Conn> {
    id: TableId,
    held: usize,
    /// Some rows that were written.
    written: Option<Batch<Conn>>,
}

/// Why a transaction was rolled back.
enum Failed {
    /// No other batch can be written now.
    All(BackgroundError),
    /// The database did not take the rows.
    Rows(Error),
    /// The database did not take the rows at the COMMIT, as a deferred constraint does.
    Commit(Error),
}

/// The number of rows of a transaction. Others can wait for these rows.
const BATCH: usize = 2_500;

/// The number of parts of a batch, and of their parts: the square root of the number of its rows.
const PARTS: usize = 50;

/// How many rows of a table a write holds before it goes on with the next table. If it is not the fault
/// of these rows, all others would fail too.
const MOST_HELD: usize = 10;

/// An error that comes sooner is not that of a lock that another transaction holds, for which a
/// statement waits for a second. It may have any text: servers translate it, and triggers have their own.
const AT_ONCE: Duration = Duration::from_millis(100);

impl<'a, Conn: Connection<Backend: CounterBackend> + 'static> Writer<'a, Conn> {
    pub(crate) fn new(
        shards: &'a Shards<Conn>,
        backlog: &'a Mutex<Gathered<Conn>>,
        write: &'a mut Write,
    ) -> Self {
        Writer {
            shards,
            backlog,
            write,
            unanswered: None,
        }
    }

    pub(crate) fn write(&mut self, conn: &mut Conn) -> Result<(), BackgroundError> {
        if is_in_a_lasting_transaction(conn).map_err(BackgroundError::Database)? {
            return Err(BackgroundError::Database(Error::AlreadyInTransaction));
        }
        let written = self.write_tables(conn);
        if Dialect::MySql.may_be_of::<Conn::Backend>() {
            // It fails only if the connection is broken.
            let _ = restore_lock_waits(conn);
        }
        written
    }

    /// Reports the result of [`write`](Writer::write), also if that has panicked, and the rows whose
    /// COMMIT was not answered.
    pub(crate) fn end(mut self, result: Result<(), BackgroundError>) {
        let Err(error) = result else { return };
        let text = WithSource(&error).to_string();
        self.write.error = Some(error);
        let Some((table, outcome)) = self.unanswered.take() else {
            return;
        };
        for (rows, _) in outcome
            .iter()
            .filter(|(_, fate)| matches!(fate, Fate::Written))
        {
            self.remove(table, &**rows);
            let error = || Error::DatabaseError(DatabaseErrorKind::Unknown, Box::new(text.clone()));
            let errors = std::iter::repeat_with(error);
            self.write.unknown.extend(dropped(table, &**rows, errors));
        }
    }

    /// Writes all rows, and then those that were held by an earlier write.
    fn write_tables(&mut self, conn: &mut Conn) -> Result<(), BackgroundError> {
        let begun = Instant::now();
        let table = |id| Table {
            id,
            held: 0,
            written: None,
        };
        let mut tables: Vec<_> = lock(self.backlog).0.keys().copied().map(table).collect();
        for table in &mut tables {
            while table.held < MOST_HELD {
                let batch = lock(self.backlog).of(table.id).first(BATCH);
                if batch.len() == 0 {
                    break;
                }
                self.write_batch(batch, table, conn)?;
            }
        }
        for mut table in tables {
            table.held = 0;
            // If one fails, the others have their turn at the next write.
            while table.held == 0 {
                let row = lock(self.backlog).of(table.id).failed_before(begun);
                let Some(row) = row else { break };
                self.write_batch(row, &mut table, conn)?;
            }
        }
        Ok(())
    }

    /// Writes a batch. If the database does not take it, writes the rows that it takes in a second
    /// transaction. If that conflicts with others, writes parts, each in its own transaction.
    fn write_batch(
        &mut self,
        batch: Batch<Conn>,
        table: &mut Table<Conn>,
        conn: &mut Conn,
    ) -> Result<(), BackgroundError> {
        let mut batches = vec![batch];
        while let Some(batch) = batches.pop() {
            self.shards.read_days();
            let mut result = self.in_transaction(table.id, conn, |conn| {
                batch.write(conn)?;
                Ok(batch.split(1).into_iter().map(written).collect())
            });
            if matches!(&result, Err(Failed::Rows(error)) if !is_passing(error)) {
                let earlier = table.written.as_deref();
                result = self
                    .in_transaction(table.id, conn, |conn| write_others(&*batch, earlier, conn));
            }
            let outcome = match result {
                Ok(outcome) => outcome,
                Err(Failed::All(error)) => return Err(error),
                Err(Failed::Rows(_) | Failed::Commit(_)) if batch.len() > 1 => {
                    batches.extend(batch.split(PARTS));
                    continue;
                }
                Err(Failed::Rows(error) | Failed::Commit(error)) => match is_of_one_row(&error) {
                    true => vec![(batch, Fate::Refused(error))],
                    false => vec![(batch, Fate::Held(error))],
                },
            };
            for (rows, fate) in outcome {
                match fate {
                    Fate::Written => {
                        self.remove(table.id, &*rows);
                        self.write.written += rows.len();
                        table.written = Some(rows);
                    }
                    Fate::Refused(error) => {
                        self.remove(table.id, &*rows);
                        self.write
                            .refused
                            .extend(dropped(table.id, &*rows, [error]));
                    }
                    Fate::Held(error) => {
                        lock(self.backlog).of(table.id).fail(&*rows);
                        table.held += 1;
                        self.write.error = Some(BackgroundError::Database(error));
                    }
                }
            }
            if table.held >= MOST_HELD {
                break;
            }
        }
        Ok(())
    }

    /// Removes rows from the backlog, and releases their room.
    fn remove(&self, table: TableId, rows: &dyn Rows<Conn>) {
        lock(self.backlog).of(table).remove(rows);
        self.shards.release(table.2, rows.room());
    }

    /// Writes rows in one transaction, which commits if `write` returns no error.
    fn in_transaction(
        &mut self,
        table: TableId,
        conn: &mut Conn,
        write: impl FnOnce(&mut Conn) -> QueryResult<Outcome<Conn>>,
    ) -> Result<Outcome<Conn>, Failed> {
        let unanswered = &mut self.unanswered;
        let mut has_begun = false;
        let result = begin_read_committed(conn).and_then(|()| {
            conn.transaction(|conn| {
                limit_lock_waits(conn)?;
                has_begun = true;
                // Also if Diesel's instrumentation panics at the COMMIT.
                *unanswered = Some((table, write(conn)?));
                Ok(())
            })
        });
        let Err(error) = result else {
            return Ok(unanswered
                .take()
                .map(|(_, outcome)| outcome)
                .unwrap_or_default());
        };
        let is_answered = !is_ambiguous(&error) && conn.batch_execute("SELECT 1").is_ok();
        let is_at_commit = unanswered.is_some();
        if is_at_commit && is_answered {
            // It was rolled back.
            *unanswered = None;
        }
        Err(if !has_begun || !is_answered || is_of_all(&error) {
            Failed::All(BackgroundError::Database(error))
        } else if is_at_commit {
            Failed::Commit(error)
        } else {
            Failed::Rows(error)
        })
    }
}

fn written<Conn>(rows: Batch<Conn>) -> (Batch<Conn>, Fate) {
    (rows, Fate::Written)
}

fn dropped<Conn>(
    (table, ..): TableId,
    rows: &dyn Rows<Conn>,
    errors: impl IntoIterator<Item = Error>,
) -> impl Iterator<Item = Dropped> {
    let rows = rows.list().into_iter().zip(errors);
    rows.map(move |((day, key, amounts), error)| Dropped {
        table,
        key,
        day,
        amounts,
        error,
    })
}

/// Writes those rows of `batch` that the database takes. Each part has a savepoint, and a part that fails
/// is split, down to each row.
///
/// A row whose error is not known is refused if it fails at once, and the table takes other rows: those
/// that are written here, or `earlier`, or if there are none, one with other amounts.
///
/// After an error, the transaction cannot go on.
fn write_others<Conn: Connection>(
    batch: &dyn Rows<Conn>,
    earlier: Option<&dyn Rows<Conn>>,
    conn: &mut Conn,
) -> QueryResult<Outcome<Conn>> {
    let (mut outcome, mut unknown, mut held) = (Vec::new(), Vec::new(), 0);
    let mut others = None;
    let mut parts = batch.split(PARTS);
    while let Some(part) = parts.pop() {
        let begun = Instant::now();
        let Err(error) = in_savepoint(conn, |conn| part.write(conn))? else {
            others = Some(outcome.len());
            outcome.push(written(part));
            continue;
        };
        let is_at_once = begun.elapsed() < AT_ONCE;
        if is_passing(&error) || is_of_all(&error) {
            return Err(error);
        } else if part.len() > 1 {
            parts.extend(part.split(PARTS));
        } else if is_of_one_row(&error) {
            outcome.push((part, Fate::Refused(error)));
        } else if is_at_once {
            unknown.push((part, error));
        } else {
            outcome.push((part, Fate::Held(error)));
            held += 1;
        }
        let takes_rows = earlier.is_some() || others.is_some();
        if held + if takes_rows { 0 } else { unknown.len() } >= MOST_HELD {
            break;
        }
    }
    if unknown.is_empty() {
        return Ok(outcome);
    }
    let mut takes_others = false;
    match others.map(|at| &*outcome[at].0).or(earlier) {
        Some(rows) => takes_others = could_write(rows, conn)?,
        None => {
            for (row, _) in &unknown {
                takes_others = takes_others || could_write(&*row.reversed(), conn)?;
            }
        }
    }
    outcome.extend(match takes_others {
        true => unknown
            .into_iter()
            .map(|(row, error)| (row, Fate::Refused(error)))
            .collect(),
        false => {
            let held = unknown.into_iter().take(MOST_HELD);
            held.map(|(row, error)| (row, Fate::Held(error)))
                .collect::<Vec<_>>()
        }
    });
    Ok(outcome)
}

/// Whether the database would take these rows now. Writes nothing.
fn could_write<Conn: Connection>(rows: &dyn Rows<Conn>, conn: &mut Conn) -> QueryResult<bool> {
    let written = in_savepoint(conn, |conn| {
        rows.write(conn)?;
        Err(Error::RollbackTransaction)
    })?;
    Ok(written == Err(Error::RollbackTransaction))
}

/// Runs `write` in a savepoint, and returns its result.
///
/// # Errors
///
/// That of `write`, if the savepoint is lost with the whole transaction. Nothing can be written then: it
/// would be committed at once.
fn in_savepoint<Conn: Connection>(
    conn: &mut Conn,
    write: impl FnOnce(&mut Conn) -> QueryResult<()>,
) -> QueryResult<QueryResult<()>> {
    let mut failed = None;
    let result = conn.transaction(|conn| {
        write(conn).map_err(|error| {
            failed = Some(error);
            Error::RollbackTransaction
        })
    });
    match (result, failed) {
        (Ok(()), _) => Ok(Ok(())),
        (Err(Error::RollbackTransaction), Some(error)) => Ok(Err(error)),
        (Err(error), failed) => Err(failed.unwrap_or(error)),
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
