//! The sums of what a transaction or a buffer counts, by table, day and key, until they are written.

use std::any::{Any, TypeId, type_name};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;
use std::time::Instant;

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

/// What was gathered, in the order in which all transactions write it.
pub(crate) struct Gathered<Conn>(pub(crate) BTreeMap<TableId, Box<dyn Rows<Conn>>>);

impl<Conn> Default for Gathered<Conn> {
    fn default() -> Self {
        Gathered(BTreeMap::new())
    }
}

impl<Conn> Gathered<Conn> {
    /// Returns the rows of the table `T` with keys `K`.
    pub(crate) fn table<T, K>(&mut self) -> &mut TableRows<T, K>
    where
        T: CounterTable + 'static,
        K: GatherKey<T, Conn>,
    {
        let name = type_name::<(T, K)>();
        let id = (module_name::<T>(), name, TypeId::of::<(T, K)>());
        let rows = self
            .0
            .entry(id)
            .or_insert_with(|| boxed(TableRows::<T, K>::of([])));
        rows.any_mut().downcast_mut().expect(SAME)
    }

    /// Returns the rows of a table that was gathered.
    pub(crate) fn of(&mut self, table: TableId) -> &mut dyn Rows<Conn> {
        let rows = self.0.get_mut(&table);
        &mut **rows.expect("the table was gathered")
    }

    pub(crate) fn append(&mut self, later: Self) {
        for (id, later) in later.0 {
            match self.0.get_mut(&id) {
                Some(rows) => rows.append(&*later),
                None => drop(self.0.insert(id, later)),
            }
        }
    }
}

/// A key of the table `T` whose counts can be gathered, and written on the connection `Conn`.
pub trait GatherKey<T, Conn>: Hash + Eq + Ord + Clone + Debug + Send + 'static {
    /// Adds these amounts, for each of these counters, to sorted rows.
    #[doc(hidden)]
    fn add_rows(
        counters: &[Name<'_>],
        rows: Vec<(Self, Day, Vec<i64>)>,
        conn: &mut Conn,
    ) -> QueryResult<()>;
}

