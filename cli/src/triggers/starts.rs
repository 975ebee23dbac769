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
    Counted(Box<Before>),
    /// This definition counted the same rows in a column, which nothing counts in any more.
    InColumn(Box<Before>),
    /// In down.sql: this definition has moved a column's counts to slots.
    InSlots(Box<Before>),
}

/// An old definition, and one of its counters.
#[derive(Clone)]
pub struct Before {
    pub counting: Counting,
    pub target: Target,
}

impl Start {
    /// Returns the definition that counted it before.
    pub fn before(&self) -> Option<&Before> {
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
        let counted = befores(gone).find(|before| {
            before.target.table.is(&target.table) && before.target.names == target.names
        });
        let start = if let Some(before) = counted {
            Start::Counted(Box::new(before))
        } else if let Some(place) = place_of_column(counting, &target, &columns)? {
            Start::InColumn(Box::new(columns.remove(place)))
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
            let in_slots = Before {
                counting: plan.counting.clone(),
                target: target.clone(),
            };
            let is_it = |counter: &&mut Counter| {
                counter.target.table.is(&column.target.table)
                    && counter.target.names == column.target.names
            };
            let mut counters = restored.iter_mut().flat_map(|plan| &mut plan.counters);
            if let Some(counter) = counters.find(is_it) {
                counter.start = Start::InSlots(Box::new(in_slots));
            }
        }
    }
}

fn each_counter(counting: &Counting) -> impl Iterator<Item = Target> {
    let targets = counting.targets.iter();
    targets.flat_map(|target| (0..target.names.len()).map(|place| target.only_counter(place)))
}

fn befores(gone: &[Counting]) -> impl Iterator<Item = Before> {
    gone.iter().flat_map(|counting| {
        each_counter(counting).map(|target| Before {
            counting: counting.clone(),
            target,
        })
    })
}

/// Returns the columns of ordinary tables that nothing counts in any more.
fn columns(gone: &[Counting], after: &[&Counting]) -> Vec<Before> {
    let mut columns: Vec<_> = befores(gone).collect();
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

/// Returns the place of the column whose counts move to a counter table: it counted the same rows
/// for the same entities. If there are several, the definition's name, the weight and the counter's
/// name decide.
fn place_of_column(
    counting: &Counting,
    target: &Target,
    columns: &[Before],
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
    let places_of = |is_it: &dyn Fn(&Before) -> bool| -> Vec<usize> {
        let mut places: Vec<_> = (0..columns.len()).collect();
        places.retain(|place| {
            let before = &columns[*place];
            before.counting.rows.is(&counting.rows)
                && entities(&before.target) == entities(target)
                && is_it(before)
        });
        places
    };
    let has_name = |before: &Before| before.counting.definition.name == counting.definition.name;
    let has_weights = |before: &Before| weights(&before.target) == weights(target);
    let is_named = |before: &Before| before.target.names == target.names;
    for is_it in [
        &(|before: &Before| has_name(before) && has_weights(before) && is_named(before))
            as &dyn Fn(&Before) -> bool,
        &|before| has_name(before) && has_weights(before),
        &|before| has_name(before) && is_named(before),
        &|before| has_name(before),
        // The definition has another name, but counts the same rows.
        &|before| when(&before.counting) == when(counting) && has_weights(before),
    ] {
        if let [place] = *places_of(is_it) {
            return Ok(Some(place));
        }
    }
    let counter = format!("{}.{}", target.table, target.names[0]);
    if places_of(&has_name).len() > 1 {
        bail!(
            "{counter} could begin with the counts of several columns: move one counter at a time, each \
             with a migration of its own"
        );
    }
    Ok(None)
}
