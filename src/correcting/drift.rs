//! The query that compares stored counts with true counts.

use std::marker::PhantomData;
use std::sync::Arc;

use diesel::QueryResult;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::Date;

use crate::backend::{CounterBackend, Dialect, numbered, push_names};
use crate::correcting::stored::{walk_where, walk_where_locked};
use crate::counter::Counters;
use crate::day::DayRange;
use crate::key::{Entities, KeyType, KeyTypes};
use crate::reading::days::Days;
use crate::reading::sums::{ByDay, Ungrouped};
use crate::settings::CounterSettings;
use crate::table::KeyNames;

/// A query of the stored and the true counts of the entities `E`, grouped by `By`.
#[derive(Debug)]
pub struct DriftQuery<C, Source, E, By> {
    source: Arc<Source>,
    entities: E,
    days: DayRange,
    /// Whether these entities have been locked.
    locked: bool,
    by: PhantomData<(C, By)>,
}
statement!(DriftQuery(C, Source, E, By) -> By::Rows where C: Counters, By: DriftBy<C>);

impl<C, Source, E, By> DriftQuery<C, Source, E, By> {
    pub(super) fn new(source: &Arc<Source>, entities: E, days: DayRange) -> Self {
        DriftQuery {
            source: Arc::clone(source),
            entities,
            days,
            locked: false,
            by: PhantomData,
        }
    }

    pub(super) fn locked(mut self) -> Self {
        self.locked = true;
        self
    }
}

/// How the stored and the true counts of `C` are grouped. The source selects days if the counts are
/// grouped by day.
pub trait DriftBy<C: Counters> {
    /// The SQL type of a row: the columns of the group, the stored counts, the true counts.
    type Rows;
    const ENTITY: bool = false;
    const DAY: bool = false;
}

/// The SQL type of a key in a query.
type KeyRow<C> = <KeyType<C> as KeyTypes>::Row;

/// A row for each entity.
#[derive(Debug, Clone, Copy)]
pub struct ByEntity;

/// A row for each entity and day.
#[derive(Debug, Clone, Copy)]
pub struct ByEntityAndDay;

impl<C: Counters> DriftBy<C> for Ungrouped {
    type Rows = (C::SqlType, C::SqlType);
}

impl<C: Counters> DriftBy<C> for ByDay {
    type Rows = (Date, C::SqlType, C::SqlType);
    const DAY: bool = true;
}

impl<C: Counters> DriftBy<C> for ByEntity {
    type Rows = (KeyRow<C>, C::SqlType, C::SqlType);
    const ENTITY: bool = true;
}

impl<C: Counters> DriftBy<C> for ByEntityAndDay {
    type Rows = ((KeyRow<C>, Date), C::SqlType, C::SqlType);
    const ENTITY: bool = true;
    const DAY: bool = true;
}

// These names are long, because the source can read a table of any name.
const SOURCE: &str = "diesel_counters_source";
const ENTITY: &str = "diesel_counters_entity";
const DAY: &str = "diesel_counters_day";

