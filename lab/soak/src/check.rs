//! Whether some order of the committed changes explains what was read.
//!
//! A change that had committed before a read began has to be in what it shows. One whose COMMIT
//! was sent after the read ended cannot be. Each of the others may or may not be, as a whole.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

use crate::record::{CELLS, Cell, Change, Kind, Seen, Time, Value};
use crate::run::Tally;

/// The most sums that are searched for a read. If there are more, it is counted as not checked.
const MOST_SUMS: usize = 10_000;

/// The most changes that an error lists.
const MOST_LINES: usize = 12;

/// The changes of a round, and the counts before it.
#[derive(Debug)]
pub struct Round {
    before: Vec<i64>,
    pub changes: Vec<Change>,
    /// The counts of articles that are not known, such as the comments of an article whose recount
    /// was not answered because the server was killed.
    pub unknown: HashSet<(Kind, i64)>,
}

impl Round {
    pub fn new(before: Vec<i64>) -> Self {
        Round {
            before,
            changes: Vec::new(),
            unknown: HashSet::new(),
        }
    }

    /// Checks all reads. Returns an error that describes the first one that no order of the changes
    /// explains.
    pub fn check(&mut self, mut seen: Vec<Seen>, tally: &Tally) -> Result<(), String> {
        self.changes.sort_by_key(|change| change.to);
        seen.sort_by_key(|seen| seen.from);
        // Both are sorted, so each change is added once: `certain` has the changes up to `next`,
        // which had committed before the read began.
        let mut certain = self.before.clone();
        let mut next = 0;
        for seen in &seen {
            while let Some(change) = self.changes.get(next).filter(|c| c.to < seen.from) {
                change.add_to(&mut certain);
                next += 1;
            }
            let sum = match self.explains(seen, &certain, &self.changes[next..]) {
                Some(true) => &tally.reads,
                Some(false) => return Err(describe(seen, &certain, &self.changes[next..])),
                None => &tally.not_checked,
            };
            sum.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    /// Checks what the database has when nothing else runs. The time of this read is after that of
    /// all changes, so each of them has to be in it.
    pub fn check_end(&mut self, now: &[i64]) -> Result<(), String> {
        let cells = (0..CELLS).map(Cell).map(|cell| Seen {
            by: "the end of the round".to_owned(),
            ..Seen::since(Time::MAX, vec![Value::sum([cell], now[cell.0])])
        });
        self.check(cells.collect(), &Tally::default())
    }

    /// Whether some of `others` explain a read, beside the changes in `certain`. Those had
    /// committed before the read began, and `others` may have. Returns `None` if it is not known.
    fn explains(&self, seen: &Seen, certain: &[i64], others: &[Change]) -> Option<bool> {
        let mut observed = seen.values.iter().flat_map(|value| &value.cells);
        let is_unknown = |cell: Cell| self.unknown.contains(&(cell.kind(), cell.article()));
        if observed.any(|&(cell, _)| is_unknown(cell)) {
            return None;
        }
        let others = others.iter().filter(|change| change.may_be_in(seen));
        let others = others.map(|change| seen.sums(|cell| change.of(cell)));
        let before = missing(seen, certain);
        if seen.values.iter().any(|value| value.at_most) {
            // As few units as possible: with all changes that take some, and without those that put
            // some in.
            let least: i64 = others.map(|sum| sum[0].min(0)).sum();
            return Some(least <= before[0]);
        }
        can_reach(
            before,
            others.filter(|sum| sum.iter().any(|&n| n != 0)).collect(),
        )
    }
}

/// Returns for each value what was read, less what had committed before and what the reader's own
/// transaction had changed.
fn missing(seen: &Seen, certain: &[i64]) -> Vec<i64> {
    let own = |cell| sum_of(&seen.own, cell);
    let known = seen.sums(|cell| certain[cell.0] + own(cell));
    let values = seen.values.iter().zip(known);
    values.map(|(value, known)| value.value - known).collect()
}

/// Describes a read that no order explains.
fn describe(seen: &Seen, certain: &[i64], others: &[Change]) -> String {
    let mut text = format!("no order of the commits explains what {} read:\n", seen.by);
    for (value, missing) in seen.values.iter().zip(missing(seen, certain)) {
        if missing != 0 || seen.values.len() == 1 {
            let expected = value.value - missing;
            text += &format!("  {value}; {expected} had committed before\n");
        }
    }
    let cells = seen.values.iter().flat_map(|value| &value.cells);
    let cells: HashSet<_> = cells.map(|&(cell, _)| cell).collect();
    let others = others.iter().rev().filter(|change| change.may_be_in(seen));
    let others = others.filter_map(|change| {
        let effects = change.effects.iter();
        let effects = effects.filter(|(cell, _)| cells.contains(cell));
        let effects: Vec<_> = effects.map(|(cell, n)| format!("{n:+} {cell}")).collect();
        let line = format!("  meanwhile, {}: {}\n", change.by, effects.join(", "));
        (!effects.is_empty()).then_some(line)
    });
    text.extend(others.take(MOST_LINES));
    text
}

/// Returns the sum of the effects on a cell.
fn sum_of(effects: &[(Cell, i64)], of: Cell) -> i64 {
    let effects = effects.iter().filter(|(cell, _)| *cell == of);
    effects.map(|(_, amount)| amount).sum()
}

impl Seen {
    /// Returns for each value the sum of its cells, of which `of` has the numbers.
    fn sums(&self, of: impl Fn(Cell) -> i64) -> Vec<i64> {
        let sum = |value: &Value| {
            value
                .cells
                .iter()
                .map(|&(cell, factor)| factor * of(cell))
                .sum()
        };
        self.values.iter().map(sum).collect()
    }
}

impl Change {
    /// Whether the snapshot of a read can show the change. A correction reads before its own
    /// change.
    fn may_be_in(&self, seen: &Seen) -> bool {
        self.from <= seen.to && self.by != seen.by
    }

    /// By how much it changes a cell.
    fn of(&self, cell: Cell) -> i64 {
        sum_of(&self.effects, cell)
    }

    /// Adds what it left to the counts: nothing if it was lost.
    fn add_to(&self, counts: &mut [i64]) {
        if !self.is_lost {
            for &(cell, amount) in &self.effects {
                counts[cell.0] += amount;
            }
        }
    }
}

/// Returns whether `wanted` is the sum of some of the items, or `None` if there are too many sums
/// to search. Each sum and each item has a number for each value of a read.
///
/// It adds the items one after another to all sums so far. A sum that is wrong for good is removed.
fn can_reach(wanted: Vec<i64>, mut items: Vec<Vec<i64>>) -> Option<bool> {
    // By the first value that they change, so that the first values are soon final.
    items.sort_by_cached_key(|item| item.iter().position(|&amount| amount != 0));
    let mut sums = HashSet::from([vec![0; wanted.len()]]);
    for number in 0..=items.len() {
        // A value is final if no later item changes it. Then it has to be right.
        let later = &items[number..];
        let is_final = |value: &usize| later.iter().all(|item| item[*value] == 0);
        let known: Vec<usize> = (0..wanted.len()).filter(is_final).collect();
        sums.retain(|sum| known.iter().all(|&value| sum[value] == wanted[value]));
        if let Some(item) = later.first() {
            let with = |sum: &Vec<i64>| sum.iter().zip(item).map(|(a, b)| a + b).collect();
            let with: Vec<Vec<i64>> = sums.iter().map(with).collect();
            sums.extend(with);
        }
        if sums.len() > MOST_SUMS {
            return None;
        }
    }
    Some(!sums.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARTICLE: i64 = 1;

    fn views() -> impl Iterator<Item = Cell> {
        Cell::of(ARTICLE, Kind::Views)
    }

    /// A change of the views that became visible between these times.
    fn change(from: Time, to: Time, amount: i64) -> Change {
        let cell = Cell::new(ARTICLE, Kind::Views, 0);
        Change {
            to,
            ..Change::since(from, cell, amount)
        }
    }

    /// A read of the total between these times.
    fn read(from: Time, to: Time, total: i64) -> Seen {
        Seen {
            to,
            by: "a reader".to_owned(),
            ..Seen::since(from, vec![Value::sum(views(), total)])
        }
    }

    fn is_explained(changes: &[Change], seen: Seen) -> bool {
        let mut round = Round::new(vec![0; CELLS]);
        round.changes = changes.to_vec();
        round.check(vec![seen], &Tally::default()).is_ok()
    }

    #[test]
    fn a_read_has_each_change_that_committed_before_it() {
        let changes = [change(1, 2, 5)];
        assert!(is_explained(&changes, read(3, 4, 5)));
        assert!(!is_explained(&changes, read(3, 4, 0)));
    }

    #[test]
    fn a_read_has_no_change_that_began_after_it() {
        let changes = [change(5, 6, 5)];
        assert!(is_explained(&changes, read(3, 4, 0)));
        assert!(!is_explained(&changes, read(3, 4, 5)));
    }

    #[test]
    fn a_read_has_some_of_the_changes_meanwhile_as_a_whole() {
        let changes = [change(1, 9, 5), change(2, 8, 70)];
        for total in [0, 5, 70, 75] {
            assert!(is_explained(&changes, read(3, 4, total)), "{total}");
        }
        for total in [1, 65, 140] {
            assert!(!is_explained(&changes, read(3, 4, total)), "{total}");
        }
    }

    #[test]
    fn a_lost_change_is_seen_only_until_it_was_lost() {
        let changes = [Change {
            is_lost: true,
            ..change(1, 5, 5)
        }];
        for total in [0, 5] {
            assert!(is_explained(&changes, read(3, 4, total)), "{total}");
        }
        assert!(is_explained(&changes, read(6, 7, 0)));
        assert!(!is_explained(&changes, read(6, 7, 5)));
    }

    #[test]
    fn a_refused_take_had_fewer_units_at_some_moment() {
        let refused = |at_most| {
            let mut seen = read(3, 4, at_most);
            seen.values[0].at_most = true;
            seen
        };
        let filled = change(1, 2, 5);
        let taken = change(3, 9, -2);
        assert!(is_explained(&[filled.clone(), taken.clone()], refused(3)));
        assert!(!is_explained(&[filled.clone(), taken], refused(2)));
        assert!(!is_explained(&[filled], refused(4)));
    }
}
