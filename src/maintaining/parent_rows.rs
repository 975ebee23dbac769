//! The statements of a copy of totals: they compare the rows of the parent table, and write those that
//! differ.

use std::marker::PhantomData;
use std::sync::Arc;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::row::NamedRow;
use diesel::sql_types::{BigInt, Nullable, Untyped};

use crate::backend::{Bind, CounterBackend, Dialect, numbered, push_compare, push_names};
use crate::day::DayRange;
use crate::key::{BindKey, KeyTypes, LoadKey, field};
use crate::layout::Layout;
use crate::maintaining::materialize::TotalColumn;
use crate::reading::days::Days as _;

/// The names of what is copied, and of the column that it is copied into.
#[derive(Debug)]
pub struct Names<F, P> {
    /// Its first counter is the one that is copied.
    pub(super) layout: Layout<F>,
    pub(super) into: TotalColumn<P>,
}

/// The number of rows that one query compares. The query locks no rows, and returns only those that
/// differ.
pub(super) const COMPARED: i64 = 50_000;

/// The key of a row of the parent table, the value of its column, and the total.
pub(super) type DifferingRow<K> = (K, Option<i64>, i64);

/// A [`DifferingRow`] as it is loaded.
#[derive(Debug)]
pub struct Difference<ST, K>(pub(super) DifferingRow<K>, PhantomData<ST>);

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
    pub(super) key: K,
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

/// A range of keys of the parent table.
#[derive(Debug)]
pub struct KeyRange<F, P, ST, K> {
    pub(super) names: Arc<Names<F, P>>,
    pub(super) days: DayRange,
    pub(super) after: Option<K>,
    pub(super) last: Option<K>,
    pub(super) sql_type: PhantomData<ST>,
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
pub struct RangeEnd<F, P, ST, K>(pub(super) KeyRange<F, P, ST, K>);
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
pub struct CountRange<F, P, ST, K>(pub(super) KeyRange<F, P, ST, K>);
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
    pub(super) fn new(range: &KeyRange<F, P, ST, K>) -> Self {
        Differing {
            range: range.clone(),
            may_be_stale: false,
        }
    }

    /// No rows if they could be those before.
    pub(super) fn after_writing(mut self, in_a_transaction: bool) -> Self {
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
    pub(super) names: Arc<Names<F, P>>,
    pub(super) rows: Vec<DifferingRow<K>>,
    pub(super) sql_type: PhantomData<ST>,
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
