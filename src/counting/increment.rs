//! Adding to the counters of one entity, in one statement.

use std::sync::OnceLock;

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{Bind, CounterBackend, Dialect, push_names};
use crate::counter::Counters;
use crate::day::{Day, UNDATED};
use crate::key::{BindKey, KeyOf, KeyType, KeyTypes};
use crate::settings::{CounterSettings, assert_counter_table, assert_program_counts};
use crate::slot::{Slot, SlotRange};
use crate::table::{CounterTable, KeyNames};

/// Adds to one or more counters of an entity.
///
/// It adds 1 to each counter, or the amounts given with [`by`](Increment::by). The entity is
/// given with [`of`](Increment::of), and several entities with [`of_many`](Increment::of_many).
/// It is a Diesel statement: run it with [`execute`](RunQueryDsl::execute), in the current
/// transaction. `execute` returns the number of entities that were incremented. If all amounts are
/// 0, it returns 0 and sends nothing to the database.
///
/// It counts on the day on which it is executed, over the slots and by the period of the table's
/// [`counter_table!`](crate::counter_table). A counter that triggers of the database count does not
/// compile if the declaration names it.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let (article_id, yesterday) = (1_i64, chrono::Utc::now().date_naive().pred_opt().unwrap());
/// use diesel_counters::prelude::*;
/// use schema::article_counters::{likes, views};
///
/// increment(views).of(article_id).execute(conn)?;
/// increment(views).of(article_id).by(3).on(yesterday).execute(conn)?;
/// increment((views, likes)).of(article_id).by((2, 1)).execute(conn)?;
///
/// let counted = counter_value((views, likes)).of(article_id).get_result::<(i64, i64)>(conn)?;
/// assert_eq!(counted, (6, 1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`execute`](RunQueryDsl::execute) returns the database's own errors. It fails with:
///
/// - an [overflow](crate::is_overflow()), if the count in the row would be out of the range of an
///   `i64`;
/// - a [`SerializationError`](diesel::result::Error::SerializationError), if the day that the count is
///   stored under is outside of 1000-01-01 to 9999-12-31, or if the `index` of a [`Slot::Partition`] is
///   not less than its `of` (not on SQLite, which does not use the slot);
/// - a database error on PostgreSQL, if the database has another [partition](crate::set_default_slot).
pub fn increment<C: Counters>(_counters: C) -> Increment<C> {
    const { assert_program_counts::<C>() }
    Increment::new()
}

/// An increment of the counters `C` of the entity with the key `K`; made by [`increment`].
#[must_use = "an increment adds nothing until it is executed"]
#[derive(Debug)]
pub struct Increment<C: Counters, K = ()> {
    /// Unset until a statement needs it, so that the clock is read once, or not at all.
    pub(crate) day: OnceLock<Day>,
    pub(crate) slots: SlotRange,
    pub(crate) id: K,
    pub(crate) amounts: C::Amounts,
    pub(crate) slot: Slot,
}

impl<C: Counters, K: Clone> Clone for Increment<C, K> {
    fn clone(&self) -> Self {
        Increment {
            day: self.day.clone(),
            id: self.id.clone(),
            ..*self
        }
    }
}

impl<C: Counters> Increment<C> {
    pub(crate) fn new() -> Self {
        const { assert_counter_table::<C::Table>() }
        let slot = Slot::chosen();
        Increment {
            day: OnceLock::new(),
            slots: slot.range(C::Table::SLOTS),
            id: (),
            amounts: C::ONE_EACH,
            slot,
        }
    }

    /// Sets the entity, by its key.
    pub fn of<K: KeyOf<KeyType<C>>>(self, id: K) -> Increment<C, K> {
        self.of_id(id)
    }

    pub(crate) fn of_id<K>(self, id: K) -> Increment<C, K> {
        Increment {
            day: self.day,
            slots: self.slots,
            id,
            amounts: self.amounts,
            slot: self.slot,
        }
    }
}

impl<C: Counters, K> Increment<C, K> {
    /// Sets the amount to add, which may be negative: an `i64` for one counter, or a tuple of `i64`
    /// for a tuple of counters. Defaults to 1 for each counter. Give the entity first.
    pub fn by(self, amount: C::Value) -> Self
    where
        K: KeyOf<KeyType<C>>,
    {
        self.amounts(C::amounts(amount))
    }

