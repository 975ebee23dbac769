//! The choice of the slot that an increment writes.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use diesel::backend::Backend;
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::SmallInt;

/// The default number of slots of a counter: 32.
pub const DEFAULT_SLOTS: i16 = 32;

/// How an increment chooses its slot: a number from 1 to the number of slots of the counter.
///
/// Defaults to [`Slot::Connection`]. [`set_default_slot`] sets it for the process, and
/// [`Increment::slot`](crate::dsl::Increment::slot) for one statement.
///
/// On SQLite the slot is always 0, because SQLite has one writer at a time. On the other databases
/// slot 0 has the rows that [`compact`](crate::dsl::compact()) has merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Slot {
    /// Each database connection has its own slot. The default.
    ///
    /// Transactions on different connections write different rows. They do not wait for each
    /// other's counters and do not deadlock on them, in whatever order they count. It does not
    /// matter on which thread or task a transaction runs, because the server chooses the slot when
    /// it runs the statement.
    ///
    /// This requires at least as many slots as the database has connections that count: the size
    /// of the pool times the number of processes. Use twice as many slots, because while a
    /// pool renews its connections, or a deployment replaces processes, old and new connections
    /// exist at the same time.
    ///
    /// If there are more connections than slots, some connections share a slot. Counts stay exact,
    /// but transactions can wait for each other or deadlock.
    ///
    /// See [`claim_slot`](crate::dsl::claim_slot()) for how a connection gets its number on each
    /// database, and for poolers.
    #[default]
    Connection,
    /// A random slot for each statement.
    ///
    /// Connections do not claim a number. To write different rows, connections require many times
    /// more slots than with [`Connection`](Slot::Connection). Transactions that count several
    /// entities can deadlock. A [`counting_transaction`](crate::counting_transaction()) writes the
    /// counts in one order, which avoids this.
    Random,
    /// Each database connection has its own slot, within one share of the slots.
    ///
    /// Use it for several database nodes that accept writes, such as those of a Galera cluster.
    /// Connections to different nodes can have the same number. Without partitions, transactions on
    /// two nodes then write the same row, and one of them fails at its COMMIT.
    ///
    /// Leave out the foreign key to the entity. With it, an increment locks or certifies the row of
    /// the entity, so that transactions of two nodes conflict.
    ///
    /// Set the same `index` in all processes that write to the same node. A partition requires as
    /// many slots as its node has connections that count. If there are more partitions than slots,
    /// some partitions share a slot.
    Partition {
        /// The share, from 0 to `of - 1`.
        index: u16,
        /// The number of shares, 1 or more.
        of: u16,
    },
}

static DEFAULT: OnceLock<Slot> = OnceLock::new();

/// Sets the default [`Slot`] of this process, for every increment that does not set its own.
///
/// Call it once, when the program starts. Without it, the default is [`Slot::Connection`].
///
/// ```
/// use diesel_counters::{Slot, set_default_slot};
///
/// // This process writes to the second of three database nodes.
/// set_default_slot(Slot::Partition { index: 1, of: 3 })?;
/// # Ok::<(), diesel_counters::SetDefaultSlotError>(())
/// ```
///
/// # Errors
///
/// It returns an error if it was called before, or if the `index` of a partition is not less than
/// its `of`.
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

/// The error returned by [`set_default_slot`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetDefaultSlotError {
    /// The default was set before, to this.
    AlreadySet(Slot),
    /// The `index` of the partition is not less than its `of`.
    #[allow(missing_docs)]
    NoSuchPartition { index: u16, of: u16 },
}

impl fmt::Display for SetDefaultSlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadySet(slot) => write!(
                f,
                "the default slot of this process is already set, to {slot:?}; \
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
         so the last of three partitions is Slot::Partition {{ index: 2, of: 3 }}"
    )
}

impl Slot {
    /// The default of this process.
    #[inline]
    pub(crate) fn chosen() -> Self {
        DEFAULT.get().copied().unwrap_or_default()
    }

    /// The slots to choose from, within 1 to `slots`. Merged rows have slot 0, which no increment
    /// writes, so that a merge never waits for an increment.
    #[inline]
    pub(crate) fn range(self, slots: i16) -> SlotRange {
        let range = match self {
            Slot::Connection => 0..slots as u32,
            Slot::Random => {
                let slot = rand::random_range(0..slots as u32);
                slot..slot + 1
            }
            Slot::Partition { index, of } if index < of => share_of(slots, index, of),
            Slot::Partition { index, of } => {
                return SlotRange {
                    first: FirstSlot::NoSuchPartition { index, of },
                    count: 1,
                };
            }
        };
        SlotRange {
            first: FirstSlot::Number(range.start as i16 + 1),
            count: range.len() as i16,
        }
    }
}

/// The slots of one of `of` partitions. It is never empty.
fn share_of(slots: i16, index: u16, of: u16) -> Range<u32> {
    let (slots, index, of) = (slots as u32, u32::from(index), u32::from(of));
    let start = slots * index / of;
    let end = slots * (index + 1) / of;
    start..end.max(start + 1)
}

/// `count` slots from `first` on. The number of the connection chooses one of them.
#[derive(Debug, Clone, Copy)]
pub struct SlotRange {
    pub(crate) first: FirstSlot,
    pub(crate) count: i16,
}

impl SlotRange {
    /// The slot of merged rows.
    pub(crate) const MERGED: Self = SlotRange {
        first: FirstSlot::Number(0),
        count: 1,
    };
}

/// The first slot of a range, as a bind value. A partition that does not exist is an error when it
/// is bound.
#[derive(Clone, Copy)]
pub enum FirstSlot {
    Number(i16),
    NoSuchPartition { index: u16, of: u16 },
}

// `debug_query` prints it.
impl fmt::Debug for FirstSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FirstSlot::Number(number) => write!(f, "{number}"),
            FirstSlot::NoSuchPartition { index, of } => write!(f, "partition {index} of {of}"),
        }
    }
}

impl<DB> ToSql<SmallInt, DB> for FirstSlot
where
    DB: Backend,
    i16: ToSql<SmallInt, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
        match self {
            FirstSlot::Number(number) => number.to_sql(out),
            FirstSlot::NoSuchPartition { index, of } => {
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
