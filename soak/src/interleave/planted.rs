//! Faults that are planted, to prove that they are found.

use clap::ValueEnum;

use super::case::{Case, Script, of};
use super::operation::{Context, Database, Operation};
use super::state::State;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Planted {
    /// The command recounts under another lock than the library's corrections
    CommandUnderAnotherLock,
    /// A correction adds up rows without locking them, beside a deletion
    SumWithoutLocks,
    /// A deletion locks nothing if it sees no rows, and then deletes
    DeleteWithoutALock,
    /// A merge reads its rows without locking them, adds them up and deletes them
    MergeWithoutLocks,
    /// A recount sets the count to 0, and then counts the rows
    RecountDeletesFirst,
    /// The counters of an article are deleted with one statement, beside a merge
    DeleteInOneStatement,
    /// An increment runs before its transaction
    CountOutsideOfTheTransaction,
    /// A row of the counter table is missing afterwards
    RowLost,
}

impl Planted {
    /// What shows it.
    pub fn cases(self, on: Database) -> Vec<Case> {
        use Operation::*;

        let own = |operation| Script {
            operation,
            context: Context::Own,
        };
        let (one, other, state) = match self {
            Planted::CommandUnderAnotherLock => (PlantedCommandRecount, PlantedSet, State::OneRow),
            Planted::SumWithoutLocks => (PlantedSet, PlantedDelete, State::OneRow),
            Planted::DeleteWithoutALock => (PlantedCountThenSet, PlantedDelete, State::Empty),
            Planted::MergeWithoutLocks => (PlantedCompact, Past, State::Unmerged),
            Planted::RecountDeletesFirst => (PlantedRecount, Comment, State::OneRow),
            Planted::DeleteInOneStatement => {
                (PlantedDeleteInOneStatement, Compact, State::Unmerged)
            }
            Planted::CountOutsideOfTheTransaction => (PlantedComment, Recount, State::OneRow),
            Planted::RowLost => (PlantedLoss, Increment, State::OneRow),
        };
        let mut other = own(other);
        if other.operation == Comment {
            other.context = Context::Caller;
        }
        let all = of(on, &[one, other.operation]).into_iter();
        let all = all.filter(|case| case.state == state && case.scripts[1] == other);
        all.collect()
    }
}
