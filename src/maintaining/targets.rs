//! The rows that others are added to.

use std::cmp::Reverse;
use std::marker::PhantomData;
use std::rc::Rc;

use chrono::NaiveDate;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Date, HasSqlType, SingleValue};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, push_names};
use crate::maintaining::layout::Layout;
use crate::maintaining::next_rows::Which;
use crate::maintaining::rows::RowKey;
use crate::period::UNDATED;

impl Which {
    /// The row that this one is added to.
    pub(super) fn target_of<K: Clone>(&self, (entity, day, _slot): &RowKey<K>) -> RowKey<K> {
        (entity.clone(), self.into.map_or(*day, |into| into.0), 0)
    }

    /// The rows that are added to one row, for each of these; or the first row, where they
    /// all are added to one.
    pub(super) fn split_by_target<K: Clone + Ord>(
        &self,
        rows: Vec<RowKey<K>>,
    ) -> Result<Vec<Vec<RowKey<K>>>, RowKey<K>> {
        let same = |a: &RowKey<K>, b: &RowKey<K>| self.target_of(a) == self.target_of(b);
        let mut parts: Vec<_> = rows.chunk_by(same).map(<[_]>::to_vec).collect();
        match &parts[..] {
            [one] => Err(one[0].clone()),
            _ => {
                parts.reverse();
                Ok(parts)
            }
        }
    }

    /// The rows that these are added to.
    pub(super) fn targets_of<K: Clone + Ord>(&self, rows: &[RowKey<K>]) -> Vec<RowKey<K>> {
        let mut targets: Vec<RowKey<K>> = rows.iter().map(|row| self.target_of(row)).collect();
        // In the order of corrections: entity by entity, its undated row first, which is their
        // lock, and then from the last row to the first, as they read.
        targets.sort_unstable_by(|(a, day_a, _), (b, day_b, _)| {
            let of = |day: &NaiveDate| (*day != UNDATED, Reverse(*day));
            (a, of(day_a)).cmp(&(b, of(day_b)))
        });
        targets.dedup();
        targets
    }
}

/// Makes the rows of slot 0 that others are to be added to, with zeros, where they are not
/// there yet.
///
/// It comes first in its transaction, and is all in it that waits. So whoever waits for a
/// merge waits for one that goes on; and on SQLite, where a transaction that reads before
/// it writes fails when another has written meanwhile, it waits for its turn.
pub struct OpenTargets<F, ST, K> {
    pub(super) layout: Rc<Layout<F>>,
    pub(super) targets: Vec<RowKey<K>>,
    pub(super) sql_type: PhantomData<ST>,
}
statement!(OpenTargets(F, ST, K));

impl<F, ST, K, DB> QueryFragment<DB> for OpenTargets<F, ST, K>
where
    F: QueryFragment<DB>,
    ST: SingleValue,
    K: ToSql<ST, DB>,
    DB: CounterBackend + HasSqlType<ST>,
    NaiveDate: ToSql<Date, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // There is a text for each number of rows.
        out.unsafe_to_cache_prepared();
        let (key, counters) = (self.layout.key(), self.layout.counters());
        Dialect::of(&out).push_insert_into(&self.layout.table, &mut out)?;
        push_names(&key, &mut out)?;
        out.push_sql(", ");
        push_names(&counters, &mut out)?;
        out.push_sql(") VALUES ");
        for (i, (entity, day, _slot)) in self.targets.iter().enumerate() {
            out.push_sql(if i == 0 { "(" } else { ", (" });
            if self.layout.entity.is_some() {
                out.push_bind_param::<ST, _>(entity)?;
                out.push_sql(", ");
            }
            out.push_bind_param::<Date, _>(day)?;
            out.push_sql(", 0");
            out.push_sql(&", 0".repeat(counters.len()));
            out.push_sql(")");
        }
        Dialect::of(&out).push_on_conflict_keep(&key, &counters, &mut out)
    }
}
