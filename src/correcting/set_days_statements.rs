//! The statements that set the counts of days.

use std::marker::PhantomData;
use std::sync::Arc;

use diesel::QueryResult;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::row::NamedRow;
use diesel::sql_types::{BigInt, Text, Untyped};

use crate::backend::{Bind, CounterBackend, Dialect, NUMBER, push_names};
use crate::day::{Day, DayRange, Period, UNDATED};
use crate::key::{BindKey, field};
use crate::layout::Layout;
use crate::slot::Partition;

/// The key, the day, and an amount for each counter.
pub(super) type Row<K> = (K, Day, Vec<i64>);

/// Adds to merged rows.
#[derive(Debug)]
pub struct Upsert<F, ST, K> {
    pub(super) layout: Arc<Layout<F>>,
    pub(super) partition: Partition,
    pub(super) rows: Vec<Row<K>>,
    pub(super) sql_type: PhantomData<ST>,
}
statement!(Upsert(F, ST, K));

impl<F, ST, K, DB> QueryFragment<DB> for Upsert<F, ST, K>
where
    F: QueryFragment<DB>,
    K: BindKey<ST, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // Each number of rows has a text of its own, so it is not cached.
        out.unsafe_to_cache_prepared();
        let dialect = Dialect::of(&out);
        let (key, counters) = (self.layout.key(), self.layout.counters());
        dialect.push_insert_into(&self.layout.table, &mut out)?;
        push_names(&key, &mut out)?;
        out.push_sql(", ");
        push_names(&counters, &mut out)?;
        out.push_sql(") VALUES ");
        for (i, (entity, day, amounts)) in self.rows.iter().enumerate() {
            out.push_sql(if i == 0 { "(" } else { ", (" });
            walk_dated(entity, day, key.len() - 1, &mut out)?;
            out.push_sql(", ");
            match i {
                0 => dialect.push_merged_slot(&self.partition, &mut out)?,
                _ => DB::push_bind(Bind::Slot(self.partition.merged()), &mut out)?,
            }
            for amount in amounts {
                out.push_sql(", ");
                DB::push_bind(Bind::Amount(amount), &mut out)?;
            }
            out.push_sql(")");
        }
        dialect.push_on_conflict_add(&key, &counters, &mut out)
    }
}

/// Writes the values of the first `columns` columns of a primary key: an entity's key and a day.
fn walk_dated<'b, ST, K: BindKey<ST, DB>, DB: CounterBackend>(
    entity: &'b K,
    day: &'b Day,
    columns: usize,
    out: &mut AstPass<'_, 'b, DB>,
) -> QueryResult<()> {
    for column in 0..columns - 1 {
        entity.walk_column(column, out.reborrow())?;
        out.push_sql(", ");
    }
    DB::push_bind(Bind::Day(day), out)
}

/// A query of the keys of the merged rows of 1970-01-01 that these entities have, as texts.
#[derive(Debug)]
pub struct StoredKeyTexts<F, ST, K> {
    pub(super) layout: Arc<Layout<F>>,
    pub(super) partition: Partition,
    pub(super) entities: Vec<K>,
    pub(super) sql_type: PhantomData<ST>,
}
statement!(StoredKeyTexts(F, ST, K) -> Untyped);

/// A key, as the text of each column.
#[derive(Debug)]
pub struct KeyTexts(pub(super) Vec<String>);

impl<DB> QueryableByName<DB> for KeyTexts
where
    DB: CounterBackend,
    String: FromSql<Text, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        let texts = (0..row.field_count()).map(|i| field(row, i));
        texts.collect::<deserialize::Result<_>>().map(KeyTexts)
    }
}

impl<F, ST, K, DB> QueryFragment<DB> for StoredKeyTexts<F, ST, K>
where
    F: QueryFragment<DB>,
    K: BindKey<ST, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // Each number of entities has a text of its own, so it is not cached.
        out.unsafe_to_cache_prepared();
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        for (i, column) in self.layout.entity.iter().enumerate() {
            out.push_sql(if i == 0 { "" } else { ", " });
            dialect.push_stored_text(column, &mut out)?;
        }
        out.push_sql(" FROM ");
        self.layout.table.walk_ast(out.reborrow())?;
        out.push_sql(" WHERE ");
        let entities = self.entities.iter();
        walk_in(&self.layout, entities, &mut out)?;
        out.push_sql(" AND ");
        out.push_identifier(&self.layout.day)?;
        out.push_sql(" = ");
        DB::push_bind(Bind::StoredDay(&UNDATED), &mut out)?;
        out.push_sql(" AND ");
        out.push_identifier(&self.layout.slot)?;
        out.push_sql(" = ");
        DB::push_bind(Bind::Slot(self.partition.merged()), &mut out)
    }
}

