//! What the counters of a migration start from: which definition counted in each of them before.

use anyhow::{Result, bail};

use super::counting::Counting;
use super::existing::entity_columns;
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
            Start::Counted(old) | Start::InColumn(old) | Start::InSlots(old) => Some(old),
        }
    }
}

/// Returns a definition's counters, as if nothing had counted in them before.
pub fn new_counters(counting: &Counting) -> Vec<Counter> {
    let targets = each_counter(counting);
    let counters = targets.map(|target| Counter {
        target,
        start: Start::New,
    });
    counters.collect()
}

/// Returns a definition's counters and what they start from. `gone` are the definitions that go,
/// and `after` those that exist afterwards.
pub fn counters(
    counting: &Counting,
    gone: &[Counting],
    after: &[&Counting],
) -> Result<Vec<Counter>> {
    let mut free_columns = columns_that_nothing_counts_in(gone, after);
    let mut counters = Vec::new();
    for target in each_counter(counting) {
        let counted = old_counters(gone).find(|old_counter| old_counter.is_in(&target));
        let start = if let Some(old_counter) = counted {
            Start::Counted(Box::new(old_counter))
        } else if let Some(index) = column_to_move(counting, &target, &free_columns)? {
            // A column's counts can only be moved once.
            Start::InColumn(Box::new(free_columns.remove(index)))
        } else {
            Start::New
        };
        counters.push(Counter { target, start });
    }
    Ok(counters)
}

/// Makes down.sql give columns back the counts that were moved to slots. `restored` are its plans,
/// and `plans` those of up.sql.
pub fn give_columns_back(restored: &mut [Plan], plans: &[Plan]) {
    for plan in plans {
        for Counter { target, start } in &plan.counters {
            let Start::InColumn(column) = start else {
                continue;
            };
            let in_slots = OldCounter {
                counting: plan.counting.clone(),
                target: target.clone(),
            };
            let mut counters = restored.iter_mut().flat_map(|plan| &mut plan.counters);
            if let Some(counter) = counters.find(|counter| column.is_in(&counter.target)) {
                counter.start = Start::InSlots(Box::new(in_slots));
            }
        }
    }
}

impl OldCounter {
    /// Whether this is a target's only counter.
    fn is_in(&self, target: &Target) -> bool {
        self.target.table.is(&target.table) && self.target.names == target.names
    }
}

/// Returns a target for every counter of a definition, with only this counter.
fn each_counter(counting: &Counting) -> impl Iterator<Item = Target> {
    let targets = counting.targets.iter();
    targets.flat_map(|target| (0..target.names.len()).map(|index| target.only_counter(index)))
}

/// Returns every counter of these definitions.
fn old_counters(gone: &[Counting]) -> impl Iterator<Item = OldCounter> {
    gone.iter().flat_map(|counting| {
        each_counter(counting).map(|target| OldCounter {
            counting: counting.clone(),
            target,
        })
    })
}

/// Returns the columns of ordinary tables that these definitions counted in, and that nothing
/// counts in any more.
fn columns_that_nothing_counts_in(gone: &[Counting], after: &[&Counting]) -> Vec<OldCounter> {
    let mut columns: Vec<_> = old_counters(gone).collect();
    columns.retain(|OldCounter { target, .. }| {
        target.slots.is_none() && !is_counted(target, after.iter().copied())
    });
    columns
}

/// Whether one of these definitions counts in the target's only counter.
pub fn is_counted<'c>(target: &Target, countings: impl IntoIterator<Item = &'c Counting>) -> bool {
    let mut counters = countings
        .into_iter()
        .flat_map(|counting| counting.counters());
    counters.any(|(table, name)| table.is(&target.table) && *name == *target.names[0])
}

/// A column whose counts could move to a new counter, because it counted the same rows for the same
/// entities, and what else they have in common.
struct Candidate {
    /// The column's index in the list of columns.
    index: usize,
    has_same_definition_name: bool,
    has_same_weights: bool,
    has_same_counter_name: bool,
    has_same_condition: bool,
}

/// Returns the index of the column whose counts move to a new counter in a counter table. If there
/// are several candidates, their names and weights decide. Fails if they don't.
fn column_to_move(
    counting: &Counting,
    target: &Target,
    columns: &[OldCounter],
) -> Result<Option<usize>> {
    if target.slots.is_none() {
        return Ok(None);
    }
    let candidates = candidates(counting, target, columns);
    let criteria: [fn(&&Candidate) -> bool; 5] = [
        |column| {
            column.has_same_definition_name
                && column.has_same_weights
                && column.has_same_counter_name
        },
        |column| column.has_same_definition_name && column.has_same_weights,
        |column| column.has_same_definition_name && column.has_same_counter_name,
        |column| column.has_same_definition_name,
        // The definition has another name, but counts the same rows.
        |column| column.has_same_condition && column.has_same_weights,
    ];
    for meets_criterion in criteria {
        let matching: Vec<_> = candidates.iter().filter(meets_criterion).collect();
        if let [only] = *matching {
            return Ok(Some(only.index));
        }
    }
    let same_name = |column: &&Candidate| column.has_same_definition_name;
    if candidates.iter().filter(same_name).count() > 1 {
        bail!(
            "{} could begin with the counts of several columns: move one counter at a time, each \
             with a migration of its own",
            target.only_counter_name()
        );
    }
    Ok(None)
}

/// Returns the columns that counted the same rows for the same entities as a new counter.
fn candidates(counting: &Counting, target: &Target, columns: &[OldCounter]) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let old = &column.counting;
        if old.rows.is(&counting.rows) && entities(&column.target) == entities(target) {
            candidates.push(Candidate {
                index,
                has_same_definition_name: old.definition.name == counting.definition.name,
                has_same_weights: weights(&column.target) == weights(target),
                has_same_counter_name: column.target.names == target.names,
                has_same_condition: condition(old) == condition(counting),
            });
        }
    }
    candidates
}

/// Returns the columns that name a row's entities.
fn entities(target: &Target) -> Vec<Vec<String>> {
    target.sources.iter().map(entity_columns).collect()
}

/// Returns the weights as they are written, for every entity of a row.
fn weights(target: &Target) -> Vec<Option<&str>> {
    let weights = target.sources.iter().flat_map(|source| &source.weights);
    let texts = weights.map(|weight| weight.as_ref().map(|weight| &*weight.text));
    texts.collect()
}

/// Returns the condition for rows to count, as it's written.
fn condition(counting: &Counting) -> Option<&str> {
    counting.when.as_ref().map(|when| &*when.text)
}
