//! Which of a counter's slots a transaction writes.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use diesel::backend::Backend;
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::SmallInt;

use crate::thread_number::thread_number;

/// How many slots a counter has when nobody says otherwise.
pub const DEFAULT_SLOTS: i16 = 32;

/// How an increment chooses its slot, on a database that has more than one
/// writer at a time: one from 1 to as many as a counter has. (On SQLite the slot is always
/// 0, and elsewhere 0 is where [old days are merged into](crate::compact()).)
///
/// Chosen for the process with [`set_default_slot`], and for one statement with
/// [`Increment::slot`](crate::Increment::slot).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Slot {
    /// Each thread has a slot of its own, and keeps it. The default.
    ///
    /// A thread takes a slot when it first counts, and hands it on when it ends. As
    /// long as a process has no more such threads than there are slots, no two share
    /// one: none waits for another's counters, nor deadlocks on them, in whatever
    /// order it counts. So give a counter as many slots as your program has threads
    /// that ever count. (Tokio's `spawn_blocking` makes up to 512, unless
    /// its runtime is built with `max_blocking_threads`.) More threads are as exact,
    /// and may wait or deadlock.
    ///
    /// Each process begins at a random slot, so those of several may meet; see
    /// [`Partition`](Slot::Partition). A transaction has to stay on one thread, as it
    /// does in synchronous Diesel.
    #[default]
    Sticky,
    /// A random slot for each statement.
    ///
    /// For code whose transactions move between threads. It needs many times more
    /// slots than writers to keep them apart, and transactions that count several
    /// entities can deadlock.
    Random,
    /// As [`Sticky`](Slot::Sticky), within this process's share of the slots.
    ///
    /// For several processes, or database nodes, that count the same things:
    /// number the processes, and no two share a slot. With fewer slots than
    /// processes some share.
    Partition {
        /// Which of the shares is this process's: from 0 to `of - 1`.
        index: u16,
        /// How many shares there are: 1 or more.
        of: u16,
    },
}

static DEFAULT: OnceLock<Slot> = OnceLock::new();

/// Chooses the [`Slot`] of every increment of this process that does not name
/// its own.
///
/// Call it once, when the program starts. Without it the choice is
/// [`Slot::Sticky`].
///
/// ```
/// use diesel_counters::{Slot, set_default_slot};
///
/// // The second of three web servers.
/// set_default_slot(Slot::Partition { index: 1, of: 3 })?;
/// # Ok::<(), diesel_counters::SetDefaultSlotError>(())
/// ```
///
/// # Errors
///
/// When it was called before, and when a partition's `index` is not below `of`.
pub fn set_default_slot(slot: Slot) -> Result<(), SetDefaultSlotError> {
    if let Slot::Partition { index, of } = slot {
        if index >= of {
            return Err(SetDefaultSlotError::NoSuchPartition { index, of });
        }
    }
    DEFAULT
        .set(slot)
        .map_err(|_| SetDefaultSlotError::AlreadySet(*DEFAULT.get_or_init(|| slot)))
}

/// Why [`set_default_slot`] did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetDefaultSlotError {
    /// The choice was made before, and this is it.
    AlreadySet(Slot),
    /// A partition's `index` must be below `of`.
    #[allow(missing_docs)]
    NoSuchPartition { index: u16, of: u16 },
}

impl fmt::Display for SetDefaultSlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadySet(slot) => write!(
                f,
                "the slots of this process are chosen already, as {slot:?}; \
                 call set_default_slot once, at the start of main"
            ),
            Self::NoSuchPartition { index, of } => no_such_partition(*index, *of, f),
        }
    }
}

impl std::error::Error for SetDefaultSlotError {}

fn no_such_partition(index: u16, of: u16, f: &mut impl fmt::Write) -> fmt::Result {
    write!(
        f,
        "there is no partition {index} of {of}: partitions count from 0, \
         so the last one of three is Slot::Partition {{ index: 2, of: 3 }}"
    )
}

impl Slot {
    /// The choice of this process.
    pub(crate) fn chosen() -> Self {
        DEFAULT.get().copied().unwrap_or_default()
    }

    /// A slot from 1 to `slots`. Slot 0 is for what old days are merged into, so that a
    /// merge never waits for who counts.
    pub(crate) fn number(self, slots: i16) -> SlotNumber {
        let index = match self {
            Slot::Sticky => thread_number() % slots as u32,
            Slot::Random => rand::random_range(0..slots as u32),
            Slot::Partition { index, of } if index < of => {
                let share = share_of(slots, index, of);
                share.start + thread_number() % (share.end - share.start)
            }
            Slot::Partition { index, of } => return SlotNumber::NoSuchPartition { index, of },
        };
        SlotNumber::Number(index as i16 + 1)
    }
}

/// The slots of one of `of` partitions; never none.
fn share_of(slots: i16, index: u16, of: u16) -> Range<u32> {
    let (slots, index, of) = (slots as u32, u32::from(index), u32::from(of));
    let start = slots * index / of;
    let end = slots * (index + 1) / of;
    start..end.max(start + 1)
}

/// A slot as a bind value.
#[derive(Clone, Copy)]
pub enum SlotNumber {
    Number(i16),
    NoSuchPartition { index: u16, of: u16 },
}

impl SlotNumber {
    pub(crate) const ZERO: &Self = &SlotNumber::Number(0);
}

// As `debug_query` shows it.
impl fmt::Debug for SlotNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SlotNumber::Number(number) => write!(f, "{number}"),
            SlotNumber::NoSuchPartition { index, of } => write!(f, "partition {index} of {of}"),
        }
    }
}

impl<DB> ToSql<SmallInt, DB> for SlotNumber
where
    DB: Backend,
    i16: ToSql<SmallInt, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
        match self {
            SlotNumber::Number(number) => number.to_sql(out),
            SlotNumber::NoSuchPartition { index, of } => {
                let mut message = String::new();
                no_such_partition(*index, *of, &mut message)?;
                Err(message.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_share_all_slots_and_no_slot_twice() {
        for (slots, of) in [(32, 1), (32, 3), (32, 32), (7, 2), (i16::MAX, 1000)] {
            let mut next = 0;
            for index in 0..of {
                let share = share_of(slots, index, of);
                assert_eq!(share.start, next);
                assert!(share.end > share.start);
                next = share.end;
            }
            assert_eq!(next, slots as u32);
        }
    }

    #[test]
    fn with_more_partitions_than_slots_each_has_one() {
        let used: Vec<_> = (0..8).map(|index| share_of(4, index, 8)).collect();
        assert_eq!(used, [0..1, 0..1, 1..2, 1..2, 2..3, 2..3, 3..4, 3..4]);
    }
}
