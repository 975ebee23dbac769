//! The statements of a merge.

use std::marker::PhantomData;
use std::sync::Arc;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::row::{Field, NamedRow, Row};
use diesel::sql_types::{BigInt, Date, SmallInt, Untyped};

use crate::backend::{Bind, CounterBackend, Dialect, push_compare, push_names};
use crate::day::Period;
use crate::key::{BindKey, KeyTypes, LoadKey, field};
use crate::layout::Layout;
use crate::maintaining::range::{MergeRange, RowKey};
use crate::slot::Partition;

/// Takes the table's advisory lock, without waiting for it, or releases it. Returns 1, or 0 if another
/// session has it.
///
/// The lock lets one merge of a table run at a time. Two merges would be exact too, because each
/// merges only rows that it has locked, but they would wait for each other.
#[derive(Debug)]
pub struct SessionLock<F> {
    pub(super) layout: Arc<Layout<F>>,
    /// The table's name in the SQL of MySQL.
    pub(super) mysql_name: String,
    pub(super) takes: bool,
}
statement!(SessionLock(F) -> BigInt);

impl<F, DB> QueryFragment<DB> for SessionLock<F>
where
    F: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let (table, mysql_name) = (&self.layout.table, &self.mysql_name);
        Dialect::of(&out).push_session_lock(self.takes, table, mysql_name, &mut out)
    }
}

/// A query of the number of rows to merge, or of the rows whose day SQLite stores as another text than
/// `YYYY-MM-DD`.
#[derive(Debug)]
pub struct CountRows<F> {
    pub(super) layout: Arc<Layout<F>>,
    pub(super) range: Option<MergeRange>,
}
statement!(CountRows(F) -> BigInt);

impl<F, DB> QueryFragment<DB> for CountRows<F>
where
    F: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        out.push_sql("COUNT(*) FROM ");
        self.layout.table.walk_ast(out.reborrow())?;
        out.push_sql(" WHERE ");
        let Some(range) = &self.range else {
            out.push_sql("NOT (1 = 1");
            dialect.push_and_is_day(&self.layout.day, &mut out)?;
            out.push_sql(")");
            return Ok(());
        };
        range.walk_condition(&self.layout, out.reborrow())
    }
}

/// A query of the keys of the next rows to merge, in order. It locks no rows. Returns each as a
/// [`LoadedRow`].
#[derive(Debug)]
pub struct NextRows<F, ST, K> {
    pub(super) layout: Arc<Layout<F>>,
    pub(super) range: MergeRange,
    pub(super) after: Option<RowKey<K>>,
    pub(super) limit: i64,
    pub(super) sql_type: PhantomData<ST>,
}
statement!(NextRows(F, ST, K) -> Untyped);

impl<F, ST, K, DB> QueryFragment<DB> for NextRows<F, ST, K>
where
    F: QueryFragment<DB>,
    K: BindKey<ST, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        push_select_keys(&self.layout, &mut out)?;
        out.push_sql(" FROM ");
        self.layout.table.walk_ast(out.reborrow())?;
        // By another index, each batch would sort all rows that are left.
        Dialect::of(&out).push_by_key(&mut out);
        out.push_sql(" WHERE ");
        self.range.walk_condition(&self.layout, out.reborrow())?;
        if let Some(after) = &self.after {
            out.push_sql(" AND ");
            let push_value = |column, out: &mut AstPass<'_, 'b, DB>| {
                walk_row_value::<F, ST, K, DB>(&self.layout, after, column, out.reborrow())
            };
            let entity = self.layout.entity.len();
            push_compare(&self.layout.key(), entity, " > ", push_value, &mut out)?;
        }
        out.push_sql(" ORDER BY ");
        push_names(&self.layout.key(), &mut out)?;
        out.push_sql(" LIMIT ");
        DB::push_bind(Bind::Amount(&self.limit), &mut out)
    }
}

/// Writes the value of one column of the key of a row.
fn walk_row_value<'b, F, ST, K, DB>(
    layout: &Layout<F>,
    (entity, day, slot): &'b RowKey<K>,
    column: usize,
    mut out: AstPass<'_, 'b, DB>,
) -> QueryResult<()>
where
    K: BindKey<ST, DB>,
    DB: CounterBackend,
{
    match column.checked_sub(layout.entity.len()) {
        None => entity.walk_column(column, out),
        Some(0) => DB::push_bind(Bind::StoredDay(day), &mut out),
        Some(_) => DB::push_bind(Bind::Slot(slot), &mut out),
    }
}

