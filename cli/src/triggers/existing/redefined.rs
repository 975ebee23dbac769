//! Counts of a counter that an earlier definition counted in.

use super::addition::{Day, Onto};
use super::{NONE_BEFORE, Names, Step, lines};
use crate::triggers::counting::Counting;
use crate::triggers::starts::OldCounter;
use crate::triggers::target::Target;

impl Counting {
    /// Adds what the rows count now, minus what they counted under the earlier definition. Returns
    /// no statements if they count the same.
    pub(super) fn add_difference(&self, target: &Target, old: &OldCounter, names: Names) -> Step {
        let mut step = Step {
            comment: lines(["Adds what the rows count now, less what they counted before."]),
            statements: Vec::new(),
        };
        // Without a day in both definitions, the difference is on 1970-01-01.
        let has_days = self.day.is_some() && old.counting.day.is_some();
        let (now, then, day) = if has_days {
            (self.clone(), old.counting.clone(), Day::Own)
        } else {
            let then = old.counting.without_day();
            (self.without_day(), then, Day::Undated)
        };
        let mut added = now.plus_rows(target, names);
        let only_changes = only_text(target) != only_text(&old.target);
        if !only_changes && added == then.plus_rows(&old.target, names) {
            return step;
        }
        let uses_before = target.sources.len();
        let mut removed = then.minus_rows(&old.target, uses_before, names);
        let [mut new_target, mut old_target] = [target.clone(), old.target.clone()];
        // If `only` has changed, put it into each of the two sums instead of the row's condition.
        if only_changes {
            now.apply_only(&mut added, target, NONE_BEFORE, names);
            then.apply_only(&mut removed, &old.target, uses_before, names);
            new_target.only = None;
            old_target.only = None;
        }
        let onto = Onto::AnyCount;
        if key_names(target) == key_names(&old.target) {
            added.append(removed);
            step.statements = vec![now.add_union(&new_target, added, day, onto, names)];
        } else {
            // The two definitions find the row by different keys.
            step.statements = vec![
                now.add_union(&new_target, added, day, onto, names),
                then.add_union(&old_target, removed, day, onto, names),
            ];
        }
        step
    }
}

/// Returns the names of the columns that find an entity's row.
fn key_names(target: &Target) -> Vec<&str> {
    target.entity.iter().map(|key| &*key.name).collect()
}

/// Returns the definition's `only`, as it's written.
fn only_text(target: &Target) -> Option<&str> {
    target.only.as_ref().map(|only| &*only.text)
}
