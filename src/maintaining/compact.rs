//! Merging slots, and folding old days.

use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use chrono::{Days, NaiveDate};

use crate::backend::StoredKey;
use crate::day::{Day, DayRange, UNDATED, utc_today};
use crate::layout::{ColumnNames, Layout};
use crate::maintaining::range::MergeRange;
use crate::table::CounterTable;

/// Merges the slots of days that are over: of an entity's rows of a day, one is left.
///
/// Merged rows go to slot 0, which only SQLite increments. Totals, and those of each day, stay
/// as they are, at every moment.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::dsl::compact;
///
/// let done = compact(article_counters::table)
///     .batch(200)
///     .on_progress(|so_far| println!("{} merged, {} left", so_far.merged, so_far.left))
///     .execute(conn)?;
/// assert_eq!(done.left, 0);
/// # Ok(())
/// # }
/// ```
///
/// Run it once a day, say; a [`Compactor`](crate::Compactor) does, with the feature `r2d2`,
/// and so does the command `diesel-counters compact`. A late increment into a day that is
/// merged makes a row of its own again, which the next run merges.
///
/// A row is as old as the first day of its [`Period`](crate::Period). Of a model that
/// counts by the week, say, give [`before`](Compact::before) the Monday of the last week that
/// is over: the rows of a day that is still counted can be merged too, but come again.
///
/// # While others count and read
///
/// It works in short transactions, of one [`batch`](Compact::batch) of rows each, found by
/// the order of the key. In each it makes the rows of slot 0 that are not there yet, locks
/// these and the rows to merge, but for those that somebody else has locked, adds them up
/// and deletes them. What is locked is left for the next run. So it does not wait for who
/// counts, and who counts into a day that is being merged waits for one batch at most. It
/// can be killed at any time, and run again.
///
/// With a foreign key, a row that is made waits for who has the entity's own row locked, as
/// any increment does; a run that meets the counters of an entity which is deleted at that
/// moment may end with the foreign key's error; and a transaction that deletes several
/// entities otherwise than in the order of their keys may deadlock with it.
///
/// On MySQL and MariaDB deadlocks are possible, which an application there retries anyway:
/// of two transactions that both wait for the merge of neighbouring rows of one day, since
/// InnoDB turns their locks on deleted rows into locks on the gap; and with a transaction
/// that deletes an entity's counters meanwhile. So are, on PostgreSQL, serialization
/// failures above READ COMMITTED. Where it is the merge that they end, it returns the error;
/// run it again.
///
/// One run of a table goes on at a time, by an advisory lock of the session
/// (`pg_try_advisory_lock`, `GET_LOCK`): a second one leaves at once, [and says
/// so](Compacted::already_running). SQLite has no such lock, and a Galera cluster's nodes
/// do not share theirs: there two can be at it, and are as exact, but of two that meet on a
/// cluster one ends with a deadlock. Merge over a direct connection: a pooler that hands out
/// sessions by the transaction keeps the lock for itself, and others away. (A run that finds
/// its lock to be another session's ends with an error that says so.)
///
/// # What it costs
///
/// 1,000 entities with 30 days of 16 slots: 480,000 rows become 30,000. While four threads
/// counted into today, on two processors for them and the database:
///
/// | batches of 100 | rows a second | longest transaction | a writer's p50 | its p99 |
/// | --- | --- | --- | --- | --- |
/// | PostgreSQL 15 | 26,500 | 55 ms | 1.07 | 1.55 |
/// | MariaDB 10.11 | 20,600 | 16 ms | 1.14 | 1.58 |
/// | MySQL 9.7 | 11,300 | 109 ms | 1.65 | 2.00 |
///
/// | batches of 500 | rows a second | longest transaction | a writer's p50 | its p99 |
/// | --- | --- | --- | --- | --- |
/// | PostgreSQL 15 | 34,300 | 24 ms | 1.15 | 3.75 |
/// | MariaDB 10.11 | 36,200 | 26 ms | 1.33 | 2.31 |
/// | MySQL 9.7 | 18,500 | 121 ms | 1.83 | 2.64 |
///
/// The last two columns are multiples of the same without a merge. Besides, a run reads
/// through the table three times: to count what there is to merge, to find it, and to count
/// what is left.
///
/// # What it keeps
///
/// Every `BigInt` column of the `table!` that is no part of the key is added up. What other
/// columns hold of a row that is merged goes with it. A column that the `table!` does not
/// name is an error, since it might be a newer version's counter.
///
/// # Errors
///
/// [`execute`](Compact::execute) returns the database's own errors,
/// [`AlreadyInTransaction`](diesel::result::Error::AlreadyInTransaction) in a transaction, and
/// an error that names the column when one would be lost. What was merged before stays
/// merged.
///
/// Rows whose sum would leave the range of an `i64` are skipped, and so are rows of an SQLite
/// table whose day is not stored as `YYYY-MM-DD`. The run merges all others, and then fails
/// with an error that tells which were skipped. In the first case it is an
/// [overflow](crate::is_overflow()).
pub fn compact<T>(_table: T) -> Compact<'static, T::FromClause, T::StoredSqlType, T::StoredKey>
where
    T: StoredTable,
{
    Compact::new(Layout::of::<T>())
}

