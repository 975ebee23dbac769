//! Writes the backlog in batches, each at most once.

use std::borrow::BorrowMut;
use std::iter;
use std::mem;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::result::{DatabaseErrorKind, Error};

use crate::add::any_table_rows::AnyTableRows;
use crate::add::countable::Countable;
use crate::add::gathered::Gathered;
use crate::background::{BackgroundError, WithSource, caught, lock};
use crate::buffer::commits::{Commits, Unanswered};
use crate::buffer::write::{Dropped, Write};
use crate::error::{SQLITE_BUSY, is_rolled_back, is_row_fault, may_pass};
use crate::sql::transaction::{execute_on, is_in_a_real_transaction, set_read_committed};
use crate::sql::{CounterBackend, Dialect};

/// Writes the backlog, and removes from it what is written or dropped.
pub(crate) struct Writer<'a, Conn> {
    backlog: &'a Mutex<Gathered<Conn>>,
    /// The number of pending keys.
    keys: &'a AtomicUsize,
    commits: &'a Commits,
    /// The report. Its error is the one that ended the write, or that of the last row that was left
    /// for the next write.
    write: Write,
    /// The index in the backlog of the table that is being written.
    table: usize,
    /// The batch that is being committed, until we know whether it has committed.
    unanswered: Option<(Batch<Conn>, Unanswered<'a>)>,
}

/// Why the database refused a batch.
struct Refusal {
    error: Error,
    /// Whether it came too soon to be a lock timeout.
    at_once: bool,
}

/// Rows of one table.
type Batch<Conn> = Rc<dyn AnyTableRows<Conn>>;

/// The number of rows in a transaction. Other transactions may have to wait for these rows.
const BATCH: usize = 2_500;

/// A batch that fails is split into this many parts, and a part that fails is split into this many
/// again. It's the square root of `BATCH`, so the parts of a part are single rows.
const SPLIT_INTO: usize = 50;

/// How many failed rows of a table are left for the next write before this one goes on with the
/// next table. If the rows aren't at fault, all others would fail too.
const MAX_LEFT: usize = 10;

/// An error that comes sooner than this isn't a lock timeout, because a statement waits for a lock
/// for a second. We go by the time, because the text doesn't tell: servers translate it, and
/// triggers have their own. The time includes the transaction's round trips; if they take longer,
/// the row is left for the next write.
const AT_ONCE: Duration = Duration::from_millis(100);

// How long a statement waits for a lock: a second. On SQLite, the connection's own timeout applies.
const LIMIT_ON_POSTGRES: &str = "SET LOCAL lock_timeout = '1s'";

/// Limits the wait for row locks. Also switches errors to English, because some are recognized by
/// their text.
///
/// User variables keep the earlier settings. A write that panics doesn't restore them, so a
/// variable that already has a value keeps it. A user variable that is NULL counts as text, which
/// MySQL doesn't accept as a number of seconds.
const SET_UP_MYSQL: &str = "SET \
     @diesel_counters_row_wait = \
     CAST(COALESCE(@diesel_counters_row_wait, @@SESSION.innodb_lock_wait_timeout) AS SIGNED), \
     @diesel_counters_table_wait = \
     CAST(COALESCE(@diesel_counters_table_wait, @@SESSION.lock_wait_timeout) AS SIGNED), \
     @diesel_counters_lc_messages = \
     COALESCE(@diesel_counters_lc_messages, @@SESSION.lc_messages), \
     SESSION innodb_lock_wait_timeout = 1, \
     SESSION lc_messages = 'en_US'";

/// Limits the wait for the table's lock, which an ALTER TABLE waits for and holds.
const SHORT_TABLE_LOCK_WAIT: &str = "SET SESSION lock_wait_timeout = 1";

/// Lifts that limit before the COMMIT, and also a short one that the program has set. The setting
/// applies to a COMMIT too, which waits while a backup holds commits back, and after an error
/// there, we wouldn't know whether the batch was rolled back. The maximum is a year.
const LONG_TABLE_LOCK_WAIT: &str = "SET SESSION lock_wait_timeout = 31536000";

