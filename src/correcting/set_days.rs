//! Setting the counts of many entities on many days.

use std::cmp::Reverse;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::sql_types::BigInt;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, NUMBER, WalkRows};
use crate::correcting::recount::lock_entities;
use crate::correcting::set::{SetCounter, SetOn};
use crate::counter::{Counters, difference, in_range};
use crate::counting::increment::is_zero;
use crate::counting::increment_many::{AddRows, add_rows, add_up};
use crate::day::Day;
use crate::key::{BindColumns, Dated, KeyColumns, KeyOf, KeyType};
use crate::reading::sums::push_sums;
use crate::settings::CounterSettings;
use crate::slot::SlotRange;
use crate::table::KeyNames;
use crate::transaction::{is_in_a_lasting_transaction, transaction};

/// Sets the counts of many entities on many days; made by [`SetCounter::of_days`].
#[must_use = "counts are not set until this is executed"]
pub struct SetDays<'p, C: Counters, K> {
    /// The count of each day of each entity, in the order in which rows are locked.
    counts: Vec<DayCount<C, K>>,
    batch: usize,
    on_progress: Box<dyn FnMut(CountsSet) + Send + 'p>,
}

/// A day of an entity, and its count.
type DayCount<C, K> = ((K, Reverse<NaiveDate>), <C as Counters>::Sums);

/// The result of a [`SetDays`], or its progress so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CountsSet {
    /// The number of counts, one for each entity and day, that were compared.
    pub compared: usize,
    /// The number of counts that differed from the stored ones, and were set.
    pub different: usize,
}

impl<C: Counters, K: fmt::Debug> fmt::Debug for SetDays<'_, C, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetDays")
            .field("counts", &self.counts)
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}

/// The greatest number of counts in a transaction. Statements with more keys take long to prepare.
const MAX_BATCH: usize = 1_000;

impl<C: Counters> SetCounter<C> {
    /// Sets the counts of many entities on many days: an import. `counts` has the key of an entity, a
    /// day, and the count of this day, in any order.
    ///
    /// Importing the same counts twice changes nothing, and an import that failed or was killed can be
    /// run again. Counts of other days, and of other entities, do not change. To add counts instead,
    /// use [`counting_transaction`](crate::counting_transaction()).
    ///
    /// ```
    /// # include!("../doctest_setup.rs");
    /// # fn main() -> diesel::QueryResult<()> {
    /// # let conn = &mut establish_connection();
    /// # let day = |day| chrono::NaiveDate::from_ymd_opt(2026, 3, day).unwrap();
    /// use diesel_counters::dsl::set_counter;
    /// use diesel_counters::prelude::*;
    /// use schema::article_counters::views;
    ///
    /// increment(views).of(1_i64).on(day(1)).execute(conn)?;
    ///
    /// let log = [(1_i64, day(1), 10), (1, day(2), 20), (2, day(1), 30)];
    /// let set = set_counter(views).of_days(log).execute(conn)?;
    /// assert_eq!((set.compared, set.different), (3, 3));
    /// let again = set_counter(views).of_days(log).execute(conn)?;
    /// assert_eq!((again.compared, again.different), (3, 0));
    ///
    /// let series = counter_series(views).of(1_i64).load(conn)?;
    /// assert_eq!(series, [(day(1), 10), (day(2), 20)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// - If `counts` has a day of an entity more than once, its counts are added up. So give all counts
    ///   of a day in one call.
    /// - If the table counts by week, month or year, the days of a period are added up too.
    /// - **Do not set days that were [folded](crate::dsl::fold()).** Their counts are part of the count
    ///   of the month, and would be counted twice. Set the whole month, on its first day.
    ///
    /// # Concurrency
    ///
    /// Each [batch](SetDays::batch) is a transaction, or a savepoint if a transaction is open. It first
    /// locks its entities against other corrections, as [`SetCounter::execute`] does. Increments do not
    /// wait for it, except on SQLite, and are neither lost nor counted twice. It writes to slot 0, as
    /// merges do. A merge that runs at the same time can deadlock with it, if it also merges rows
    /// without a day. Run the one that failed again.
    pub fn of_days<K: Ord>(
        self,
        counts: impl IntoIterator<Item = (K, NaiveDate, C::Value)>,
    ) -> SetDays<'static, C, K> {
        let counts = counts.into_iter().map(|(key, day, count)| {
            let day = C::Table::PERIOD.start(day);
            ((key, Reverse(day)), count)
        });
        SetDays {
            counts: add_up::<C, _>(counts),
            batch: MAX_BATCH,
            on_progress: Box::new(|_| ()),
        }
    }
}

impl<'p, C: Counters, K> SetDays<'p, C, K> {
    /// Sets how many counts are set in one transaction: from 1 to 1,000. Defaults to 1,000. A number
    /// outside of this range is replaced by the nearest one in it.
    pub fn batch(mut self, counts: usize) -> Self {
        self.batch = counts.clamp(1, MAX_BATCH);
        self
    }

