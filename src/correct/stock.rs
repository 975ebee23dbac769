//! Stock: counters that never go below 0.

use std::slice;

use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::result::Error;

use crate::add::increment::Increment;
use crate::add::target::Target;
use crate::correct::lock_entities;
use crate::error::{overflow, refuse};
use crate::key::Entities;
use crate::key::{BindKey, KeyOf, WholeKey};
use crate::sql::transaction::{is_connected_to, is_in_a_real_transaction, transaction};
use crate::sql::{
    Binds, CounterBackend, Dialect, Sql, Uncached, execute, key_values, load, load_number, rows,
    sql, where_all, write,
};
use crate::typed::counters::{Counters, KeyType, assert_is_stock};
use crate::typed::table::CounterTable;

/// Takes units from an entity's stock if enough are left, for example tickets, seats or a quota.
///
/// Give the entity with [`of`](Take::of) and the units with [`by`](Take::by), 1 by default.
/// `execute` returns whether enough were left. If not, nothing has changed. The units are taken in
/// the current transaction: if it rolls back, they're available again. To add units, use
/// [`put_back`]; to set how many are left, use [`set_counter`](crate::dsl::set_counter()). With
/// diesel-async, run `take` [on a blocking
/// thread](crate::guide::pools#on-a-blocking-thread).
///
/// A stock is a counter that you declare with `stock` in [`counter_table!`](crate::counter_table).
/// Its column has a `CHECK` that it isn't negative.
///
/// ```
/// # use diesel::connection::SimpleConnection;
/// use diesel::prelude::*;
/// use diesel_counters::dsl::{put_back, set_counter, take};
///
/// diesel::table! {
///     tickets (event_id, day, slot) { event_id -> BigInt, day -> Date, slot -> SmallInt, remaining -> BigInt, }
/// }
/// diesel_counters::counter_table!(tickets { period = Total, stock = (remaining) });
/// use tickets::remaining;
///
/// # fn main() -> QueryResult<()> {
/// # let conn = &mut SqliteConnection::establish(":memory:").unwrap();
/// # conn.batch_execute(
/// #     "CREATE TABLE tickets (event_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
/// #          remaining BIGINT NOT NULL DEFAULT 0 CHECK (remaining >= 0), PRIMARY KEY (event_id, day, slot))",
/// # )?;
/// set_counter(remaining).of(7_i64).to(5).execute(conn)?;
///
/// assert!(take(remaining).of(7_i64).by(4).execute(conn)?);
/// assert!(!take(remaining).of(7_i64).by(2).execute(conn)?);
/// put_back(remaining).of(7_i64).execute(conn)?;
/// assert!(take(remaining).of(7_i64).by(2).execute(conn)?);
/// # Ok(())
/// # }
/// ```
///
/// # Concurrency
///
/// A take looks for one row that has enough units and that no other transaction has locked:
///
/// 1. It tries the connection's slot and the slots after it. In a transaction, it waits for nobody
///    here. Outside of one, MySQL and MariaDB find the row and take from it in two transactions, so
///    the take can wait if another transaction locks the row in between.
/// 2. If there is none, it reads the sum of all rows, and refuses if that is too little.
/// 3. Otherwise, it tries the slots before the connection's.
/// 4. If none of them has enough either, it locks every row of the entity, which waits for
///    transactions that have taken units from it, and spreads the rest over the slots.
///
/// A merge moves all units to one row, and a later take spreads them again.
///
/// Some advice:
///
/// - Run a transaction that takes units with [`retry`](crate::retry()). Transactions that take the
///   last units can deadlock, even if each of them takes only once: PostgreSQL keeps a row locked
///   if another transaction emptied it while the statement ran.
/// - If a transaction takes from several stocks, take from them in key order. Transactions that
///   take from the same stocks in different orders can deadlock when few units are left.
///   [`retry`](crate::retry()) runs such a transaction again, and
///   [`attempts`](crate::Retry::attempts) sets how often.
/// - On MySQL and MariaDB, use READ COMMITTED for transactions that take. At REPEATABLE READ, a
///   take also locks the rows that it passes until its transaction ends, so others wait for them or
///   deadlock.
/// - Above READ COMMITTED on PostgreSQL, a refusal goes by what was left when the transaction
///   began. The same is true on MySQL and MariaDB if `SET TRANSACTION` raised the level of a single
///   transaction.
pub fn take<C: Counters<Value = i64>>(_stock: C) -> Take<C> {
    const { assert_is_stock::<C>() }
    Take {
        target: Target::new(),
        units: 1,
    }
}

