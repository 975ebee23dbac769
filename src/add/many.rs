//! Adding to the counters of many entities in few statements.

use std::ops::Range;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::Connection;

use crate::add::increment::Increment;
use crate::day::Day;
use crate::key::BindKey;
use crate::shape::{Name, Shape};
use crate::slot::InSlot;
use crate::sql::{
    Bind, CounterBackend, Dialect, Part, Sql, Values, arrays, each, part, rows, sql, value, write,
};
use crate::typed::counters::{Counters, KeyType, is_zero, sum};
use crate::typed::table::CounterTable;

/// An increment of the counters `C` for many entities; made by [`Increment::of_many`].
#[must_use = "an increment adds nothing until it is executed"]
#[derive(Debug, Clone)]
pub struct IncrementMany<C: Counters, K> {
    pub(crate) increment: Increment<C>,
    pub(crate) counts: Vec<(K, C::Amounts)>,
}

impl<C: Counters> Increment<C> {
    /// Sets many entities by their keys, in any order, and the amount to add to each. If you give
    /// an entity more than once, its amounts are added up first.
    ///
    /// On PostgreSQL, it runs one statement for any number of entities. On the other databases, it
    /// runs one statement for every 256 entities, and up to eight smaller ones for the rest. It
    /// doesn't begin a transaction, so run it in one if either all entities or none should be
    /// counted. It writes the entities in the order of their keys, so that two calls don't
    /// deadlock.
    ///
    /// # Errors
    ///
    /// Those of [`increment`](crate::dsl::increment()), and an [overflow](crate::is_overflow()) if
    /// the sum of one entity's amounts is out of the range of an `i64`. On PostgreSQL, it also
    /// fails if `counts` spells the same text key in two ways; see [text
    /// keys](crate::CounterTable#text-keys).
    pub fn of_many<K: Ord>(
        self,
        counts: impl IntoIterator<Item = (K, C::Value)>,
    ) -> IncrementMany<C, K> {
        let counts = counts.into_iter();
        IncrementMany {
            increment: self,
            counts: counts
                .map(|(key, amount)| (key, C::amounts(amount)))
                .collect(),
        }
    }
}

impl<C: Counters, K: Ord> IncrementMany<C, K> {
    /// Sets the day to count on, like [`Increment::on`].
    pub fn on(mut self, day: NaiveDate) -> Self {
        self.increment = self.increment.on(day);
        self
    }

    /// Runs the statements. Returns the number of entities that were incremented.
    ///
    /// # Errors
    ///
    /// Those of [`Increment::of_many`].
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: BindKey<KeyType<C>, Conn::Backend>,
        Conn: Connection<Backend: CounterBackend>,
    {
        let day = *self.increment.target.day();
        let mut sums = add_up(self.counts)?;
        sums.retain(|(_, amounts)| !is_zero(amounts));
        let number = sums.len();
        let rows = sums.into_iter().map(|(key, amounts)| (key, day, amounts));
        add_rows::<KeyType<C>, K, _, _>(C::Table::shape(), C::NAMES, InSlot::Chosen, rows, conn)?;
        Ok(number)
    }
}

/// Returns the sum of each key's amounts, in the order of the keys.
pub(crate) fn add_up<K: Ord, A: AsRef<[i64]> + AsMut<[i64]> + Default>(
    mut counts: Vec<(K, A)>,
) -> QueryResult<Vec<(K, A)>> {
    counts.sort_by(|(a, _), (b, _)| a.cmp(b));
    for same_key in counts.chunk_by_mut(|(a, _), (b, _)| a == b) {
        if same_key.len() > 1 {
            let total = sum(same_key.iter().map(|(_, amounts)| amounts))?;
            let (_, first_amounts) = &mut same_key[0];
            *first_amounts = total;
        }
    }
    // This keeps the first of each key, which has the sum.
    counts.dedup_by(|(a, _), (b, _)| a == b);
    Ok(counts)
}