/// Inserts the rows that other rows are added to, with zeros, if they do not exist.
///
/// It is the first statement of its transaction, and the only one that waits for locks. While other
/// transactions wait for the locks of the later statements, the merge itself waits for none. On
/// SQLite, a transaction that reads before it writes fails if another transaction has written in
/// between. This one writes first, and waits for the write lock.
#[derive(Debug)]
pub struct OpenTargets<F, ST, K> {
    pub(super) layout: Arc<Layout<F>>,
    pub(super) targets: Vec<RowKey<K>>,
    pub(super) partition: Partition,
    pub(super) sql_type: PhantomData<ST>,
}
statement!(OpenTargets(F, ST, K));

impl<F, ST, K, DB> QueryFragment<DB> for OpenTargets<F, ST, K>
where
    F: QueryFragment<DB>,
    K: BindKey<ST, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // Each number of rows has a text of its own, so it is not cached.
        out.unsafe_to_cache_prepared();
        let (key, counters) = (self.layout.key(), self.layout.counters());
        Dialect::of(&out).push_insert_into(&self.layout.table, &mut out)?;
        push_names(&key, &mut out)?;
        out.push_sql(", ");
        push_names(&counters, &mut out)?;
        out.push_sql(") VALUES ");
        for (i, target) in self.targets.iter().enumerate() {
            out.push_sql(if i == 0 { "(" } else { ", (" });
            for column in 0..key.len() - 1 {
                walk_row_value::<F, ST, K, DB>(&self.layout, target, column, out.reborrow())?;
                out.push_sql(", ");
            }
            match i {
                0 => Dialect::of(&out).push_merged_slot(&self.partition, &mut out)?,
                _ => DB::push_bind(Bind::Slot(self.partition.merged()), &mut out)?,
            }
            out.push_sql(&", 0".repeat(counters.len()));
            out.push_sql(")");
        }
        Dialect::of(&out).push_on_conflict_keep(&key, &counters, &mut out)
    }
}

/// Rows, by their keys.
#[derive(Debug)]
pub struct Rows<F, ST, K> {
    layout: Arc<Layout<F>>,
    keys: Arc<Vec<RowKey<K>>>,
    sql_type: PhantomData<ST>,
}

impl<F, ST, K> Rows<F, ST, K> {
    pub(super) fn new(layout: &Arc<Layout<F>>, keys: Vec<RowKey<K>>) -> Self {
        Rows {
            layout: Arc::clone(layout),
            keys: Arc::new(keys),
            sql_type: PhantomData,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) fn lock(&self) -> Lock<F, ST, K> {
        Lock(self.clone())
    }

    /// The statement that adds these rows to the merged row of the first day of their period.
    pub(super) fn add(&self, range: MergeRange) -> Add<F, ST, K> {
        Add {
            rows: self.clone(),
            range,
        }
    }

    pub(super) fn delete(&self) -> Delete<F, ST, K> {
        Delete(self.clone())
    }
}

impl<F, ST, K> Clone for Rows<F, ST, K> {
    fn clone(&self) -> Self {
        Rows {
            layout: Arc::clone(&self.layout),
            keys: Arc::clone(&self.keys),
            sql_type: PhantomData,
        }
    }
}

/// ` FROM t WHERE (entity, day, slot) IN (…)`
impl<F, ST, K, DB> QueryFragment<DB> for Rows<F, ST, K>
where
    F: QueryFragment<DB>,
    K: BindKey<ST, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // Each number of rows has a text of its own, so it is not cached.
        out.unsafe_to_cache_prepared();
        let layout = &*self.layout;
        let push_values = |row: usize, out: &mut AstPass<'_, 'b, DB>| {
            for column in 0..layout.key().len() {
                out.push_sql(if column == 0 { "" } else { ", " });
                walk_row_value::<F, ST, K, DB>(layout, &self.keys[row], column, out.reborrow())?;
            }
            Ok(())
        };
        let rows = self.keys.len();
        Dialect::of(&out).push_from_rows(&layout.table, &layout.key(), rows, push_values, &mut out)
    }
}

/// Locks rows, except those that another transaction has locked or deleted. Returns each as a
/// [`LoadedRow`].
#[derive(Debug)]
pub struct Lock<F, ST, K>(Rows<F, ST, K>);
statement!(Lock(F, ST, K) -> Untyped);

