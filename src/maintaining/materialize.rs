//! Copying totals, or the counts of some days, into a column of the parent table.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use chrono::{Days, NaiveDate};
use diesel::associations::HasTable;
use diesel::connection::Connection;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::Error;
use diesel::{Column, Expression, QueryResult, RunQueryDsl};

use crate::backend::CounterBackend;
use crate::counter::Counters;
use crate::day::{DayRange, utc_today};
use crate::key::KeyType;
use crate::layout::Layout;
use crate::maintaining::parent_rows::{
    COMPARED, CountRange, Difference, Differing, DifferingRow, KeyRange, KeyRow, Names, RangeEnd,
    WriteTotals,
};
use crate::settings::{ChildOf, CounterSettings, ParentColumns};
use crate::transaction::{begin_read_committed, is_in_a_transaction, read_all_rows};

/// A column of the parent table that totals are copied into, by name. See
/// [`Materialize::of_layout`].
#[derive(Debug, Clone)]
pub struct TotalColumn<P> {
    /// The name of the parent table, as SQL.
    pub table: P,
    /// The names of the columns of the parent table's primary key. They are the first columns of the
    /// counter table's key, or all of them.
    pub key: Vec<Cow<'static, str>>,
    /// The name of the column for the totals.
    pub column: Cow<'static, str>,
}

/// A copy of a counter's totals into a column of the parent table; made by
/// [`HasCounters::materialize`](crate::HasCounters::materialize), which has an example.
///
/// It compares the column with the total for all rows of the parent table, and writes the rows that
/// differ. The keys have the SQL type `ST` and the Rust type `K`.
#[must_use = "totals are not copied until this is executed"]
pub struct Materialize<'p, F, P, ST, K> {
    names: Arc<Names<F, P>>,
    /// `None` if it has no days: an error.
    days: Option<DayRange>,
    today: fn() -> NaiveDate,
    batch: usize,
    on_progress: Box<dyn FnMut(Materialized) + Send + 'p>,
    is_stopped: Box<dyn Fn() -> bool + Send + 'p>,
    of: PhantomData<(ST, K)>,
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

impl<P> TotalColumn<P> {
    pub(super) fn key(&self) -> Vec<&str> {
        self.key.iter().map(|name| &**name).collect()
    }
}

impl<F: fmt::Debug, P: fmt::Debug, ST, K> fmt::Debug for Materialize<'_, F, P, ST, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Materialize")
            .field("names", &self.names)
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
    Into: Column<Table: HasTable<Table = Into::Table>>,
{
    let mut materialize = Materialize::of_layout(
        Layout::of_counters(C::NAMES),
        TotalColumn {
            table: Into::Table::table(),
            key: <ParentKey<C, Into> as ParentColumns<KeyType<C>>>::NAMES
                .iter()
                .copied()
                .map(Cow::from)
                .collect(),
            column: Into::NAME.into(),
        },
    );
    materialize.today = C::Table::today;
    materialize
}

type ParentKey<C, Into> = <<C as Counters>::Table as ChildOf<<Into as Column>::Table>>::ParentKey;

/// The [`Materialize`] of a counter `C` into a column `Into` of a parent table that has keys `K`.
pub type MaterializeOf<C, Into, K> = Materialize<
    'static,
    <C as Counters>::Table,
    <Into as Column>::Table,
    <ParentKey<C, Into> as Expression>::SqlType,
    K,
>;

impl<F, P, ST, K> Materialize<'static, F, P, ST, K> {
    /// Copies the totals of the first counter of `layout` into the column `into`, for a table that
    /// is known only at run time.
    pub fn of_layout(layout: Layout<F>, into: TotalColumn<P>) -> Self {
        Materialize {
            names: Arc::new(Names { layout, into }),
            days: Some(DayRange::ALL),
            today: utc_today,
            batch: MAX_BATCH,
            on_progress: Box::new(|_| ()),
            is_stopped: Box::new(|| false),
            of: PhantomData,
        }
    }
}

