//! The table of batches, by which each batch is written once.

use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::result::{DatabaseErrorKind, Error};

use crate::day::{Day, utc_today};
use crate::shape::Name;
use crate::sql::{CounterBackend, Dialect, execute, sql};

/// The row of a buffer in the table `counter_buffers`: the number of its last batch.
pub(crate) struct Batches {
    id: i64,
    stored: Option<i64>,
}

impl Batches {
    pub(crate) fn new() -> Self {
        Batches {
            id: rand::random_range(1..=i64::MAX),
            stored: None,
        }
    }

    /// Returns the number of the next batch.
    pub(crate) fn next(&self) -> i64 {
        self.stored.unwrap_or(0) + 1
    }

    /// The batch with this number was written.
    pub(crate) fn written(&mut self, batch: i64) {
        self.stored = Some(batch);
    }

    /// Stores the number of the next batch, in the transaction that writes it.
    pub(crate) fn claim<Conn>(&self, conn: &mut Conn) -> QueryResult<bool>
    where
        Conn: Connection<Backend: CounterBackend>,
    {
        self.replace(self.stored, self.next(), conn)
    }

    /// Returns whether the transaction that has claimed the next batch has committed, if nobody knows.
    /// If it has not, it never will.
    ///
    /// Each statement waits until that transaction has ended, because it has locked the row. Then no
    /// transaction can store its number again: the number is that of the batch, or one that is greater.
    /// That is committed too, because only a COMMIT shows a conflict with another node of a cluster.
    pub(crate) fn resolve<Conn>(&mut self, conn: &mut Conn) -> QueryResult<bool>
    where
        Conn: Connection<Backend: CounterBackend>,
    {
        let (batch, skipped) = (self.next(), self.next() + 1);
        let mut is = |from, to| {
            let mut replaced = None;
            let result = conn.transaction(|conn| {
                limit_lock_waits(conn)?;
                replaced = Some(self.replace(from, to, conn)?);
                match replaced {
                    Some(true) => Ok(()),
                    _ => Err(Error::RollbackTransaction),
                }
            });
            match replaced {
                Some(false) => Ok(false),
                _ => result.map(|()| true),
            }
        };
        let has_committed = if is(self.stored, skipped)? {
            false
        } else if is(Some(batch), batch)? {
            true
        } else if is(Some(skipped), skipped)? {
            // An earlier call has stored it, and did not know.
            false
        } else {
            // Somebody deleted the row. A batch is rather lost than written twice.
            *self = Batches::new();
            return Ok(true);
        };
        self.stored = Some(if has_committed { batch } else { skipped });
        Ok(has_committed)
    }

    /// Replaces the number `from`. Returns `false` if another number is stored.
    fn replace<Conn>(&self, from: Option<i64>, to: i64, conn: &mut Conn) -> QueryResult<bool>
    where
        Conn: Connection<Backend: CounterBackend>,
    {
        let (id, day) = (&self.id, Day(utc_today()));
        let Some(from) = from else {
            let inserted = execute(conn, |_| {
                sql!("INSERT INTO {TABLE} ({ID}, {BATCH}, {DAY}) VALUES ({id}, {&to}, {&day})")
            });
            return match inserted {
                Err(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)) => Ok(false),
                inserted => inserted.map(|_| true),
            };
        };
        let replaced = execute(conn, |_| {
            sql!(
                "UPDATE {TABLE} SET {BATCH} = {&to}, {DAY} = {&day} \
                 WHERE {ID} = {id} AND {BATCH} = {&from}"
            )
        })?;
        Ok(replaced == 1)
    }

    pub(crate) fn has_row(&self) -> bool {
        self.stored.is_some()
    }

    /// Removes the row.
    pub(crate) fn end<Conn>(&mut self, conn: &mut Conn) -> QueryResult<()>
    where
        Conn: Connection<Backend: CounterBackend>,
    {
        if self.stored.take().is_some() {
            execute(conn, |_| {
                sql!("DELETE FROM {TABLE} WHERE {ID} = {&self.id}")
            })?;
        }
        Ok(())
    }
}

const TABLE: Name<'static> = Name("counter_buffers");
const ID: Name<'static> = Name("id");
const BATCH: Name<'static> = Name("batch");
const DAY: Name<'static> = Name("day");

/// Limits how long a statement waits for a lock to a second: on PostgreSQL in this transaction, on MySQL
/// and MariaDB until [`restore_lock_waits`]. On SQLite, it is the connection's own time.
///
/// On MySQL and MariaDB, errors are in English, because some are recognized by their text. On
/// PostgreSQL, only a superuser can choose their language.
pub(crate) fn limit_lock_waits<Conn>(conn: &mut Conn) -> QueryResult<()>
where
    Conn: Connection<Backend: CounterBackend>,
{
    execute(conn, |db| match db {
        Dialect::PostgreSql => sql!("SET LOCAL lock_timeout = '1s'"),
        // MySQL takes no text for the variable, and a user variable that is NULL is a text.
        Dialect::MySql => sql!(
            "SET @diesel_counters_lock_wait = CAST(COALESCE(@diesel_counters_lock_wait, \
             @@SESSION.innodb_lock_wait_timeout) AS SIGNED), \
             SESSION innodb_lock_wait_timeout = 1, \
             @diesel_counters_lc_messages = COALESCE(@diesel_counters_lc_messages, \
             @@SESSION.lc_messages), SESSION lc_messages = 'en_US'"
        ),
        Dialect::Sqlite => db.nothing(),
    })
    .map(drop)
}

/// Undoes [`limit_lock_waits`].
pub(crate) fn restore_lock_waits<Conn>(conn: &mut Conn) -> QueryResult<()>
where
    Conn: Connection<Backend: CounterBackend>,
{
    execute(conn, |db| match db {
        Dialect::MySql => sql!(
            "SET SESSION innodb_lock_wait_timeout = CAST(COALESCE(@diesel_counters_lock_wait, \
             @@SESSION.innodb_lock_wait_timeout) AS SIGNED), @diesel_counters_lock_wait = NULL, \
             SESSION lc_messages = COALESCE(@diesel_counters_lc_messages, \
             @@SESSION.lc_messages), @diesel_counters_lc_messages = NULL"
        ),
        _ => db.nothing(),
    })
    .map(drop)
}