impl<F, ST, K, DB> QueryFragment<DB> for Lock<F, ST, K>
where
    F: QueryFragment<DB>,
    Rows<F, ST, K>: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        push_select_keys(&self.0.layout, &mut out)?;
        out.push_sql(", ");
        dialect.push_all_columns(&self.0.layout.table, &mut out)?;
        self.0.walk_ast(out.reborrow())?;
        dialect.push_lock_free_rows(&mut out);
        Ok(())
    }
}

/// A row, and, if it was locked, the names of all its columns. A column that the layout does not have
/// could be a new counter.
#[derive(Debug)]
pub struct LoadedRow<ST, K> {
    pub(super) key: RowKey<K>,
    pub(super) columns: Vec<String>,
    sql_type: PhantomData<ST>,
}

impl<ST, K, DB> QueryableByName<DB> for LoadedRow<ST, K>
where
    DB: Backend,
    ST: KeyTypes,
    K: LoadKey<ST, DB>,
    NaiveDate: FromSql<Date, DB>,
    i16: FromSql<SmallInt, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        let name = |i| {
            Some(
                Row::get(row, i)?
                    .field_name()
                    .unwrap_or_default()
                    .to_owned(),
            )
        };
        let day = field(row, ST::COLUMNS)?;
        let slot = field(row, ST::COLUMNS + 1)?;
        Ok(LoadedRow {
            key: (K::load(row)?, day, slot),
            columns: (ST::COLUMNS + 2..row.field_count())
                .filter_map(name)
                .collect(),
            sql_type: PhantomData,
        })
    }
}

/// Adds rows to the merged row.
#[derive(Debug)]
pub struct Add<F, ST, K> {
    rows: Rows<F, ST, K>,
    range: MergeRange,
}
statement!(Add(F, ST, K));

impl<F, ST, K, DB> QueryFragment<DB> for Add<F, ST, K>
where
    F: QueryFragment<DB>,
    Rows<F, ST, K>: QueryFragment<DB>,
    DB: CounterBackend,
{
    // INSERT INTO t (entity, day, slot, views)
    // SELECT entity, day, 0, SUM(views) FROM t WHERE … GROUP BY entity, day ORDER BY entity, day
    // ON CONFLICT …
    //
    // In place of `day`, it has the first day of the period. That is a constant for `Period::Total`,
    // by which no database groups.
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        let layout = &*self.rows.layout;
        let (key, counters) = (layout.key(), layout.counters());
        let into = self.range.into;
        let has_days = into < Period::Total;
        let push_by = |has_day: bool, out: &mut AstPass<'_, 'b, DB>| {
            push_names(&layout.entity(), out)?;
            if has_day {
                out.push_sql(if layout.entity.is_empty() { "" } else { ", " });
                dialect.push_start(into, &layout.day, out)?;
            }
            QueryResult::Ok(())
        };

        dialect.push_insert_into(&layout.table, &mut out)?;
        push_names(&key, &mut out)?;
        out.push_sql(", ");
        push_names(&counters, &mut out)?;
        out.push_sql(") SELECT ");
        push_by(true, &mut out)?;
        out.push_sql(", ");
        DB::push_bind(Bind::Slot(self.range.partition.merged()), &mut out)?;
        for counter in &counters {
            out.push_sql(", ");
            dialect.push_sum_to_insert(counter, &mut out)?;
        }
        self.rows.walk_ast(out.reborrow())?;
        for clause in [" GROUP BY ", " ORDER BY "] {
            if has_days || !layout.entity.is_empty() {
                out.push_sql(clause);
                push_by(has_days, &mut out)?;
            }
        }
        dialect.push_on_conflict_add(&key, &counters, &mut out)
    }
}

/// Deletes rows.
#[derive(Debug)]
pub struct Delete<F, ST, K>(Rows<F, ST, K>);
statement!(Delete(F, ST, K));

impl<F, ST, K, DB> QueryFragment<DB> for Delete<F, ST, K>
where
    F: QueryFragment<DB>,
    Rows<F, ST, K>: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Dialect::of(&out).push_delete(&self.0.layout.table, &mut out)?;
        self.0.walk_ast(out.reborrow())
    }
}

/// Writes `SELECT` and the key. PostgreSQL refuses a prepared query once a column of its result has
/// got another type, as long as the connection lives, so it is not cached.
pub(super) fn push_select_keys<F, DB: CounterBackend>(
    layout: &Layout<F>,
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    out.unsafe_to_cache_prepared();
    Dialect::of(out).push_select(out);
    push_names(&layout.key(), out)
}
