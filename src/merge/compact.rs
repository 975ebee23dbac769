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

/// Merges the slots of past days: each entity then has one row for each of these days.
///
/// Totals, and the counts of each day, do not change, not even while it runs. It merges the days
/// before yesterday, or before the day given with [`before`](Compact::before); for a table that
/// counts by week, month or year, whole periods before that of this day. Merged rows have slot
/// 0, which only SQLite increments.
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
/// Run it once a day: with a [`Compactor`](crate::Compactor), or with [the
/// command](crate::guide::operations#keeping-tables-small) `diesel-counters`. It can be killed at
/// any time, and run again. An increment of a day that was merged inserts a new row, which the next
/// run merges.
///
/// It adds up every `BigInt` column of the `table!` that is not part of the primary key. The values
/// of other columns are discarded with the rows that are merged.
///
/// # Concurrency
///
/// It works in the order of the primary key, in transactions of one [`batch`](Compact::batch) of
/// rows each. A row that another transaction has locked is left for the next run. So a merge does
/// not wait for increments, and an increment of a day that is being merged waits for one batch at
/// most. On SQLite, every write waits for a batch. There are exceptions:
///
/// - If the counter table has a foreign key, a merge waits for a transaction that has locked the
///   entity's row. A run can fail with a foreign key violation, or deadlock, if entities are
///   deleted meanwhile.
/// - On MySQL and MariaDB, a run can deadlock with [a deletion](crate::dsl::delete_counters()) of
///   the counters of an entity.
/// - On MySQL and MariaDB, two transactions that wait for the merge of neighbouring rows of one day
///   can deadlock. On PostgreSQL, one [above READ
///   COMMITTED](crate::guide::counting#isolation-levels) can fail with a serialization failure.
///
/// A run takes an advisory lock of the session for the table (`pg_try_advisory_lock` or
/// `GET_LOCK`), so it requires a direct connection, not a
/// [pooler](crate::guide::operations#poolers). If another run has the lock, it does nothing, and
/// returns [`already_running`](Compacted::already_running). On SQLite, two runs can merge the same
/// table at the same time.
///
/// # Errors
///
/// [`execute`](Compact::execute) returns the database's own errors. It also fails with:
///
/// - [`AlreadyInTransaction`](diesel::result::Error::AlreadyInTransaction), if a transaction is
///   open, unless it was begun with
///   [`begin_test_transaction`](diesel::Connection::begin_test_transaction);
/// - a [`QueryBuilderError`](diesel::result::Error::QueryBuilderError), if the table has a column
///   that the `table!` does not have: it could be a newer counter. At the end of a run, also if an
///   SQLite table has days that are not stored as `YYYY-MM-DD`;
/// - an [overflow](crate::is_overflow()), if the sum of rows to merge is out of the range of an
///   `i64`;
/// - the error of Vitess on a connection to [several shards](crate::guide::nodes#vitess), which
///   can't delete the rows that were merged. Nothing is merged;
/// - a [`QueryBuilderError`](diesel::result::Error::QueryBuilderError), if a [trigger of your
///   own](crate::CounterTable#triggers-rules-and-policies-of-your-own) has skipped a row
///   of a batch. The batch is rolled back;
/// - an error on PostgreSQL, if a policy of row level security applies to the caller and the table:
///   merge as a role with `BYPASSRLS`.
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

/// Folds old days: merges an entity's rows of the days before a given day, into one row for each
/// month, week or year, or into one row without a day.
///
/// Totals do not change, nor do series of the period or of a longer one. The counts of each single
/// day are lost: the count of a month is stored under its first day, and a count without a day
/// under 1970-01-01, which no series reads. A week that spans two months becomes two rows, so that
/// series of months do not change either. **This cannot be undone.** [The
/// guide](crate::guide::operations#years) compares what to keep.
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
/// Rows of the day given with [`before`](Compact::before), of later days, and of days before 1970
/// do not change. Of a week, month or year, the whole period of that day does not change, nor that
/// of 1970-01-01.
///
/// See [`compact`](crate::dsl::compact()) for columns, concurrency, cost and errors. A
/// [partitioned table](crate::CounterTable#partitions) requires a partition for the first day of
/// each period, or for 1970-01-01.
pub fn fold<T>(_table: T) -> Fold<T>
where
    T: CounterTable<KeyType: StoredKey>,
{
    Fold {
        into: Period::Total,
        table: PhantomData,
    }
}

