//! Gathering the increments of a transaction, and writing them at its end.

use std::any::Any;
use std::collections::btree_map::{BTreeMap, Entry};
use std::{fmt, mem};

use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::result::Error;

use crate::add::gathered::{Rows, TableId, add_sums, sums, table_id, write_rows};
use crate::add::increment::Increment;
use crate::add::many::IncrementMany;
use crate::sql::CounterBackend;
use crate::sql::transaction::Conflict;
use crate::typed::counters::{Counters, KeyType};
use crate::typed::key::BindKey;

/// Runs `work` in a transaction, gathers the increments that it counts, and writes them as the last
/// statements of the transaction.
///
/// Use it if a transaction counts in many places, or the same entities several times. Pass the
/// [`CountingTransaction`] to the functions that count:
///
/// ```
/// # include!("../doctest_setup.rs");
/// # use schema::comments;
/// use diesel_counters::prelude::*;
/// use diesel_counters::{CountingTransaction, counting_transaction};
///
/// fn post(
///     body: &str,
///     id: i64,
///     tx: &mut CountingTransaction<'_, SqliteConnection>,
/// ) -> QueryResult<()> {
///     diesel::insert_into(comments::table)
///         .values((comments::article_id.eq(id), comments::body.eq(body)))
///         .execute(tx.conn())?;
///     tx.count(increment(article_counters::comments).of(id));
///     Ok(())
/// }
///
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// counting_transaction(conn, |tx| {
///     post("Nice.", 1, tx)?;
///     post("Thanks.", 1, tx)?;
///     tx.count(increment(article_counters::views).of(2));
///     QueryResult::Ok(())
/// })?; // two inserts, and one statement that counts
/// # let value = |id: i64, conn: &mut _| counter_value((article_counters::comments, article_counters::views)).of(id).get_result::<(i64, i64)>(conn);
/// # assert_eq!(value(1, conn)?, (2, 0));
/// # assert_eq!(value(2, conn)?, (0, 1));
/// # Ok(())
/// # }
/// ```
///
/// The increments of an entity are added up. A sum of 0 writes nothing. The others are written in the
/// order of tables, days and keys, in one statement for each table and day, or in a few on databases
/// other than PostgreSQL, as by [`of_many`](Increment::of_many). All counters of the
/// table that the transaction has counted are in each statement, also where 0 is added to them.
///
/// Counter rows are thus locked only until the COMMIT that follows, and always in the same order:
/// transactions that count only in this way do not deadlock on counters, even if they share a slot.
/// There are two exceptions:
///
/// - On MySQL and MariaDB, if a transaction that has inserted a row rolls back, two others that wait
///   for this row can deadlock.
/// - As in [`of_many`](Increment::of_many), two spellings of a key of text that the
///   collation treats as equal have no order.
///
/// If `work` fails, nothing is written. What `work` reads does not include what it has counted.
///
/// If a transaction is open already, it runs in a savepoint, as [`Connection::transaction`] does,
/// and its increments are the last statements of the savepoint only. On SQLite, write
/// `conn.immediate_transaction(|conn| counting_transaction(conn, …))`. To run it again if it
/// conflicts with others, write `retry().run(conn, |conn| counting_transaction(conn, …))`.
///
/// # Errors
///
/// It returns the error of `work`. It fails with the errors of
/// [`increment`](crate::dsl::increment()), and with an [overflow](crate::is_overflow()) if a sum is
/// out of the range of an `i64`. After an error, nothing is written, unless the connection breaks
/// during the COMMIT: then it is not known.
pub fn counting_transaction<Conn, T, E>(
    conn: &mut Conn,
    work: impl FnOnce(&mut CountingTransaction<'_, Conn>) -> Result<T, E>,
) -> Result<T, E>
where
    Conn: Connection,
    E: From<Error>,
{
    let mut conflict = Conflict::default();
    let result = conn.transaction(|conn| {
        let mut tx = CountingTransaction::new(conn);
        let value = work(&mut tx)?;
        if tx.is_lost {
            return Err(Error::BrokenTransactionManager.into());
        }
        if tx.savepoint_failed {
            // At a deadlock, MySQL and MariaDB roll back the whole transaction, with the rows that
            // were counted. Further statements run outside of it. An empty savepoint then fails.
            tx.conn.transaction(|_| QueryResult::Ok(()))?;
        }
        for counts in tx.gathered.into_values() {
            conflict.keep((counts.write)(counts.rows, tx.conn))?;
        }
        Ok(value)
    });
    conflict.or(result)
}

/// A transaction that gathers increments; made by [`counting_transaction`].
pub struct CountingTransaction<'a, Conn> {
    conn: &'a mut Conn,
    gathered: Gathered<Conn>,
    /// Whether the last savepoint failed.
    savepoint_failed: bool,
    /// Whether a savepoint could not be released or rolled back, because the database had rolled back
    /// the whole transaction.
    is_lost: bool,
}

impl<'a, Conn: Connection> CountingTransaction<'a, Conn> {
    fn new(conn: &'a mut Conn) -> Self {
        CountingTransaction {
            conn,
            gathered: BTreeMap::new(),
            savepoint_failed: false,
            is_lost: false,
        }
    }

    /// Returns the connection, for the other statements of the transaction.
    ///
    /// If a statement may fail and `work` is to go on, run it in
    /// [`transaction`](CountingTransaction::transaction). On MySQL and MariaDB, a deadlock rolls back
    /// the whole transaction, and an error that is ignored would hide it.
    pub fn conn(&mut self) -> &mut Conn {
        self.conn
    }