    /// The increment by 0 that locks an entity against other corrections of its counters, until the
    /// transaction ends. Increments do not wait for it, except on SQLite.
    ///
    /// The lock is the entity's merged row of 1970-01-01. If the row does not exist, it is inserted.
    /// Run it with [`ExecuteDsl::execute`], which sends an increment by 0 too.
    pub(crate) fn lock(id: K) -> Self {
        Increment {
            day: Day(UNDATED).into(),
            slots: SlotRange::merged(),
            id,
            amounts: C::ZERO,
            slot: Slot::Connection,
        }
    }

    /// The day to count on. It stays the same from the first call on.
    pub(crate) fn day(&self) -> &Day {
        self.day.get_or_init(|| Day(today::<C::Table>()))
    }

    pub(crate) fn amounts(mut self, amounts: C::Amounts) -> Self {
        self.amounts = amounts;
        self
    }

    /// Sets the day to count on. Defaults to today. If the table counts by another
    /// [`Period`](crate::Period) than the day, it counts in the period that contains `day`.
    pub fn on(mut self, day: NaiveDate) -> Self {
        self.day = Day(C::Table::PERIOD.start(day)).into();
        self
    }

    /// Sets how the slot is chosen. Defaults to the [`Slot`] of the process; see
    /// [`set_default_slot`](crate::set_default_slot()).
    pub fn slot(mut self, slot: Slot) -> Self {
        self.slot = slot;
        self.slots = slot.range(C::Table::SLOTS);
        self
    }
}

impl<C: Counters, K, Conn> RunQueryDsl<Conn> for Increment<C, K> {
    // Diesel's `execute` would send an increment by 0. On MySQL it would return 2 for a row that
    // already exists.
    fn execute(self, conn: &mut Conn) -> QueryResult<usize>
    where
        Conn: Connection,
        Self: ExecuteDsl<Conn>,
    {
        if is_zero(&self.amounts) {
            return Ok(0);
        }
        ExecuteDsl::execute(self, conn).map(|_rows_affected| 1)
    }
}

/// An [`Increment`], or an [`IncrementMany`](crate::dsl::IncrementMany), that runs on the connection
/// `Conn`.
#[diagnostic::on_unimplemented(
    message = "this cannot be counted on a `{Conn}`",
    label = "this requires a connection of Diesel's, and the key of an entity: `.of(id)`"
)]
pub trait CountOn<Conn> {
    #[doc(hidden)]
    fn count(self, conn: &mut Conn) -> QueryResult<usize>;
}

impl<C: Counters, K, Conn: Connection> CountOn<Conn> for Increment<C, K>
where
    Self: ExecuteDsl<Conn>,
{
    fn count(self, conn: &mut Conn) -> QueryResult<usize> {
        self.execute(conn)
    }
}

/// Distinguishes the query id of an increment from others.
#[derive(Debug)]
pub struct Upsert;

// The SQL does not depend on the Rust type of the key.
impl<C: Counters + QueryId, K> QueryId for Increment<C, K> {
    type QueryId = (Upsert, C::QueryId);
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID;
}

impl<C, K, DB> QueryFragment<DB> for Increment<C, K>
where
    C: Counters,
    K: BindKey<KeyType<C>, DB>,
    C::Table: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_insert_into(C::Table::TABLE, &mut out)?;
        push_names(C::Table::KEY, &mut out)?;
        for name in C::NAMES {
            out.push_sql(", ");
            out.push_identifier(name)?;
        }
        out.push_sql(") VALUES (");
        for column in 0..KeyType::<C>::COLUMNS {
            self.id.walk_column(column, out.reborrow())?;
            out.push_sql(", ");
        }
        DB::push_bind(Bind::Day(self.day()), &mut out)?;
        out.push_sql(", ");
        dialect.push_slot(&self.slots, true, &mut out)?;
        for amount in self.amounts.as_ref() {
            out.push_sql(", ");
            DB::push_bind(Bind::Amount(amount), &mut out)?;
        }
        out.push_sql(")");
        dialect.push_on_conflict_add(C::Table::KEY, C::NAMES, &mut out)
    }
}

/// The first day of the period that the table counts today in.
pub(crate) fn today<T: CounterTable>() -> NaiveDate {
    T::PERIOD.start(T::today())
}

pub(crate) fn is_zero(amounts: &impl AsRef<[i64]>) -> bool {
    amounts.as_ref().iter().all(|&amount| amount == 0)
}