/// Adds units to an entity's stock, for example because an order wasn't paid, or because there are
/// more to sell. Give `by` 1 or more: a negative amount isn't refused, unless the column's `CHECK`
/// refuses it because it would make a row negative.
///
/// It's an increment in the connection's slot:
/// `put_back(remaining).of(event_id).by(2).execute(conn)`.
pub fn put_back<C: Counters<Value = i64>>(_stock: C) -> Increment<C> {
    const { assert_is_stock::<C>() }
    Increment::new()
}

/// Takes units from the stock `C` of the entity `Id`; made by [`take`].
#[must_use = "nothing is taken until this is executed"]
#[derive(Debug, Clone)]
pub struct Take<C: Counters, Id = ()> {
    target: Target<C, Id>,
    units: i64,
}

impl<C: Counters> Take<C> {
    /// Sets the entity, by its key or by its model.
    pub fn of<K, N>(self, id: K) -> Take<C, K::Value>
    where
        K: KeyOf<KeyType<C>, N, Types: WholeKey<KeyType<C>>>,
    {
        Take {
            target: self.target.with_key(id.into_value()),
            units: self.units,
        }
    }
}

impl<C: Counters<Value = i64>, Id> Take<C, Id> {
    /// Sets how many units to take, 1 or more.
    pub fn by(mut self, units: i64) -> Self {
        self.units = units;
        self
    }

    /// Takes the units. Returns whether enough were left.
    ///
    /// This runs one statement, or two on MySQL and MariaDB. If the connection's slot and the slots
    /// after it have too few free units, it runs a few more, and the last ones in a transaction or
    /// savepoint.
    ///
    /// # Errors
    ///
    /// Returns the database's own errors, for example a deadlock, or a serialization failure above
    /// READ COMMITTED. Taking less than 1 unit is an error.
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<bool>
    where
        Id: BindKey<KeyType<C>, Conn::Backend> + Clone,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let units = self.units;
        if units < 1 {
            return refuse("take 1 unit or more; `put_back` adds units");
        }
        let stock = Stock {
            target: &self.target,
        };
        if stock.take_from_one_row(units, Search::OwnAndLater, conn)? {
            return Ok(true);
        }
        // This comes before the other rows are searched, so that a refusal neither searches nor
        // locks them.
        if stock.max_left(conn)? < units {
            return Ok(false);
        }
        if stock.take_from_one_row(units, Search::Earlier, conn)? {
            return Ok(true);
        }
        // Others may have taken the rest by now, so this checks again. The next step waits for
        // them, and can deadlock with them: PostgreSQL keeps rows locked that were emptied while a
        // statement looked for units.
        if stock.max_left(conn)? < units {
            return Ok(false);
        }
        stock.take_from_all_rows(units, conn)
    }
}

/// Sets an entity's stock. Returns how many units were left before.
pub(crate) fn set_stock<C, Id, Conn>(
    target: &Target<C, Id>,
    value: i64,
    conn: &mut Conn,
) -> QueryResult<i64>
where
    C: Counters,
    Id: BindKey<KeyType<C>, Conn::Backend> + Clone,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    if value < 0 {
        return refuse("a stock is 0 or more");
    }
    let stock = Stock { target };
    transaction(conn, |conn| {
        let rows = stock.lock(conn)?;
        let min_per_slot = 1;
        stock.spread(&rows, value, min_per_slot, conn)?;
        total_left(&rows)
    })
}

/// One of the entity's rows: its slot, and how many units are left in it.
type StockRow = (i16, i64);