    /// Gathers an increment: of an entity, such as `increment(views).of(id)`,
    /// [`of_many`](Increment::of_many), or without an entity. It runs no statement.
    ///
    /// Keys are owned, such as an `i64` or a `String`. Give all keys of a table as one Rust type:
    /// each type has statements of its own.
    pub fn count<I: Countable<Conn>>(&mut self, increment: I) {
        increment.count_in(self);
    }

    /// Runs `work` in a savepoint. If it fails, the savepoint is rolled back, and what `work` has
    /// counted is not counted.
    ///
    /// Use it in place of `tx.conn().transaction(…)`, in which nothing can be counted.
    ///
    /// On MySQL and MariaDB, return the error if it [`is_retryable`](crate::is_retryable()): a deadlock
    /// has then rolled back the whole transaction. If you go on, `counting_transaction` fails at its
    /// end, but the statements that ran after the deadlock stay committed.
    pub fn transaction<T, E>(
        &mut self,
        work: impl FnOnce(&mut CountingTransaction<'_, Conn>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<Error>,
    {
        let mut has_begun = false;
        let result = self.conn.transaction(|conn| {
            has_begun = true;
            let mut tx = CountingTransaction::new(conn);
            let value = work(&mut tx).map_err(SavepointError::Work)?;
            Ok((value, tx.gathered))
        });
        self.savepoint_failed = result.is_err();
        let (value, gathered) = result.map_err(|error| match error {
            SavepointError::Work(error) => error,
            SavepointError::Savepoint(error) => {
                self.is_lost |= has_begun;
                error.into()
            }
        })?;
        for (table, counts) in gathered {
            self.merge(table, counts);
        }
        Ok(value)
    }

    fn add<C, K>(&mut self, rows: Rows<K>, write: Write<Conn>)
    where
        C: Counters<Table: 'static>,
        K: Ord + 'static,
    {
        let table = table_id::<C::Table, K>();
        let counts = TableCounts {
            rows: Box::new(rows),
            append: append::<K>,
            write,
        };
        self.merge(table, counts);
    }

    fn merge(&mut self, table: TableId, counts: TableCounts<Conn>) {
        match self.gathered.entry(table) {
            Entry::Vacant(none) => drop(none.insert(counts)),
            Entry::Occupied(earlier) => (counts.append)(&mut earlier.into_mut().rows, counts.rows),
        }
    }
}

/// The error of the work in a savepoint, or of the statements that begin and end the savepoint.
enum SavepointError<E> {
    Work(E),
    Savepoint(Error),
}

impl<E> From<Error> for SavepointError<E> {
    fn from(error: Error) -> Self {
        SavepointError::Savepoint(error)
    }
}

impl<Conn> fmt::Debug for CountingTransaction<'_, Conn> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountingTransaction")
            .finish_non_exhaustive()
    }
}

/// An increment that a [`CountingTransaction`] gathers: an [`Increment`] of an entity or without
/// one, or an [`IncrementMany`]. Do not implement it yourself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an increment that a transaction can gather",
    label = "this requires an increment with the key of its entity, such as `increment(views).of(id)`"
)]
pub trait Countable<Conn> {
    #[doc(hidden)]
    fn count_in(self, tx: &mut CountingTransaction<'_, Conn>);
}

#[diagnostic::do_not_recommend]
impl<C, K, Conn> Countable<Conn> for Increment<C, K>
where
    C: Counters<Table: 'static>,
    K: BindKey<KeyType<C>, Conn::Backend> + Ord + 'static,
    Conn: Connection<Backend: CounterBackend>,
{
    fn count_in(self, tx: &mut CountingTransaction<'_, Conn>) {
        let day = self.day().0;
        let row = ((day, self.id.0), sums::<C>(&self.amounts));
        tx.add::<C, K>([row].into(), write_all::<C, K, Conn>);
    }
}

impl<C, K, Conn> Countable<Conn> for IncrementMany<C, K>
where
    C: Counters<Table: 'static>,
    K: BindKey<KeyType<C>, Conn::Backend> + Ord + 'static,
    Conn: Connection<Backend: CounterBackend>,
{
    fn count_in(self, tx: &mut CountingTransaction<'_, Conn>) {
        let day = self.increment.day().0;
        let mut rows = Rows::new();
        for (key, amounts) in self.counts {
            add_sums(rows.entry((day, key)).or_default(), &sums::<C>(&amounts));
        }
        tx.add::<C, K>(rows, write_all::<C, K, Conn>);
    }
}

/// What was gathered, in the order in which all transactions write it.
type Gathered<Conn> = BTreeMap<TableId, TableCounts<Conn>>;

/// What was gathered for one table: its [`Rows`].
struct TableCounts<Conn> {
    rows: Box<dyn Any>,
    append: fn(&mut Box<dyn Any>, Box<dyn Any>),
    write: Write<Conn>,
}

type Write<Conn> = fn(Box<dyn Any>, &mut Conn) -> QueryResult<()>;

fn rows_of<K: 'static>(rows: &mut Box<dyn Any>) -> &mut Rows<K> {
    let rows = rows.downcast_mut();
    rows.expect("the rows were gathered for this type of key")
}

fn append<K: Ord + 'static>(rows: &mut Box<dyn Any>, mut later: Box<dyn Any>) {
    for (row, sums) in mem::take(rows_of::<K>(&mut later)) {
        add_sums(rows_of(rows).entry(row).or_default(), &sums);
    }
}

fn write_all<C, K, Conn>(mut rows: Box<dyn Any>, conn: &mut Conn) -> QueryResult<()>
where
    C: Counters,
    K: BindKey<KeyType<C>, Conn::Backend> + Ord + 'static,
    Conn: Connection<Backend: CounterBackend>,
{
    write_rows::<C::Table, K, Conn>(mem::take(rows_of(&mut rows)), conn)
}
