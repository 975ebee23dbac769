//! Copying totals, or the counts of some days, into a column of the parent table.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use chrono::{Days, NaiveDate};
use diesel::associations::HasTable;
use diesel::backend::Backend;
use diesel::connection::Connection;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::result::Error;
use diesel::row::NamedRow;
use diesel::sql_types::{BigInt, Nullable, Untyped};
use diesel::{Column, Expression, QueryResult, RunQueryDsl};

use crate::backend::{Bind, CounterBackend, Dialect, numbered, push_compare, push_names};
use crate::counter::Counters;
use crate::day::{DayRange, Period, utc_today};
use crate::key::{BindKey, KeyType, KeyTypes, LoadKey, field};
use crate::layout::Layout;
use crate::reading::days::Days as _;
use crate::settings::{ChildOf, CounterSettings, ParentColumns};
use crate::transaction::{begin_read_committed, is_in_a_transaction};

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
    days: DayRange,
    period: Period,
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
    fn key(&self) -> Vec<&str> {
        self.key.iter().map(|name| &**name).collect()
    }
}

#[derive(Debug)]
struct Names<F, P> {
    /// Its first counter is the one that is copied.
    layout: Layout<F>,
    into: TotalColumn<P>,
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

/// The number of rows that one query compares. The query locks no rows, and returns only those that
/// differ.
const COMPARED: i64 = 50_000;

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
    materialize.period = C::Table::PERIOD;
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
            days: DayRange::ALL,
            period: Period::Day,
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
        self.days = DayRange::whole(days, self.period);
        self
    }

    /// Copies the counts of the last days, in place of the totals: of `days` days, the last of which is
    /// the table's [`today`](crate::CounterSettings::today).
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
    pub fn last_days(self, days: u32) -> Self {
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
    /// column's. Rows that were written before the error stay written.
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
        let mut so_far = Materialized::default();
        let mut ends: Vec<K> = Vec::new();
        loop {
            if (self.is_stopped)() {
                return Ok(so_far);
            }
            let mut range = KeyRange {
                names: Arc::clone(&self.names),
                days: self.days,
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

/// The key of a row of the parent table, the value of its column, and the total.
type DifferingRow<K> = (K, Option<i64>, i64);

fn differing<F, P, ST, K, Conn>(
    query: Differing<F, P, ST, K>,
    conn: &mut Conn,
) -> QueryResult<Vec<DifferingRow<K>>>
where
    for<'a> Differing<F, P, ST, K>: LoadQuery<'a, Conn, Difference<ST, K>>,
{
    let rows: Vec<Difference<ST, K>> = query.load(conn)?;
    Ok(rows.into_iter().map(|Difference(row, _)| row).collect())
}

/// A [`DifferingRow`] as it is loaded.
#[derive(Debug)]
pub struct Difference<ST, K>(DifferingRow<K>, PhantomData<ST>);

impl<ST, K, DB> QueryableByName<DB> for Difference<ST, K>
where
    DB: Backend,
    ST: KeyTypes,
    K: LoadKey<ST, DB>,
    Option<i64>: FromSql<Nullable<BigInt>, DB>,
    i64: FromSql<BigInt, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        let (held, total) = (field(row, ST::COLUMNS)?, field(row, ST::COLUMNS + 1)?);
        Ok(Difference((K::load(row)?, held, total), PhantomData))
    }
}

/// A key of the parent table as it is loaded.
#[derive(Debug)]
pub struct KeyRow<ST, K> {
    key: K,
    sql_type: PhantomData<ST>,
}

impl<ST, K, DB> QueryableByName<DB> for KeyRow<ST, K>
where
    DB: Backend,
    K: LoadKey<ST, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        Ok(KeyRow {
            key: K::load(row)?,
            sql_type: PhantomData,
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

/// A range of keys of the parent table.
#[derive(Debug)]
pub struct KeyRange<F, P, ST, K> {
    names: Arc<Names<F, P>>,
    days: DayRange,
    after: Option<K>,
    last: Option<K>,
    sql_type: PhantomData<ST>,
}

impl<F, P, ST, K: Clone> Clone for KeyRange<F, P, ST, K> {
    fn clone(&self) -> Self {
        KeyRange {
            names: Arc::clone(&self.names),
            days: self.days,
            after: self.after.clone(),
            last: self.last.clone(),
            sql_type: PhantomData,
        }
    }
}

impl<F, P, ST, K> KeyRange<F, P, ST, K> {
    /// Writes ` WHERE key > ? AND key <= ?`. Returns what precedes a further condition.
    fn walk_where<'b, DB>(
        &'b self,
        key: &[&str],
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<&'static str>
    where
        K: BindKey<ST, DB>,
        DB: CounterBackend,
    {
        let ends = [(" > ", &self.after), (" <= ", &self.last)];
        let mut and = " WHERE ";
        for (compare, end) in ends {
            let Some(end) = end else { continue };
            out.push_sql(and);
            let push_value =
                |column, out: &mut AstPass<'_, 'b, DB>| end.walk_column(column, out.reborrow());
            push_compare(key, key.len(), compare, push_value, &mut out)?;
            and = " AND ";
        }
        Ok(and)
    }

    /// Writes a condition on the day of a row, unless all days are meant.
    fn walk_days<'b, DB>(&'b self, and: &str, out: AstPass<'_, 'b, DB>) -> QueryResult<()>
    where
        DB: CounterBackend,
    {
        if self.days.is_all() {
            return Ok(());
        }
        self.days.walk_where(and, &self.names.layout.day, out)
    }
}

/// A query of the last key of the next range. It returns no row if the rest of the table is shorter
/// than a range.
#[derive(Debug)]
pub struct RangeEnd<F, P, ST, K>(KeyRange<F, P, ST, K>);
statement!(RangeEnd(F, P, ST, K) -> Untyped);

impl<F, P, ST, K, DB> QueryFragment<DB> for RangeEnd<F, P, ST, K>
where
    P: QueryFragment<DB>,
    K: BindKey<ST, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // PostgreSQL refuses a prepared query once the key has got another type.
        out.unsafe_to_cache_prepared();
        let into = &self.0.names.into;
        let key = into.key();
        Dialect::of(&out).push_select(&mut out);
        push_names(&key, &mut out)?;
        out.push_sql(" FROM ");
        into.table.walk_ast(out.reborrow())?;
        self.0.walk_where(&key, out.reborrow())?;
        out.push_sql(" ORDER BY ");
        push_names(&key, &mut out)?;
        out.push_sql(" LIMIT 1 OFFSET ");
        DB::push_bind(Bind::Amount(const { &(COMPARED - 1) }), &mut out)
    }
}

