//! Locking, adding up and deleting rows by their keys.

use std::marker::PhantomData;
use std::rc::Rc;

use chrono::NaiveDate;
use diesel::backend::Backend;
use diesel::deserialize::{self, QueryableByName};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::row::{Field, NamedRow, Row};
use diesel::serialize::ToSql;
use diesel::sql_types::{Date, HasSqlType, SingleValue, SmallInt, Untyped};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, push_names};
use crate::days::Day;
use crate::maintaining::layout::Layout;

/// A row's key.
pub type RowKey<K> = (K, NaiveDate, i16);

/// Rows by their keys.
pub struct Rows<F, ST, K> {
    layout: Rc<Layout<F>>,
    keys: Rc<Vec<RowKey<K>>>,
    sql_type: PhantomData<ST>,
}

impl<F, ST, K> Rows<F, ST, K> {
    pub(super) fn new(layout: &Rc<Layout<F>>, keys: Vec<RowKey<K>>) -> Self {
        Rows {
            layout: Rc::clone(layout),
            keys: Rc::new(keys),
            sql_type: PhantomData,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// One of them tells which columns there are. Another than these might be read locked.
    pub(super) fn columns(&self) -> StoredColumns<F, ST, K> {
        StoredColumns(self.clone())
    }

    /// Locks them, but for those that somebody else has locked or deleted; answers with
    /// the keys.
    pub(super) fn lock(&self) -> Lock<F, ST, K> {
        Lock(self.clone())
    }

    /// Adds them to slot 0 of `into`, or of their own day.
    pub(super) fn add(&self, into: Option<Day>) -> Add<F, ST, K> {
        Add {
            rows: self.clone(),
            into,
        }
    }

    pub(super) fn delete(&self) -> Delete<F, ST, K> {
        Delete(self.clone())
    }
}

impl<F, ST, K> Clone for Rows<F, ST, K> {
    fn clone(&self) -> Self {
        Rows {
            layout: Rc::clone(&self.layout),
            keys: Rc::clone(&self.keys),
            sql_type: PhantomData,
        }
    }
}

/// ` FROM t WHERE (entity, day, slot) IN (…)`
impl<F, ST, K, DB> QueryFragment<DB> for Rows<F, ST, K>
where
    F: QueryFragment<DB>,
    ST: SingleValue,
    K: ToSql<ST, DB>,
    DB: CounterBackend + HasSqlType<ST>,
    NaiveDate: ToSql<Date, DB>,
    i16: ToSql<SmallInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // There is a text for each number of rows.
        out.unsafe_to_cache_prepared();
        let layout = &*self.layout;
        let push_values = |row: usize, out: &mut AstPass<'_, 'b, DB>| {
            let (entity, day, slot) = &self.keys[row];
            if layout.entity.is_some() {
                out.push_bind_param::<ST, _>(entity)?;
                out.push_sql(", ");
            }
            out.push_bind_param::<Date, _>(day)?;
            out.push_sql(", ");
            out.push_bind_param::<SmallInt, _>(slot)
        };
        let rows = self.keys.len();
        Dialect::of(&out).push_from_rows(&layout.table, &layout.key(), rows, push_values, &mut out)
    }
}

/// The names of the columns that the rows have.
pub struct StoredColumns<F, ST, K>(Rows<F, ST, K>);
statement!(StoredColumns(F, ST, K) -> Untyped);

impl<F, ST, K, DB> QueryFragment<DB> for StoredColumns<F, ST, K>
where
    F: QueryFragment<DB>,
    Rows<F, ST, K>: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        dialect.push_all_columns(&self.0.layout.table, &mut out)?;
        self.0.walk_ast(out.reborrow())?;
        out.push_sql(" LIMIT 1");
        Ok(())
    }
}

/// What [`StoredColumns`] answers with.
pub struct Columns(pub(super) Vec<String>);

impl<DB: Backend> QueryableByName<DB> for Columns {
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        let names = (0..row.field_count()).map(|i| {
            let field = Row::get(row, i).ok_or("a row has fewer fields than it says")?;
            Ok(field.field_name().unwrap_or_default().to_owned())
        });
        names.collect::<deserialize::Result<_>>().map(Columns)
    }
}

pub struct Lock<F, ST, K>(Rows<F, ST, K>);
statement!(Lock(F, ST, K) -> (ST, Date, SmallInt));

impl<F, ST, K, DB> QueryFragment<DB> for Lock<F, ST, K>
where
    F: QueryFragment<DB>,
    Rows<F, ST, K>: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        push_select_keys(&self.0.layout, &mut out)?;
        self.0.walk_ast(out.reborrow())?;
        dialect.push_lock_free_rows(&mut out);
        Ok(())
    }
}

pub struct Add<F, ST, K> {
    rows: Rows<F, ST, K>,
    into: Option<Day>,
}
statement!(Add(F, ST, K));

impl<F, ST, K, DB> QueryFragment<DB> for Add<F, ST, K>
where
    F: QueryFragment<DB>,
    Rows<F, ST, K>: QueryFragment<DB>,
    DB: CounterBackend,
    Day: ToSql<Date, DB>,
{
    // INSERT INTO t (entity, day, slot, views)
    // SELECT entity, day, 0, SUM(views) FROM t WHERE … GROUP BY entity, day ORDER BY entity, day
    // ON CONFLICT …
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        let layout = &*self.rows.layout;
        let (key, counters) = (layout.key(), layout.counters());
        let mut by: Vec<&str> = layout.entity.as_deref().into_iter().collect();
        if self.into.is_none() {
            by.push(&layout.day);
        }

        dialect.push_insert_into(&layout.table, &mut out)?;
        push_names(&key, &mut out)?;
        out.push_sql(", ");
        push_names(&counters, &mut out)?;
        out.push_sql(") SELECT ");
        push_names(&by, &mut out)?;
        if let Some(into) = &self.into {
            out.push_sql(if by.is_empty() { "" } else { ", " });
            out.push_bind_param::<Date, _>(into)?;
        }
        out.push_sql(", 0");
        for counter in &counters {
            out.push_sql(", ");
            dialect.push_sum(counter, &mut out)?;
        }
        self.rows.walk_ast(out.reborrow())?;
        for clause in [" GROUP BY ", " ORDER BY "] {
            if !by.is_empty() {
                out.push_sql(clause);
                push_names(&by, &mut out)?;
            }
        }
        dialect.push_on_conflict_add(&key, &counters, &mut out)
    }
}

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

pub(super) fn push_select_keys<F, DB: CounterBackend>(
    layout: &Layout<F>,
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    Dialect::of(out).push_select(out);
    if layout.entity.is_none() {
        // In place of the entity.
        out.push_sql("0, ");
    }
    push_names(&layout.key(), out)
}