/// Folds old days: of an entity's rows of all days before a limit, one is left, which has
/// no day.
///
/// Totals stay as they are, and series begin later: what was counted on a day that is
/// folded is filed under 1970-01-01, where no series looks. Days at or after the limit, and
/// before 1970, are not touched. A [partitioned table](crate::CounterTable#partitions) requires
/// a partition for 1970-01-01. Otherwise it is as [`compact`](crate::dsl::compact()), whose
/// docs say how it works beside others.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let new_year = chrono::NaiveDate::from_ymd_opt(2026, 1, 1).unwrap();
/// use diesel_counters::dsl::fold;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// for day in [new_year - chrono::Days::new(1), new_year] {
///     increment(views).of(1_i64).on(day).by(10).execute(conn)?;
/// }
/// fold(article_counters::table).before(new_year).execute(conn)?;
///
/// let total = counter_value(views).of(1_i64);
/// assert_eq!(total.between(new_year..).get_result::<i64>(conn)?, 10);
/// let total = counter_value(views).of(1_i64);
/// assert_eq!(total.get_result::<i64>(conn)?, 20);
/// # Ok(())
/// # }
/// ```
///
/// There is no way back: keep as many days as you ever want to draw. A row is as old as the
/// first day of its [`Period`](crate::Period): of counts by the month, give `before` the
/// first day of a month.
pub fn fold<T: StoredTable>(_table: T) -> Fold<T> {
    Fold(PhantomData)
}

/// A counter table whose rows can be merged: the Rust type that holds its keys is known.
pub trait StoredTable: CounterTable<AllColumns: ColumnNames> {
    #[doc(hidden)]
    type StoredSqlType;
    #[doc(hidden)]
    type StoredKey;
}

impl<T> StoredTable for T
where
    T: CounterTable<KeyType: StoredKey, AllColumns: ColumnNames>,
{
    type StoredSqlType = <T::KeyType as StoredKey>::SqlType;
    type StoredKey = <T::KeyType as StoredKey>::Key;
}

/// A merge of rows of a counter table, whose keys have the SQL type `ST` and the Rust type
/// `K`; made by [`compact`] and [`fold`](crate::dsl::fold()).
#[must_use = "nothing is merged until it is executed"]
pub struct Compact<'p, F, ST, K> {
    pub(super) layout: Rc<Layout<F>>,
    pub(super) range: MergeRange,
    pub(super) batch: i64,
    pub(super) on_progress: Box<dyn FnMut(&Compacted) + 'p>,
    pub(super) is_stopped: Box<dyn Fn() -> bool + 'p>,
    of: PhantomData<(ST, K)>,
}

impl<F: fmt::Debug, ST, K> fmt::Debug for Compact<'_, F, ST, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compact")
            .field("layout", &self.layout)
            .field("range", &self.range)
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}

