//! Copying totals, or the counts of some days, into a column of the parent table.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use chrono::{Days, NaiveDate};
use diesel::associations::HasTable;
use diesel::connection::LoadConnection;
use diesel::result::Error;
use diesel::{Column, Expression, QueryResult};

use crate::day::DayRange;
use crate::merge::parent_rows::{COMPARED, Differing, KeyRange, write};
use crate::shape::{Name, Shape, TableName};
use crate::sql::transaction::{begin_read_committed, is_in_a_transaction, read_all_rows};
use crate::sql::{CounterBackend, execute, load, load_number};
use crate::typed::counters::Counters;
use crate::typed::key::{KeyTypes, OwnedKey};
use crate::typed::settings::{ChildOf, CounterSettings, ParentColumns};
use crate::typed::table::{CounterTable, RenderName, table_name};

/// A column of the parent table that totals are copied into, by name.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct TotalColumn<'a> {
    /// The name of the parent table.
    pub table: TableName<'a>,
    /// The names of the columns of the parent table's primary key. They are the first columns of the
    /// counter table's key, or all of them.
    pub key: Vec<Name<'a>>,
    /// The name of the column for the totals.
    pub column: Name<'a>,
}

/// A copy of a counter's totals into a column of the parent table; made by
/// [`HasCounters::materialize`](crate::HasCounters::materialize), which has an example.
///
/// It compares the column with the total for all rows of the parent table, and writes the rows that
/// differ. The keys have the SQL types `Types` and the Rust type `K`.
#[must_use = "totals are not copied until this is executed"]
pub struct Materialize<'p, Types, K> {
    shape: &'p Shape<'p>,
    counter: Name<'p>,
    into: TotalColumn<'p>,
    /// `None` if it has no days: an error.
    days: Option<DayRange>,
    batch: usize,
    on_progress: Box<dyn FnMut(Materialized) + Send + 'p>,
    is_stopped: Box<dyn Fn() -> bool + Send + 'p>,
    of: PhantomData<fn() -> (Types, K)>,
}

/// The result of a [`Materialize`], or its progress so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Materialized {
    /// The number of rows of the parent table that were compared. The progress counts them in whole
    /// ranges of 50,000.
    pub compared: u64,
    /// The number of rows whose column differed from the total.
    pub different: u64,
    /// The number of rows that were written.
    pub written: u64,
}

impl fmt::Display for Materialized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows written", self.written)
    }
}

impl<Types, K> fmt::Debug for Materialize<'_, Types, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Materialize")
            .field("name", &self.name())
            .field("days", &self.days)
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}

/// The greatest number of rows in a statement that writes. Statements with more rows take long to
/// prepare.
const MAX_BATCH: usize = 1_000;

pub(crate) fn of_column<C, Into, K>() -> MaterializeOf<C, Into, K>
where
    C: Counters<Value = i64, Table: ChildOf<Into::Table>>,
    Into: Column<Table: HasTable<Table = Into::Table> + RenderName>,
{
    let key = <ParentKey<C, Into> as ParentColumns<<C::Table as CounterTable>::KeyType>>::NAMES;
    let into = TotalColumn {
        table: table_name(Into::Table::table()),
        key: key.to_vec(),
        column: Name(Into::NAME),
    };
    Materialize::new(C::Table::shape(), C::NAMES[0], into)
}

type ParentKey<C, Into> = <<C as Counters>::Table as ChildOf<<Into as Column>::Table>>::ParentKey;

/// The [`Materialize`] of a counter `C` into a column `Into` of a parent table that has keys `K`.
pub type MaterializeOf<C, Into, K> =
    Materialize<'static, <ParentKey<C, Into> as Expression>::SqlType, K>;

impl<'p, Types, K> Materialize<'p, Types, K> {
    /// Copies the totals of the first counter of `shape` into the column `into`, for a table that
    /// is known only at run time.
    #[doc(hidden)]
    pub fn of_shape(shape: &'p Shape<'p>, into: TotalColumn<'p>) -> Self {
        Materialize::new(shape, shape.counters[0], into)
    }

    fn new(shape: &'p Shape<'p>, counter: Name<'p>, into: TotalColumn<'p>) -> Self {
        Materialize {
            shape,
            counter,
            into,
            days: Some(DayRange::ALL),
            batch: MAX_BATCH,
            on_progress: Box::new(|_| ()),
            is_stopped: Box::new(|| false),
            of: PhantomData,
        }
    }