/// Returns how many units are left in these rows, all together.
fn total_left(rows: &[StockRow]) -> QueryResult<i64> {
    let mut total: i64 = 0;
    for (_slot, left) in rows {
        total = total.checked_add(*left).ok_or_else(overflow)?;
    }
    Ok(total)
}

/// An entity's stock.
struct Stock<'a, C: Counters, Id> {
    target: &'a Target<C, Id>,
}

/// Where a take looks for units: in the connection's slot and the slots after it, or in the slots
/// before it.
#[derive(Clone, Copy)]
enum Search {
    OwnAndLater,
    Earlier,
}

impl<C: Counters, Id> Stock<'_, C, Id> {
    /// ` WHERE event_id = ? AND day = ?`: selects the entity's rows, or only the ones for which
    /// `condition` is true too.
    fn where_entity<'b, DB>(&'b self, db: Dialect, condition: Option<Sql<'b, DB>>) -> Sql<'b, DB>
    where
        Id: BindKey<KeyType<C>, DB>,
        DB: CounterBackend,
    {
        let shape = C::Table::shape();
        let is_entity = self.target.entity.condition(db, shape.entity());
        let is_day = sql!("{shape.day()} = {self.target.day()}");
        sql!("{where_all([is_entity, Some(is_day), condition])}")
    }

    /// `FROM tickets WHERE …`: finds and locks one row that has this many units and that nobody has
    /// locked. It reads rows in primary key order, so that MySQL and MariaDB lock no others.
    fn free_row_clause<'b, DB>(&'b self, db: Dialect, units: &'b i64, search: Search) -> Sql<'b, DB>
    where
        Id: BindKey<KeyType<C>, DB>,
        DB: CounterBackend,
    {
        let shape = C::Table::shape();
        let slot = shape.slot();
        let left = C::NAMES[0];
        let own_slot = db.slot(shape);
        // The connection's slot is in a subquery, so that PostgreSQL evaluates it only once.
        let is_free = match search {
            Search::OwnAndLater => sql!("{left} >= {units} AND {slot} >= (SELECT {own_slot})"),
            Search::Earlier => sql!("{left} >= {units} AND {slot} < (SELECT {own_slot})"),
        };
        let rows = self.where_entity(db, Some(is_free));
        let lock = db.lock_unlocked_rows();
        sql!("FROM {shape.table}{db.index_hint()}{rows} ORDER BY {slot} LIMIT 1{lock}")
    }

    /// Takes the units from one row that nobody has locked. Returns whether it found one.
    fn take_from_one_row<Conn>(
        &self,
        units: i64,
        search: Search,
        conn: &mut Conn,
    ) -> QueryResult<bool>
    where
        Id: BindKey<KeyType<C>, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = C::Table::shape();
        let table = shape.table;
        let slot = shape.slot();
        let [left] = C::NAMES else {
            return refuse("`take` takes one stock, not a tuple");
        };
        // In an `UPDATE`, MySQL can't read the updated table in a subquery, so there, a query finds
        // the row first.
        let mut found_slot = None;
        if is_connected_to(Dialect::MySql, conn)? {
            let only_column = 0;
            let slots = load(
                conn,
                |db| sql!("{db.select()}{slot} {self.free_row_clause(db, &units, search)}"),
                |row| Conn::Backend::slot(row, only_column),
            )?;
            match slots.first() {
                Some(slot) => found_slot = Some(*slot),
                None => return Ok(false),
            }
        }
        let updated_rows = execute(conn, |db| {
            let is_free = match &found_slot {
                Some(found) => sql!("{slot} = {found}"),
                None => sql!("{slot} = (SELECT {slot} {self.free_row_clause(db, &units, search)})"),
            };
            // Above READ COMMITTED, PostgreSQL can find two rows of this slot: one that was deleted
            // since the snapshot, and one that this transaction has inserted. So this checks the
            // units again.
            let has_units = sql!("{is_free} AND {*left} >= {&units}");
            let rows = self.where_entity(db, Some(has_units));
            sql!("UPDATE {table} SET {*left} = {*left} - {&units}{rows}")
        })?;
        Ok(updated_rows > 0)
    }

    /// Locks every row of the entity, takes the units, and spreads the rest over the slots. Returns
    /// whether enough units were left.
    fn take_from_all_rows<Conn>(&self, units: i64, conn: &mut Conn) -> QueryResult<bool>
    where
        Id: BindKey<KeyType<C>, Conn::Backend> + Clone,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let result = transaction(conn, |conn| {
            let rows = self.lock(conn)?;
            let rest = total_left(&rows)?.saturating_sub(units);
            if rest < 0 {
                // Rolling back the savepoint releases its locks on PostgreSQL.
                return Err(Error::RollbackTransaction);
            }
            // Then another take of as many units can find them in one row.
            let min_per_slot = units;
            self.spread(&rows, rest, min_per_slot, conn)
        });
        match result {
            Ok(()) => Ok(true),
            Err(Error::RollbackTransaction) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns how many units can be left: the sum of all units that are committed or that this
    /// transaction has written. It includes units that another open transaction has taken: a take
    /// that finds no others waits for that transaction. In a transaction that may read old rows,
    /// it's the maximum `i64`.
    fn max_left<Conn>(&self, conn: &mut Conn) -> QueryResult<i64>
    where
        Id: BindKey<KeyType<C>, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let table = C::Table::shape().table;
        let left = C::NAMES[0];
        let in_transaction = is_in_a_real_transaction(conn)?;
        load_number(conn, |db| {
            let select = db.select();
            let rows = self.where_entity(db, None);
            let sum = db.sum_of_latest(db.sum(left), in_transaction);
            sql!("{select}{sum} FROM {table}{rows}")
        })
    }

    /// Locks the entity's rows against takes, increments and corrections, and returns them.
    fn lock<Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<StockRow>>
    where
        Id: BindKey<KeyType<C>, Conn::Backend> + Clone,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let key = slice::from_ref(&self.target.entity.0);
        lock_entities::<KeyType<C>, Id, _>(C::Table::shape(), C::NAMES, key, conn)?;
        let mut rows = Vec::new();
        // A query that waits for a lock doesn't see rows that were inserted in the meantime, so
        // this reads until there are no new ones.
        loop {
            let latest = self.lock_and_read(conn)?;
            if latest.len() == rows.len() {
                return Ok(latest);
            }
            rows = latest;
        }
    }

    /// Reads and locks the entity's rows.
    fn lock_and_read<Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<StockRow>>
    where
        Id: BindKey<KeyType<C>, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = C::Table::shape();
        let table = shape.table;
        let slot = shape.slot();
        let left = C::NAMES[0];
        let (slot_column, left_column) = (0, 1);
        load(
            conn,
            |db| {
                let select = db.select();
                let rows = self.where_entity(db, None);
                let lock = db.lock_rows();
                sql!(
                    "{select}{slot}, {left} FROM {table}{db.index_hint()}{rows} ORDER BY {slot}{lock}"
                )
            },
            |row| {
                let slot = Conn::Backend::slot(row, slot_column)?;
                Ok((slot, Conn::Backend::amount(row, left_column)?))
            },
        )
    }

    /// Spreads the units over as many slots as possible, with at least `min_per_slot` in each. The
    /// entity's rows are locked.
    fn spread<Conn>(
        &self,
        rows: &[StockRow],
        units: i64,
        min_per_slot: i64,
        conn: &mut Conn,
    ) -> QueryResult<()>
    where
        Id: BindKey<KeyType<C>, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let (first_slot, slots) = if is_connected_to(Dialect::Sqlite, conn)? {
            (0, 1)
        } else {
            (1, C::Table::shape().slots)
        };
        let spread = Spread::new(units, min_per_slot, first_slot, slots);
        self.update_rows(rows, &spread, conn)?;
        self.insert_missing_rows(rows, &spread, conn)
    }

    /// Updates the rows whose units change.
    fn update_rows<Conn>(
        &self,
        rows: &[StockRow],
        spread: &Spread,
        conn: &mut Conn,
    ) -> QueryResult<()>
    where
        Id: BindKey<KeyType<C>, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let changed = rows
            .iter()
            .filter(|(slot, left)| *left != spread.units_in(*slot));
        let changed_slots = Vec::from_iter(changed.map(|(slot, _)| slot));
        if changed_slots.is_empty() {
            return Ok(());
        }
        let shape = C::Table::shape();
        let (table, slot, left) = (shape.table, shape.slot(), C::NAMES[0]);
        let Spread {
            first,
            end_of_larger,
            end,
            share,
            // A bind value, because PostgreSQL computes a sum of constants, such as `? + 1`, even
            // where it isn't used, and that could overflow.
            larger_share,
        } = spread;
        write(conn, shape.label, changed_slots.len(), |db| {
            let is_changed = sql!("{slot} IN ({&changed_slots})");
            let rows = self.where_entity(db, Some(is_changed));
            let index_hint = db.index_hint();
            sql!(
                "{Uncached}UPDATE {table}{index_hint} SET {left} = CASE \
                 WHEN {slot} < {end_of_larger} AND {slot} >= {first} THEN {larger_share} \
                 WHEN {slot} < {end} AND {slot} >= {first} THEN {share} ELSE 0 END{rows}"
            )
        })
    }

    /// Inserts a row for each slot that gets units and has no row.
    fn insert_missing_rows<Conn>(
        &self,
        rows: &[StockRow],
        spread: &Spread,
        conn: &mut Conn,
    ) -> QueryResult<()>
    where
        Id: BindKey<KeyType<C>, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = C::Table::shape();
        let exists = |slot: i16| rows.iter().any(|(stored, _)| *stored == slot);
        let mut missing = Vec::new();
        for slot in (spread.first..=i16::MAX).take_while(|slot| spread.is_filled(*slot)) {
            if !exists(slot) {
                missing.push((slot, spread.units_in(slot)));
            }
        }
        for chunk in missing.chunks(MAX_INSERTED_ROWS) {
            write(conn, shape.label, chunk.len(), |db| {
                let insert = db.insert_into(shape.table, &shape.key, C::NAMES);
                let tuples = rows::tuples(chunk.iter().map(|(slot, units)| {
                    let mut values = key_values(&self.target.entity);
                    let day = self.target.day();
                    values.extend([sql!("{day}"), sql!("{slot}"), sql!("{units}")]);
                    values
                }));
                let add = db.on_conflict_add(shape, C::NAMES);
                sql!("{Uncached}{insert} VALUES {tuples}{add}")
            })?;
        }
        Ok(())
    }
}

