//! Adding to counters: one entity, one statement.

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Date, SmallInt};
use diesel::{Expression, QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, push_names};
use crate::counter::{Counters, TableOf, table_of};
use crate::days::Day;
use crate::key::{Entity, KeyExpression, KeyOf, KeyType};
use crate::period::{Period, UNDATED, utc_today};
use crate::slot::{DEFAULT_SLOTS, Slot, SlotRange};
use crate::table::{CounterTable, NoEntity};

/// Adds to one or more counters of an entity, with no model in hand.
///
/// By 1 each, unless [`by`](Increment::by) says otherwise. The entity is named
/// with [`of`](Increment::of); several at once with
/// [`of_many`](Increment::of_many). It is a Diesel statement: run it with
/// [`execute`](RunQueryDsl::execute) in the current transaction. It returns the number of
/// entities that were incremented. Adding 0 returns 0 and does not reach the database.
///
/// This counts on today's date in UTC, over [`DEFAULT_SLOTS`]. Where a model's
/// `#[counters(…)]` says otherwise, use [`HasCounters::increment`], as in
/// `Article::increment(views)`.
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
/// (An `execute` other than Diesel's, such as diesel-async's, sends an increment by 0
/// too, and returns what the database returns.)
///
/// # Errors
///
/// [`execute`](RunQueryDsl::execute) returns the database's own error. A slot's count that
/// would leave the range of an `i64` is an [overflow](crate::is_overflow()). A day outside
/// 1000-01-01 to 9999-12-31 is a
/// [`SerializationError`](diesel::result::Error::SerializationError).
///
/// [`HasCounters::increment`]: crate::HasCounters::increment
pub fn increment<C: Counters>(counters: C) -> Increment<C> {
    Increment::new(counters, DEFAULT_SLOTS, Period::Day, utc_today())
}

/// An increment of the counters `C` of the entity `Id`; made by [`increment`].
#[must_use = "an increment counts nothing until it is executed"]
pub struct Increment<C: Counters, Id = NoEntity> {
    pub(crate) table: TableOf<C>,
    pub(crate) cell: Cell,
    rows: [(Id, C::Amounts); 1],
    pub(crate) period: Period,
    slots: i16,
}

/// The day that an increment goes to, and its choice of slots.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub(crate) day: Day,
    pub(crate) slots: SlotRange,
}

impl Cell {
    /// The row that corrections of an entity lock.
    pub(crate) const LOCK: Self = Cell {
        day: Day(UNDATED),
        slots: SlotRange::MERGED,
    };
}

impl<C: Counters, Id: Clone> Clone for Increment<C, Id> {
    fn clone(&self) -> Self {
        Increment {
            table: table_of::<C>(),
            rows: self.rows.clone(),
            ..*self
        }
    }
}

impl<C: Counters> Increment<C> {
    pub(crate) fn new(_counters: C, slots: i16, period: Period, today: NaiveDate) -> Self {
        Increment {
            table: table_of::<C>(),
            cell: Cell {
                day: Day(period.start(today)),
                slots: Slot::chosen().range(slots),
            },
            rows: [(NoEntity, C::ONE_EACH)],
            period,
            slots,
        }
    }

    /// Names the entity by its key.
    pub fn of<K: KeyOf<KeyType<C>>>(self, id: K) -> Increment<C, KeyExpression<K, C>> {
        let [(NoEntity, amounts)] = self.rows;
        Increment {
            table: self.table,
            cell: self.cell,
            rows: [(id.into_id(), amounts)],
            period: self.period,
            slots: self.slots,
        }
    }
}

impl<C: Counters, Id: Expression> Increment<C, Id> {
    /// Adds `amount`, which may be negative: an `i64` for one counter, a tuple
    /// with an `i64` each for a tuple of counters.
    pub fn by(self, amount: C::Value) -> Self {
        self.amounts(C::amounts(amount))
    }
}

impl<C: Counters<Table: CounterTable<KeyType = NoEntity>>> Increment<C> {
    /// Adds `amount` to counters of no entity; as for those of one.
    pub fn by(self, amount: C::Value) -> Self {
        self.amounts(C::amounts(amount))
    }
}