const RESTORE_ON_MYSQL: &str = "SET \
     SESSION innodb_lock_wait_timeout = CAST(@diesel_counters_row_wait AS SIGNED), \
     SESSION lock_wait_timeout = CAST(@diesel_counters_table_wait AS SIGNED), \
     SESSION lc_messages = @diesel_counters_lc_messages, \
     @diesel_counters_row_wait = NULL, \
     @diesel_counters_table_wait = NULL, \
     @diesel_counters_lc_messages = NULL";

impl<'a, Conn: Connection<Backend: CounterBackend>> Writer<'a, Conn> {
    pub(crate) fn new(
        backlog: &'a Mutex<Gathered<Conn>>,
        keys: &'a AtomicUsize,
        commits: &'a Commits,
    ) -> Self {
        Writer {
            backlog,
            keys,
            commits,
            write: Write::default(),
            table: 0,
            unanswered: None,
        }
    }

    /// Writes on the connection that `connect` returns.
    pub(crate) fn write<C: BorrowMut<Conn>>(
        mut self,
        connect: impl FnOnce() -> Result<C, BackgroundError>,
    ) -> Write {
        let begun = Instant::now();
        let result = caught(|| {
            let written = self.write_tables(connect()?.borrow_mut());
            written.map_err(BackgroundError::Database)
        });
        if let Err(error) = result.and_then(|result| result) {
            // The write ended during a COMMIT, so nobody knows whether this batch was written.
            if let Some((rows, _unanswered)) = self.unanswered.take() {
                let text = Box::new(WithSource(&error).to_string());
                let error = || Error::DatabaseError(DatabaseErrorKind::Unknown, text.clone());
                self.write.unknown = self.drop_rows(&rows, iter::repeat_with(error));
            }
            self.write.error = Some(error);
        }
        self.write.pending = self.keys.load(Ordering::Relaxed);
        self.write.took = begun.elapsed();
        self.write
    }

    /// Writes one table after another. Ends at the first error after which nothing more can be
    /// written now.
    fn write_tables(&mut self, conn: &mut Conn) -> QueryResult<()> {
        if is_in_a_real_transaction(conn)? {
            return Err(Error::AlreadyInTransaction);
        }
        execute_on(Dialect::MySql, SET_UP_MYSQL, conn)?;
        let tables = lock(self.backlog).sorted().len();
        let written = (0..tables).try_for_each(|table| self.write_table(table, conn));
        // This fails only if the connection is broken.
        let _ = execute_on(Dialect::MySql, RESTORE_ON_MYSQL, conn);
        written
    }

    /// Writes the table in batches, each in its own transaction. If the database refuses a batch,
    /// writes its parts, down to single rows. The rows don't change meanwhile: what is counted
    /// during a write joins the backlog afterwards.
    fn write_table(&mut self, table: usize, conn: &mut Conn) -> QueryResult<()> {
        self.table = table;
        let mut batches = lock(self.backlog).table_at(table).split(BATCH);
        let mut rows_left = 0;
        // Rows that failed with an error that we don't recognize.
        let mut doubtful = Vec::new();
        let mut last_written = None;
        while let Some(batch) = batches.pop() {
            self.commits.wait_for_reads();
            let refusal = match self.write_batch(&batch, conn)? {
                Ok(written_rows) => {
                    // A batch whose sums are all 0 runs no statement, so it doesn't show that the
                    // table accepts rows.
                    if written_rows > 0 {
                        last_written = Some(batch);
                    }
                    continue;
                }
                Err(refusal) => refusal,
            };
            let Refusal { error, at_once } = refusal;
            if batch.len() > 1 {
                let rows_per_part = batch.len().div_ceil(SPLIT_INTO);
                batches.extend(batch.split(rows_per_part));
            } else if is_row_fault(&error) {
                self.drop_refused(&batch, error);
            } else if at_once && !may_pass(&error) {
                doubtful.push((batch, error));
            } else {
                rows_left += self.leave_for_next_write(vec![(batch, error)]);
            }
            if rows_left + doubtful.len() >= MAX_LEFT {
                rows_left += self.refuse_faulty(&mut doubtful, last_written.as_ref(), conn);
            }
            if rows_left >= MAX_LEFT {
                break;
            }
        }
        self.refuse_faulty(&mut doubtful, last_written.as_ref(), conn);
        Ok(())
    }

