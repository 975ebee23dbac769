//! What a migration does to the counts of rows that exist before its triggers. It adds a sum of
//! rows to every count: what the rows count now, minus what the count already has.

mod addition;
mod from_rows;
mod moved;
mod names;
mod redefined;
mod union;

use serde::Serialize;

pub use self::names::Names;
use super::counting::Counting;
use super::definition::Existing;
use super::plan::Plan;
use super::starts::{Counter, Start};
use super::target::Source;
use super::values::Addition;

/// Statements under a comment.
#[derive(Debug, Serialize)]
pub struct Step {
    comment: Vec<String>,
    pub statements: Vec<Statement>,
}

/// A statement that adds to the counts of a table.
#[derive(Debug, Serialize)]
pub struct Statement {
    #[serde(flatten)]
    addition: Addition,
    /// The name that the statement gives to an entity's sums.
    sums_name: String,
    /// The tables that it reads, with their aliases.
    #[serde(skip)]
    pub reads: Vec<String>,
    /// The counter to set to 0, because another one has its counts by then.
    emptied: Option<Emptied>,
}

/// A counter that is set to 0 in all rows of its table.
#[derive(Debug, Serialize)]
struct Emptied {
    table: String,
    counter: String,
}

/// The number of queries before the first one of a statement.
const NONE_BEFORE: usize = 0;

impl Plan {
    /// Returns the statements that count existing rows, for every counter that has something to
    /// add.
    pub fn steps(&self, names: Names) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        if self.existing == Existing::Later {
            return steps;
        }
        for counter in &self.counters {
            let step = self.step(counter, names);
            if step.statements.is_empty() {
                continue;
            }
            // Counters that do the same share a comment.
            match steps.last_mut() {
                Some(last) if last.comment == step.comment => {
                    last.statements.extend(step.statements);
                }
                _ => steps.push(step),
            }
        }
        steps
    }

    /// Returns the statements for a single counter. There may be none.
    fn step(&self, counter: &Counter, names: Names) -> Step {
        let Counter { target, start } = counter;
        let counting = &self.counting;
        if self.existing == Existing::Rows {
            return counting.set_to_rows(target, names);
        }
        match start {
            Start::New => counting.count_missing(target, names),
            Start::Counted(old) => counting.add_difference(target, old, names),
            Start::InColumn(old) => counting.move_to_slots(target, old, names),
            Start::InSlots(old) => counting.move_back_to_column(target, old, names),
        }
    }
}

impl Counting {
    /// Returns the same definition, but with rows that have no day of their own.
    fn without_day(&self) -> Counting {
        let mut counting = self.clone();
        counting.day = None;
        counting
    }
}

/// Returns the lines of a comment.
fn lines<const N: usize>(lines: [&str; N]) -> Vec<String> {
    lines.map(str::to_owned).to_vec()
}

/// Returns the names of the row's columns that name the entity.
pub fn entity_columns(source: &Source) -> Vec<String> {
    let columns = source.entity.iter();
    columns.map(|column| column.name.clone()).collect()
}
