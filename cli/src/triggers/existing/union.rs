//! The rows and counts that a statement adds up, as queries for a `UNION ALL`.

use super::{NONE_BEFORE, Names};
use crate::triggers::counting::Counting;
use crate::triggers::statement::{Entities, RowsToCount, Sign};
use crate::triggers::target::{Source, Target};
use crate::triggers::values::Query;

/// Queries that are added up, and the tables that they read, with their aliases.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UnionParts {
    pub queries: Vec<Query>,
    pub reads: Vec<String>,
}

impl UnionParts {
    pub fn append(&mut self, more: UnionParts) {
        self.queries.extend(more.queries);
        self.reads.extend(more.reads);
    }
}

impl Counting {
    /// Returns what the rows count, to be added.
    pub(super) fn plus_rows(&self, target: &Target, names: Names) -> UnionParts {
        self.rows_with_sign(Sign::Plus, target, NONE_BEFORE, names)
    }

    /// Returns what the rows count, to be subtracted. `uses_before` is the number of queries that
    /// come before in the same statement.
    pub(super) fn minus_rows(
        &self,
        target: &Target,
        uses_before: usize,
        names: Names,
    ) -> UnionParts {
        self.rows_with_sign(Sign::Minus, target, uses_before, names)
    }

    /// Returns what the rows count, to be added or subtracted, with a query for every source.
    fn rows_with_sign(
        &self,
        sign: Sign,
        target: &Target,
        uses_before: usize,
        names: Names,
    ) -> UnionParts {
        let no_extra_columns = &[];
        let mut parts = UnionParts::default();
        for (index, source) in target.sources.iter().enumerate() {
            let name = names.counted(self, uses_before + index);
            let from = self.used_as(&name, &self.rows);
            let rows = RowsToCount {
                name: &name,
                from: &from,
                uses_before,
                sign,
                entities: target.entities(source),
            };
            let query = self.rows_of(target, source, &rows, no_extra_columns);
            parts.queries.push(query);
            let reads = self.tables_read(target, source, uses_before, names);
            parts.reads.extend(reads);
        }
        parts
    }

    /// Returns what a counter already has, to be subtracted.
    pub(super) fn minus_stored(&self, target: &Target, names: Names) -> UnionParts {
        let kept = names.kept(self, target);
        let mut columns = self.database.columns(&kept, &target.entity);
        if let (Some(slots), Some(_)) = (&target.slots, &self.day) {
            columns.push(self.database.column(&kept, &slots.day.name));
        }
        let counter = &target.names[0];
        let stored = self.database.column(&kept, counter);
        let name = self.database.quoted(counter);
        columns.push(format!("-{stored} AS {name}"));
        let from = self.used_as(&kept, &target.table);
        UnionParts {
            reads: vec![from.clone()],
            queries: vec![Query {
                columns,
                from,
                conditions: self.only(target, &kept),
            }],
        }
    }

    /// Makes the queries of rows leave out entities whose own row doesn't meet the definition's
    /// `only`. `parts` has a query for every source of the target.
    pub(super) fn apply_only(
        &self,
        parts: &mut UnionParts,
        target: &Target,
        uses_before: usize,
        names: Names,
    ) {
        if target.only.is_none() {
            return;
        }
        for (index, (query, source)) in parts.queries.iter_mut().zip(&target.sources).enumerate() {
            let counted = names.counted(self, uses_before + index);
            // The entity's own row, which `only` is about.
            let row = names.entity(self, target, uses_before + index);
            let entity = self.entity_of(source, &counted);
            let mut conditions = vec![self.key_equals(&target.entity, &row, &entity)];
            conditions.extend(self.only(target, &row));
            let from = self.used_as(&row, &target.table);
            query.conditions.push(format!(
                "EXISTS (SELECT 1 FROM {from} WHERE {})",
                conditions.join(" AND ")
            ));
            parts.reads.push(from);
        }
    }

    /// Returns the tables that a source's query reads, with their aliases:
    /// `article_likes AS counted`. `before_target` is the number of queries that come before the
    /// first one of the target.
    pub(super) fn tables_read(
        &self,
        target: &Target,
        source: &Source,
        before_target: usize,
        names: Names,
    ) -> Vec<String> {
        let uses_before = self.uses_before(target, source, before_target);
        let counted = names.counted(self, uses_before);
        let mut reads = vec![self.used_as(&counted, &self.rows)];
        if target.entities(source) == Entities::Existing {
            reads.extend(self.parents_at(uses_before, target));
        }
        reads
    }
}
