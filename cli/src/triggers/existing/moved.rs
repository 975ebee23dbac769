//! Counts that move from a column to slots, or back to the column.

use super::addition::{Day, Onto};
use super::union::UnionParts;
use super::{Emptied, Names, Statement, Step, entity_columns};
use crate::triggers::correction::{MERGED_SLOT, column_numbers};
use crate::triggers::counting::Counting;
use crate::triggers::expression::Expression;
use crate::triggers::starts::OldCounter;
use crate::triggers::statement::{COUNTED, named};
use crate::triggers::target::{DayAndSlot, Target};
use crate::triggers::values::{Addition, Query, SumQuery};

impl Counting {
    /// Moves the counts of a column into slots.
    pub(super) fn move_to_slots(&self, target: &Target, old: &OldCounter, names: Names) -> Step {
        let column = old.target.only_counter_name();
        if let (Some(slots), Some(_)) = (&target.slots, &self.day) {
            return Step {
                comment: vec![
                    format!(
                        "Takes along the counts of {column}: the rows that are there count on their own days, and what"
                    ),
                    "is beyond them on 1970-01-01.".to_owned(),
                ],
                statements: vec![self.move_by_day(target, slots, old, names)],
            };
        }
        let statement = if add_the_same(self, target, old) {
            self.copy_column(target, old, names)
        } else {
            self.move_without_days(target, old, names)
        };
        Step {
            comment: vec![format!(
                "Takes along the counts of {column}, on 1970-01-01."
            )],
            statements: vec![statement],
        }
    }

    /// Counts the rows on their own days, and the rest of the column's counts on 1970-01-01.
    fn move_by_day(
        &self,
        target: &Target,
        slots: &DayAndSlot,
        old: &OldCounter,
        names: Names,
    ) -> Statement {
        let mut rest = self.minus_counted_before(target, old, names);
        let column = self.column_counts(target, old, names);
        rest.append(column.into_parts(self, target));
        let day = self.database.quoted(&slots.day.name);
        let undated = format!("{} AS {day}", self.sql.undated);
        let day_index = target.entity.len();
        for query in &mut rest.queries {
            query.columns.insert(day_index, undated.clone());
        }
        let mut parts = self.plus_rows(target, names);
        parts.append(rest);
        self.add_union(target, parts, Day::Own, Onto::NoCount, names)
    }

    /// Counts on 1970-01-01 what the rows count now, and what the column has beyond its rows.
    fn move_without_days(&self, target: &Target, old: &OldCounter, names: Names) -> Statement {
        let now = self.without_day();
        let mut parts = now.plus_rows(target, names);
        parts.append(self.minus_counted_before(target, old, names));
        let column = self.column_counts(target, old, names);
        parts.append(column.into_parts(self, target));
        now.add_union(target, parts, Day::Undated, Onto::NoCount, names)
    }

    /// Copies what the column has to 1970-01-01.
    fn copy_column(&self, target: &Target, old: &OldCounter, names: Names) -> Statement {
        let ColumnCounts {
            key,
            counter,
            from,
            mut conditions,
            mut reads,
        } = self.column_counts(target, old, names);
        let kept = names.kept(self, target);
        reads.push(self.used_as(&kept, &target.table));
        conditions.push(self.has_no_count(target, &kept, &key));
        let order = column_numbers(key.len());
        let day_slot_and_count = [self.sql.undated.to_owned(), MERGED_SLOT.to_owned(), counter];
        Statement {
            addition: Addition {
                to: self.counters_of(target),
                sums: SumQuery {
                    columns: key.into_iter().chain(day_slot_and_count).collect(),
                    from,
                    conditions,
                    order,
                    ..SumQuery::default()
                },
                assignments: Vec::new(),
                row_conditions: Vec::new(),
            },
            sums_name: self.unused_name(COUNTED),
            reads,
            emptied: None,
        }
    }

