//! Increments that were gathered, and the order in which they are written.

use std::any::{TypeId, type_name};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::Connection;

use crate::add::many;
use crate::day::Day;
use crate::error::overflow;
use crate::shape::Name;
use crate::slot::Slot;
use crate::sql::CounterBackend;
use crate::typed::counters::Counters;
use crate::typed::key::BindKey;
use crate::typed::table::{CounterTable, module_name};

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

/// The day and the key of a row to write.
pub(crate) type RowKey<K> = (NaiveDate, K);

/// What was gathered for one table.
pub(crate) type Rows<K> = BTreeMap<RowKey<K>, Sums>;

/// The sum for each counter, by its name, in the order of the names. In an `i128`, so that it does not
/// overflow because of the order of the amounts.
pub(crate) type Sums = Vec<(&'static str, i128)>;

/// Returns the sums with the names of their counters.
pub(crate) fn sums<C: Counters>(amounts: &C::Amounts) -> Sums {
    let names = C::NAMES.iter().map(|name| name.0);
    let sums = amounts.as_ref().iter().map(|amount| i128::from(*amount));
    let mut sums: Sums = names.zip(sums).collect();
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

/// Writes the rows in their order, with all their counters. Leaves out sums of 0.
pub(crate) fn write_rows<T, K, Conn>(
    rows: impl IntoIterator<Item = (RowKey<K>, impl Borrow<Sums>)>,
    conn: &mut Conn,
) -> QueryResult<()>
where
    T: CounterTable,
    K: BindKey<T::KeyType, Conn::Backend>,
    Conn: Connection<Backend: CounterBackend>,
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
    let counters: Vec<_> = counters.into_iter().map(Name).collect();
    let all = all.into_iter().map(|((day, key), sums)| {
        let sums = counters.iter().map(|name| sum_of(sums.borrow(), name.0));
        let amounts = sums.map(i64::try_from).collect::<Result<Vec<_>, _>>();
        Ok((key, Day(day), amounts.map_err(|_| overflow())?))
    });
    let all = all.collect::<QueryResult<Vec<_>>>()?;
    let rows = many::Rows::new::<T::KeyType, K, _, Conn::Backend>(&counters, all.into_iter());
    let slots = Slot::chosen().range(T::SLOTS);
    many::add_rows(T::shape(), &slots, &rows, conn)
}