impl<'p, F, P, ST, K> Materialize<'p, F, P, ST, K> {
    /// Copies the counts of these days, in place of the totals. If the table counts by week, month or
    /// year, these are the whole periods that overlap them.
    ///
    /// If the days move on, a row's count also becomes less. The next run writes that too.
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.days = Some(DayRange::whole(days, self.names.layout.period));
        self
    }

    /// Copies the counts of the last days, in place of the totals: of `days` days, the last of which is
    /// the table's [`today`](crate::CounterSettings::today). With 0, the copy fails.
    ///
    /// ```
    /// # include!("../doctest_setup.rs");
    /// # fn main() -> diesel::QueryResult<()> {
    /// # let conn = &mut establish_connection();
    /// # let last_year = chrono::Utc::now().date_naive() - chrono::Days::new(365);
    /// use diesel_counters::prelude::*;
    /// use schema::article_counters::views;
    /// use schema::articles;
    ///
    /// increment(views).of(1_i64).by(3).execute(conn)?;
    /// increment(views).of(1_i64).by(5).on(last_year).execute(conn)?;
    ///
    /// Article::materialize(views, articles::recent_views).last_days(90).execute(conn)?;
    ///
    /// let by_recent = articles::table.order((articles::recent_views.desc(), articles::id.desc()));
    /// let first: (i64, i64) = by_recent.select((articles::id, articles::recent_views)).first(conn)?;
    /// assert_eq!(first, (1, 3));
    /// # Ok(())
    /// # }
    /// ```
    pub fn last_days(mut self, days: u32) -> Self {
        if days == 0 {
            self.days = None;
            return self;
        }
        let today = (self.today)();
        let first = today.checked_sub_days(Days::new(days.into()));
        // If there is no date so long ago, all days are meant.
        let first = first.map_or(Bound::Unbounded, Bound::Excluded);
        self.between((first, Bound::Included(today)))
    }

    /// Stops the run if `f` returns `true`. `f` is called before each statement that reads or writes
    /// many rows. If this is called several times, the run stops when any of the functions returns
    /// `true`.
    pub fn stop_when<'q>(self, f: impl Fn() -> bool + Send + 'q) -> Materialize<'q, F, P, ST, K>
    where
        'p: 'q,
    {
        let earlier = self.is_stopped;
        Materialize {
            is_stopped: Box::new(move || earlier() || f()),
            ..self
        }
    }

    #[cfg(feature = "r2d2")]
    pub(crate) fn name(&self) -> String {
        let Names { layout, into } = &*self.names;
        format!("{} into {}", layout.name, into.column)
    }

    /// Sets how many rows are written in one statement: from 1 to 1,000. Defaults to 1,000. A number
    /// outside of this range is replaced by the nearest one in it.
    pub fn batch(mut self, rows: usize) -> Self {
        self.batch = rows.clamp(1, MAX_BATCH);
        self
    }

    /// Calls `f` after each statement that writes, and after each 50,000 rows that were compared,
    /// with the progress so far.
    pub fn on_progress<'q>(
        self,
        f: impl FnMut(Materialized) + Send + 'q,
    ) -> Materialize<'q, F, P, ST, K>
    where
        'p: 'q,
    {
        Materialize {
            on_progress: Box::new(f),
            ..self
        }
    }

    /// Compares the rows as [`execute`](Materialize::execute) does, and writes nothing. Returns the
    /// number of rows that differ, in [`different`](Materialized::different).
    ///
    /// # Errors
    ///
    /// Those of [`execute`](Materialize::execute).
    pub fn dry_run<Conn>(mut self, conn: &mut Conn) -> QueryResult<Materialized>
    where
        Self: MaterializeOn<Conn>,
    {
        self.copy(false, conn)
    }

    /// Copies the totals. Returns the number of rows that were written.
    ///
    /// Each statement that writes is a transaction of its own, unless a transaction is open. On MySQL
    /// and MariaDB, this transaction is READ COMMITTED. If
    /// another transaction has changed the column of a row since it was read, the row is not
    /// written. The next run writes it.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors: an [overflow](crate::is_overflow()), for example, if a
    /// total is out of the range of an `i64`. It fails with a
    /// [`QueryBuilderError`](Error::QueryBuilderError) if a row keeps its old value: because a trigger
    /// of the table prevents the update, or because SQLite stores the key as another type than its
    /// column's. Rows that were written before the error stay written. It fails with the same error if
    /// the number of the [last days](Materialize::last_days) is 0, and, on PostgreSQL, with the
    /// database's own if a policy of row level security hides rows from the caller.
    pub fn execute<Conn>(mut self, conn: &mut Conn) -> QueryResult<usize>
    where
        Self: MaterializeOn<Conn>,
    {
        Ok(self.copy(true, conn)?.written as usize)
    }
}