impl<T, K, Conn> GatherKey<T, Conn> for K
where
    T: CounterTable,
    K: BindKey<T::KeyType, Conn::Backend> + Hash + Eq + Ord + Clone + Debug + Send + 'static,
    Conn: Connection<Backend: CounterBackend>,
{
    fn add_rows(
        counters: &[Name<'_>],
        rows: Vec<(Self, Day, Vec<i64>)>,
        conn: &mut Conn,
    ) -> QueryResult<()> {
        let slots = Slot::chosen().range(T::SLOTS);
        let rows = rows.into_iter();
        let rows = many::Rows::new::<T::KeyType, K, _, Conn::Backend>(counters, rows);
        many::add_rows(T::shape(), &slots, &rows, conn)
    }
}

/// The rows of one table, whose types are not known.
pub(crate) trait Rows<Conn>: Send {
    fn any(&self) -> &dyn Any;
    fn any_mut(&mut self) -> &mut dyn Any;
    fn len(&self) -> usize;
    fn append(&mut self, later: &dyn Rows<Conn>);
    /// Removes those rows that `others` has too.
    fn remove(&mut self, others: &dyn Rows<Conn>);
    /// Writes the rows in their order. Leaves out sums of 0.
    fn write(&self, conn: &mut Conn) -> QueryResult<()>;

    /// Returns the first rows that have not failed.
    fn first(&self, number: usize) -> Box<dyn Rows<Conn>>;
    /// Returns the row that has failed first, if that was before this moment.
    fn failed_before(&self, moment: Instant) -> Option<Box<dyn Rows<Conn>>>;
    /// Those rows that `others` has too have failed now.
    fn fail(&mut self, others: &dyn Rows<Conn>);
    /// Returns this number of parts or fewer, the last one first.
    fn split(&self, parts: usize) -> Vec<Box<dyn Rows<Conn>>>;
    /// Returns the same rows with amounts of 1 and -1 that point towards 0.
    fn reversed(&self) -> Box<dyn Rows<Conn>>;

    /// Returns the day, the printed key and the sums of each row.
    fn list(&self) -> Vec<(NaiveDate, String, Sums)>;
    fn add_pending(&self, key: &dyn Any, to: &mut Sums);
    fn amount(&self) -> i128;
    fn room(&self) -> usize;
}

/// The rows of the table `T` with keys `K`.
pub(crate) struct TableRows<T, K> {
    rows: BTreeMap<(NaiveDate, K), Row>,
    table: PhantomData<fn() -> T>,
}

#[derive(Clone, Default)]
struct Row {
    sums: Sums,
    /// When it has failed alone, for a reason that may pass.
    failed: Option<Instant>,
}

/// The sum for each counter, by its name, in the order of the names. In an `i128`, so that it does not
/// overflow because of the order of the amounts.
pub(crate) type Sums = Vec<(&'static str, i128)>;

pub(crate) fn add_sum(to: &mut Sums, counter: &'static str, amount: i128) {
    match to.binary_search_by_key(&counter, |(name, _)| name) {
        Ok(at) => to[at].1 += amount,
        Err(at) => to.insert(at, (counter, amount)),
    }
}

/// Adds an amount to each of the counters `C`.
pub(crate) fn add_amounts<C: Counters>(to: &mut Sums, amounts: &C::Amounts) {
    for (counter, amount) in C::NAMES.iter().zip(amounts.as_ref()) {
        add_sum(to, counter.0, i128::from(*amount));
    }
}

pub(crate) fn sum_of(sums: &Sums, counter: &str) -> i128 {
    let at = sums.binary_search_by_key(&counter, |(name, _)| name);
    at.map_or(0, |at| sums[at].1)
}

/// The room that a key takes in a buffer: that of one key, and of one more for each 256 bytes.
pub(crate) fn room<K: Debug>(key: &K) -> usize {
    struct Length(usize);
    impl std::fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    // A number owns no memory.
    if !std::mem::needs_drop::<K>() {
        return 1;
    }
    let mut length = Length(0);
    // Nothing but the length can be asked of any key.
    let _ = std::fmt::write(&mut length, format_args!("{key:?}"));
    1 + length.0 / 256
}

impl<T, K: Ord> TableRows<T, K> {
    fn of(rows: impl IntoIterator<Item = ((NaiveDate, K), Row)>) -> Self {
        TableRows {
            rows: rows.into_iter().collect(),
            table: PhantomData,
        }
    }

    /// Adds to a row, and returns whether it is new.
    pub(crate) fn add<C: Counters>(&mut self, row: (NaiveDate, K), amounts: &C::Amounts) -> bool {
        let number = self.rows.len();
        add_amounts::<C>(&mut self.rows.entry(row).or_default().sums, amounts);
        self.rows.len() > number
    }
}

fn boxed<T, K, Conn>(rows: TableRows<T, K>) -> Box<dyn Rows<Conn>>
where
    T: CounterTable + 'static,
    K: GatherKey<T, Conn>,
{
    Box::new(rows)
}

fn downcast<R: 'static, Conn>(rows: &dyn Rows<Conn>) -> &R {
    rows.any().downcast_ref().expect(SAME)
}

const SAME: &str = "the rows are of the same table";

impl<T, K, Conn> Rows<Conn> for TableRows<T, K>
where
    T: CounterTable + 'static,
    K: GatherKey<T, Conn>,
{
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn any(&self) -> &dyn Any {
        self
    }

    fn any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn append(&mut self, later: &dyn Rows<Conn>) {
        for (row, later) in downcast::<Self, _>(later).rows.clone() {
            let sums = &mut self.rows.entry(row).or_default().sums;
            for (counter, sum) in later.sums {
                add_sum(sums, counter, sum);
            }
        }
    }

    fn remove(&mut self, others: &dyn Rows<Conn>) {
        for row in downcast::<Self, _>(others).rows.keys() {
            self.rows.remove(row);
        }
    }

    fn write(&self, conn: &mut Conn) -> QueryResult<()> {
        // Also those whose sums are 0, so that the text of the statement depends on what the program
        // counts, and not on the amounts.
        let counters = self.rows.values().flat_map(|row| &row.sums);
        let counters: BTreeSet<_> = counters.map(|(counter, _)| *counter).collect();
        let counters: Vec<_> = counters.into_iter().map(Name).collect();
        let is_not_zero = |row: &Row| row.sums.iter().any(|(_, sum)| *sum != 0);
        let rows = self.rows.iter().filter(|(_, row)| is_not_zero(row));
        let rows = rows.map(|((day, key), row)| {
            let sums = counters.iter().map(|counter| sum_of(&row.sums, counter.0));
            let amounts = sums.map(i64::try_from).collect::<Result<_, _>>();
            Ok((key.clone(), Day(*day), amounts.map_err(|_| overflow())?))
        });
        K::add_rows(&counters, rows.collect::<QueryResult<_>>()?, conn)
    }

    fn first(&self, number: usize) -> Box<dyn Rows<Conn>> {
        let rows = self.rows.iter().filter(|(_, row)| row.failed.is_none());
        let rows = rows.take(number);
        boxed(Self::of(rows.map(|(key, row)| (key.clone(), row.clone()))))
    }

    fn failed_before(&self, moment: Instant) -> Option<Box<dyn Rows<Conn>>> {
        let rows = self.rows.iter();
        let failed = rows.filter(|(_, row)| row.failed.is_some_and(|failed| failed < moment));
        let (key, row) = failed.min_by_key(|(_, row)| row.failed)?;
        Some(boxed(Self::of([(key.clone(), row.clone())])))
    }

    fn fail(&mut self, others: &dyn Rows<Conn>) {
        for key in downcast::<Self, _>(others).rows.keys() {
            if let Some(row) = self.rows.get_mut(key) {
                row.failed = Some(Instant::now());
            }
        }
    }

    fn split(&self, parts: usize) -> Vec<Box<dyn Rows<Conn>>> {
        let rows: Vec<_> = self.rows.iter().collect();
        let parts = rows.chunks(rows.len().div_ceil(parts).max(1)).rev();
        let part = |part: &[(&(NaiveDate, K), &Row)]| {
            let rows = part.iter();
            boxed(Self::of(rows.map(|&(key, row)| (key.clone(), row.clone()))))
        };
        parts.map(part).collect()
    }

    fn reversed(&self) -> Box<dyn Rows<Conn>> {
        let mut rows = self.rows.clone();
        for (_, sum) in rows.values_mut().flat_map(|row| &mut row.sums) {
            *sum = -sum.signum();
        }
        boxed(Self::of(rows))
    }

    fn list(&self) -> Vec<(NaiveDate, String, Sums)> {
        let rows = self.rows.iter();
        rows.map(|((day, key), row)| (*day, format!("{key:?}"), row.sums.clone()))
            .collect()
    }

    fn add_pending(&self, key: &dyn Any, to: &mut Sums) {
        let Some(key) = key.downcast_ref::<K>() else {
            return;
        };
        for ((_, other), row) in &self.rows {
            if other == key {
                for (counter, sum) in &row.sums {
                    add_sum(to, counter, *sum);
                }
            }
        }
    }

    fn amount(&self) -> i128 {
        let rows = self.rows.values();
        rows.flat_map(|row| &row.sums).map(|(_, sum)| sum).sum()
    }

    fn room(&self) -> usize {
        self.rows.keys().map(|(_, key)| room(key)).sum()
    }
}
