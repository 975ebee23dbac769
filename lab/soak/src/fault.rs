//! Faults that are planted, to prove that the checker finds them.

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// A merge reads its rows without locking them, adds them up and deletes them.
    MergeWithoutLocks,
    /// A recount sets the count to 0, and then counts the rows.
    RecountDeletesFirst,
    /// An increment runs before its transaction.
    CountOutsideOfTheTransaction,
    /// A take reads what is left in a row, and then sets it to less.
    TakeWithoutALock,
    /// A take of the last tickets is refused.
    TakeRefusesTheLast,
    /// A row of the counter table is missing after the server was killed.
    RowLostAfterAKill,
}
