//! The table of batches, by which each batch is written once.

use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::result::{DatabaseErrorKind, Error};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{Bind, CounterBackend, Dialect, push_names};
use crate::day::{Day, utc_today};

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
                LockWaits::Limited.execute(conn)?;
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
        let (id, day) = (self.id, Day(utc_today()));
        match from {
            Some(from) => Ok(OnRow::Replace { id, from, to, day }.execute(conn)? == 1),
            None => match (OnRow::Insert { id, to, day }).execute(conn) {
                Err(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)) => Ok(false),
                inserted => inserted.map(|_| true),
            },
        }
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
            OnRow::Delete { id: self.id }.execute(conn)?;
        }
        Ok(())
    }
}

/// A statement on the row of a buffer.
#[derive(Debug)]
enum OnRow {
    Insert {
        id: i64,
        to: i64,
        day: Day,
    },
    Replace {
        id: i64,
        from: i64,
        to: i64,
        day: Day,
    },
    Delete {
        id: i64,
    },
}
statement!(OnRow());

impl<DB: CounterBackend> QueryFragment<DB> for OnRow {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        match self {
            OnRow::Insert { id, to, day } => {
                out.push_sql("INSERT INTO ");
                out.push_identifier(TABLE)?;
                out.push_sql(" (");
                push_names(&[ID, BATCH, DAY], &mut out)?;
                out.push_sql(") VALUES (");
                DB::push_bind(Bind::Amount(id), &mut out)?;
                out.push_sql(", ");
                DB::push_bind(Bind::Amount(to), &mut out)?;
                out.push_sql(", ");
                DB::push_bind(Bind::Day(day), &mut out)?;
                out.push_sql(")");
                Ok(())
            }
            OnRow::Replace { id, from, to, day } => {
                out.push_sql("UPDATE ");
                out.push_identifier(TABLE)?;
                push_is(" SET ", BATCH, Bind::Amount(to), &mut out)?;
                push_is(", ", DAY, Bind::Day(day), &mut out)?;
                push_is(" WHERE ", ID, Bind::Amount(id), &mut out)?;
                push_is(" AND ", BATCH, Bind::Amount(from), &mut out)
            }
            OnRow::Delete { id } => {
                out.push_sql("DELETE FROM ");
                out.push_identifier(TABLE)?;
                push_is(" WHERE ", ID, Bind::Amount(id), &mut out)
            }
        }
    }
}

const TABLE: &str = "counter_buffers";
const ID: &str = "id";
const BATCH: &str = "batch";
const DAY: &str = "day";

fn push_is<'b, DB: CounterBackend>(
    before: &str,
    column: &str,
    value: Bind<'b>,
    out: &mut AstPass<'_, 'b, DB>,
) -> QueryResult<()> {
    out.push_sql(before);
    out.push_identifier(column)?;
    out.push_sql(" = ");
    DB::push_bind(value, out)
}

/// How long a statement waits for a lock, and the language of its errors.
#[derive(Debug)]
pub(crate) enum LockWaits {
    /// A second at most: on PostgreSQL in this transaction, on MySQL and MariaDB until
    /// [`Restored`](LockWaits::Restored). On SQLite, the connection's own time.
    ///
    /// On MySQL and MariaDB, errors are in English, because some are recognized by their text. On
    /// PostgreSQL, only a superuser can choose their language.
    Limited,
    /// As before.
    Restored,
}
statement!(LockWaits());

impl<DB: CounterBackend> QueryFragment<DB> for LockWaits {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // MySQL takes no text for the variable, and a user variable that is NULL is a text.
        out.push_sql(match (Dialect::of(&out), self) {
            (Dialect::PostgreSql, LockWaits::Limited) => "SET LOCAL lock_timeout = '1s'",
            (Dialect::MySql, LockWaits::Limited) => {
                "SET @diesel_counters_lock_wait = CAST(COALESCE(@diesel_counters_lock_wait, \
                 @@SESSION.innodb_lock_wait_timeout) AS SIGNED), \
                 SESSION innodb_lock_wait_timeout = 1, \
                 @diesel_counters_lc_messages = COALESCE(@diesel_counters_lc_messages, \
                 @@SESSION.lc_messages), SESSION lc_messages = 'en_US'"
            }
            (Dialect::MySql, LockWaits::Restored) => {
                "SET SESSION innodb_lock_wait_timeout = CAST(COALESCE(@diesel_counters_lock_wait, \
                 @@SESSION.innodb_lock_wait_timeout) AS SIGNED), @diesel_counters_lock_wait = NULL, \
                 SESSION lc_messages = COALESCE(@diesel_counters_lc_messages, \
                 @@SESSION.lc_messages), @diesel_counters_lc_messages = NULL"
            }
            // They do nothing.
            (Dialect::PostgreSql, LockWaits::Restored) | (Dialect::Sqlite, _) => "SELECT 1",
        });
        Ok(())
    }
}