/// Writes a condition: the entity is one of these.
fn walk_in<'b, F, ST, K, DB>(
    layout: &Layout<F>,
    entities: impl ExactSizeIterator<Item = &'b K>,
    out: &mut AstPass<'_, 'b, DB>,
) -> QueryResult<()>
where
    K: BindKey<ST, DB> + 'b,
    DB: CounterBackend,
{
    let entities = Vec::from_iter(entities);
    let push_entity = |row: usize, out: &mut AstPass<'_, 'b, DB>| {
        for column in 0..layout.entity.len() {
            out.push_sql(if column == 0 { "" } else { ", " });
            entities[row].walk_column(column, out.reborrow())?;
        }
        Ok(())
    };
    let key = layout.entity();
    Dialect::of(out).push_in(&key, entities.len(), push_entity, out)
}

/// A query of the stored counts of days of entities.
#[derive(Debug)]
pub struct StoredDays<F, ST, K> {
    pub(super) layout: Arc<Layout<F>>,
    /// Each entity, and the days of a period.
    pub(super) keys: Vec<(K, DayRange)>,
    pub(super) period: Period,
    pub(super) sql_type: PhantomData<ST>,
}
statement!(StoredDays(F, ST, K) -> Untyped);

/// The number of a key in the list, from 1, and its stored counts.
#[derive(Debug)]
pub struct StoredDay {
    pub(super) number: i64,
    pub(super) counts: Vec<i64>,
}

impl<DB> QueryableByName<DB> for StoredDay
where
    DB: CounterBackend,
    i64: FromSql<BigInt, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        let counts = (1..row.field_count()).map(|i| field(row, i));
        Ok(StoredDay {
            number: field(row, 0)?,
            counts: counts.collect::<deserialize::Result<_>>()?,
        })
    }
}

impl<F, ST, K, DB> QueryFragment<DB> for StoredDays<F, ST, K>
where
    F: QueryFragment<DB>,
    K: BindKey<ST, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // Each number of keys has a text of its own, so it is not cached.
        out.unsafe_to_cache_prepared();
        let dialect = Dialect::of(&out);
        let Layout { table, .. } = &*self.layout;
        let mut key = self.layout.entity();
        key.push(&self.layout.day);
        dialect.push_select(&mut out);
        out.push_identifier(NUMBER)?;
        for counter in self.layout.counters() {
            out.push_sql(", ");
            dialect.push_sum(counter, &mut out)?;
        }
        // A row of another day of the period is from before the table's period was changed.
        let has_last = !matches!(self.period, Period::Day | Period::Total);
        let push_key = |row: usize, out: &mut AstPass<'_, 'b, DB>| {
            let (entity, days) = &self.keys[row];
            walk_dated(entity, &days.first, key.len(), out)?;
            if has_last {
                out.push_sql(", ");
                DB::push_bind(Bind::Day(&days.last), out)?;
            }
            Ok(())
        };
        let mut listed = key.clone();
        if has_last {
            listed.push(&self.layout.day);
        }
        dialect.push_from_numbered(table, &listed, self.keys.len(), push_key, &mut out)?;
        match has_last {
            true => dialect.push_join_periods(table, &key, &mut out)?,
            false => dialect.push_join_numbered(table, &key, &mut out)?,
        }
        let push_rows = |out: &mut AstPass<'_, 'b, DB>| {
            out.push_sql(" FROM ");
            table.walk_ast(out.reborrow())?;
            if self.layout.entity.is_empty() {
                return Ok(());
            }
            out.push_sql(" WHERE ");
            walk_in(
                &self.layout,
                self.keys.iter().map(|(entity, _)| entity),
                out,
            )
        };
        dialect.push_and_not_deleted(" WHERE ", push_rows, &mut out)?;
        out.push_sql(" GROUP BY ");
        out.push_identifier(NUMBER)
    }
}
