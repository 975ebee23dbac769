//! Whether some order of the committed changes explains what was read.
//!
//! A change that had committed before a read began has to be in what it shows. One whose COMMIT
//! was sent after the read ended cannot be. Each of the others may or may not be, as a whole.

use std::collections::{BTreeMap, HashSet};
use std::ptr;

use crate::record::{CELLS, Cell, Change, Kind, Seen, Time, Value};

/// More sums than this are not searched. Such a read is counted as not checked.
const MOST_SUMS: usize = 10_000;

/// The most changes that an error lists.
const MOST_LINES: usize = 12;

/// The changes of a round, and the counts before it.
#[derive(Debug)]
pub struct Round {
    pub before: Vec<i64>,
    pub changes: Vec<Change>,
    /// The articles whose comments were recounted by a server that was killed before it answered.
    pub unknown: HashSet<i64>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Checked {
    pub reads: u64,
    pub not_checked: u64,
}

impl Round {
    /// Checks all reads. Returns an error that describes the first one that no order explains.
    pub fn check(&mut self, mut seen: Vec<Seen>) -> Result<Checked, String> {
        self.changes.sort_by_key(|change| change.to);
        seen.sort_by_key(|seen| seen.from);
        let mut checked = Checked::default();
        // The sums of the changes before the read, of the articles that keep their counters.
        let mut certain = self.before.clone();
        let mut next = 0;
        for seen in &seen {
            while let Some(change) = self.changes.get(next).filter(|c| c.to < seen.from) {
                change.add_to(&mut certain);
                next += 1;
            }
            match self.explains(seen, &certain, next, None) {
                Some(true) => checked.reads += 1,
                Some(false) => return Err(self.describe(seen, &certain, next)),
                None => checked.not_checked += 1,
            }
        }
        Ok(checked)
    }

