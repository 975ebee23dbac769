//! Writing the backlog, in batches that are written at most once.

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
use crate::error::{SQLITE_BUSY, is_fault_of_row, is_passing, is_rolled_back};
use crate::sql::transaction::{begin_read_committed, execute_on, is_in_a_lasting_transaction};
use crate::sql::{CounterBackend, Dialect};

/// Writes the backlog, and removes what is written or dropped from it.
pub(crate) struct Writer<'a, Conn> {
    backlog: &'a Mutex<Gathered<Conn>>,
    /// The number of pending keys.
    keys: &'a AtomicUsize,
    commits: &'a Commits,
    /// The report. Its error is the one that ended the write, or that of the last row that is
    /// held.
    write: Write,
    /// The place in the backlog of the table that is written.
    table: usize,
    /// The batch that is being committed, until it is known whether it has committed.
    unanswered: Option<(Batch<Conn>, Unanswered<'a>)>,
}

/// Rows of one table.
type Batch<Conn> = Rc<dyn AnyTableRows<Conn>>;

/// The number of rows of a transaction. Others can wait for these rows.
const BATCH: usize = 2_500;

/// The number of parts of a batch, and of their parts: the square root of the number of its rows.
const PARTS: usize = 50;

/// How many rows of a table a write holds before it goes on with the next table. If it is not the
/// fault of these rows, all others would fail too.
const MOST_HELD: usize = 10;

/// A statement waits for a lock for a second, so an error that comes sooner has another cause. The
/// time decides, because the text cannot: servers translate it, and triggers have their own. It
/// includes the round trips of the transaction: if they take longer, the row is held.
const AT_ONCE: Duration = Duration::from_millis(100);

// How long a statement waits for a lock: a second. On SQLite, it is the connection's own time.
const LIMIT_ON_POSTGRES: &str = "SET LOCAL lock_timeout = '1s'";

/// The limit for locks of rows. Errors are in English, because some are recognized by their text.
///
/// A user variable keeps what a setting was. A write that panics does not restore the settings, so
/// a variable that has a value keeps it. A user variable that is NULL is a text, which MySQL does
/// not take for a number of seconds.
const LIMIT_ON_MYSQL: &str = "SET \
     @diesel_counters_row_wait = \
     CAST(COALESCE(@diesel_counters_row_wait, @@SESSION.innodb_lock_wait_timeout) AS SIGNED), \
     @diesel_counters_table_wait = \
     CAST(COALESCE(@diesel_counters_table_wait, @@SESSION.lock_wait_timeout) AS SIGNED), \
     @diesel_counters_lc_messages = \
     COALESCE(@diesel_counters_lc_messages, @@SESSION.lc_messages), \
     SESSION innodb_lock_wait_timeout = 1, \
     SESSION lc_messages = 'en_US'";

/// The limit for the lock of the table, which an ALTER TABLE waits for and holds.
const LIMIT_OF_TABLE_ON_MYSQL: &str = "SET SESSION lock_wait_timeout = 1";

