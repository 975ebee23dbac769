//! Increments that were gathered, and the order in which they are written.

use std::any::{TypeId, type_name};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::query_dsl::methods::ExecuteDsl;

use crate::backend::CounterBackend;
use crate::counter::Counters;
use crate::counting::increment_many::{AddRows, add_rows};
use crate::day::Day;
use crate::error::overflow;
use crate::key::KeyOf;
use crate::slot::Slot;
use crate::table::{CounterTable, module_name};

/// The name of a counter table, and the name and the id of the type of the table and of its keys. A
/// `TypeId` alone would be in another order in another program.
pub(crate) type TableId = (&'static str, &'static str, TypeId);

pub(crate) fn table_id<T: 'static, K: 'static>() -> TableId {
    (
        module_name::<T>(),
        type_name::<(T, K)>(),
        TypeId::of::<(T, K)>(),
    )
}

/// The day, the key and the slot of a row to write.
pub(crate) type RowKey<K> = (NaiveDate, K, Slot);

/// What was gathered for one table.
pub(crate) type Rows<K> = BTreeMap<RowKey<K>, Sums>;

/// The sum for each counter, by its name, in the order of the names. In an `i128`, so that it does not
/// overflow because of the order of the amounts.
pub(crate) type Sums = Vec<(&'static str, i128)>;

/// Returns the sums with the names of their counters.
pub(crate) fn sums<C: Counters>(sums: &C::Sums) -> Sums {
    let sums = C::NAMES.iter().copied().zip(sums.as_ref().iter().copied());
    let mut sums: Sums = sums.collect();
    sums.sort_unstable();
    sums
}

pub(crate) fn add_sums(to: &mut Sums, later: &[(&'static str, i128)]) {
    for (counter, sum) in later {
        match to.binary_search_by_key(counter, |(name, _)| name) {
            Ok(at) => to[at].1 += sum,
            Err(at) => to.insert(at, (counter, *sum)),
        }
    }
}

pub(crate) fn sum_of(sums: &Sums, counter: &str) -> i128 {
    let at = sums.binary_search_by_key(&counter, |(name, _)| name);
    at.map_or(0, |at| sums[at].1)
}

/// Writes the rows in their order. Leaves out sums of 0.
///
/// It runs a statement for each run of rows that have the same [`Slot`], with the counters of all of
/// them.
pub(crate) fn write_rows<T, K, Conn>(
    rows: impl IntoIterator<Item = (RowKey<K>, impl Borrow<Sums>)>,
    conn: &mut Conn,
) -> QueryResult<()>
where
    T: CounterTable,
    K: KeyOf<T::KeyType> + Ord,
    Conn: Connection<Backend: CounterBackend>,
    AddRows<T, K::Columns>: ExecuteDsl<Conn>,
{
    // Also those whose sums are 0, so that the text of the statement depends on what the program
    // counts, and not on the amounts.
    let mut counters = BTreeSet::new();
    let mut all = Vec::new();
    for (row, sums) in rows {
        counters.extend(sums.borrow().iter().map(|(counter, _)| *counter));
        if sums.borrow().iter().any(|(_, sum)| *sum != 0) {
            all.push((row, sums));
        }
    }
    let counters = Vec::from_iter(counters);
    let mut rows = all.into_iter().peekable();
    while let Some(((day, key, slot), sums)) = rows.next() {
        let mut run = vec![(day, key, sums)];
        while let Some(((day, key, _), sums)) = rows.next_if(|((.., other), _)| *other == slot) {
            run.push((day, key, sums));
        }
        let run = run.into_iter().map(|(day, key, sums)| {
            let sums = counters
                .iter()
                .map(|counter| sum_of(sums.borrow(), counter));
            let amounts = sums.map(i64::try_from).collect::<Result<Vec<_>, _>>();
            Ok((key, Day(day), amounts.map_err(|_| overflow())?))
        });
        let run = run.collect::<QueryResult<Vec<_>>>()?;
        add_rows::<T, K, _, _>(slot.range(T::SLOTS), &counters, run.into_iter(), conn)?;
    }
    Ok(())
}