impl<C, Source, E, B, DB> QueryFragment<DB> for DriftQuery<C, Source, E, B>
where
    C: Counters,
    Source: QueryFragment<DB>,
    E: Entities<KeyType<C>, DB>,
    B: DriftBy<C>,
    C::Table: QueryFragment<DB>,
    DB: CounterBackend,
{
    // In the statement, each name below begins with `diesel_counters_`.
    //
    // WITH source (entity, actual_0) AS (…)
    // SELECT entity, SUM(stored_0), SUM(actual_0)
    // FROM (
    //     SELECT article_id AS entity, views AS stored_0, 0 AS actual_0 FROM article_counters
    //     UNION ALL
    //     SELECT entity, 0, actual_0 FROM source
    // ) AS both
    // GROUP BY entity HAVING SUM(stored_0) <> SUM(actual_0) ORDER BY entity
    //
    // A stored sum that is out of range is the nearest BIGINT, so that it can be corrected.
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        let entity = C::Table::ENTITY;
        let entity_names: Vec<String> = (0..entity.len()).map(|i| numbered(ENTITY, i)).collect();
        let entity_names: Vec<&str> = entity_names.iter().map(String::as_str).collect();
        let day = B::DAY.then_some(C::Table::DAY);
        let columns = entity.iter().copied().chain(day);
        let names: Vec<&str> = entity_names
            .iter()
            .copied()
            .chain(B::DAY.then_some(DAY))
            .collect();
        let by = if B::ENTITY {
            &names[..]
        } else {
            &names[names.len() - usize::from(B::DAY)..]
        };
        let number = C::NAMES.len();
        let stored: Vec<String> = (0..number)
            .map(|i| format!("diesel_counters_stored_{i}"))
            .collect();
        let actual: Vec<String> = (0..number)
            .map(|i| format!("diesel_counters_actual_{i}"))
            .collect();
        let source_names: Vec<&str> = names
            .iter()
            .copied()
            .chain(actual.iter().map(String::as_str))
            .collect();

        out.push_sql("WITH ");
        out.push_identifier(SOURCE)?;
        out.push_sql(" (");
        push_names(&source_names, &mut out)?;
        out.push_sql(") AS (");
        self.source.walk_ast(out.reborrow())?;
        out.push_sql(") ");
        dialect.push_select(&mut out);
        push_names(by, &mut out)?;
        for (i, counter) in stored.iter().enumerate() {
            if i > 0 || !by.is_empty() {
                out.push_sql(", ");
            }
            dialect.push_nearest_sum(counter, &mut out)?;
        }
        for counter in &actual {
            out.push_sql(", ");
            dialect.push_sum(counter, &mut out)?;
        }

        // Each part is grouped by itself, which reads its rows by an index, if it has one. On SQLite a
        // sum of stored counts could overflow.
        let groups_stored = dialect != Dialect::Sqlite;
        // Texts are compared by the collation of the counter table, which can differ from the
        // source's.
        let exact = KeyType::<C>::is_exact();
        let columns = Vec::from_iter(columns);
        out.push_sql(" FROM (SELECT ");
        for (column, name) in columns.iter().zip(&names) {
            out.push_identifier(column)?;
            push_as_name(name, &mut out)?;
            out.push_sql(", ");
        }
        for (column, name) in C::NAMES.iter().zip(&stored) {
            push_part(groups_stored, column, &mut out)?;
            push_as_name(name, &mut out)?;
            out.push_sql(", ");
        }
        for (i, actual) in actual.iter().enumerate() {
            out.push_sql(if i == 0 { "0" } else { ", 0" });
            push_as_name(actual, &mut out)?;
        }
        out.push_sql(" FROM ");
        C::Table::TABLE.walk_ast(out.reborrow())?;
        if self.locked {
            walk_where_locked::<C::Table, _, _>(&self.entities, &self.days, out.reborrow())?;
        } else {
            walk_where::<C::Table, _, _>(&self.entities, &self.days, out.reborrow())?;
        }
        push_group_by(groups_stored, &columns, &mut out)?;
        out.push_sql(" UNION ALL SELECT ");
        push_names(&names, &mut out)?;
        out.push_sql(if names.is_empty() { "" } else { ", " });
        out.push_sql(&"0, ".repeat(number));
        let groups_source = groups_stored && exact;
        for (i, actual) in actual.iter().enumerate() {
            out.push_sql(if i == 0 { "" } else { ", " });
            push_part(groups_source, actual, &mut out)?;
        }
        out.push_sql(" FROM ");
        out.push_identifier(SOURCE)?;
        let mut and = " WHERE ";
        if exact {
            and = self.entities.walk_where(&entity_names, out.reborrow())?;
        }
        if self.locked && dialect == Dialect::PostgreSql && (!exact || entity.len() > 1) {
            // The other databases take the condition on both parts into each of them. PostgreSQL does
            // not if their types or collations differ, and a list of keys of several columns never. Each
            // key has a stored row, its lock, whose text has the collation that texts of both
            // parts are compared by.
            for (column, name) in entity.iter().zip(&entity_names) {
                out.push_sql(and);
                out.push_identifier(name)?;
                out.push_sql(" = ANY(ARRAY(SELECT ");
                out.push_identifier(column)?;
                out.push_sql(" FROM ");
                C::Table::TABLE.walk_ast(out.reborrow())?;
                self.entities.walk_where(entity, out.reborrow())?;
                out.push_sql("))");
                and = " AND ";
            }
        }
        if !self.days.is_all() {
            self.days.walk_where(and, DAY, out.reborrow())?;
        }
        push_group_by(groups_source, &names, &mut out)?;
        out.push_sql(") AS diesel_counters_both");
        if !exact {
            self.entities.walk_where(&entity_names, out.reborrow())?;
        }

        if !by.is_empty() {
            out.push_sql(" GROUP BY ");
            push_names(by, &mut out)?;
            for (i, (stored, actual)) in stored.iter().zip(&actual).enumerate() {
                out.push_sql(if i == 0 { " HAVING " } else { " OR " });
                dialect.push_nearest_sum(stored, &mut out)?;
                out.push_sql(" <> ");
                dialect.push_sum(actual, &mut out)?;
            }
            out.push_sql(" ORDER BY ");
            push_names(by, &mut out)?;
        }
        Ok(())
    }
}

/// Writes a counter, or its sum.
fn push_part<DB: CounterBackend>(
    is_sum: bool,
    counter: &str,
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    out.push_sql(if is_sum { "SUM(" } else { "" });
    out.push_identifier(counter)?;
    out.push_sql(if is_sum { ")" } else { "" });
    Ok(())
}

fn push_as_name<DB: CounterBackend>(name: &str, out: &mut AstPass<'_, '_, DB>) -> QueryResult<()> {
    out.push_sql(" AS ");
    out.push_identifier(name)
}

fn push_group_by<DB: CounterBackend>(
    is_grouped: bool,
    names: &[&str],
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    if !is_grouped || names.is_empty() {
        return Ok(());
    }
    out.push_sql(" GROUP BY ");
    push_names(names, out)
}