    /// Writes a batch in a transaction, and removes it from the backlog. Returns the number of
    /// rows written, or why the database refused the batch. Fails if nothing more can be written
    /// now, or if we don't know whether the batch was committed.
    fn write_batch(
        &mut self,
        batch: &Batch<Conn>,
        conn: &mut Conn,
    ) -> QueryResult<Result<usize, Refusal>> {
        let begun = Instant::now();
        let mut has_begun = false;
        let mut written_rows = 0;
        let result = in_transaction(conn, |conn| {
            has_begun = true;
            written_rows = write_and_check(&**batch, conn)?;
            // Set before the COMMIT, because Diesel's instrumentation can panic there.
            self.unanswered = Some((Rc::clone(batch), self.commits.begin()));
            Ok(())
        });
        let at_once = begun.elapsed() < AT_ONCE;
        let Err(error) = result else {
            let unanswered = self.unanswered.take();
            self.remove(batch);
            drop(unanswered); // reads wait for this, so that they don't find the batch twice
            self.write.written += written_rows;
            return Ok(Ok(written_rows));
        };
        if is_rolled_back(&error) {
            self.unanswered = None;
        }
        let may_have_committed = self.unanswered.is_some();
        if !has_begun || may_have_committed || stops_all_writes(&error) || !is_alive(conn) {
            return Err(error);
        }
        Ok(Err(Refusal { error, at_once }))
    }

    /// Refuses the rows that are at fault, and leaves the others for the next write. A row is at
    /// fault if it fails again at once, for a reason that won't pass, and if the table accepts the
    /// batch `written` before and after it. Otherwise, the table may not accept any rows now, or it
    /// may accept these next time. Returns the number of rows that are left for the next write.
    fn refuse_faulty(
        &mut self,
        doubtful: &mut Vec<(Batch<Conn>, Error)>,
        written: Option<&Batch<Conn>>,
        conn: &mut Conn,
    ) -> usize {
        let rows = mem::take(doubtful);
        let Some(written) = written else {
            return self.leave_for_next_write(rows);
        };
        if rows.is_empty() || write_and_roll_back(&**written, conn).is_err() {
            return self.leave_for_next_write(rows);
        }
        let rows = rows.into_iter();
        let (at_fault, others): (Vec<_>, Vec<_>) =
            rows.partition(|(rows, _)| fails_again_at_once(&**rows, conn));
        let rows_left = self.leave_for_next_write(others);
        if write_and_roll_back(&**written, conn).is_err() {
            return rows_left + self.leave_for_next_write(at_fault);
        }
        for (rows, error) in at_fault {
            self.drop_refused(&rows, error);
        }
        rows_left
    }

    /// Leaves rows in the backlog for the next write, and reports the last error. Returns the
    /// number of rows.
    fn leave_for_next_write(&mut self, rows: Vec<(Batch<Conn>, Error)>) -> usize {
        let number = rows.len();
        if let Some((_, error)) = rows.into_iter().next_back() {
            self.write.error = Some(BackgroundError::Database(error));
        }
        number
    }

    /// Drops a row, and reports it as refused by the database.
    fn drop_refused(&mut self, row: &Batch<Conn>, error: Error) {
        let refused = self.drop_rows(row, iter::once(error));
        self.write.refused.extend(refused);
    }

    /// Removes rows from the backlog. Returns what to report for each row, with its error.
    fn drop_rows(&self, rows: &Batch<Conn>, errors: impl Iterator<Item = Error>) -> Vec<Dropped> {
        self.remove(rows);
        let table = rows.table();
        let rows = rows.printed_rows().into_iter().zip(errors);
        rows.map(|((day, key, amounts), error)| Dropped {
            table,
            key,
            day,
            amounts,
            error,
        })
        .collect()
    }

