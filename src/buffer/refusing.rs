//! Finding the rows of a batch that the database refuses, in one transaction.

use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::result::{DatabaseErrorKind, Error};

use crate::buffer::backlog::Batch;
use crate::buffer::writer::MOST_HELD;
use crate::error::{SQLITE_BUSY, is_of_one_row, is_passing};

pub(crate) type Batches<Conn> = Vec<Box<dyn Batch<Conn>>>;

/// The rows of a batch that were not written, each with its error.
pub(crate) struct NotWritten<Conn> {
    pub(crate) refused: Vec<(Box<dyn Batch<Conn>>, Error)>,
    /// They may be written later.
    pub(crate) held: Vec<(Box<dyn Batch<Conn>>, Error)>,
}

/// The number of parts of a batch, and of their parts: the square root of the number of its rows.
pub(crate) const PARTS: usize = 50;

/// An error that comes sooner is not that of a lock that another transaction holds, for which a
/// statement waits for a second. It may have any text: servers translate it, and triggers have their own.
const AT_ONCE: Duration = Duration::from_millis(100);

impl<Conn: Connection + 'static> NotWritten<Conn> {
    /// Writes those rows of `batch` that the database takes, and adds them to `written`. Each part has a
    /// savepoint, and a part that fails is split, down to each row.
    ///
    /// A row whose error is not known is refused if it fails at once, and the table takes the same row
    /// with other amounts, or takes other rows after it: those that are written here, or `earlier`.
    ///
    /// After an error, the transaction cannot go on.
    pub(crate) fn write_others(
        &mut self,
        batch: &dyn Batch<Conn>,
        earlier: Option<&dyn Batch<Conn>>,
        written: &mut Batches<Conn>,
        conn: &mut Conn,
    ) -> QueryResult<()> {
        let mut unknown = Vec::new();
        let mut parts = batch.split(PARTS);
        while let Some(part) = parts.pop() {
            let begun = Instant::now();
            let Err(error) = in_savepoint(conn, |conn| part.write(conn))? else {
                written.push(part);
                continue;
            };
            let at_once = begun.elapsed() < AT_ONCE;
            let takes_rows = earlier.is_some() || !written.is_empty();
            if is_passing(&error) || is_of_all(&error) {
                return Err(error);
            } else if part.len() > 1 {
                parts.extend(part.split(PARTS));
            } else if is_of_one_row(&error)
                || at_once && !takes_rows && could_write(&*part.reversed(), conn)?
            {
                self.refused.push((part, error));
            } else if at_once {
                unknown.push((part, error));
            } else {
                self.held.push((part, error));
            }
            let unknown = if takes_rows { 0 } else { unknown.len() };
            if self.held.len() + unknown >= MOST_HELD {
                break;
            }
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let others = written.last().map(|rows| &**rows).or(earlier);
        let takes_others = match others {
            Some(rows) => could_write(rows, conn)?,
            None => false,
        };
        if takes_others {
            self.refused.append(&mut unknown);
        } else {
            self.held.extend(unknown.into_iter().take(MOST_HELD));
        }
        Ok(())
    }
}

impl<Conn> Default for NotWritten<Conn> {
    fn default() -> Self {
        NotWritten {
            refused: Vec::new(),
            held: Vec::new(),
        }
    }
}

/// Whether the database would take these rows now. Writes nothing.
fn could_write<Conn>(rows: &dyn Batch<Conn>, conn: &mut Conn) -> QueryResult<bool>
where
    Conn: Connection + 'static,
{
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
pub(crate) fn is_of_all(error: &Error) -> bool {
    use DatabaseErrorKind::{ClosedConnection, ReadOnlyTransaction, UnableToSendCommand, Unknown};
    match error {
        Error::DatabaseError(ReadOnlyTransaction | ClosedConnection | UnableToSendCommand, _)
        | Error::BrokenTransactionManager => true,
        Error::DatabaseError(Unknown, info) => info.message() == SQLITE_BUSY,
        _ => false,
    }
}
