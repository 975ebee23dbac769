//! The statement that adds sums of rows to the counts of a table.

use super::union::UnionParts;
use super::{Names, Statement};
use crate::database::MYSQL;
use crate::triggers::correction::{MERGED_SLOT, column_numbers};
use crate::triggers::counting::Counting;
use crate::triggers::expression::Expression;
use crate::triggers::statement::{COUNTED, SumContext};
use crate::triggers::target::Target;
use crate::triggers::values::{Addition, LONG, SumQuery};

/// Which entities a statement adds to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Onto {
    /// All of them, whatever their count is.
    AnyCount,
    /// Only those that have no count yet.
    NoCount,
}

/// The day that the addition is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Day {
    /// The row's own day, or today if it has none.
    Own,
    /// 1970-01-01.
    Undated,
}

impl Counting {
    /// Returns the statement that adds up these queries, and adds the sums to the counts.
    pub(super) fn add_union(
        &self,
        target: &Target,
        parts: UnionParts,
        day: Day,
        onto: Onto,
        names: Names,
    ) -> Statement {
        let name = self.unused_name(COUNTED);
        let mut sums = self.sums_of(target, (&name, parts.queries), merged_slot(target));
        if target.slots.is_some() && day == Day::Undated {
            // The columns are the entity, the day, the slot and the sum.
            let day_index = target.entity.len();
            sums.columns[day_index] = self.sql.undated.to_owned();
        }
        self.add_sums(target, sums, &name, parts.reads, onto, names)
    }

    /// Returns the statement that adds sums to the counts. `row` is the alias of the rows that are
    /// summed up, and `reads` are the tables that the sums are read from.
    pub(super) fn add_sums(
        &self,
        target: &Target,
        mut sums: SumQuery,
        row: &str,
        reads: Vec<String>,
        onto: Onto,
        names: Names,
    ) -> Statement {
        // The columns of a union have the names of the key.
        let is_union = !sums.union.is_empty();
        let row_with_entity = if is_union { "" } else { row };
        sums.group
            .extend(self.exact_values(target, row_with_entity));
        if target.slots.is_some() {
            self.add_to_slots(target, sums, row, reads, onto, names)
        } else {
            self.add_to_column(target, sums, reads, onto)
        }
    }

    /// Returns the statement that adds sums to a counter table.
    fn add_to_slots(
        &self,
        target: &Target,
        mut sums: SumQuery,
        row: &str,
        mut reads: Vec<String>,
        onto: Onto,
        names: Names,
    ) -> Statement {
        let is_union = !sums.union.is_empty();
        // Without a GROUP BY, even no rows have a sum. And if a HAVING without GROUP BY has both an
        // aggregate and a query of the same table, MySQL 9.7 inserts nothing.
        if sums.group.is_empty() {
            // The first two columns are the day and the slot, which are constants.
            sums.group = column_numbers(2);
            // No rows have no group now, so no condition has to leave their sum out.
            if !is_union {
                sums.having.clear();
            }
        }
        if onto == Onto::NoCount {
            let kept = names.kept(self, target);
            reads.push(self.used_as(&kept, &target.table));
            let entity = match &*target.sources {
                [source] if !is_union => self.entity_of(source, row),
                _ => self.database.columns(row, &target.entity),
            };
            sums.having
                .insert(0, self.has_no_count(target, &kept, &entity));
        }
        Statement {
            addition: Addition {
                to: self.counters_of(target),
                sums,
                assignments: Vec::new(),
                row_conditions: Vec::new(),
            },
            sums_name: self.unused_name(COUNTED),
            reads,
            emptied: None,
        }
    }

    /// Returns the statement that adds sums to a column of an ordinary table.
    fn add_to_column(
        &self,
        target: &Target,
        mut sums: SumQuery,
        reads: Vec<String>,
        onto: Onto,
    ) -> Statement {
        // An UPDATE doesn't follow the order of its source.
        sums.order.clear();
        let table = self.database.quoted(&target.table.name);
        let counter = &target.names[0];
        let sums_name = self.unused_name(COUNTED);
        let sum = self.database.column(&sums_name, counter);
        let assignment = if onto == Onto::NoCount && is_number_of_rows(target) {
            // The counter is 0, and a number of rows is in the range of any column.
            let set_in = if self.database == MYSQL { &*table } else { "" };
            format!("{} = {sum}", self.database.column(set_in, counter))
        } else {
            self.add_to_counter(target, counter, &table, &sum, SumContext::Statement)
        };
        let mut row_conditions = vec![self.same_key(target, &table, &sums_name)];
        row_conditions.extend(self.only(target, &table));
        if onto == Onto::NoCount {
            row_conditions.push(format!("{} = 0", self.database.column(&table, counter)));
        }
        Statement {
            addition: Addition {
                to: self.counters_of(target),
                sums,
                assignments: vec![assignment],
                row_conditions,
            },
            sums_name,
            reads,
            emptied: None,
        }
    }

    /// Returns the condition that an entity has no count yet: `(SELECT COALESCE(SUM(likes), 0) FROM
    /// article_counters AS kept WHERE kept.article_id = counted.article_id) = 0`, on several lines.
    /// `kept` is the alias of the table with the counts.
    pub(super) fn has_no_count(&self, target: &Target, kept: &str, entity: &[String]) -> String {
        let counter = self.database.quoted(&target.names[0]);
        let table = self.used_as(kept, &target.table);
        let select = format!("SELECT COALESCE(SUM({counter}), 0) FROM {table}");
        if target.entity.is_empty() {
            return format!("(\n    {select}\n) = 0");
        }
        let is_entity = format!("WHERE {}", self.key_equals(&target.entity, kept, entity));
        let between = if select.len() + is_entity.len() > LONG {
            "\n    "
        } else {
            " "
        };
        format!("(\n    {select}{between}{is_entity}\n) = 0")
    }
}

/// Returns the slot to add to, in a counter table: that of merged rows.
pub(super) fn merged_slot(target: &Target) -> Option<&'static str> {
    target.slots.is_some().then_some(MERGED_SLOT)
}

/// Whether the target's only counter is simply the number of its rows.
fn is_number_of_rows(target: &Target) -> bool {
    let mut weights = target.sources.iter().flat_map(|source| &source.weights);
    weights.all(|weight| weight.as_ref().is_some_and(Expression::is_one))
}
