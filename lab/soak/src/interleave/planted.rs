//! Faults that are planted, to prove that they are found.

use clap::ValueEnum;

use super::case::{Case, of};
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
    /// A recount reads what is wrong, and then adds the difference, beside another recount
    RecountWithoutALock,
    /// The counters of an article are deleted with one statement, beside a merge
    DeleteInOneStatement,
    /// An increment runs before its transaction
    CountOutsideOfTheTransaction,
    /// A row of the counter table is missing afterwards
    RowLost,
}

impl Planted {
    /// The cases in which the fault is found.
    pub fn cases(self, on: Database) -> Vec<Case> {
        let (names, state): (&[_], _) = match self {
            Planted::CommandUnderAnotherLock => {
                (&["planted-command-recount", "planted-set"], State::Drift)
            }
            Planted::SumWithoutLocks => (&["planted-set", "planted-delete"], State::OneRow),
            Planted::DeleteWithoutALock => {
                (&["planted-count-then-set", "planted-delete"], State::Empty)
            }
            Planted::MergeWithoutLocks => (&["planted-compact", "past"], State::Unmerged),
            Planted::RecountDeletesFirst => (&["planted-recount", "comment"], State::OneRow),
            Planted::RecountWithoutALock => {
                (&["planted-recount-without-a-lock", "recount"], State::Drift)
            }
            // InnoDB deletes the row that the merge inserts too, unless the deletion has had to
            // wait for another row. `past` counts that row. It is the first one, because the orders
            // that begin with the first connection are run first.
            Planted::DeleteInOneStatement if on == Database::Mysql => (
                &["past", "planted-delete-in-one-statement", "compact"],
                State::Unmerged,
            ),
            Planted::DeleteInOneStatement => (
                &["planted-delete-in-one-statement", "compact"],
                State::Unmerged,
            ),
            Planted::CountOutsideOfTheTransaction => {
                (&["planted-comment", "recount"], State::OneRow)
            }
            Planted::RowLost => (&["planted-loss", "increment"], State::OneRow),
        };
        let operations: Vec<_> = names.iter().map(|name| Operation::named(name)).collect();
        let mut all = of(on, &operations);
        all.retain(|case| {
            let contexts = case.scripts.iter().map(|script| script.context);
            let in_the_callers = contexts.filter(|context| *context != Context::Own).count();
            let expected = match self {
                // `comment` has no transaction of its own.
                Planted::RecountDeletesFirst => 1,
                // `past` keeps its row locked until the caller commits.
                Planted::DeleteInOneStatement => operations.len() - 2,
                _ => 0,
            };
            case.state == state
                && (case.one_slot || operations.len() == 2)
                && in_the_callers == expected
                && case
                    .scripts
                    .iter()
                    .all(|script| script.context != Context::Read)
        });
        all
    }
}
