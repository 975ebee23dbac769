//! Merging slots, and folding old days.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use chrono::{Days, NaiveDate};

use crate::day::Period;
use crate::key::StoredKey;
use crate::merge::MAX_BATCH;
use crate::shape::Shape;
use crate::typed::table::CounterTable;

/// Merges the slots of past days, so that each entity has one row for each of these days.
///
/// Totals and daily counts don't change, not even while it runs. It merges the days before
/// yesterday, or before the day that you give with [`before`](Compact::before). If the table counts
/// by week, month or year, it merges the whole periods before the one that this day is in. Merged
/// rows have slot 0, where only SQLite counts.
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
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
/// Run it once a day, with a [`Compactor`](crate::Compactor) or with [the `diesel-counters`
/// command](crate::guide::operations#keeping-tables-small). You can kill it at any time and run it
/// again. If something is counted on a day that was already merged, that inserts a new row, which
/// the next run merges.
///
/// It adds up every `BigInt` column of your `table!` that isn't part of the primary key. The values
/// of other columns are discarded with the rows that are merged.
///
/// # Concurrency
///
/// A merge works in primary key order, with one [`batch`](Compact::batch) of rows per transaction.
/// If another transaction has locked a row, the merge leaves it for the next run. So a merge
/// doesn't wait for increments, and an increment on a day that is being merged waits for one batch
/// at most. On SQLite, every write waits for a batch. There are exceptions:
///
/// - If the counter table has a foreign key, a merge waits for transactions that have locked the
///   entity's own row. If entities are deleted during a run, it can fail with a foreign key
///   violation, or deadlock.
/// - On MySQL and MariaDB, a run can deadlock with [a deletion](crate::dsl::delete_counters()) of
///   an entity's counters.
/// - Transactions that wait for a merge can fail. On MySQL and MariaDB, two that wait for
///   neighbouring rows of the same day can deadlock. On PostgreSQL, one that runs [above READ
///   COMMITTED](crate::guide::counting#isolation-levels) can fail with a serialization failure.
///
/// A run takes a session-level advisory lock for the table (`pg_try_advisory_lock` or `GET_LOCK`),
/// so it needs a direct connection, not a [pooler](crate::guide::pools#pgbouncer). If another run
/// has the lock, this one does nothing and returns [`already_running`](Compacted::already_running).
/// On SQLite, two runs can merge the same table at the same time.
///
/// # Errors
///
/// [`execute`](Compact::execute) returns the database's own errors. It also fails with:
///
/// - [`AlreadyInTransaction`](diesel::result::Error::AlreadyInTransaction), if a transaction is
///   open, unless [`begin_test_transaction`](diesel::Connection::begin_test_transaction) began it;
/// - a [`QueryBuilderError`](diesel::result::Error::QueryBuilderError), if the table has a column
///   that your `table!` doesn't have, because it could be a newer counter. Also, at the end of a
///   run, if an SQLite table has days that aren't stored as `YYYY-MM-DD`;
/// - an [overflow](crate::is_overflow()), if the sum of the rows to merge doesn't fit an `i64`;
/// - an error from Vitess, on a connection to [several shards](crate::guide::nodes#vitess), because
///   it can't delete the merged rows there. Nothing is merged;
/// - a [`QueryBuilderError`](diesel::result::Error::QueryBuilderError), if a [trigger of your
///   own](crate::CounterTable#triggers-rules-and-policies-of-your-own) has skipped a row
///   of a batch. The batch is rolled back;
/// - an error on PostgreSQL, if a row level security policy applies to the caller on this table.
///   Merge as a role with `BYPASSRLS`.
///
/// Batches that were merged before an error stay merged.
pub fn compact<T>(_table: T) -> CompactOf<T>
where
    T: CounterTable<KeyType: StoredKey>,
{
    Compact::new(T::shape())
}

/// The [`Compact`] of the counter table `T`.
pub type CompactOf<T> = Compact<
    'static,
    <T as CounterTable>::KeyType,
    <<T as CounterTable>::KeyType as StoredKey>::Key,
>;

/// Folds old days: merges each entity's rows from before a given day into one row per week, month
/// or year, or into one row without a day.
///
/// Totals don't change, and neither do series by that period or a longer one. The counts of single
/// days are lost: a month's count is stored under its first day, and a count without a day under
/// 1970-01-01, which no series reads. A week that spans two months becomes two rows, so that series
/// by month don't change either. **You can't undo this.** [The
/// guide](crate::guide::operations#years) compares what you can keep.
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::Period;
/// use diesel_counters::dsl::fold;
///
/// let day = chrono::NaiveDate::from_ymd_opt(2026, 3, 10).unwrap();
/// // The days before March 1 become months.
/// fold(article_counters::table).per(Period::Month).before(day).execute(conn)?;
/// # Ok(())
/// # }
/// ```
///
/// Rows of the day that you give with [`before`](Compact::before) and of later days don't change,
/// and neither do rows from before 1970. If you fold into weeks, months or years, the whole period
/// that this day is in stays as it is, and so does the one that 1970-01-01 is in.
///
/// For columns, concurrency and errors, see [`compact`](crate::dsl::compact()). A [partitioned
/// table](crate::CounterTable#partitions) needs a partition for the first day of each period, or
/// for 1970-01-01.
pub fn fold<T>(_table: T) -> Fold<T>
where
    T: CounterTable<KeyType: StoredKey>,
{
    Fold {
        into: Period::Total,
        table: PhantomData,
    }
}

