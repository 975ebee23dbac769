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
    Binds, CounterBackend, Dialect, Sql, Uncached, execute, load, load_number, row, rows, sql,
    where_all, write,
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
/// thread](crate::guide::diesel_async#on-a-blocking-thread).
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
            target: self.target.of(id.into_value()),
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
        let stock = Stock(&self.target);
        if stock.take_from_one_row(units, Search::OwnAndLater, conn)? {
            return Ok(true);
        }
        // This comes before the other rows are search, so that a refusal neither searches nor locks
        // them.
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
        let taken = transaction(conn, |conn| {
            let rows = stock.lock(conn)?;
            match sum(&rows)?.checked_sub(units) {
                Some(rest @ 0..) => stock.spread(&rows, rest, units, conn),
                // Rolling back the savepoint releases its locks on PostgreSQL.
                _ => Err(Error::RollbackTransaction),
            }
        });
        match taken {
            Err(Error::RollbackTransaction) => Ok(false),
            taken => taken.map(|()| true),
        }
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
    let stock = Stock(target);
    transaction(conn, |conn| {
        let rows = stock.lock(conn)?;
        stock.spread(&rows, value, 1, conn)?;
        sum(&rows)
    })
}

/// One of the entity's rows: its slot, and how many units are left in it.
type StockRow = (i16, i64);

fn sum(rows: &[StockRow]) -> QueryResult<i64> {
    let sum = |sum: i64, (_, left): &StockRow| sum.checked_add(*left);
    rows.iter().try_fold(0, sum).ok_or_else(overflow)
}

/// An entity's stock.
struct Stock<'a, C: Counters, Id>(&'a Target<C, Id>);

/// Where a take looks for units: in the connection's slot and the slots after it, or in the slots
/// before it.
#[derive(Clone, Copy)]
enum Search {
    OwnAndLater,
    Earlier,
}