/// What a run of [`compact`] or [`fold`](crate::dsl::fold()) has done, by now or in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Compacted {
    /// How many rows were added to others, and deleted.
    pub merged: u64,
    /// The number of rows left to merge. At the end those are rows that somebody else had
    /// locked, or wrote meanwhile; the next run merges them.
    pub left: u64,
    /// How long the longest transaction took.
    pub longest_transaction: Duration,
    /// Another run was at this table, so this one did nothing.
    pub already_running: bool,
}

impl fmt::Display for Compacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.already_running {
            return f.write_str("another run is merging this table's rows: nothing done");
        }
        write!(f, "{} rows merged, {} left", self.merged, self.left)?;
        if self.longest_transaction.is_zero() {
            return Ok(());
        }
        let longest = self.longest_transaction;
        write!(f, "; the longest transaction took {longest:.1?}")
    }
}

/// A statement lists so many keys at most: longer ones take long to prepare.
const MAX_BATCH: usize = 1_000;

impl<F, ST, K> Compact<'static, F, ST, K> {
    /// As [`compact`], of a table that is known only as the program runs.
    pub fn new(layout: Layout<F>) -> Self {
        let (today, day) = (utc_today(), Days::new(1));
        Compact::of_rows(
            layout,
            MergeRange {
                first: DayRange::FIRST,
                before: Day(today.checked_sub_days(day).unwrap_or(today)),
                above_slot: 0,
                into: None,
            },
        )
    }

    pub(super) fn of_rows(layout: Layout<F>, range: MergeRange) -> Self {
        Compact {
            layout: Rc::new(layout),
            range,
            batch: 100,
            on_progress: Box::new(|_| ()),
            is_stopped: Box::new(|| false),
            of: PhantomData,
        }
    }
}

/// What folds days of the table `T` once it is told which; made by [`fold`].
#[must_use = "nothing is folded until `before` says which days, and it is executed"]
#[derive(Debug, Clone)]
pub struct Fold<T>(PhantomData<T>);

impl<T: StoredTable> Fold<T> {
    /// Folds the days before this one.
    pub fn before(
        self,
        day: NaiveDate,
    ) -> Compact<'static, T::FromClause, T::StoredSqlType, T::StoredKey> {
        Compact::folding(Layout::of::<T>(), day)
    }
}

impl<F, ST, K> Compact<'static, F, ST, K> {
    /// As [`fold`], of the days before `day`, and of a table that is known only as the
    /// program runs.
    pub fn folding(layout: Layout<F>, day: NaiveDate) -> Self {
        let range = MergeRange {
            first: Day(UNDATED.succ_opt().unwrap_or(UNDATED)),
            before: DayRange::FIRST,
            above_slot: -1,
            into: Some(Day(UNDATED)),
        };
        Compact::of_rows(layout, range).before(day)
    }
}

impl<'p, F, ST, K> Compact<'p, F, ST, K> {
    /// Merges the days before this one. Defaults to yesterday in UTC, so that transactions
    /// that began before midnight are over.
    pub fn before(mut self, day: NaiveDate) -> Self {
        self.range.before = Day(day.clamp(DayRange::FIRST.0, DayRange::LAST.0));
        self
    }

    #[cfg(feature = "r2d2")]
    pub(crate) fn table_name(&self) -> &str {
        &self.layout.name
    }

    /// Merges up to this number of rows in a transaction, from 1 to 1,000. Defaults to 100.
    pub fn batch(mut self, rows: usize) -> Self {
        self.batch = rows.clamp(1, MAX_BATCH) as i64;
        self
    }

    /// Calls `f` after each transaction.
    pub fn on_progress<'q>(self, f: impl FnMut(&Compacted) + 'q) -> Compact<'q, F, ST, K>
    where
        'p: 'q,
    {
        Compact {
            on_progress: Box::new(f),
            ..self
        }
    }

    /// Stops between two transactions when `f`, or that of an earlier call, returns `true`.
    pub fn stop_when<'q>(self, f: impl Fn() -> bool + 'q) -> Compact<'q, F, ST, K>
    where
        'p: 'q,
    {
        let earlier = self.is_stopped;
        Compact {
            is_stopped: Box::new(move || earlier() || f()),
            ..self
        }
    }
}