impl<C: Counters, Id> Increment<C, Id> {
    /// An increment by nothing that locks out others like it: it is of the entity's
    /// row without a day.
    pub(crate) fn lock(id: Id) -> Self {
        Increment {
            table: table_of::<C>(),
            cell: Cell::LOCK,
            rows: [(id, C::ZERO)],
            period: Period::Total,
            slots: 1,
        }
    }

    pub(crate) fn table(&self) -> &TableOf<C> {
        &self.table
    }

    pub(crate) fn id(&self) -> &Id {
        &self.rows[0].0
    }

    pub(crate) fn amounts(mut self, amounts: C::Amounts) -> Self {
        self.rows[0].1 = amounts;
        self
    }

    /// Counts on `day`, or in the model's period that it falls in, rather than
    /// today.
    pub fn on(mut self, day: NaiveDate) -> Self {
        self.cell.day = Day(self.period.start(day));
        self
    }

    /// Chooses the slot otherwise than [the process does](crate::set_default_slot).
    pub fn slot(mut self, slot: Slot) -> Self {
        self.cell.slots = slot.range(self.slots);
        self
    }
}

impl<C: Counters, Id, Conn> RunQueryDsl<Conn> for Increment<C, Id> {
    // Diesel's own would send an increment by 0, and answer 2 on MySQL for a row
    // that existed.
    fn execute(self, conn: &mut Conn) -> QueryResult<usize>
    where
        Conn: Connection,
        Self: ExecuteDsl<Conn>,
    {
        if is_zero(&self.rows[0].1) {
            return Ok(0);
        }
        ExecuteDsl::execute(self, conn).map(|_rows_affected| 1)
    }
}

impl<C, Id> QueryId for Increment<C, Id>
where
    C: Counters + QueryId,
    Id: QueryId,
{
    type QueryId = (NoEntity, C::QueryId, Id::QueryId);
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID && Id::HAS_STATIC_QUERY_ID;
}

impl<C, Id, DB> QueryFragment<DB> for Increment<C, Id>
where
    C: Counters,
    Id: Entity<C::Table, DB>,
    TableOf<C>: QueryFragment<DB>,
    DB: CounterBackend,
    Day: ToSql<Date, DB>,
    i16: ToSql<SmallInt, DB>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        walk_upsert::<C, _, _>(&self.table, &self.rows, &self.cell, out)
    }
}

/// One statement that adds each row's amounts to its entity, in one slot.
pub(crate) fn walk_upsert<'b, C, Id, DB>(
    table: &'b TableOf<C>,
    rows: &'b [(Id, C::Amounts)],
    cell: &'b Cell,
    mut out: AstPass<'_, 'b, DB>,
) -> QueryResult<()>
where
    C: Counters,
    Id: Entity<C::Table, DB>,
    TableOf<C>: QueryFragment<DB>,
    DB: CounterBackend,
    Day: ToSql<Date, DB>,
    i16: ToSql<SmallInt, DB>,
    i64: ToSql<BigInt, DB>,
{
    let dialect = Dialect::of(&out);
    dialect.push_insert_into(table, &mut out)?;
    push_names(C::Table::KEY, &mut out)?;
    for name in C::NAMES {
        out.push_sql(", ");
        out.push_identifier(name)?;
    }
    out.push_sql(") VALUES ");
    for (i, (id, amounts)) in rows.iter().enumerate() {
        out.push_sql(if i == 0 { "(" } else { ", (" });
        id.walk_value(out.reborrow())?;
        out.push_bind_param::<Date, _>(&cell.day)?;
        out.push_sql(", ");
        dialect.push_slot(&cell.slots, i == 0, &mut out)?;
        for amount in amounts.as_ref() {
            out.push_sql(", ");
            out.push_bind_param::<BigInt, _>(amount)?;
        }
        out.push_sql(")");
    }
    dialect.push_on_conflict_add(C::Table::KEY, C::NAMES, &mut out)
}

pub(crate) fn is_zero(amounts: &impl AsRef<[i64]>) -> bool {
    amounts.as_ref().iter().all(|&amount| amount == 0)
}