/// Adds to rows, each given as a key, a day, and an amount for every counter. They must be sorted,
/// with each key and day only once. Runs as few statements as the backend needs.
pub(crate) fn add_rows<Types, K, A, Conn>(
    shape: &Shape<'_>,
    counters: &[Name<'_>],
    slot: InSlot,
    rows: impl ExactSizeIterator<Item = (K, Day, A)>,
    conn: &mut Conn,
) -> QueryResult<()>
where
    K: BindKey<Types, Conn::Backend>,
    A: AsRef<[i64]>,
    Conn: Connection<Backend: CounterBackend>,
{
    let row_count = rows.len();
    let mut keys = K::Columns::default();
    let mut days = Vec::with_capacity(row_count);
    let mut amounts = vec![Vec::with_capacity(row_count); counters.len()];
    for (key, day, row_amounts) in rows {
        key.push_to(&mut keys);
        days.push(day);
        for (column, amount) in amounts.iter_mut().zip(row_amounts.as_ref()) {
            column.push(*amount);
        }
    }
    let new_rows = NewRows {
        shape,
        counters,
        slot,
        keys: &keys,
        days: &days,
        amounts: &amounts,
    };
    let mut first = 0;
    while first < row_count {
        let end = first + rows::rows_in_next_insert::<Conn::Backend>(row_count - first);
        write(conn, shape.label, end - first, |db| {
            new_rows.insert(db, first..end)
        })?;
        first = end;
    }
    Ok(())
}

/// The rows to add to, column by column.
struct NewRows<'a, DB: CounterBackend> {
    shape: &'a Shape<'a>,
    counters: &'a [Name<'a>],
    slot: InSlot,
    keys: &'a dyn Values<DB>,
    days: &'a [Day],
    /// One list for each counter.
    amounts: &'a [Vec<i64>],
}

impl<'a, DB: CounterBackend> NewRows<'a, DB> {
    /// The `INSERT` that adds to some of the rows.
    fn insert(&self, db: Dialect, rows: Range<usize>) -> Sql<'a, DB> {
        let insert = db.insert_into(self.shape.table, &self.shape.key, self.counters);
        let add = db.on_conflict_add(self.shape, self.counters);
        if DB::HAS_ARRAYS && rows.len() > 1 {
            let select = self.select_from_arrays(db, rows);
            sql!("{insert} {select}{add}")
        } else {
            let tuples = self.tuples(db, rows);
            sql!("{insert} VALUES {tuples}{add}")
        }
    }

    /// `SELECT … FROM unnest(?, ?, ?) AS added (…)`, with an array for each column.
    fn select_from_arrays(&self, db: Dialect, rows: Range<usize>) -> Sql<'a, DB> {
        let connection_slot = db.slot(self.shape);
        // A subquery runs once, but an expression runs once for each row.
        let slot = part!(match self.slot {
            InSlot::Chosen => "(SELECT {connection_slot})",
            InSlot::Merged => "0",
        });
        let mut arrays = arrays(self.keys, rows.clone());
        arrays.push(sql!("{Bind::Days(&self.days[rows.clone()])}"));
        for amounts in self.amounts {
            arrays.push(sql!("{Bind::Amounts(&amounts[rows.clone()])}"));
        }
        let entity_and_day = self.shape.entity_and_day();
        let counters = self.counters;
        let columns = [entity_and_day, counters].concat();
        let comma = if counters.is_empty() { "" } else { ", " };
        sql!(
            "SELECT {entity_and_day}, {slot}{comma}{counters} \
             FROM unnest({&arrays}) AS added ({&columns})"
        )
    }

    /// `(?, ?, 0, ?), (?, ?, 0, ?)`: every row's key, day, slot and amounts.
    fn tuples(&self, db: Dialect, rows: Range<usize>) -> impl Part<'a, DB> {
        let (shape, keys, amounts) = (self.shape, self.keys, self.amounts);
        let in_slot = self.slot;
        let connection_slot = db.slot(shape);
        let slot = part!(match in_slot {
            InSlot::Chosen => "{connection_slot}",
            InSlot::Merged => "0",
        });
        let first = rows.start;
        each(", ", &self.days[rows], move |i, day| {
            let row = first + i;
            let key = each("", shape.entity(), move |column, _| {
                part!("{value(keys, column, row)}, ")
            });
            let amounts = each("", amounts, move |_, of_counter| {
                part!(", {&of_counter[row]}")
            });
            part!("({key}{day}, {slot}{amounts})")
        })
    }
}
