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
        counts.chunks(BATCH).try_fold(0, |different, counts| {
            let set = set_days::<KeyType<C>, K, _, Conn>;
            Ok(different + set(shape, C::NAMES, counts, &mut spellings, conn)?)
        })
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
    let keys = counts.iter().map(|((key, _), _)| key.clone());
    let entities = columns_of::<Types, K, Conn::Backend>(keys.clone());
    let mut keys: Vec<K> = keys.collect();
    keys.dedup(); // `add_up` has sorted them, so equal keys are neighbours.
    transaction(conn, |conn| {
        lock_entities::<Types, K, _>(shape, counters, &keys, conn)?;
        keep_rows(shape, &padded_keys::<Types, K, Conn::Backend>(&keys), conn)?;
        if !Types::is_exact() {
            check_spellings::<Types, K, _>(spellings, shape, keys, conn)?;
        }
        let rows = differences(shape, counters, counts, &entities, conn)?;
        let different = rows.len();
        let rows = rows.into_iter();
        add_rows::<Types, K, _, _>(shape, counters, InSlot::Merged, rows, conn)?;
        Ok(different)
    })
}

/// Returns the rows to add: the differences that aren't 0. `entities` has the key of every count.
fn differences<K, A, Conn>(
    shape: &Shape<'_>,
    counters: &[Name<'_>],
    counts: &[DayCount<K, A>],
    entities: &impl Values<Conn::Backend>,
    conn: &mut Conn,
) -> QueryResult<Vec<(K, Day, A)>>
where
    K: Clone,
    A: AsRef<[i64]> + AsMut<[i64]> + Copy,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let days = counts.iter();
    let days = days.map(|((_, Reverse(day)), _)| DayRange::period_of(*day, shape.period));
    let days = Vec::from_iter(days);
    // A week, month or year can also have rows of later days, from before the table's period was
    // changed. For `Total`, only the row of 1970-01-01 is read.
    let has_last = !matches!(shape.period, Period::Day | Period::Total);
    let (table, mut listed) = (shape.table, shape.entity_and_day().to_vec());
    listed.extend(has_last.then_some(shape.day()));
    let mut stored = vec![vec![0; counters.len()]; counts.len()];
    load(
        conn,
        |db| {
            let rows = days.iter().enumerate().map(|(i, days)| {
                let mut values = row(entities, i);
                values.push(sql!("{&days.first}"));
                values.extend(has_last.then(|| sql!("{&days.last}")));
                values
            });
            let from = db.numbered_rows(table, &listed, rows);
            let join = db.join_days(table, shape.entity_and_day(), has_last);
            let sums = list(", ", counters.iter().map(|counter| db.sum(*counter)));
            sql!("{Uncached}{db.select()}{NUMBER}, {sums}{from}{join} GROUP BY {NUMBER}")
        },
        |row| {
            // The count's number, from 1, and its sums.
            let number = Conn::Backend::amount(row, 0)? as usize;
            for (i, stored) in (1..).zip(&mut stored[number - 1]) {
                *stored = Conn::Backend::amount(row, i)?;
            }
            Ok(())
        },
    )?;
    let mut rows = Vec::new();
    for (((key, Reverse(day)), count), stored) in counts.iter().zip(stored) {
        let amounts = difference(*count, &stored)?;
        if !is_zero(&amounts) {
            rows.push((key.clone(), Day(*day), amounts));
        }
    }
    Ok(rows)
}

/// Adds these sorted keys to those of the earlier batches. Fails if the table treats two of them as
/// the same key. `lock_entities` has made sure that every key has a row of 1970-01-01, which has
/// the stored spelling.
fn check_spellings<Types, K, Conn>(
    (given, spelled): &mut Spellings<K>,
    shape: &Shape<'_>,
    keys: Vec<K>,
    conn: &mut Conn,
) -> QueryResult<()>
where
    K: BindKey<Types, Conn::Backend> + Ord + Clone,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let entity = shape.entity();
    let columns = columns_of::<Types, K, Conn::Backend>(keys.iter().cloned());
    let stored = load(
        conn,
        |db| {
            let table = shape.table;
            let day = shape.day();
            let slot = shape.slot();
            let texts = list(", ", entity.iter().map(|column| db.stored_text(*column)));
            let is_listed = db.is_listed(entity, (0..keys.len()).map(|i| row(&columns, i)));
            sql!(
                "{Uncached}{db.select()}{texts} FROM {table} \
                 WHERE {is_listed} AND {day} = {&UNDATED} AND {slot} = 0"
            )
        },
        |row| {
            let texts = 0..row.field_count();
            texts.map(|i| Conn::Backend::text(row, i)).collect()
        },
    )?;
    given.extend(keys);
    spelled.extend(stored);
    if given.len() == spelled.len() {
        return Ok(());
    }
    refuse(format!(
        "two different texts are the same key in `{}`, because of its collation: always spell a key \
         in the same way",
        shape.label
    ))
}