/// A copy that a connection `Conn` can make, because its backend has the types of the keys.
pub trait MaterializeOn<Conn> {
    #[doc(hidden)]
    fn copy(&mut self, writes: bool, conn: &mut Conn) -> QueryResult<Materialized>;
}

impl<F, P, ST, K, Conn> MaterializeOn<Conn> for Materialize<'_, F, P, ST, K>
where
    K: Clone + PartialEq + fmt::Debug,
    Conn: Connection<Backend: CounterBackend>,
    for<'a> RangeEnd<F, P, ST, K>: LoadQuery<'a, Conn, KeyRow<ST, K>>,
    for<'a> CountRange<F, P, ST, K>: LoadQuery<'a, Conn, i64>,
    for<'a> Differing<F, P, ST, K>: LoadQuery<'a, Conn, Difference<ST, K>>,
    WriteTotals<F, P, ST, K>: ExecuteDsl<Conn>,
{
    /// Compares all rows, one range of keys after another, and writes the rows that differ.
    fn copy(&mut self, writes: bool, conn: &mut Conn) -> QueryResult<Materialized> {
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
            let mut range = KeyRange {
                names: Arc::clone(&self.names),
                days,
                after: ends.last().cloned(),
                last: None,
                sql_type: PhantomData,
            };
            let end: Vec<KeyRow<ST, K>> = RangeEnd(range.clone()).load(conn)?;
            range.last = end.into_iter().next().map(|row| row.key);
            if let Some(again) = range.last.as_ref().filter(|last| ends.contains(last)) {
                return Err(not_updated(again));
            }
            let rows = differing(Differing::new(&range), conn)?;
            so_far.different += rows.len() as u64;
            if writes {
                self.write(&rows, &range, &mut so_far, conn)?;
            }
            let Some(last) = range.last.take() else {
                let rest: i64 = CountRange(range).get_result(conn)?;
                so_far.compared += rest.unsigned_abs();
                return Ok(so_far);
            };
            so_far.compared += COMPARED as u64;
            (self.on_progress)(so_far);
            ends.push(last);
        }
    }
}

impl<F, P, ST, K> Materialize<'_, F, P, ST, K> {
    fn write<Conn>(
        &mut self,
        rows: &[DifferingRow<K>],
        range: &KeyRange<F, P, ST, K>,
        so_far: &mut Materialized,
        conn: &mut Conn,
    ) -> QueryResult<()>
    where
        K: Clone + PartialEq + fmt::Debug,
        Conn: Connection<Backend: CounterBackend>,
        for<'a> Differing<F, P, ST, K>: LoadQuery<'a, Conn, Difference<ST, K>>,
        WriteTotals<F, P, ST, K>: ExecuteDsl<Conn>,
    {
        let mut written = 0;
        for batch in rows.chunks(self.batch) {
            if (self.is_stopped)() {
                return Ok(());
            }
            let write = WriteTotals::<F, P, ST, K> {
                names: Arc::clone(&self.names),
                rows: batch.to_vec(),
                sql_type: PhantomData,
            };
            begin_read_committed(conn)?;
            let of_batch = write.execute(conn)?;
            written += of_batch;
            so_far.written += of_batch as u64;
            (self.on_progress)(*so_far);
        }
        if written == rows.len() {
            return Ok(());
        }
        // A row that was not written and holds what it held is not found by its key.
        let again = Differing::new(range).after_writing(is_in_a_transaction(conn)?);
        let after = differing(again, conn)?;
        let is_same = |row: &&DifferingRow<K>| {
            let mut rows = rows.iter();
            rows.any(|(key, held, _)| (key, held) == (&row.0, &row.1))
        };
        match after.iter().find(is_same) {
            Some((key, ..)) => Err(not_updated(key)),
            None => Ok(()),
        }
    }
}

fn differing<F, P, ST, K, Conn>(
    query: Differing<F, P, ST, K>,
    conn: &mut Conn,
) -> QueryResult<Vec<DifferingRow<K>>>
where
    Conn: Connection<Backend: CounterBackend>,
    for<'a> Differing<F, P, ST, K>: LoadQuery<'a, Conn, Difference<ST, K>>,
{
    let rows: Vec<Difference<ST, K>> = read_all_rows(conn, |conn| query.load(conn))?;
    Ok(rows.into_iter().map(|row| row.0).collect())
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
