//! Setting counters to a value.

use diesel::connection::Connection;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, push_names};
use crate::counter::{Counters, TableOf, difference, sum};
use crate::counting::increment::{Increment, LockEntity, increment};
use crate::day::AllDays;
use crate::entity::{Entities, KeyExpression, KeyOf, KeyType};
use crate::reading::sums::Sums;
use crate::table::{CounterTable, NoEntity, TableName};
use crate::transaction::is_in_a_transaction;

/// Sets one or more counters of an entity to a value.
///
/// The entity is given with [`of`](SetCounter::of), and the value with [`to`](SetCounter::to).
/// `execute` adds the difference between the value and the stored total to today's count, and
/// returns the total before. Counts of earlier days do not change.
///
/// Today is the date in UTC, and the slot is one of [`DEFAULT_SLOTS`](crate::DEFAULT_SLOTS). For a
/// model whose `#[counters(…)]` has other settings, use
/// [`HasCounters::set_counter`](crate::HasCounters::set_counter).
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::prelude::*;
/// use diesel_counters::dsl::set_counter;
/// use schema::article_counters::views;
///
/// increment(views).of(1_i64).by(3).execute(conn)?;
/// let before: i64 = set_counter(views).of(1_i64).to(100).execute(conn)?;
/// increment(views).of(1_i64).execute(conn)?;
///
/// assert_eq!(before, 3);
/// assert_eq!(counter_value(views).of(1_i64).get_result::<i64>(conn)?, 101);
/// # Ok(())
/// # }
/// ```
///
/// # Concurrency
///
/// A count of another transaction is neither lost nor counted twice. Increments do not wait for
/// `set_counter`, with two exceptions:
///
/// - on SQLite, which has one writer at a time;
/// - on MySQL and MariaDB if the caller has a transaction open: there it locks the entity's rows
///   until the transaction ends.
///
/// Other corrections of the same entity wait for it; see [`execute`](SetCounter::execute).
pub fn set_counter<C: Counters>(counters: C) -> SetCounter<C> {
    SetCounter::new(increment(counters))
}

/// Sets the counters `C` of the entity `Id`; made by [`set_counter`].
#[must_use = "a counter is not set until this is executed"]
#[derive(Debug, Clone)]
pub struct SetCounter<C: Counters, Id = NoEntity> {
    increment: Increment<C, Id>,
    value: C::Amounts,
}

impl<C: Counters> SetCounter<C> {
    /// Sets the entity, by its key.
    pub fn of<K: KeyOf<KeyType<C>>>(self, id: K) -> SetCounter<C, KeyExpression<K, C>> {
        SetCounter {
            increment: self.increment.of(id),
            value: self.value,
        }
    }
}

impl<C: Counters, Id> SetCounter<C, Id> {
    /// Sets the counters that `increment` adds to.
    pub(crate) fn new(increment: Increment<C, Id>) -> Self {
        SetCounter {
            increment,
            value: C::ZERO,
        }
    }

    /// Sets the value, or a tuple of values. Defaults to 0.
    pub fn to(mut self, value: C::Value) -> Self {
        self.value = C::amounts(value);
        self
    }
}

impl<C: Counters, Id: Clone> SetCounter<C, Id> {
    /// Sets the counters. Returns the value before, or a tuple of values.
    ///
    /// It runs up to three statements in a transaction. If a transaction is open, it runs three or
    /// more in a savepoint. The first statement adds 0 to the entity's row of 1970-01-01 in slot 0,
    /// which is inserted if it does not exist. This row is the lock that lets one correction of the
    /// entity run at a time. A [partitioned table](crate::CounterTable#partitions) requires a
    /// partition for it.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors, and an [overflow](crate::is_overflow()) if the
    /// difference is out of the range of an `i64`.
    pub fn execute<'a, Conn>(self, conn: &mut Conn) -> QueryResult<C::Value>
    where
        Conn: Connection,
        LockEntity<C, Id>: ExecuteDsl<Conn>,
        Increment<C, Id>: ExecuteDsl<Conn>,
        Sums<C, Id>: LoadQuery<'a, Conn, C::Value>,
        LockedRows<C, Id>: LoadQuery<'a, Conn, C::Value>,
    {
        let in_a_transaction = is_in_a_transaction(conn)?;
        conn.transaction(|conn| {
            let id = self.increment.id().clone();
            LockEntity::<C, Id>::new(id.clone()).execute(conn)?;
            let before = if in_a_transaction {
                let rows = read_locked_rows::<C, Id, Conn>(&id, conn)?;
                sum::<C>(rows.into_iter().map(C::amounts))?
            } else {
                let stored = Sums::<C, Id>::new(id, AllDays);
                C::amounts(stored.get_result::<C::Value>(conn)?)
            };
            self.increment
                .amounts(difference::<C>(self.value, before)?)
                .execute(conn)?;
            Ok(C::value(before))
        })
    }
}

/// Reads the entity's rows until two reads in a row return the same number of rows.
///
/// On MySQL and MariaDB at READ COMMITTED, another transaction can commit two rows during a read:
/// one that the read has already passed, and one that it reaches later. The next read returns both.
/// The rows of the earlier read are locked and have not changed.
fn read_locked_rows<'a, C, Id, Conn>(id: &Id, conn: &mut Conn) -> QueryResult<Vec<C::Value>>
where
    C: Counters,
    Id: Clone,
    LockedRows<C, Id>: LoadQuery<'a, Conn, C::Value>,
{
    let mut number = None;
    loop {
        let rows = LockedRows::<C, Id> {
            table: TableName::new(),
            id: id.clone(),
        };
        let rows = rows.load::<C::Value>(conn)?;
        if number == Some(rows.len()) {
            return Ok(rows);
        }
        number = Some(rows.len());
    }
}

/// A query of the latest committed rows of the entity.
///
/// On MySQL and MariaDB, a query in a transaction reads the snapshot of the transaction's first
/// query, unless it locks the rows.
#[derive(Debug)]
#[doc(hidden)]
pub struct LockedRows<C: Counters, Id> {
    table: TableOf<C>,
    id: Id,
}

// Distinguishes the query id of this query from others.
#[doc(hidden)]
#[derive(Debug)]
pub struct Locked;

impl<C: Counters, Id> Query for LockedRows<C, Id> {
    type SqlType = C::SqlType;
}

impl<C: Counters, Id, Conn> RunQueryDsl<Conn> for LockedRows<C, Id> {}

impl<C: Counters + QueryId, Id: QueryId> QueryId for LockedRows<C, Id> {
    type QueryId = (Locked, C::QueryId, Id::QueryId);
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID && Id::HAS_STATIC_QUERY_ID;
}

impl<C, Id, DB> QueryFragment<DB> for LockedRows<C, Id>
where
    C: Counters,
    Id: Entities<C::Table, DB>,
    TableOf<C>: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        push_names(C::NAMES, &mut out)?;
        out.push_sql(" FROM ");
        self.table.walk_ast(out.reborrow())?;
        dialect.push_by_key(&mut out);
        let entity = C::Table::ENTITY.unwrap_or_default();
        self.id.walk_where(entity, out.reborrow())?;
        dialect.push_read_latest(C::Table::DAY, C::Table::SLOT, &mut out)
    }
}