/// A statement can have up to 65,535 bind values.
const MAX_INSERTED_ROWS: usize = 4_000;

/// How units are spread over slots. The slots from `first` to before `end_of_larger` get
/// `larger_share`, the ones from there to before `end` get `share`, and all others get nothing.
struct Spread {
    first: i16,
    end_of_larger: i64,
    end: i64,
    share: i64,
    larger_share: i64,
}

impl Spread {
    /// Spreads the units over as many of these slots as possible, with at least `min_per_slot` in
    /// each.
    fn new(units: i64, min_per_slot: i64, first_slot: i16, slots: i16) -> Self {
        let filled_slots = (units / min_per_slot).clamp(1, slots.into());
        let share = units / filled_slots;
        let remainder = units % filled_slots;
        Spread {
            first: first_slot,
            end_of_larger: i64::from(first_slot) + remainder,
            end: i64::from(first_slot) + filled_slots,
            share,
            // Without a remainder, no slot gets it, and one more could be an overflow.
            larger_share: if remainder > 0 { share + 1 } else { share },
        }
    }

    /// Whether this slot gets a share.
    fn is_filled(&self, slot: i16) -> bool {
        slot >= self.first && i64::from(slot) < self.end
    }

    /// Returns how many units this slot gets.
    fn units_in(&self, slot: i16) -> i64 {
        if !self.is_filled(slot) {
            0
        } else if i64::from(slot) < self.end_of_larger {
            self.larger_share
        } else {
            self.share
        }
    }
}