/// A query of the number of rows of a range.
#[derive(Debug)]
pub struct CountRange<F, P, ST, K>(KeyRange<F, P, ST, K>);
statement!(CountRange(F, P, ST, K) -> BigInt);

impl<F, P, ST, K, DB> QueryFragment<DB> for CountRange<F, P, ST, K>
where
    P: QueryFragment<DB>,
    K: BindKey<ST, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let into = &self.0.names.into;
        Dialect::of(&out).push_select(&mut out);
        out.push_sql("COUNT(*) FROM ");
        into.table.walk_ast(out.reborrow())?;
        self.0.walk_where(&into.key(), out.reborrow())?;
        Ok(())
    }
}

/// A query of the rows of a range whose column is not the total.
#[derive(Debug)]
pub struct Differing<F, P, ST, K> {
    range: KeyRange<F, P, ST, K>,
    /// Whether it could read what was true before something was written.
    may_be_stale: bool,
}
statement!(Differing(F, P, ST, K) -> Untyped);

impl<F, P, ST, K: Clone> Differing<F, P, ST, K> {
    fn new(range: &KeyRange<F, P, ST, K>) -> Self {
        Differing {
            range: range.clone(),
            may_be_stale: false,
        }
    }

    /// No rows if they could be those before.
    fn after_writing(mut self, in_a_transaction: bool) -> Self {
        self.may_be_stale = in_a_transaction;
        self
    }
}

const PARENT: &str = "diesel_counters_parent";
const TOTALS: &str = "diesel_counters_totals";
const KEY: &str = "diesel_counters_key";
const HELD: &str = "diesel_counters_held";
const TOTAL: &str = "diesel_counters_total";