    /// Removes rows from the backlog.
    fn remove(&self, rows: &Batch<Conn>) {
        let removed = lock(self.backlog).table_at(self.table).remove(&**rows);
        self.keys.fetch_sub(removed, Ordering::Relaxed);
    }
}

/// Counts an increment, and writes it on this connection. Only this repository's own tests in
/// `lab/soak` use it.
pub fn write_once<Of, Conn: Connection<Backend: CounterBackend>>(
    increment: impl Countable<Conn, Of>,
    conn: &mut Conn,
) -> Write {
    let mut gathered = Gathered::default();
    let (second, room) = (None, usize::MAX); // reads today's date now, and has no limit
    let new_keys = gathered.count(increment, second, room);
    let keys = AtomicUsize::new(new_keys.unwrap_or_default());
    let backlog = Mutex::new(gathered);
    Writer::new(&backlog, &keys, &Commits::default()).write(|| Ok(conn))
}

/// Runs `work` in a transaction. A statement waits for a row lock for up to a second. On SQLite, it
/// waits as long as the connection's own timeout says.
fn in_transaction<Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> QueryResult<()>,
) -> QueryResult<()> {
    set_read_committed(conn)?;
    conn.transaction(|conn| {
        execute_on(Dialect::PostgreSql, LIMIT_ON_POSTGRES, conn)?;
        work(conn)
    })
}

/// Writes rows, and makes PostgreSQL run its deferred checks before the COMMIT. A deferred
/// trigger's error can have any text, so at the COMMIT, it wouldn't tell us whether the batch was
/// rolled back. On MySQL and MariaDB, waits for the table's lock for up to a second. Returns the
/// number of rows that were written.
fn write_and_check<Conn: Connection<Backend: CounterBackend>>(
    rows: &dyn AnyTableRows<Conn>,
    conn: &mut Conn,
) -> QueryResult<usize> {
    execute_on(Dialect::MySql, SHORT_TABLE_LOCK_WAIT, conn)?;
    let number = rows.write(conn)?;
    let check = "SET CONSTRAINTS ALL IMMEDIATE";
    execute_on(Dialect::PostgreSql, check, conn)?;
    execute_on(Dialect::MySql, LONG_TABLE_LOCK_WAIT, conn)?;
    Ok(number)
}

/// Tries to write these rows, and rolls back. Fails if the database doesn't accept them now.
fn write_and_roll_back<Conn: Connection<Backend: CounterBackend>>(
    rows: &dyn AnyTableRows<Conn>,
    conn: &mut Conn,
) -> QueryResult<()> {
    let result = in_transaction(conn, |conn| {
        write_and_check(rows, conn)?;
        Err(Error::RollbackTransaction)
    });
    match result {
        Err(Error::RollbackTransaction) => Ok(()),
        other => other,
    }
}

/// Returns whether these rows fail at once, for a reason that won't pass.
fn fails_again_at_once<Conn: Connection<Backend: CounterBackend>>(
    rows: &dyn AnyTableRows<Conn>,
    conn: &mut Conn,
) -> bool {
    let begun = Instant::now();
    let Err(error) = write_and_roll_back(rows, conn) else {
        return false;
    };
    begun.elapsed() < AT_ONCE && !may_pass(&error) && !stops_all_writes(&error)
}

fn is_alive(conn: &mut impl Connection) -> bool {
    conn.batch_execute("SELECT 1").is_ok()
}

/// Whether this error means that the database accepts no rows at all.
fn stops_all_writes(error: &Error) -> bool {
    use DatabaseErrorKind::{ClosedConnection, ReadOnlyTransaction, UnableToSendCommand, Unknown};
    match error {
        Error::DatabaseError(ReadOnlyTransaction | ClosedConnection | UnableToSendCommand, _)
        | Error::BrokenTransactionManager => true,
        Error::DatabaseError(Unknown, info) => info.message() == SQLITE_BUSY,
        _ => false,
    }
}