/// Merges rows of a counter table; made by [`compact`](crate::dsl::compact()) and
/// [`fold`](crate::dsl::fold()). The table's keys have the SQL types `Types`, a tuple, and the Rust
/// type `K`.
#[must_use = "rows are not merged until this is executed"]
pub struct Compact<'p, Types, K> {
    pub(super) shape: &'p Shape<'p>,
    pub(super) into: Period,
    pub(super) day: NaiveDate,
    pub(super) batch: usize,
    pub(super) on_progress: Box<dyn FnMut(&Compacted) + Send + 'p>,
    pub(super) is_stopped: Box<dyn Fn() -> bool + Send + 'p>,
    of: PhantomData<fn() -> (Types, K)>,
}

opaque_debug!(Compact<'p, Types, K>);

/// What a run of [`compact`](crate::dsl::compact()) or [`fold`](crate::dsl::fold()) has done, in
/// the end or so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Compacted {
    /// How many rows were added to other rows and deleted.
    pub merged: u64,
    /// How many rows are left to merge. At the end of a run, these are rows that another
    /// transaction had locked, or wrote during the run. The next run merges them.
    pub left: u64,
    /// How long the longest transaction took.
    pub longest_transaction: Duration,
    /// Whether another run was already merging this table. If so, this run did nothing.
    pub already_running: bool,
}

impl fmt::Display for Compacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.already_running {
            return f.write_str("nothing was merged, because another run is merging this table");
        }
        write!(f, "{} rows merged, {} left", self.merged, self.left)?;
        match self.longest_transaction {
            Duration::ZERO => Ok(()),
            longest => write!(f, "; the longest transaction took {longest:.1?}"),
        }
    }
}

/// A fold of the table `T` that still needs a day; made by [`fold`](crate::dsl::fold()).
#[must_use = "days are not folded until `before` sets the day, and the fold is executed"]
#[derive(Debug, Clone)]
pub struct Fold<T> {
    into: Period,
    table: PhantomData<T>,
}

impl<T: CounterTable<KeyType: StoredKey>> Fold<T> {
    /// Sets the period to fold into: each entity then has one row for each week, month or year, and
    /// two for a week that spans two months. Defaults to [`Period::Total`], one row for everything.
    /// If the table's own period is longer, that one is used. [`Period::Day`] only merges slots,
    /// like [`compact`](crate::dsl::compact()).
    pub fn per(mut self, period: Period) -> Self {
        self.into = period;
        self
    }

    /// Folds the days before this one. The week, month or year that this day is in isn't folded.
    pub fn before(self, day: NaiveDate) -> CompactOf<T> {
        Compact::folding(T::shape(), self.into, day)
    }
}

impl<'p, Types, K> Compact<'p, Types, K> {
    /// Merges the slots of past days, like [`compact`](crate::dsl::compact()), in a table whose
    /// keys are loaded as `K`: it folds them into days.
    #[doc(hidden)]
    pub fn new(shape: &'p Shape<'p>) -> Self {
        let today = (shape.today)();
        let yesterday = today.checked_sub_days(Days::new(1)).unwrap_or(today);
        Compact::folding(shape, Period::Day, yesterday)
    }

    /// Folds the days before `day` into the periods `into`, like [`fold`](crate::dsl::fold()), in a
    /// table whose keys are loaded as `K`. A fold into days merges slots.
    #[doc(hidden)]
    pub fn folding(shape: &'p Shape<'p>, into: Period, day: NaiveDate) -> Self {
        Compact {
            shape,
            into,
            day,
            batch: 100,
            on_progress: Box::new(|_| ()),
            is_stopped: Box::new(|| false),
            of: PhantomData,
        }
    }

    /// Says what this does, for example `compact article_counters`.
    pub(crate) fn description(&self) -> String {
        let table = self.shape.label;
        match self.into {
            Period::Day => format!("compact {table}"),
            into => format!("fold {table} into {into}"),
        }
    }

    /// Merges only the days before this one. Defaults to yesterday, so that transactions that began
    /// before midnight are over. If the table counts by week, month or year, or you fold into one
    /// of these, this merges the whole periods before the one that `day` is in.
    pub fn before(mut self, day: NaiveDate) -> Self {
        self.day = day;
        self
    }

    /// Sets how many rows one transaction merges. It's clamped to 1 to 1,000, and defaults to 100.
    pub fn batch(mut self, rows: usize) -> Self {
        self.batch = rows.clamp(1, MAX_BATCH);
        self
    }

    /// Calls `f` after every transaction, with the progress so far.
    pub fn on_progress(mut self, f: impl FnMut(&Compacted) + Send + 'p) -> Self {
        self.on_progress = Box::new(f);
        self
    }

    /// Stops the run when `f` returns `true`. It's called before the first transaction and after
    /// every one. If you call this twice, either function can stop the run.
    pub fn stop_when(mut self, f: impl Fn() -> bool + Send + 'p) -> Self
    where
        Types: 'p,
        K: 'p,
    {
        let earlier = self.is_stopped;
        self.is_stopped = Box::new(move || earlier() || f());
        self
    }
}
