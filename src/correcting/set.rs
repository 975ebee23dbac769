//! Setting counters to a value.

use diesel::connection::Connection;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, push_names};
use crate::counter::{Counters, TableOf, checked_add, difference};
use crate::counting::increment::{Increment, LockEntity, increment};
use crate::day::AllDays;
use crate::entity::{Entities, KeyExpression, KeyOf, KeyType};
use crate::reading::sums::Sums;
use crate::table::{CounterTable, NoEntity, TableName};
use crate::transaction::is_in_a_transaction;

/// Sets counters of an entity to a value.
///
/// The entity is given with [`of`](SetCounter::of), and the value with [`to`](SetCounter::to). It
/// adds the difference between the value and the stored sum, on today's date in UTC, over
/// [`DEFAULT_SLOTS`](crate::DEFAULT_SLOTS). Counts of earlier days do not change.
///
/// Counts of other transactions are neither lost nor counted twice. Increments do not wait for
/// it, with two exceptions: on SQLite, which has one writer; and on MySQL and MariaDB in a
/// transaction of the caller, where it locks the entity's rows until the transaction ends.
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
pub fn set_counter<C: Counters>(counters: C) -> SetCounter<C> {
    SetCounter::new(increment(counters))
}

/// Sets the counters `C` of the entity `Id`; made by [`set_counter`].
#[must_use = "nothing is set until it is executed"]
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

    /// The value to set, or a tuple of values. Defaults to 0.
    pub fn to(mut self, value: C::Value) -> Self {
        self.value = C::amounts(value);
        self
    }
}

impl<C: Counters, Id: Clone> SetCounter<C, Id> {
    /// Sets the value. Returns the one before.
    ///
    /// It runs three statements in a transaction; or four or more in a savepoint, if the
    /// connection is in a transaction already. The first statement writes zeros to the entity's
    /// row of 1970-01-01. This row is the lock that lets one correction of the entity run at a
    /// time. A [partitioned table](crate::CounterTable#partitions) requires a partition for it.
    ///
    /// # Errors
    ///
    /// The database's own, and an [overflow](crate::is_overflow()) if the difference is out of
    /// the range of an `i64`.
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
                rows.into_iter()
                    .try_fold(C::ZERO, |sum, row| checked_add::<C>(sum, C::amounts(row)))?
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

/// Reads the entity's rows until a read returns no more rows than the one before.
///
/// On MySQL and MariaDB at READ COMMITTED, a transaction can commit a row that this read has
/// already passed, and another that it then meets. The next read returns both. The rows of the
/// first read are locked, and have not changed.
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

/// A query of the entity's rows, as they are now.
///
/// On MySQL and MariaDB, a query in a transaction reads what was true when the transaction began
/// to read, unless it locks the rows.
#[derive(Debug)]
#[doc(hidden)]
pub struct LockedRows<C: Counters, Id> {
    table: TableOf<C>,
    id: Id,
}

// Tells the id of this query from others.
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