    /// Moves the counts in slots back to a column, and sets the slots to 0. If the column later
    /// moves to slots again, they take what it has then.
    pub(super) fn move_back_to_column(
        &self,
        target: &Target,
        old: &OldCounter,
        names: Names,
    ) -> Step {
        let column = target.only_counter_name();
        let slots = old.target.only_counter_name();
        let comment = format!(
            "Takes back the counts of {slots}, so that {column} has what was counted there."
        );
        let now = self.without_day();
        let mut parts = UnionParts::default();
        if !add_the_same(self, target, old) {
            parts.append(now.plus_rows(target, names));
            parts.append(now.minus_counted_before(target, old, names));
        }
        parts.append(self.slot_counts(target, old, names));
        parts.append(self.minus_stored(target, names));
        let mut statement = now.add_union(target, parts, Day::Undated, Onto::AnyCount, names);
        // MySQL may run this again after it has emptied the slots.
        let table = self.database.table_name(&old.target.table);
        let counter = self.database.quoted(&old.target.names[0]);
        statement.addition.row_conditions.push(format!(
            "EXISTS (SELECT 1 FROM {table} WHERE {counter} <> 0)"
        ));
        statement.emptied = Some(Emptied { table, counter });
        Step {
            comment: vec![comment],
            statements: vec![statement],
        }
    }

    /// Returns what slots have for every entity, slot by slot.
    fn slot_counts(&self, target: &Target, old: &OldCounter, names: Names) -> UnionParts {
        let earlier = names.earlier(&old.counting, &old.target);
        let from = self.used_as(&earlier, &old.target.table);
        let slots = ColumnCounts {
            key: self.database.columns(&earlier, &old.target.entity),
            counter: self.database.column(&earlier, &old.target.names[0]),
            reads: vec![from.clone()],
            from,
            conditions: Vec::new(),
        };
        slots.into_parts(self, target)
    }

    /// Returns what the rows counted under the earlier definition, to be subtracted.
    fn minus_counted_before(&self, target: &Target, old: &OldCounter, names: Names) -> UnionParts {
        let then = old.counting.without_day();
        let uses_before = target.sources.len();
        let mut parts = then.minus_rows(&old.target, uses_before, names);
        then.apply_only(&mut parts, &old.target, uses_before, names);
        parts
    }

    /// Returns what the old column has, for entities that exist.
    fn column_counts(&self, target: &Target, old: &OldCounter, names: Names) -> ColumnCounts {
        let OldCounter {
            counting: old_counting,
            target: old_target,
        } = old;
        let earlier = names.earlier(old_counting, old_target);
        let key = self.database.columns(&earlier, &old_target.entity);
        let counter = self.database.column(&earlier, &old_target.names[0]);
        let from = self.used_as(&earlier, &old_target.table);
        let mut conditions = vec![format!("{counter} <> 0")];
        conditions.extend(old_counting.only(old_target, &earlier));
        let mut reads = vec![from.clone()];
        // A row of the old table proves that its own entity exists.
        let mut parents = target.parents.iter();
        if parents.any(|parent| !parent.table.is(&old_target.table)) {
            let uses_before = target.sources.len() + old_target.sources.len();
            conditions.extend(self.exists_at(uses_before, target, &key));
            reads.extend(self.parents_at(uses_before, target));
        }
        ColumnCounts {
            key,
            counter,
            from,
            conditions,
            reads,
        }
    }
}

/// The query for what a column has for every entity.
struct ColumnCounts {
    key: Vec<String>,
    counter: String,
    from: String,
    conditions: Vec<String>,
    reads: Vec<String>,
}

impl ColumnCounts {
    /// Returns the query for a union, in which the columns have the target's names.
    fn into_parts(self, counting: &Counting, target: &Target) -> UnionParts {
        let mut names = counting.database.columns("", &target.entity);
        names.extend(counting.counter_names(target));
        let values = self.key.into_iter().chain([self.counter]).collect();
        UnionParts {
            reads: self.reads,
            queries: vec![Query {
                columns: named(values, &names),
                from: self.from,
                conditions: self.conditions,
            }],
        }
    }
}

/// Whether every row adds the same to a new counter as to an old one.
fn add_the_same(counting: &Counting, target: &Target, old: &OldCounter) -> bool {
    let has_only = target.only.is_some() || old.target.only.is_some();
    let when = counting.when.as_ref().map(written);
    let old_when = old.counting.when.as_ref().map(written);
    !has_only
        && when == old_when
        && entities_and_weights(target) == entities_and_weights(&old.target)
}

/// Returns the columns that name a row's entities, with the weights of the target's only counter.
fn entities_and_weights(target: &Target) -> Vec<(Vec<String>, Option<&str>)> {
    let mut entities = Vec::new();
    for source in &target.sources {
        let weight = source.weights[0].as_ref();
        entities.push((entity_columns(source), weight.map(written)));
    }
    entities
}

/// Returns an expression as the user wrote it.
fn written(expression: &Expression) -> &str {
    &expression.text
}
