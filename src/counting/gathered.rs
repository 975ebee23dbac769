//! Increments that were gathered, and the order in which they are written.

use std::any::{TypeId, type_name};
use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::query_dsl::methods::ExecuteDsl;

use crate::backend::CounterBackend;
use crate::counter::Counters;
use crate::counting::increment::DaySlots;
use crate::counting::increment_many::{AddRows, add_rows, in_range};
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

/// The sum for each counter, by its name. In an `i128`, so that it does not overflow because of the
/// order of the amounts.
pub(crate) type Sums = BTreeMap<&'static str, i128>;

pub(crate) fn sums<C: Counters>(amounts: impl IntoIterator<Item: Into<i128>>) -> Sums {
    let amounts = amounts.into_iter().map(Into::into);
    C::NAMES.iter().copied().zip(amounts).collect()
}

pub(crate) fn add_sums(to: &mut Sums, later: Sums) {
    for (counter, sum) in later {
        *to.entry(counter).or_default() += sum;
    }
}

/// Writes the rows in their order. Leaves out sums of 0.
///
/// It runs a statement for each run of rows that have the same day and the same [`Slot`], with the
/// counters of all of them.
pub(crate) fn write_rows<T, K, Conn>(mut rows: Rows<K>, conn: &mut Conn) -> QueryResult<()>
where
    T: CounterTable,
    K: KeyOf<T::KeyType> + Ord,
    Conn: Connection<Backend: CounterBackend>,
    AddRows<T, K::Columns>: ExecuteDsl<Conn>,
{
    // Also those whose sums are 0, so that the text of the statement depends on what the program
    // counts, and not on the amounts.
    let counters: BTreeSet<_> = rows
        .values()
        .flat_map(|sums| sums.keys().copied())
        .collect();
    let counters = Vec::from_iter(counters);
    rows.retain(|_, sums| sums.values().any(|sum| *sum != 0));
    let mut rows = rows.into_iter().peekable();
    while let Some(((day, key, slot), sums)) = rows.next() {
        let mut run = vec![(key, sums)];
        while let Some(((_, key, _), sums)) =
            rows.next_if(|((other, _, others), _)| (*other, *others) == (day, slot))
        {
            run.push((key, sums));
        }
        let run = run.into_iter().map(|(key, sums)| {
            let sums = counters
                .iter()
                .map(|counter| sums.get(counter).copied().unwrap_or(0));
            Ok((key, in_range(sums)?))
        });
        let run = run.collect::<QueryResult<_>>()?;
        let place = DaySlots::chosen(day, slot, T::SLOTS);
        add_rows::<T, K, _, _>(place, &counters, run, conn)?;
    }
    Ok(())
}
