//! Giving a counter another value.

use diesel::connection::Connection;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, push_names};
use crate::counter::{Counters, TableOf, checked_add, difference, table_of};
use crate::counting::increment::{Increment, increment};
use crate::days::AllDays;
use crate::key::{Entities, KeyExpression, KeyOf, KeyType};
use crate::reading::sums::Sums;
use crate::table::{CounterTable, NoEntity};
use crate::transaction::is_in_a_transaction;

/// Gives counters of an entity another value, with no model in hand.
///
/// The entity is named with [`of`](SetCounter::of). It adds the difference between the
/// new value and the sum it sees, on today's date in UTC, over
/// [`DEFAULT_SLOTS`](crate::DEFAULT_SLOTS): days before stay as they were.
///
/// What others count meanwhile is neither lost nor counted twice. Increments do not wait for
/// it, except on SQLite, which has one writer, and on MySQL and MariaDB in a transaction of
/// the caller's: there it reads the entity's rows under shared locks, until the transaction
/// ends.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::prelude::*;
/// use diesel_counters::set_counter;
/// use schema::article_counters::views;
///
/// increment(views).of(1_i64).by(3).execute(conn)?;
/// let before: i64 = set_counter(views).of(1_i64).to(100, conn)?;
/// increment(views).of(1_i64).execute(conn)?;
///
/// assert_eq!(before, 3);
/// assert_eq!(counter_value(views).of(1_i64).get_result::<i64>(conn)?, 101);
/// # Ok(())
/// # }
/// ```
pub fn set_counter<C: Counters>(counters: C) -> SetCounter<C> {
    SetCounter {
        increment: increment(counters),
    }
}

/// What gives the counters `C` of the entity `Id` another value; made by
/// [`set_counter`].
#[must_use = "nothing is set until `to` is called"]
pub struct SetCounter<C: Counters, Id = NoEntity> {
    pub(crate) increment: Increment<C, Id>,
}

impl<C: Counters> SetCounter<C> {
    /// Names the entity by its key.
    pub fn of<K: KeyOf<KeyType<C>>>(self, id: K) -> SetCounter<C, KeyExpression<K, C>> {
        SetCounter {
            increment: self.increment.of(id),
        }
    }
}

impl<C: Counters, Id: Clone> SetCounter<C, Id> {
    /// Sets the value. Returns the one before.
    ///
    /// It takes three statements in a transaction; four or more in a savepoint, if the
    /// connection is in a transaction already. The first of them writes zeros to the entity's row
    /// of 1970-01-01: it is the lock that lets one such correction in at a time. A
    /// [partitioned table](crate::CounterTable#partitions) requires a partition for it.
    ///
    /// # Errors
    ///
    /// The database's own, and an [overflow](crate::is_overflow()) when a difference is out
    /// of the range of an `i64`.
    pub fn to<'a, Conn>(self, value: C::Value, conn: &mut Conn) -> QueryResult<C::Value>
    where
        Conn: Connection,
        Increment<C, Id>: ExecuteDsl<Conn>,
        CurrentValue<C, Id>: LoadQuery<'a, Conn, C::Value>,
        LockedRows<C, Id>: LoadQuery<'a, Conn, C::Value>,
    {
        let value = C::amounts(value);
        let in_a_transaction = is_in_a_transaction(conn)?;
        conn.transaction(|conn| {
            let id = self.increment.id().clone();
            ExecuteDsl::execute(Increment::<C, Id>::lock(id.clone()), conn)?;
            let before = if in_a_transaction {
                let rows = read_locked_rows::<C, Id, Conn>(&id, conn)?;
                rows.into_iter()
                    .try_fold(C::ZERO, |sum, row| checked_add::<C>(sum, C::amounts(row)))?
            } else {
                let current = CurrentValue::<C, Id>::new(id, AllDays);
                C::amounts(current.get_result::<C::Value>(conn)?)
            };
            self.increment
                .amounts(difference::<C>(value, before)?)
                .execute(conn)?;
            Ok(C::value(before))
        })
    }
}

/// Reads the entity's rows until there are no more of them than before.
///
/// On MySQL and MariaDB at READ COMMITTED, a transaction can commit a row behind a read that
/// goes on to another row of the same transaction. The next read finds it. What was read
/// before is locked, and has not changed.
fn read_locked_rows<'a, C, Id, Conn>(id: &Id, conn: &mut Conn) -> QueryResult<Vec<C::Value>>
where
    C: Counters,
    Id: Clone,
    LockedRows<C, Id>: LoadQuery<'a, Conn, C::Value>,
{
    let mut number = None;
    loop {
        let rows = LockedRows::<C, Id> {
            table: table_of::<C>(),
            id: id.clone(),
        };
        let rows = rows.load::<C::Value>(conn)?;
        if number == Some(rows.len()) {
            return Ok(rows);
        }
        number = Some(rows.len());
    }
}

/// What a counter has.
type CurrentValue<C, Id> = Sums<C, Id>;

/// An entity's rows as they are now.
///
/// On MySQL and MariaDB a query of a transaction reads as of the first one of it, unless
/// it locks what it reads.
#[doc(hidden)]
pub struct LockedRows<C: Counters, Id> {
    table: TableOf<C>,
    id: Id,
}

/// Tells its queries from others.
#[doc(hidden)]
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
