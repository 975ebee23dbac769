//! Counts that come from the rows alone.

use super::addition::{Day, Onto, merged_slot};
use super::{NONE_BEFORE, Names, Statement, Step, lines};
use crate::triggers::counting::Counting;
use crate::triggers::statement::{RowsToCount, Sign};
use crate::triggers::target::{Source, Target};

impl Counting {
    /// Counts the rows of entities that have no count yet. Other entities keep their count,
    /// whatever it is, because some of it may be older than the rows.
    pub(super) fn count_missing(&self, target: &Target, names: Names) -> Step {
        let comment = lines([
            "Counts the rows that are there already, where there are no counts yet. Other counts stay as they are:",
            "`diesel-counters recount` compares them with the rows.",
        ]);
        let statement = if let [only_source] = &*target.sources {
            self.count_by_source(target, only_source, names)
        } else {
            let rows = self.plus_rows(target, names);
            self.add_union(target, rows, Day::Own, Onto::NoCount, names)
        };
        Step {
            comment,
            statements: vec![statement],
        }
    }

    /// Counts rows that each name a single entity. They can be summed up without a union.
    fn count_by_source(&self, target: &Target, source: &Source, names: Names) -> Statement {
        let name = names.counted(self, NONE_BEFORE);
        let from = self.used_as(&name, &self.rows);
        let rows = RowsToCount {
            name: &name,
            from: &from,
            uses_before: NONE_BEFORE,
            sign: Sign::Plus,
            entities: target.entities(source),
        };
        let sums = self.sums_of_rows(target, source, &rows, merged_slot(target));
        let reads = self.tables_read(target, source, NONE_BEFORE, names);
        self.add_sums(target, sums, &name, reads, Onto::NoCount, names)
    }

    /// Sets every count to the number of its rows: adds the rows, and subtracts the count itself.
    pub(super) fn set_to_rows(&self, target: &Target, names: Names) -> Step {
        let comment = lines([
            "Sets the counts to the rows that are there. This can lower counts, such as those that are older than the",
            "rows.",
        ]);
        let mut parts = self.plus_rows(target, names);
        parts.append(self.minus_stored(target, names));
        let day = if self.day.is_some() {
            Day::Own
        } else {
            Day::Undated
        };
        let statement = self.add_union(target, parts, day, Onto::AnyCount, names);
        Step {
            comment,
            statements: vec![statement],
        }
    }
}
