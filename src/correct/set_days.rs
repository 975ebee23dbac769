//! Setting the counts of many entities on many days.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::row::Row;

use crate::add::many::{add_rows, add_up};
use crate::correct::set::SetCounter;
use crate::correct::{keep_rows, lock_entities, padded_keys};
use crate::day::{Day, DayRange, Period, UNDATED};
use crate::error::refuse;
use crate::key::{BindKey, KeyOf, KeyTypes, WholeKey, columns_of};
use crate::shape::{Name, Shape};
use crate::slot::InSlot;
use crate::sql::transaction::{refuse_old_snapshots, transaction};
use crate::sql::{Binds as _, CounterBackend, NUMBER, Uncached, Values, list, load, row, sql};
use crate::typed::counters::{Counters, KeyType, assert_program_counts, difference, is_zero};
use crate::typed::table::CounterTable;

/// Sets the counts of many entities on many days; made by
/// [`SetCounter::of_days`](crate::dsl::SetCounter::of_days).
#[must_use = "counts are not set until this is executed"]
#[derive(Debug, Clone)]
pub struct SetDays<C: Counters, K>(Vec<DayCount<K, C::Amounts>>);

/// A key, a day, and a count for each counter. Rows are locked in this order. A merge also locks
/// the newest day first, so the two don't deadlock, unless it merges rows of 1970-01-01.
type DayCount<K, A> = ((K, Reverse<NaiveDate>), A);

/// The keys of an import, and the texts that the table stores for them. If there are fewer texts
/// than keys, the table's collation treats two of the keys as the same.
type Spellings<K> = (BTreeSet<K>, BTreeSet<Vec<String>>);

/// How many counts one transaction sets. Without arrays, four full `INSERT`s lock that many
/// entities.
const BATCH: usize = 1_024;

impl<C: Counters> SetCounter<C> {
    /// Sets the counts of many entities on many days, for example in an
    /// [import](crate::guide::operations#imports). `counts` has an entity's key, a day and that
    /// day's count, in any order. Counts of other days and of other entities don't change. If you
    /// run the same import again, nothing changes.
    ///
    /// - If `counts` has the same entity and day (or period of the table) more than once, those
    ///   counts are added up. So give all of a day's counts in one call.
    /// - **Don't set days that were [folded](crate::dsl::fold()).** They'd be counted twice. Set
    ///   the whole period instead, on its first day. A week that spans two months is stored in two
    ///   parts: on its Monday, and on the first day of the month that begins in it.
    ///
    /// # Concurrency
    ///
    /// Every 1,024 counts are set in one transaction, or in a savepoint if a transaction is open,
    /// the same way [`set_counter`](crate::dsl::set_counter()) sets one. On MySQL and MariaDB, an
    /// open transaction is an error. An import writes to the slot of merged rows, so it can
    /// deadlock with a merge that runs at the same time and merges rows without a day.
    pub fn of_days<K, N>(
        self,
        counts: impl IntoIterator<Item = (K, NaiveDate, C::Value)>,
    ) -> SetDays<C, K::Value>
    where
        K: KeyOf<KeyType<C>, N, Types: WholeKey<KeyType<C>>, Value: Ord>,
    {
        const { assert_program_counts::<C>() }
        let counts = counts.into_iter().map(|(key, day, count)| {
            let day = C::Table::PERIOD.start(day);
            ((key.into_value(), Reverse(day)), C::amounts(count))
        });
        SetDays(counts.collect())
    }
}

impl<C: Counters, K: Ord + Clone> SetDays<C, K> {
    /// Sets the counts. Returns how many of them, by entity and day, differed from the stored ones.
    ///
    /// # Errors
    ///
    /// Fails like [`SetCounter::execute`](crate::dsl::SetCounter::execute), and with a
    /// [`QueryBuilderError`](diesel::result::Error::QueryBuilderError) if the same text key is
    /// spelled in two ways (see [text keys](crate::CounterTable#text-keys)) or, as in a
    /// [recount](crate::dsl::recount()), if a transaction is open on MySQL or MariaDB. Counts that
    /// earlier transactions set stay set.
    pub fn execute<Conn>(self, conn: &mut Conn) -> QueryResult<usize>
    where
        K: BindKey<KeyType<C>, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let shape = C::Table::shape();
        let counts = add_up(self.0)?;
        let mut spellings = Spellings::default();
        let mut changed = 0;
        for batch in counts.chunks(BATCH) {
            let spellings = &mut spellings;
            changed += set_days::<KeyType<C>, K, _, _>(shape, C::NAMES, batch, spellings, conn)?;
        }
        Ok(changed)
    }
}