/// A merge of rows of a counter table, whose keys have the SQL types `Types`, a tuple, and the Rust
/// type `K`; made by [`compact`](crate::dsl::compact()) and [`fold`](crate::dsl::fold()).
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

/// The result of a run of [`compact`](crate::dsl::compact()) or [`fold`](crate::dsl::fold()), or
/// its progress so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Compacted {
    /// The number of rows that were added to other rows, and deleted.
    pub merged: u64,
    /// The number of rows left to merge. At the end of a run, these are rows that another
    /// transaction had locked, or has written during the run. The next run merges them.
    pub left: u64,
    /// The duration of the longest transaction.
    pub longest_transaction: Duration,
    /// Whether another run was merging the rows of this table. If it was, this run did nothing.
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

/// A fold of the table `T` that requires a day; made by [`fold`](crate::dsl::fold()).
#[must_use = "days are not folded until `before` sets the day, and the fold is executed"]
#[derive(Debug, Clone)]
pub struct Fold<T> {
    into: Period,
    table: PhantomData<T>,
}

impl<T: CounterTable<KeyType: StoredKey>> Fold<T> {
    /// Sets the period: each entity then has one row for each week, month or year, and two for a
    /// week that spans two months. Defaults to [`Period::Total`], one row for all. A period shorter
    /// than that of the table is that of the table; [`Period::Day`] merges slots only, as
    /// [`compact`](crate::dsl::compact()).
    pub fn per(mut self, period: Period) -> Self {
        self.into = period;
        self
    }

    /// Sets the day before which days are folded. The week, month or year that this day is in is
    /// not folded.
    pub fn before(self, day: NaiveDate) -> CompactOf<T> {
        Compact::folding(T::shape(), self.into, day)
    }
}

impl<'p, Types, K> Compact<'p, Types, K> {
    /// Merges the slots of past days, as [`compact`](crate::dsl::compact()), in a table whose keys
    /// are loaded as `K`.
    #[doc(hidden)]
    pub fn new(shape: &'p Shape<'p>) -> Self {
        let today = (shape.today)();
        let yesterday = today.checked_sub_days(Days::new(1)).unwrap_or(today);
        Compact::folding(shape, Period::Day, yesterday)
    }

    /// Folds the days before `day` into the periods `into`, as [`fold`](crate::dsl::fold()), in a
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

    pub(crate) fn work(&self) -> String {
        let table = self.shape.label;
        match self.into {
            Period::Day => format!("compact {table}"),
            into => format!("fold {table} into {into}"),
        }
    }

    /// Sets the day before which days are merged. Defaults to yesterday, so that transactions that
    /// began before midnight are over. If the table counts by week, month or year, merges the
    /// periods before that of `day`. A fold into weeks, months or years folds those before that
    /// of `day`.
    pub fn before(mut self, day: NaiveDate) -> Self {
        self.day = day;
        self
    }

    /// Sets how many rows are merged in one transaction, clamped to 1 to 1,000. Defaults to 100.
    pub fn batch(mut self, rows: usize) -> Self {
        self.batch = rows.clamp(1, MAX_BATCH);
        self
    }

    /// Calls `f` after each transaction, with the progress so far.
    pub fn on_progress(mut self, f: impl FnMut(&Compacted) + Send + 'p) -> Self {
        self.on_progress = Box::new(f);
        self
    }

    /// Stops the run if `f`, or that of an earlier call, returns `true`. It is called before the
    /// first transaction and after each one.
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