    /// Calls `f` after each transaction, with the progress so far.
    pub fn on_progress<'q>(self, f: impl FnMut(CountsSet) + Send + 'q) -> SetDays<'q, C, K>
    where
        'p: 'q,
    {
        SetDays {
            on_progress: Box::new(f),
            ..self
        }
    }

    /// Sets the counts. Returns the numbers of counts that were compared and that were set.
    ///
    /// # Errors
    ///
    /// It returns the database's own errors, and those of [`SetCounter::execute`]. It fails with an
    /// [overflow](crate::is_overflow()) if a stored count of a day, or a difference, is out of the range
    /// of an `i64`. On MySQL and MariaDB, it fails with a
    /// [`QueryBuilderError`](diesel::result::Error::QueryBuilderError) if a transaction is open, as a
    /// [recount](crate::dsl::recount()). Batches before an error stay set.
    pub fn execute<'a, Conn>(self, conn: &mut Conn) -> QueryResult<CountsSet>
    where
        Self: SetOn<'a, Conn, CountsSet>,
    {
        self.set(conn)
    }
}

impl<'a, C, K, Conn> SetOn<'a, Conn, CountsSet> for SetDays<'_, C, K>
where
    C: Counters,
    K: KeyOf<KeyType<C>> + Ord + Clone,
    Conn: Connection<Backend: CounterBackend>,
    AddRows<C::Table, K::Columns>: ExecuteDsl<Conn>,
    StoredDays<C, KeyColumns<K, C>>: LoadQuery<'a, Conn, (i64, C::Value)>,
{
    fn set(mut self, conn: &mut Conn) -> QueryResult<CountsSet> {
        let may_be_stale = is_in_a_lasting_transaction(conn)?;
        let mut so_far = CountsSet::default();
        for counts in self.counts.chunks(self.batch) {
            let different = transaction(conn, |conn| {
                set_counts::<C, K, Conn>(counts, may_be_stale, conn)
            })?;
            so_far.compared += counts.len();
            so_far.different += different;
            (self.on_progress)(so_far);
        }
        Ok(so_far)
    }
}

/// Sets the counts of a batch. Returns the number of counts that differed.
fn set_counts<'a, C, K, Conn>(
    counts: &[DayCount<C, K>],
    may_be_stale: bool,
    conn: &mut Conn,
) -> QueryResult<usize>
where
    C: Counters,
    K: KeyOf<KeyType<C>> + Ord + Clone,
    Conn: Connection<Backend: CounterBackend>,
    AddRows<C::Table, K::Columns>: ExecuteDsl<Conn>,
    StoredDays<C, KeyColumns<K, C>>: LoadQuery<'a, Conn, (i64, C::Value)>,
{
    let entities = counts.chunk_by(|((a, _), _), ((b, _), _)| a == b);
    let entities: Vec<K> = entities.map(|of_one| of_one[0].0.0.clone()).collect();
    lock_entities::<C, _, _>(&entities, conn)?;

    let mut keys = Dated::<K::Columns>::default();
    for ((key, Reverse(day)), _) in counts {
        key.clone().push_to(&mut keys.keys);
        keys.days.push(Day(*day));
    }
    let query = StoredDays::<C, K::Columns> {
        rows: counts.len(),
        keys: Arc::new(keys),
        may_be_stale,
        of: PhantomData,
    };
    let mut stored = vec![C::ZERO; counts.len()];
    for (number, count) in query.load::<(i64, C::Value)>(conn)? {
        if let Some(stored) = stored.get_mut((number - 1) as usize) {
            *stored = C::amounts(count);
        }
    }

    let mut differences = Vec::new();
    for (((key, Reverse(day)), sums), stored) in counts.iter().zip(stored) {
        let difference = difference::<C>(in_range::<C>(*sums)?, stored)?;
        if !is_zero(&difference) {
            differences.push((key.clone(), Day(*day), difference));
        }
    }
    let different = differences.len();
    let differences = differences.into_iter();
    add_rows::<C::Table, _, _, _>(SlotRange::MERGED, C::NAMES, differences, conn)?;
    Ok(different)
}

/// A query of the stored counts of days of entities, which have been locked. Each row begins with the
/// number of the key in the list, from 1.
#[derive(Debug)]
pub struct StoredDays<C, Columns> {
    keys: Arc<Dated<Columns>>,
    rows: usize,
    /// As in a [`DriftQuery`](crate::correcting::drift::DriftQuery).
    may_be_stale: bool,
    of: PhantomData<C>,
}
statement!(StoredDays(C, Columns) -> (BigInt, C::SqlType) where C: Counters);

impl<C, Columns, DB> QueryFragment<DB> for StoredDays<C, Columns>
where
    C: Counters,
    Columns: BindColumns<DB>,
    C::Table: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // Each number of rows has a text of its own, so it is not cached.
        out.unsafe_to_cache_prepared();
        let dialect = Dialect::of(&out);
        dialect.refuse_old_snapshot(self.may_be_stale)?;
        let table = C::Table::TABLE;
        let key = &C::Table::KEY[..Columns::NUMBER + 1];
        dialect.push_select(&mut out);
        out.push_identifier(NUMBER)?;
        out.push_sql(", ");
        push_sums(C::NAMES, &mut out)?;
        DB::ManyRows::walk_from_numbered(key, table, &*self.keys, self.rows, out.reborrow())?;
        let push_rows = |out: &mut AstPass<'_, 'b, DB>| {
            out.push_sql(" FROM ");
            table.walk_ast(out.reborrow())?;
            if Columns::NUMBER > 0 {
                out.push_sql(" WHERE ");
                let keys = &self.keys.keys;
                DB::ManyRows::walk_in(C::Table::ENTITY, keys, self.rows, out.reborrow())?;
            }
            Ok(())
        };
        dialect.push_and_not_deleted(" AND ", push_rows, &mut out)?;
        out.push_sql(" GROUP BY ");
        out.push_identifier(NUMBER)
    }
}