impl<C: Counters, Id> Stock<'_, C, Id> {
    /// The ` WHERE` that selects the entity's rows.
    fn where_entity<'b, DB>(&'b self, db: Dialect, more: Option<Sql<'b, DB>>) -> Sql<'b, DB>
    where
        Id: BindKey<KeyType<C>, DB>,
        DB: CounterBackend,
    {
        let shape = C::Table::shape();
        let entity = self.0.entity.condition(db, shape.entity());
        let day = sql!("{shape.day()} = {self.0.day()}");
        sql!("{where_all([entity, Some(day), more])}")
    }

    /// The `FROM …` that finds and locks one row that has this many units and that nobody has
    /// locked. It reads rows in primary key order, so that MySQL and MariaDB lock no others.
    fn free_row<'b, DB>(&'b self, db: Dialect, units: &'b i64, search: Search) -> Sql<'b, DB>
    where
        Id: BindKey<KeyType<C>, DB>,
        DB: CounterBackend,
    {
        let shape = C::Table::shape();
        let slot = shape.slot();
        let left = C::NAMES[0];
        let own = db.slot(shape);
        // The connection's slot is in a subquery, so that PostgreSQL evaluates it only once.
        let is_free = match search {
            Search::OwnAndLater => sql!("{left} >= {units} AND {slot} >= (SELECT {own})"),
            Search::Earlier => sql!("{left} >= {units} AND {slot} < (SELECT {own})"),
        };
        let rows = self.where_entity(db, Some(is_free));
        let lock = db.lock_free_rows();
        sql!("FROM {shape.table}{db.by_key()}{rows} ORDER BY {slot} LIMIT 1{lock}")
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
        // In an `UPDATE`, MySQL can't read the updated table in a subquery.
        let mut free = None;
        if is_connected_to(Dialect::MySql, conn)? {
            let found = load(
                conn,
                |db| sql!("{db.select()}{slot} {self.free_row(db, &units, search)}"),
                |row| Conn::Backend::slot(row, 0),
            )?;
            match found.first() {
                Some(slot) => free = Some(*slot),
                None => return Ok(false),
            }
        }
        let taken = execute(conn, |db| {
            let free = match &free {
                Some(free) => sql!("{slot} = {free}"),
                None => sql!("{slot} = (SELECT {slot} {self.free_row(db, &units, search)})"),
            };
            // Above READ COMMITTED, PostgreSQL can find two rows of this slot: one that was deleted
            // since the snapshot, and one that this transaction has inserted. So this checks the
            // units again.
            let rows = self.where_entity(db, Some(sql!("{free} AND {*left} >= {&units}")));
            sql!("UPDATE {table} SET {*left} = {*left} - {&units}{rows}")
        })?;
        Ok(taken > 0)
    }

    /// The sum of all units that are committed or that this transaction has written. It includes
    /// units that another open transaction has taken: a take that finds no others waits for that
    /// transaction. In a transaction that may read old rows, it's the maximum `i64`.
    fn max_left<Conn>(&self, conn: &mut Conn) -> QueryResult<i64>
    where
        Id: BindKey<KeyType<C>, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let table = C::Table::shape().table;
        let left = C::NAMES[0];
        let is_later = is_in_a_real_transaction(conn)?;
        load_number(conn, |db| {
            let select = db.select();
            let rows = self.where_entity(db, None);
            let sum = db.sum_of_latest(db.sum(left), is_later);
            sql!("{select}{sum} FROM {table}{rows}")
        })
    }

    /// Locks the entity's rows against takes, increments and corrections, and returns them.
    fn lock<Conn>(&self, conn: &mut Conn) -> QueryResult<Vec<StockRow>>
    where
        Id: BindKey<KeyType<C>, Conn::Backend> + Clone,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let key = slice::from_ref(&self.0.entity.0);
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
        load(
            conn,
            |db| {
                let select = db.select();
                let rows = self.where_entity(db, None);
                let lock = db.lock_rows();
                sql!("{select}{slot}, {left} FROM {table}{db.by_key()}{rows} ORDER BY {slot}{lock}")
            },
            |row| Ok((Conn::Backend::slot(row, 0)?, Conn::Backend::amount(row, 1)?)),
        )
    }

    /// Spreads `rest` over as many slots as possible, with at least `least` in each. The entity's
    /// rows are locked.
    fn spread<Conn>(
        &self,
        rows: &[StockRow],
        rest: i64,
        least: i64,
        conn: &mut Conn,
    ) -> QueryResult<()>
    where
        Id: BindKey<KeyType<C>, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = C::Table::shape();
        let table = shape.table;
        let slot = shape.slot();
        let left = C::NAMES[0];
        let (first, count) = if is_connected_to(Dialect::Sqlite, conn)? {
            (0, 1)
        } else {
            (1, shape.slots)
        };
        let filled = (rest / least).clamp(1, count.into());
        let share = rest / filled;
        let more = rest % filled;
        let in_slot = |slot: i16| match i64::from(slot) - i64::from(first) {
            place if place < 0 || place >= filled => 0,
            place => share + i64::from(place < more),
        };
        let changed = rows.iter().filter(|(slot, left)| *left != in_slot(*slot));
        let changed = Vec::from_iter(changed.map(|(slot, _)| slot));
        if !changed.is_empty() {
            // The first slot that doesn't get one more, and the first that gets nothing.
            let end_of_more = i64::from(first) + more;
            let end = i64::from(first) + filled;
            // This is a bind value, because PostgreSQL computes a sum of constants even where it
            // isn't used, and that could overflow.
            let one_more = share + i64::from(more > 0);
            write(conn, shape.label, changed.len(), |db| {
                let changed = sql!("{slot} IN ({&changed})");
                let rows = self.where_entity(db, Some(changed));
                let by_key = db.by_key();
                sql!(
                    "{Uncached}UPDATE {table}{by_key} SET {left} = CASE \
                     WHEN {slot} < {&end_of_more} AND {slot} >= {&first} THEN {&one_more} \
                     WHEN {slot} < {&end} AND {slot} >= {&first} THEN {&share} ELSE 0 END{rows}"
                )
            })?;
        }
        let missing = (first..=i16::MAX).take(filled as usize);
        let missing = missing.filter(|slot| rows.iter().all(|(other, _)| other != slot));
        let missing = Vec::from_iter(missing.map(|slot| (slot, in_slot(slot))));
        // A statement can have up to 65,535 bind values.
        for missing in missing.chunks(4_000) {
            write(conn, shape.label, missing.len(), |db| {
                let insert = db.insert_into(table, &shape.key, C::NAMES);
                let values = rows::tuples(missing.iter().map(|(slot, left)| {
                    let mut values = row(&self.0.entity, 0);
                    values.extend([sql!("{self.0.day()}"), sql!("{slot}"), sql!("{left}")]);
                    values
                }));
                let add = db.on_conflict_add(shape, C::NAMES);
                sql!("{Uncached}{insert} VALUES {values}{add}")
            })?;
        }
        Ok(())
    }
}