    /// Copies the counts of these days, in place of the totals. If the table counts by week, month or
    /// year, these are the whole periods that overlap them.
    ///
    /// If the days move on, a row's count also becomes less. The next run writes that too.
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.days = Some(DayRange::whole(days, self.shape.period));
        self
    }

    /// Copies the counts of the last days, in place of the totals: of `days` days, the last of
    /// which is the table's [`today`](crate::CounterSettings::today). With 0, the copy fails.
    pub fn last_days(mut self, days: u32) -> Self {
        if days == 0 {
            self.days = None;
            return self;
        }
        let today = (self.shape.today)();
        let first = today.checked_sub_days(Days::new(days.into()));
        // If there is no date so long ago, all days are meant.
        let first = first.map_or(Bound::Unbounded, Bound::Excluded);
        self.between((first, Bound::Included(today)))
    }

    /// Stops the run if `f` returns `true`. `f` is called before each statement that reads or writes
    /// many rows. If this is called several times, the run stops when any of the functions returns
    /// `true`.
    pub fn stop_when(mut self, f: impl Fn() -> bool + Send + 'p) -> Self {
        let earlier = self.is_stopped;
        self.is_stopped = Box::new(move || earlier() || f());
        self
    }

    pub(crate) fn name(&self) -> String {
        format!("{} into {}", self.shape.label, self.into.column)
    }

    /// Sets how many rows are written in one statement: from 1 to 1,000. Defaults to 1,000. A number
    /// outside of this range is replaced by the nearest one in it.
    pub fn batch(mut self, rows: usize) -> Self {
        self.batch = rows.clamp(1, MAX_BATCH);
        self
    }

    /// Calls `f` after each statement that writes, and after each 50,000 rows that were compared,
    /// with the progress so far.
    pub fn on_progress(mut self, f: impl FnMut(Materialized) + Send + 'p) -> Self {
        self.on_progress = Box::new(f);
        self
    }

    /// Compares the rows as [`execute`](Materialize::execute) does, and writes nothing. Returns the
    /// number of rows that differ, in [`different`](Materialized::different).
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Materialize::execute).
    pub fn dry_run<Conn>(mut self, conn: &mut Conn) -> QueryResult<Materialized>
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        self.copy(false, conn)
    }

    /// Copies the totals. Returns the number of rows that were written.
    ///
    /// Each statement that writes is a transaction of its own, unless a transaction is open. On
    /// MySQL and MariaDB, this transaction is READ COMMITTED. A row whose column another
    /// transaction has changed since it was read is not written. The next run writes it.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors: an [overflow](crate::is_overflow()), for example, if a
    /// total is out of the range of an `i64`, or, on PostgreSQL, an error if a policy of row level
    /// security hides rows from the caller. It fails with a
    /// [`QueryBuilderError`](Error::QueryBuilderError) if the number of the [last
    /// days](Materialize::last_days) is 0, or if a row keeps its old value: because a trigger of
    /// the table prevents the update, or because SQLite stores the key as another type than its
    /// column's. Rows that were written before the error stay written.
    pub fn execute<Conn>(mut self, conn: &mut Conn) -> QueryResult<usize>
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        Ok(self.copy(true, conn)?.written as usize)
    }

    /// Compares all rows, one range of keys after another, and writes the rows that differ.
    pub(crate) fn copy<Conn>(&mut self, writes: bool, conn: &mut Conn) -> QueryResult<Materialized>
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let days = self.days.ok_or_else(|| {
            Error::QueryBuilderError(
                "the last 0 days have no counts, and would set the column to 0 in all rows: \
                 `last_days(1)` is today"
                    .into(),
            )
        })?;
        let mut so_far = Materialized::default();
        let mut ends: Vec<K> = Vec::new();
        loop {
            if (self.is_stopped)() {
                return Ok(so_far);
            }
            let mut range = KeyRange::<Types, K>::after(ends.last().cloned());
            let into = &self.into;
            let end = load(conn, |db| range.end(db, into), |row| K::load(row))?;
            range.end_at(end.into_iter().next());
            if let Some(again) = range.last().filter(|last| ends.contains(last)) {
                return Err(not_updated(again));
            }
            let rows = self.differing(&range, &days, false, conn)?;
            so_far.different += rows.len() as u64;
            if writes {
                self.write(&rows, (&range, &days), &mut so_far, conn)?;
            }
            let Some(last) = range.last().cloned() else {
                let into = &self.into;
                let rest = load_number(conn, |db| range.count(db, into))?;
                so_far.compared += rest.unsigned_abs();
                return Ok(so_far);
            };
            so_far.compared += COMPARED as u64;
            (self.on_progress)(so_far);
            ends.push(last);
        }
    }

    fn write<Conn>(
        &mut self,
        rows: &[Differing<K>],
        (range, days): (&KeyRange<Types, K>, &DayRange),
        so_far: &mut Materialized,
        conn: &mut Conn,
    ) -> QueryResult<()>
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let mut written = 0;
        for batch in rows.chunks(self.batch) {
            if (self.is_stopped)() {
                return Ok(());
            }
            begin_read_committed(conn)?;
            let (into, keys) = (&self.into, Differing::keys::<Types, Conn::Backend>(batch));
            let of_batch = execute(conn, |db| write(db, into, &keys, batch))?;
            written += of_batch;
            so_far.written += of_batch as u64;
            (self.on_progress)(*so_far);
        }
        if written == rows.len() {
            return Ok(());
        }
        // A row that was not written and holds what it held is not found by its key.
        let may_be_stale = is_in_a_transaction(conn)?;
        let after = self.differing(range, days, may_be_stale, conn)?;
        let is_same = |row: &&Differing<K>| {
            let mut rows = rows.iter();
            rows.any(|other| other.key == row.key && other.held == row.held)
        };
        match after.iter().find(is_same) {
            Some(row) => Err(not_updated(&row.key)),
            None => Ok(()),
        }
    }

    /// Reads the rows of a range whose column is not the total; none if they `may_be_stale`: from before
    /// something was written.
    fn differing<Conn>(
        &self,
        range: &KeyRange<Types, K>,
        days: &DayRange,
        may_be_stale: bool,
        conn: &mut Conn,
    ) -> QueryResult<Vec<Differing<K>>>
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let (shape, counter, into) = (self.shape, self.counter, &self.into);
        read_all_rows(conn, |conn| {
            load(
                conn,
                |db| range.differing(db, (shape, counter), into, days, may_be_stale),
                |row| Differing::load::<Types, _>(row),
            )
        })
    }
}

fn not_updated(key: &impl fmt::Debug) -> Error {
    Error::QueryBuilderError(
        format!(
            "the row with the key {key:?} was not updated: a trigger of the table prevents it, or \
             SQLite stores the key as another type than its column's"
        )
        .into(),
    )
}