/// Sets these counts, which are sorted, in one transaction. Returns how many differed from the
/// stored ones. `spellings` has the keys of the earlier batches.
fn set_days<Types, K, A, Conn>(
    shape: &Shape<'_>,
    counters: &[Name<'_>],
    counts: &[DayCount<K, A>],
    spellings: &mut Spellings<K>,
    conn: &mut Conn,
) -> QueryResult<usize>
where
    Types: KeyTypes,
    K: BindKey<Types, Conn::Backend> + Ord + Clone,
    A: AsRef<[i64]> + AsMut<[i64]> + Copy,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    refuse_old_snapshots(conn)?;
    let key_of_each = counts.iter().map(|((key, _day), _amounts)| key.clone());
    let mut keys = Vec::from_iter(key_of_each);
    let key_of_each = columns_of::<Types, K, Conn::Backend>(keys.iter().cloned());
    keys.dedup(); // The counts are sorted, so equal keys are neighbours.
    transaction(conn, |conn| {
        lock_entities::<Types, K, _>(shape, counters, &keys, conn)?;
        keep_rows(shape, &padded_keys::<Types, K, Conn::Backend>(&keys), conn)?;
        if !Types::is_exact() {
            check_spellings::<Types, K, _>(spellings, shape, keys, conn)?;
        }
        let stored = stored_counts(shape, counters, counts, &key_of_each, conn)?;
        let mut rows = Vec::new();
        for (((key, Reverse(day)), amounts), stored) in counts.iter().zip(stored) {
            let difference = difference(*amounts, &stored)?;
            if !is_zero(&difference) {
                rows.push((key.clone(), Day(*day), difference));
            }
        }
        let changed = rows.len();
        let rows = rows.into_iter();
        add_rows::<Types, K, _, _>(shape, counters, InSlot::Merged, rows, conn)?;
        Ok(changed)
    })
}

/// Returns what is stored for each of these counts. `keys` has the key of each.
fn stored_counts<K, A, Conn>(
    shape: &Shape<'_>,
    counters: &[Name<'_>],
    counts: &[DayCount<K, A>],
    keys: &impl Values<Conn::Backend>,
    conn: &mut Conn,
) -> QueryResult<Vec<Vec<i64>>>
where
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let days = counts.iter().map(|((_key, Reverse(day)), _amounts)| *day);
    let periods = days.map(|day| DayRange::period_of(day, shape.period));
    let periods = Vec::from_iter(periods);
    // A week, month or year can also have rows of later days, from before the table's period was
    // changed. For `Total`, only the row of 1970-01-01 is read.
    let has_last_day = !matches!(shape.period, Period::Day | Period::Total);
    let mut listed_columns = shape.entity_and_day().to_vec();
    if has_last_day {
        listed_columns.push(shape.day());
    }
    let (number_column, first_sum) = (0, 1);
    let found = load(
        conn,
        |db| {
            let rows = periods.iter().enumerate().map(|(i, period)| {
                let mut values = row(keys, i);
                values.push(sql!("{&period.first}"));
                if has_last_day {
                    values.push(sql!("{&period.last}"));
                }
                values
            });
            let from = db.numbered_rows_clause(shape.table, &listed_columns, rows);
            let join = db.join_days(shape, has_last_day);
            let sums = list(", ", counters.iter().map(|counter| db.sum(*counter)));
            sql!("{Uncached}{db.select()}{NUMBER}, {sums}{from}{join} GROUP BY {NUMBER}")
        },
        |row| {
            let number = Conn::Backend::amount(row, number_column)? as usize;
            let mut sums = Vec::new();
            for i in 0..counters.len() {
                sums.push(Conn::Backend::amount(row, first_sum + i)?);
            }
            Ok((number, sums))
        },
    )?;
    // The query returns nothing for a count without stored rows.
    let mut stored = vec![vec![0; counters.len()]; counts.len()];
    for (number, sums) in found {
        let index = number - 1; // The list's numbers begin with 1.
        stored[index] = sums;
    }
    Ok(stored)
}

/// Adds these keys and their stored spellings to those of the earlier batches. Fails if two keys
/// have the same stored spelling: with a collation that ignores case, `Foo` and `foo` are one key
/// of the table, for example.
fn check_spellings<Types, K, Conn>(
    (all_keys, all_texts): &mut Spellings<K>,
    shape: &Shape<'_>,
    keys: Vec<K>,
    conn: &mut Conn,
) -> QueryResult<()>
where
    K: BindKey<Types, Conn::Backend> + Ord + Clone,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let stored_texts = stored_texts::<Types, K, Conn>(shape, &keys, conn)?;
    all_keys.extend(keys);
    all_texts.extend(stored_texts);
    let has_equal_texts = all_texts.len() < all_keys.len();
    if has_equal_texts {
        return refuse(format!(
            "two different texts are the same key in `{}`, because of its collation: always spell a \
             key in the same way",
            shape.label
        ));
    }
    Ok(())
}

/// Returns the spelling of each of these keys in the table, where `lock_entities` has made sure
/// that every key has a merged row of 1970-01-01.
fn stored_texts<Types, K, Conn>(
    shape: &Shape<'_>,
    keys: &[K],
    conn: &mut Conn,
) -> QueryResult<Vec<Vec<String>>>
where
    K: BindKey<Types, Conn::Backend> + Clone,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let entity = shape.entity();
    let values = columns_of::<Types, K, Conn::Backend>(keys.iter().cloned());
    load(
        conn,
        |db| {
            let table = shape.table;
            let day = shape.day();
            let slot = shape.slot();
            let texts = list(", ", entity.iter().map(|column| db.stored_text(*column)));
            let rows = (0..keys.len()).map(|i| row(&values, i));
            let is_listed = db.is_listed(entity, rows);
            sql!(
                "{Uncached}{db.select()}{texts} FROM {table} \
                 WHERE {is_listed} AND {day} = {&UNDATED} AND {slot} = 0"
            )
        },
        |row| {
            let fields = 0..row.field_count();
            fields.map(|i| Conn::Backend::text(row, i)).collect()
        },
    )
}