    /// Checks each two corrections of the same counts: the later one has read what the earlier one
    /// left, and the earlier one has not read what the later one left. Requires sorted changes, which
    /// `check` leaves.
    pub fn check_corrections(&self) -> Result<(), String> {
        let corrections = || {
            let changes = self.changes.iter().enumerate();
            changes.filter(|(_, change)| !change.is_lost)
        };
        // Of each two: the first one cannot have been before the second one.
        let mut impossible = HashSet::new();
        for (number, change) in corrections() {
            for seen in &change.corrected {
                let next = self.changes.partition_point(|c| c.to < seen.from);
                let mut certain = self.before.clone();
                for before in &self.changes[..next] {
                    before.add_to(&mut certain);
                }
                let project = Projection::of(seen);
                for (other_number, other) in corrections() {
                    if number == other_number || !other.corrects_what_is(seen, &project) {
                        continue;
                    }
                    let can_be = |with| {
                        let choice = Some((other, with));
                        self.explains(seen, &certain, next, choice) != Some(false)
                    };
                    let may_be_before = other.from <= seen.to;
                    let may_be_after = other.to >= seen.from;
                    if !may_be_before || may_be_after && !can_be(true) {
                        impossible.insert((other_number, number));
                    }
                    if !may_be_after || may_be_before && !can_be(false) {
                        impossible.insert((number, other_number));
                    }
                    let both = [(number, other_number), (other_number, number)];
                    if both.iter().all(|order| impossible.contains(order)) {
                        return Err(describe_two([change, other], seen));
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks what the database has now, when nothing else runs.
    pub fn check_end(&mut self, now: &[i64]) -> Result<Checked, String> {
        let cells = (0..CELLS).map(Cell).map(|cell| Seen {
            from: Time::MAX,
            to: Time::MAX,
            own: Vec::new(),
            values: vec![Value::sum([cell], now[cell.0])],
            by: "the end of the round".to_owned(),
        });
        self.check(cells.collect())
    }

    /// Returns `None` if it is not known. `chosen` is a change at the same time, and whether the read
    /// shows it.
    fn explains(
        &self,
        seen: &Seen,
        certain: &[i64],
        next: usize,
        chosen: Option<(&Change, bool)>,
    ) -> Option<bool> {
        let observed = || seen.values.iter().flat_map(|value| &value.cells);
        let is_unknown =
            |cell: Cell| cell.kind() == Kind::Comments && self.unknown.contains(&cell.article());
        if observed().any(|&(cell, _)| is_unknown(cell)) {
            return None;
        }
        let project = Projection::of(seen);
        let mut wanted: Vec<i64> = seen.values.iter().map(|value| value.value).collect();
        project.subtract(&mut wanted, &seen.own);
        let kept = observed().filter(|(cell, _)| !cell.is_deleted_now_and_then());
        let kept: HashSet<usize> = kept.map(|(cell, _)| cell.0).collect();
        let kept: Vec<_> = kept.into_iter().map(|i| (Cell(i), certain[i])).collect();
        project.subtract(&mut wanted, &kept);

        let some_deleted = observed().any(|(cell, _)| cell.is_deleted_now_and_then());
        let earliest = if some_deleted { 0 } else { next };
        let may_be_seen: Vec<_> = self.changes[earliest..]
            .iter()
            .filter(|change| change.may_be_in(seen) && project.touches(change))
            .filter(|&change| !chosen.is_some_and(|(c, with)| ptr::eq(c, change) && !with))
            .collect();
        let deletes = may_be_seen.iter().filter(|c| c.removed.is_some());
        let (certain_deletes, other_deletes): (Vec<&Change>, Vec<&Change>) =
            deletes.copied().partition(|change| change.to < seen.from);
        if other_deletes.len() > 4 {
            return None;
        }
        let chosen = chosen.map(|(change, _)| change);
        // Which of the deletions at the same time are seen.
        for which in 0..1_usize << other_deletes.len() {
            let others = other_deletes.iter().enumerate();
            let others = others.filter(|(i, _)| which >> i & 1 == 1).map(|(_, d)| *d);
            let deletes: Vec<_> = certain_deletes.iter().copied().chain(others).collect();
            let all = self.alternatives(&project, &may_be_seen, &deletes, seen, chosen);
            let (certain, other): (Vec<_>, Vec<_>) = all.into_iter().partition(|a| a.len() == 1);
            let start = certain.iter().fold(vec![0; wanted.len()], |sum, only| {
                sum.iter().zip(&only[0]).map(|(a, b)| a + b).collect()
            });
            match can_reach(&wanted, start, other) {
                Some(false) => {}
                result => return result,
            }
        }
        Some(false)
    }

    /// Returns for each change, and for the counts before the round, what it may add to the values.
    /// The read shows the change that is `chosen`.
    fn alternatives(
        &self,
        project: &Projection,
        changes: &[&Change],
        deletes: &[&Change],
        seen: &Seen,
        chosen: Option<&Change>,
    ) -> Vec<Vec<Vec<i64>>> {
        let mut all = Vec::new();
        let before = (0..CELLS).map(Cell).filter(|c| c.is_deleted_now_and_then());
        for cell in before {
            let effect = (cell, self.before[cell.0]);
            all.extend(survives(project, effect, 0, 0, deletes));
        }
        for change in changes {
            let is_certain = change.to < seen.from;
            let (deleted, kept): (Vec<_>, Vec<_>) = (change.effects.iter().copied())
                .partition(|(cell, _)| cell.is_deleted_now_and_then());
            // What is certain and kept is in `certain`.
            let kept = if is_certain { Vec::new() } else { kept };
            let mut seen = vec![project.add(&kept)];
            for effect in deleted {
                let Some(each) = survives(project, effect, change.from, change.to, deletes) else {
                    continue;
                };
                seen = seen.iter().flat_map(|sum| added(sum, &each)).collect();
            }
            if !is_certain && !chosen.is_some_and(|chosen| ptr::eq(chosen, *change)) {
                seen.push(project.add(&[]));
            }
            if seen.iter().any(|sum| sum.iter().any(|&value| value != 0)) {
                all.push(seen);
            }
        }
        all
    }

    fn describe(&self, seen: &Seen, certain: &[i64], next: usize) -> String {
        let project = Projection::of(seen);
        let mut text = format!("no order of the commits explains what {} read:\n", seen.by);
        for (number, value) in seen.values.iter().enumerate() {
            let sum = |of: &dyn Fn(Cell) -> i64| {
                let cells = value.cells.iter();
                cells.map(|&(cell, factor)| factor * of(cell)).sum::<i64>()
            };
            let mut own = vec![0; seen.values.len()];
            project.subtract(&mut own, &seen.own);
            let expected = sum(&|cell| certain[cell.0]) - own[number];
            if expected != value.value || seen.values.len() == 1 {
                text += &format!("  {value}; {expected} had committed before\n");
            }
        }
        let has_deleted = (seen.values.iter().flat_map(|value| &value.cells))
            .any(|(cell, _)| cell.is_deleted_now_and_then());
        let from = if has_deleted { 0 } else { next };
        let changes = self.changes[from..].iter();
        let changes = changes.filter(|c| c.may_be_in(seen) && project.touches(c));
        for change in changes.rev().take(MOST_LINES) {
            let effects = change.effects.iter().filter(|(cell, _)| project.has(*cell));
            let effects: Vec<_> = effects.map(|(cell, n)| format!("{n:+} {cell}")).collect();
            let when = if change.to < seen.from {
                "before"
            } else {
                "meanwhile"
            };
            let removed = change.removed.map_or("", |_| "deletes all");
            text += &format!("  {when}, {}: {}{removed}\n", change.by, effects.join(", "));
        }
        text
    }
}

impl Change {
    /// A correction does not see its own change.
    fn may_be_in(&self, seen: &Seen) -> bool {
        self.from <= seen.to && !(self.is_lost && self.to < seen.from) && self.by != seen.by
    }

    /// Whether it is a correction of the counts that another correction has read.
    fn corrects_what_is(&self, seen: &Seen, project: &Projection) -> bool {
        let same = |own: &Seen| own.values[0].cells == seen.values[0].cells;
        self.corrected.iter().any(same) && project.touches(self)
    }

    /// Adds what it left to the counts.
    fn add_to(&self, counts: &mut [i64]) {
        if !self.is_lost {
            for &(cell, amount) in &self.effects {
                counts[cell.0] += amount;
            }
        }
    }
}

fn describe_two(both: [&Change; 2], seen: &Seen) -> String {
    let mut text = "no order of two corrections explains what they read:\n".to_owned();
    let project = Projection::of(seen);
    for change in both {
        let same = |own: &&Seen| own.values[0].cells == seen.values[0].cells;
        let reads = change.corrected.iter().filter(same);
        let reads: Vec<_> = reads.map(|seen| seen.values[0].to_string()).collect();
        let added = project.add(&change.effects)[0];
        text += &format!("  {}: {}; added {added:+}\n", change.by, reads.join(", "));
    }
    text
}

/// Returns whether `wanted` is the sum of `start` and one of the alternatives of each item, or `None`
/// if there are too many sums to search.
fn can_reach(wanted: &[i64], start: Vec<i64>, mut items: Vec<Vec<Vec<i64>>>) -> Option<bool> {
    let touches = |item: &Vec<Vec<i64>>, value: usize| item.iter().any(|sum| sum[value] != 0);
    items.sort_by_cached_key(|item| (0..wanted.len()).find(|&value| touches(item, value)));
    let mut sums = HashSet::from([start]);
    for number in 0..=items.len() {
        // A value that no later item changes has to be right by now.
        let is_final = |value: &usize| !items[number..].iter().any(|item| touches(item, *value));
        let known: Vec<usize> = (0..wanted.len()).filter(is_final).collect();
        sums.retain(|sum| known.iter().all(|&value| sum[value] == wanted[value]));
        if let Some(item) = items.get(number) {
            sums = sums.iter().flat_map(|sum| added(sum, item)).collect();
        }
        if sums.len() > MOST_SUMS {
            return None;
        }
    }
    Some(!sums.is_empty())
}

/// Returns the sum of `sum` and each of the others.
fn added(sum: &[i64], others: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let added = |other: &Vec<i64>| sum.iter().zip(other).map(|(a, b)| a + b).collect();
    others.iter().map(added).collect()
}

/// Returns what a count that may have been deleted can add, or `None` if nothing.
fn survives(
    project: &Projection,
    effect: (Cell, i64),
    from: Time,
    to: Time,
    deletes: &[&Change],
) -> Option<Vec<Vec<i64>>> {
    let added = project.add(&[effect]);
    if added.iter().all(|&value| value == 0) {
        return None;
    }
    let article = effect.0.article();
    let mut may_be_deleted = false;
    for delete in deletes {
        match delete.removed {
            Some((removed, began)) if removed == article => {
                if to < began {
                    return None;
                }
                may_be_deleted |= from <= delete.to;
            }
            _ => {}
        }
    }
    let mut all = vec![added];
    if may_be_deleted {
        all.push(project.add(&[]));
    }
    Some(all)
}

/// How a change of a cell changes the values that were read.
struct Projection {
    values: usize,
    of: BTreeMap<Cell, Vec<(usize, i64)>>,
}

impl Projection {
    fn of(seen: &Seen) -> Self {
        let mut of = BTreeMap::<Cell, Vec<(usize, i64)>>::new();
        for (number, value) in seen.values.iter().enumerate() {
            for &(cell, factor) in &value.cells {
                of.entry(cell).or_default().push((number, factor));
            }
        }
        Projection {
            values: seen.values.len(),
            of,
        }
    }

    fn has(&self, cell: Cell) -> bool {
        self.of.contains_key(&cell)
    }

    fn touches(&self, change: &Change) -> bool {
        change.effects.iter().any(|(cell, _)| self.has(*cell))
            || (change.removed)
                .is_some_and(|(article, _)| self.of.keys().any(|cell| cell.article() == article))
    }

    fn add(&self, effects: &[(Cell, i64)]) -> Vec<i64> {
        let mut sums = vec![0; self.values];
        for (cell, amount) in effects {
            for (number, factor) in self.of.get(cell).into_iter().flatten() {
                sums[*number] += factor * amount;
            }
        }
        sums
    }

    fn subtract(&self, from: &mut [i64], effects: &[(Cell, i64)]) {
        for (value, sum) in from.iter_mut().zip(self.add(effects)) {
            *value -= sum;
        }
    }
}