impl<F, P, ST, K, DB> QueryFragment<DB> for Differing<F, P, ST, K>
where
    F: QueryFragment<DB>,
    P: QueryFragment<DB>,
    ST: KeyTypes,
    K: BindKey<ST, DB>,
    DB: CounterBackend,
{
    // SELECT key, held, total FROM (
    //     SELECT id AS key, total_views AS held, COALESCE(total, 0) AS total FROM articles
    //     LEFT JOIN (
    //         SELECT article_id, SUM(views) AS total FROM article_counters
    //         WHERE article_id > ? AND article_id <= ? AND day BETWEEN ? AND ? GROUP BY article_id
    //     ) AS totals ON article_id = id
    //     WHERE id > ? AND id <= ?
    // ) AS parent WHERE held <> total OR held IS NULL ORDER BY key
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // PostgreSQL refuses a prepared query once the key has got another type.
        out.unsafe_to_cache_prepared();
        let dialect = Dialect::of(&out);
        let Names { layout, into } = &*self.range.names;
        let key = into.key();
        let entity = &layout.entity()[..key.len()];
        let names: Vec<String> = (0..key.len()).map(|i| numbered(KEY, i)).collect();
        let listed = names.join(", ");
        let counter = layout.counters.first().map_or("", |counter| counter);
        dialect.push_select(&mut out);
        out.push_sql(&format!("{listed}, {HELD}, {TOTAL} FROM (SELECT "));
        let columns = key.iter().copied().chain([&*into.column]);
        for (column, name) in columns.zip(names.iter().map(String::as_str).chain([HELD])) {
            out.push_identifier(column)?;
            out.push_sql(&format!(" AS {name}, "));
        }
        // The two columns of texts can have different collations, which order texts differently.
        // Then a range of one column is not a range of the other.
        let by_range = ST::is_exact();
        if by_range {
            out.push_sql(&format!("COALESCE({TOTALS}.{TOTAL}, 0) AS {TOTAL} FROM "));
            into.table.walk_ast(out.reborrow())?;
            out.push_sql(" LEFT JOIN (SELECT ");
            for (column, name) in entity.iter().zip(&names) {
                out.push_identifier(column)?;
                out.push_sql(&format!(" AS {name}, "));
            }
            dialect.push_sum(counter, &mut out)?;
            out.push_sql(&format!(" AS {TOTAL} FROM "));
            layout.table.walk_ast(out.reborrow())?;
            let and = self.range.walk_where(entity, out.reborrow())?;
            self.range.walk_days(and, out.reborrow())?;
            out.push_sql(" GROUP BY ");
            push_names(entity, &mut out)?;
            out.push_sql(&format!(") AS {TOTALS}"));
            for (i, (column, name)) in key.iter().zip(&names).enumerate() {
                out.push_sql(if i == 0 { " ON " } else { " AND " });
                out.push_sql(&format!("{TOTALS}.{name} = "));
                out.push_identifier(column)?;
            }
        } else {
            out.push_sql("(SELECT ");
            dialect.push_sum(counter, &mut out)?;
            out.push_sql(" FROM ");
            layout.table.walk_ast(out.reborrow())?;
            out.push_sql(&format!(" AS {TOTALS}"));
            for (i, (column, name)) in entity.iter().zip(&key).enumerate() {
                out.push_sql(if i == 0 { " WHERE " } else { " AND " });
                out.push_sql(&format!("{TOTALS}."));
                out.push_identifier(column)?;
                out.push_sql(" = ");
                into.table.walk_ast(out.reborrow())?;
                out.push_sql(".");
                out.push_identifier(name)?;
            }
            self.range.walk_days(" AND ", out.reborrow())?;
            out.push_sql(&format!(") AS {TOTAL} FROM "));
            into.table.walk_ast(out.reborrow())?;
        }
        self.range.walk_where(&key, out.reborrow())?;
        out.push_sql(&format!(
            ") AS {PARENT} WHERE {HELD} <> {TOTAL} OR {HELD} IS NULL ORDER BY {listed}"
        ));
        if self.may_be_stale && dialect.reads_old_snapshots() {
            out.push_sql(" LIMIT 0");
        }
        Ok(())
    }
}

/// Writes totals into the rows whose column has not changed since it was read.
#[derive(Debug)]
pub struct WriteTotals<F, P, ST, K> {
    names: Arc<Names<F, P>>,
    rows: Vec<DifferingRow<K>>,
    sql_type: PhantomData<ST>,
}
statement!(WriteTotals(F, P, ST, K));

impl<F, P, ST, K, DB> QueryFragment<DB> for WriteTotals<F, P, ST, K>
where
    P: QueryFragment<DB>,
    K: BindKey<ST, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // Each number of rows has a text of its own, so it is not cached.
        out.unsafe_to_cache_prepared();
        let into = &self.names.into;
        let key = into.key();
        let names: Vec<String> = (0..key.len()).map(|i| numbered(KEY, i)).collect();
        let push_row = |row: usize, out: &mut AstPass<'_, 'b, DB>| {
            let (of_row, held, total) = &self.rows[row];
            for column in 0..key.len() {
                of_row.walk_column(column, out.reborrow())?;
                out.push_sql(", ");
            }
            DB::push_bind(Bind::Column(held), out)?;
            out.push_sql(", ");
            DB::push_bind(Bind::Amount(total), out)
        };
        let of_key = key.iter().zip(&names);
        let columns: Vec<_> = of_key
            .map(|(column, name)| (Some(*column), name.as_str()))
            .chain([(Some(&*into.column), HELD), (Some(&*into.column), TOTAL)])
            .collect();
        Dialect::of(&out).push_update_from(
            (&into.table, &into.column),
            &columns,
            self.rows.len(),
            push_row,
            |out| {
                for (column, name) in key.iter().zip(&names) {
                    out.push_identifier(column)?;
                    out.push_sql(&format!(" = {name} AND "));
                }
                out.push_sql("(");
                out.push_identifier(&into.column)?;
                out.push_sql(&format!(" = {HELD} OR {HELD} IS NULL AND "));
                out.push_identifier(&into.column)?;
                out.push_sql(" IS NULL)");
                Ok(())
            },
            &mut out,
        )
    }
}
