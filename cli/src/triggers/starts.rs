//! What the counters of a migration start from: which definition counted in each of them before.

use anyhow::{Result, bail};

use super::counting::Counting;
use super::existing::entity_columns;
use super::expression::Expression;
use super::plan::Plan;
use super::target::Target;

/// A counter that triggers are created for.
#[derive(Clone)]
pub struct Counter {
    /// Its table, with only this counter.
    pub target: Target,
    pub start: Start,
}

/// What a counter starts from.
#[derive(Clone)]
pub enum Start {
    /// No definition has counted in it.
    New,
    /// This definition has counted in it.
    Counted(Box<OldCounter>),
    /// This definition counted the same rows in a column, which nothing counts in any more.
    InColumn(Box<OldCounter>),
    /// In down.sql: this definition has moved a column's counts to slots.
    InSlots(Box<OldCounter>),
}

/// An old definition, and one of its counters.
#[derive(Clone)]
pub struct OldCounter {
    pub counting: Counting,
    pub target: Target,
}

impl Start {
    /// Returns the definition that counted it before.
    pub fn old_counter(&self) -> Option<&OldCounter> {
        match self {
            Start::New => None,
            Start::Counted(before) | Start::InColumn(before) | Start::InSlots(before) => {
                Some(before)
            }
        }
    }
}

/// Returns a definition's counters, as if nothing had counted in them before.
pub fn new_counters(counting: &Counting) -> Vec<Counter> {
    let targets = each_counter(counting);
    let new = targets.map(|target| Counter {
        target,
        start: Start::New,
    });
    new.collect()
}

/// Returns a definition's counters and what they start from. `gone` are the definitions that go,
/// and `after` those that exist afterwards.
pub fn counters(
    counting: &Counting,
    gone: &[Counting],
    after: &[&Counting],
) -> Result<Vec<Counter>> {
    // A column's counts can only be moved once.
    let mut columns = columns(gone, after);
    let mut all = Vec::new();
    for target in each_counter(counting) {
        let counted = old_counters(gone).find(|before| {
            before.target.table.is(&target.table) && before.target.names == target.names
        });
        let start = if let Some(before) = counted {
            Start::Counted(Box::new(before))
        } else if let Some(index) = index_of_column(counting, &target, &columns)? {
            Start::InColumn(Box::new(columns.remove(index)))
        } else {
            Start::New
        };
        all.push(Counter { target, start });
    }
    Ok(all)
}

/// Makes down.sql give columns back the counts that were moved to slots.
pub fn take_back(restored: &mut [Plan], plans: &[Plan]) {
    for plan in plans {
        for Counter { target, start } in &plan.counters {
            let Start::InColumn(column) = start else {
                continue;
            };
            let in_slots = OldCounter {
                counting: plan.counting.clone(),
                target: target.clone(),
            };
            let is_column = |counter: &&mut Counter| {
                counter.target.table.is(&column.target.table)
                    && counter.target.names == column.target.names
            };
            let mut counters = restored.iter_mut().flat_map(|plan| &mut plan.counters);
            if let Some(counter) = counters.find(is_column) {
                counter.start = Start::InSlots(Box::new(in_slots));
            }
        }
    }
}

fn each_counter(counting: &Counting) -> impl Iterator<Item = Target> {
    let targets = counting.targets.iter();
    targets.flat_map(|target| (0..target.names.len()).map(|index| target.only_counter(index)))
}

fn old_counters(gone: &[Counting]) -> impl Iterator<Item = OldCounter> {
    gone.iter().flat_map(|counting| {
        each_counter(counting).map(|target| OldCounter {
            counting: counting.clone(),
            target,
        })
    })
}

/// Returns the columns of ordinary tables that nothing counts in any more.
fn columns(gone: &[Counting], after: &[&Counting]) -> Vec<OldCounter> {
    let mut columns: Vec<_> = old_counters(gone).collect();
    columns.retain(|before| {
        before.target.slots.is_none() && !is_counted(&before.target, after.iter().copied())
    });
    columns
}

/// Whether one of these definitions counts in the target's only counter.
pub fn is_counted<'c>(target: &Target, all: impl IntoIterator<Item = &'c Counting>) -> bool {
    let mut counters = all.into_iter().flat_map(|counting| counting.counters());
    counters.any(|(table, name)| table.is(&target.table) && *name == *target.names[0])
}

/// Returns the index of the column whose counts move to a counter table: it counted the same rows
/// for the same entities. If there are several, the definition's name, the weight and the counter's
/// name decide.
fn index_of_column(
    counting: &Counting,
    target: &Target,
    columns: &[OldCounter],
) -> Result<Option<usize>> {
    if target.slots.is_none() {
        return Ok(None);
    }
    let entities =
        |target: &Target| -> Vec<_> { target.sources.iter().map(entity_columns).collect() };
    let weights = |target: &Target| -> Vec<Option<String>> {
        let of_sources = target.sources.iter().flat_map(|source| &source.weights);
        let text = |weight: &Expression| weight.text.clone();
        of_sources.map(|weight| weight.as_ref().map(text)).collect()
    };
    let when = |counting: &Counting| counting.when.as_ref().map(|when| when.text.clone());
    let matching = |is_match: &dyn Fn(&OldCounter) -> bool| -> Vec<usize> {
        let mut indexes: Vec<_> = (0..columns.len()).collect();
        indexes.retain(|index| {
            let before = &columns[*index];
            before.counting.rows.is(&counting.rows)
                && entities(&before.target) == entities(target)
                && is_match(before)
        });
        indexes
    };
    let has_name =
        |before: &OldCounter| before.counting.definition.name == counting.definition.name;
    let has_weights = |before: &OldCounter| weights(&before.target) == weights(target);
    let is_named = |before: &OldCounter| before.target.names == target.names;
    for is_match in [
        &(|before: &OldCounter| has_name(before) && has_weights(before) && is_named(before))
            as &dyn Fn(&OldCounter) -> bool,
        &|before| has_name(before) && has_weights(before),
        &|before| has_name(before) && is_named(before),
        &|before| has_name(before),
        // The definition has another name, but counts the same rows.
        &|before| when(&before.counting) == when(counting) && has_weights(before),
    ] {
        if let [index] = *matching(is_match) {
            return Ok(Some(index));
        }
    }
    let counter = format!("{}.{}", target.table, target.names[0]);
    if matching(&has_name).len() > 1 {
        bail!(
            "{counter} could begin with the counts of several columns: move one counter at a time, each \
             with a migration of its own"
        );
    }
    Ok(None)
}
