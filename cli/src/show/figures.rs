//! The figures, as the library reads them.

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::prelude::*;
use diesel::query_builder::QueryFragment;
use diesel_counters::dsl::{LayoutSum, MergeOn};
use diesel_counters::{Compact, Layout};

use crate::catalogue::CounterTable;
use crate::connection::{AnyConnection, MultiBackend};
use crate::layout::{TableName, layout, with_key_type};

/// A counter table, or one entity of it.
pub struct Figures<'t, Where> {
    pub table: &'t CounterTable,
    /// The rows that are read.
    pub condition: Where,
}

impl<Where> Figures<'_, Where>
where
    Where: QueryFragment<MultiBackend>,
{
    fn layout(&self) -> Layout<TableName> {
        layout(self.table, &self.table.counters)
    }

    /// The totals, and how many rows there are.
    pub fn totals(&self, conn: &mut AnyConnection) -> Result<LayoutSum> {
        let sums = self.layout();
        let sums = sums.sums().filter(&self.condition);
        Ok(sums.get_result(conn)?)
    }

    /// Each counter's count of each day, also of days without a row.
    pub fn series(
        &self,
        first: NaiveDate,
        last: NaiveDate,
        conn: &mut AnyConnection,
    ) -> Result<BTreeMap<NaiveDate, Vec<i64>>> {
        let nothing = vec![0; self.table.counters.len()];
        let days = first.iter_days().take_while(|day| *day <= last);
        let mut series: BTreeMap<_, _> = days.map(|day| (day, nothing.clone())).collect();
        let sums = self.layout();
        let sums = sums.sums().filter(&self.condition);
        let counted: Vec<LayoutSum> = sums.by_day().between(first..=last).load(conn)?;
        let counted = counted.into_iter();
        series.extend(counted.filter_map(|row| Some((row.day?, row.sums))));
        Ok(series)
    }
}

/// The number of rows that `compact` would merge.
pub fn rows_to_merge(table: &CounterTable, conn: &mut AnyConnection) -> Result<u64> {
    let layout = layout(table, &table.counters);
    with_key_type!(table.entity.as_ref(), conn, count(layout))
}

fn count<ST, K, Conn>(layout: Layout<TableName>, conn: &mut Conn) -> Result<u64>
where
    Conn: Connection,
    for<'p> Compact<'p, TableName, ST, K>: MergeOn<Conn>,
{
    let compact: Compact<'_, TableName, ST, K> = Compact::new(layout);
    Ok(compact.dry_run(conn)?.left)
}