/// Lifts that limit before the COMMIT, and a short one of the program: both are for a COMMIT, too,
/// which waits while a backup keeps commits back. After an error there, the batch would not be known
/// to be rolled back. The greatest value is a year.
const NO_LIMIT_OF_TABLE_ON_MYSQL: &str = "SET SESSION lock_wait_timeout = 31536000";

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

    /// Writes the tables, one after another. Ends at the first error after which nothing more can
    /// be written now.
    fn write_tables(&mut self, conn: &mut Conn) -> QueryResult<()> {
        if is_in_a_lasting_transaction(conn)? {
            return Err(Error::AlreadyInTransaction);
        }
        execute_on(Dialect::MySql, LIMIT_ON_MYSQL, conn)?;
        let mut tables = 0..lock(self.backlog).sorted().len();
        let written = tables.try_for_each(|table| self.write_table(table, conn));
        // It fails only if the connection is broken.
        let _ = execute_on(Dialect::MySql, RESTORE_ON_MYSQL, conn);
        written
    }

    /// Writes batches, each in its own transaction. If the database does not take a batch, writes
    /// its parts, down to each row. No row changes meanwhile: what is counted during a write joins
    /// the backlog after it.
    fn write_table(&mut self, table: usize, conn: &mut Conn) -> QueryResult<()> {
        self.table = table;
        let mut batches = lock(self.backlog).at(table).split(BATCH);
        let mut held = 0;
        // Rows that failed with an error that is not recognized.
        let mut doubtful = Vec::new();
        // The last batch that the database took.
        let mut written = None;
        while let Some(rows) = batches.pop() {
            self.commits.wait_for_reads();
            let begun = Instant::now();
            let mut has_begun = false;
            let mut number = 0;
            let result = in_transaction(conn, |conn| {
                has_begun = true;
                number = write_and_check(&*rows, conn)?;
                // Set before the COMMIT, because Diesel's instrumentation can panic there.
                self.unanswered = Some((Rc::clone(&rows), self.commits.begin()));
                Ok(())
            });
            let took = begun.elapsed();
            let Err(error) = result else {
                let unanswered = self.unanswered.take();
                self.remove(&rows);
                drop(unanswered);
                self.write.written += number;
                // Sums of 0 run no statement, and do not show that the table takes rows.
                if number > 0 {
                    written = Some(rows);
                }
                continue;
            };
            if is_rolled_back(&error) {
                self.unanswered = None;
            }
            let may_have_committed = self.unanswered.is_some();
            if !has_begun || may_have_committed || stops_all_writes(&error) || !is_alive(conn) {
                return Err(error);
            }
            if rows.len() > 1 {
                batches.extend(rows.split(rows.len().div_ceil(PARTS)));
            } else if is_fault_of_row(&error) {
                self.refuse(&rows, error);
            } else if took < AT_ONCE && !is_passing(&error) {
                doubtful.push((rows, error));
            } else {
                self.write.error = Some(BackgroundError::Database(error));
                held += 1;
            }
            if held + doubtful.len() >= MOST_HELD {
                held += self.settle(&mut doubtful, written.as_ref(), conn);
            }
            if held >= MOST_HELD {
                break;
            }
        }
        self.settle(&mut doubtful, written.as_ref(), conn);
        Ok(())
    }

    /// Refuses those of these rows that are at fault: they fail a second time at once, for a reason
    /// that does not pass, and the table takes the batch `written` before and after it. Otherwise the
    /// table may take no rows at all, or these the next time. Returns the number of rows that are
    /// held.
    fn settle(
        &mut self,
        doubtful: &mut Vec<(Batch<Conn>, Error)>,
        written: Option<&Batch<Conn>>,
        conn: &mut Conn,
    ) -> usize {
        let rows = mem::take(doubtful);
        let Some(written) = written else {
            return self.hold(rows);
        };
        if rows.is_empty() || write_and_roll_back(&**written, conn).is_err() {
            return self.hold(rows);
        }
        let (at_fault, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(rows, _)| {
            let begun = Instant::now();
            let Err(error) = write_and_roll_back(&**rows, conn) else {
                return false;
            };
            begun.elapsed() < AT_ONCE && !is_passing(&error) && !stops_all_writes(&error)
        });
        let held = self.hold(others);
        if write_and_roll_back(&**written, conn).is_err() {
            return held + self.hold(at_fault);
        }
        for (rows, error) in at_fault {
            self.refuse(&rows, error);
        }
        held
    }

    /// Leaves rows in the backlog, for the next write. Returns their number.
    fn hold(&mut self, rows: Vec<(Batch<Conn>, Error)>) -> usize {
        let number = rows.len();
        if let Some((_, error)) = rows.into_iter().next_back() {
            self.write.error = Some(BackgroundError::Database(error));
        }
        number
    }

    fn refuse(&mut self, rows: &Batch<Conn>, error: Error) {
        let refused = self.drop_rows(rows, iter::once(error));
        self.write.refused.extend(refused);
    }

    fn drop_rows(&self, rows: &Batch<Conn>, errors: impl Iterator<Item = Error>) -> Vec<Dropped> {
        self.remove(rows);
        let (table, _) = rows.table();
        let rows = rows.list().into_iter().zip(errors);
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
        let removed = lock(self.backlog).at(self.table).remove(&**rows);
        self.keys.fetch_sub(removed, Ordering::Relaxed);
    }
}

/// Counts an increment, and writes it on this connection, for the enumerator of the repository.
pub fn write_once<Of, Conn: Connection<Backend: CounterBackend>>(
    increment: impl Countable<Conn, Of>,
    conn: &mut Conn,
) -> Write {
    let mut gathered = Gathered::default();
    let new = gathered.count(increment, None, usize::MAX);
    let keys = AtomicUsize::new(new.unwrap_or_default());
    let backlog = Mutex::new(gathered);
    Writer::new(&backlog, &keys, &Commits::default()).write(|| Ok(conn))
}

/// Runs `work` in a transaction. A statement waits up to a second for a lock of a row. On SQLite, it
/// waits as long as the connection does.
fn in_transaction<Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> QueryResult<()>,
) -> QueryResult<()> {
    begin_read_committed(conn)?;
    conn.transaction(|conn| {
        execute_on(Dialect::PostgreSql, LIMIT_ON_POSTGRES, conn)?;
        work(conn)
    })
}

/// Writes rows, and checks what PostgreSQL would check at the COMMIT. An error of a deferred
/// trigger can have any text, and after a COMMIT it would not say whether the batch was rolled
/// back. On MySQL and MariaDB, waits for the lock of the table up to a second. Returns the number of
/// rows that were written.
fn write_and_check<Conn: Connection<Backend: CounterBackend>>(
    rows: &dyn AnyTableRows<Conn>,
    conn: &mut Conn,
) -> QueryResult<usize> {
    execute_on(Dialect::MySql, LIMIT_OF_TABLE_ON_MYSQL, conn)?;
    let number = rows.write(conn)?;
    let check = "SET CONSTRAINTS ALL IMMEDIATE";
    execute_on(Dialect::PostgreSql, check, conn)?;
    execute_on(Dialect::MySql, NO_LIMIT_OF_TABLE_ON_MYSQL, conn)?;
    Ok(number)
}

/// Fails if the database does not take these rows now.
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

/// Whether the connection still works.
fn is_alive(conn: &mut impl Connection) -> bool {
    conn.batch_execute("SELECT 1").is_ok()
}

/// Whether the database takes no rows at all.
fn stops_all_writes(error: &Error) -> bool {
    use DatabaseErrorKind::{ClosedConnection, ReadOnlyTransaction, UnableToSendCommand, Unknown};
    match error {
        Error::DatabaseError(ReadOnlyTransaction | ClosedConnection | UnableToSendCommand, _)
        | Error::BrokenTransactionManager => true,
        Error::DatabaseError(Unknown, info) => info.message() == SQLITE_BUSY,
        _ => false,
    }
}
