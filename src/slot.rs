//! The choice of the slot that an increment writes.

use std::cell::Cell;
use std::fmt;
use std::sync::OnceLock;

/// The default number of slots of a counter: 32.
pub const DEFAULT_SLOTS: i16 = 32;

/// How an increment chooses its slot: a number from 1 to the number of slots of the counter.
///
/// Defaults to [`Slot::Connection`]. [`set_default_slot`] sets it for the process.
///
/// On SQLite an increment always writes slot 0, because SQLite has one writer at a time. On the other
/// databases slot 0 has the rows that [`compact`](crate::dsl::compact()) has merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Slot {
    /// Each database connection has its own slot. The default.
    ///
    /// Transactions on different connections write different rows. They do not wait for each
    /// other's counters and do not deadlock on them, in whatever order they count. The server
    /// chooses the slot when it runs the statement; see
    /// [`claim_slot`](crate::dsl::claim_slot()). See also [how many
    /// slots](crate::guide::operations#how-many-slots) a counter requires: more connections share
    /// slots, and can wait for each other.
    #[default]
    Connection,
    /// A random slot for each statement.
    ///
    /// To write different rows, connections require many times more slots than with
    /// [`Connection`](Slot::Connection). Transactions that count several entities can deadlock,
    /// unless a [`counting_transaction`](crate::counting_transaction()) writes the counts in
    /// one order. PostgreSQL refuses it in a database with a [partition](set_default_slot).
    Random,
    /// Each database connection has its own slot, within one share of the slots, for [several
    /// database nodes](crate::guide::nodes#partitions) that accept writes. No two nodes write
    /// the same row, also in merges and corrections. Set it with [`set_default_slot`]: a
    /// process without a partition writes and merges the rows of all nodes.
    ///
    /// Set the same `index` in all processes that write to the same node, and the same `of` on all
    /// nodes. A partition has the slots `index + 1`, `index + 1 + of`, and so on, up to the number
    /// of slots. It requires one for each connection of its node that counts. Its merged rows are in
    /// slot `-index`.
    Partition {
        /// The share, from 0 to `of - 1`.
        index: u16,
        /// The number of shares, from 1 to 32,767.
        of: u16,
    },
}

static DEFAULT: OnceLock<Slot> = OnceLock::new();

thread_local! {
    static OF_THREAD: Cell<OfThread> = const { Cell::new(OfThread(None)) };
}

/// Sets the [`Slot`] of this process, for every increment.
///
/// Call it once, when the program starts: `set_default_slot(Slot::Partition { index: 1, of: 3 })?`.
/// A [partition](crate::guide::nodes#partitions) also decides which rows merges and corrections
/// write.
///
/// On PostgreSQL, a statement that writes counters fails if the database or the role sets
/// `diesel_counters.partition` to another partition. An increment reads that setting once a
/// session.
///
/// # Errors
///
/// It returns an error if it was called before, if the `index` of a partition is not less than its
/// `of`, or if `of` is greater than 32,767.
pub fn set_default_slot(slot: Slot) -> Result<(), SetDefaultSlotError> {
    Partition::of(slot)?;
    DEFAULT
        .set(slot)
        .map_err(|_| SetDefaultSlotError::AlreadySet(*DEFAULT.get_or_init(|| slot)))
}

/// Runs `f`, in which the default [`Slot`] of the current thread is `slot`, for a program that
/// writes to several nodes. Make and execute statements in `f`. A [`Compactor`](crate::Compactor)
/// and a [`CounterBuffer`](crate::CounterBuffer) that are started in it keep `slot`.
///
/// # Panics
///
/// It panics if `slot` is a partition that [`set_default_slot`] refuses.
pub fn with_default_slot<T>(slot: Slot, f: impl FnOnce() -> T) -> T {
    if let Err(error) = Partition::of(slot) {
        panic!("{error}");
    }
    OfThread(Some(slot)).within(f)
}

/// The default of a thread that `with_default_slot` has set, if it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfThread(Option<Slot>);

impl OfThread {
    #[inline]
    pub(crate) fn now() -> Self {
        OF_THREAD.get()
    }

    /// Runs `f` with this default.
    pub(crate) fn within<T>(self, f: impl FnOnce() -> T) -> T {
        struct Before(OfThread);
        impl Drop for Before {
            fn drop(&mut self) {
                OF_THREAD.set(self.0);
            }
        }
        let _before = Before(OF_THREAD.replace(self));
        f()
    }
}

/// The error returned by [`set_default_slot`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetDefaultSlotError {
    /// The default was set before, to this.
    AlreadySet(Slot),
    /// The `index` of the partition is not less than its `of`, or `of` is greater than 32,767.
    #[allow(missing_docs, reason = "the variant says what they are")]
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
            Self::NoSuchPartition { index, of } => write!(
                f,
                "there is no partition {index} of {of}: partitions count from 0, so the last of three \
                 partitions is Slot::Partition {{ index: 2, of: 3 }}; there are up to 32,767"
            ),
        }
    }
}

impl std::error::Error for SetDefaultSlotError {}

impl Slot {
    /// The default of this thread, or of this process.
    #[inline]
    pub(crate) fn chosen() -> Self {
        let of_process = || DEFAULT.get().copied().unwrap_or_default();
        OfThread::now().0.unwrap_or_else(of_process)
    }

    /// The slots to choose from, within 1 to `slots`. No increment writes slot 0, that of merged
    /// rows.
    #[inline]
    pub(crate) fn range(self, slots: i16) -> SlotRange {
        let slots = slots.max(1);
        match self {
            // Only this arm is inlined: a buffer computes the range for each count.
            Slot::Connection => SlotRange::new(1, slots, Partition::WHOLE),
            _ => self.other_range(slots),
        }
    }

    #[cold]
    fn other_range(self, slots: i16) -> SlotRange {
        if self == Slot::Random {
            return SlotRange::new(rand::random_range(1..=slots), 1, Partition::WHOLE);
        }
        let partition @ Partition { index, of, .. } =
            Partition::of(self).expect("a default is checked when it is set");
        // With more partitions than slots, the only slot of the last ones is beyond `slots`: the
        // division rounds towards 0.
        let count = (slots - 1 - index) / of + 1;
        SlotRange::new(index + 1, count, partition)
    }
}

/// The share of the rows that one database node writes: the slots `index + 1`, `index + 1 + of`, …,
/// and for merged rows the slot `-index`. The number of slots is not part of it, so a table can get
/// more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    pub(crate) index: i16,
    pub(crate) of: i16,
    /// The slot of the rows that this node merges and corrects.
    pub(crate) merged: i16,
}

impl Partition {
    /// The only node writes all rows.
    pub(crate) const WHOLE: Self = Partition {
        index: 0,
        of: 1,
        merged: 0,
    };

    pub(crate) fn of(slot: Slot) -> Result<Self, SetDefaultSlotError> {
        let Slot::Partition { index, of } = slot else {
            return Ok(Partition::WHOLE);
        };
        let numbers = (i16::try_from(index), i16::try_from(of));
        match numbers {
            (Ok(index), Ok(of)) if index < of => Ok(Partition {
                index,
                of,
                merged: -index,
            }),
            _ => Err(SetDefaultSlotError::NoSuchPartition { index, of }),
        }
    }

    /// The partition of this thread, or of this process.
    pub(crate) fn chosen() -> Self {
        Partition::of(Slot::chosen()).expect("a default is checked when it is set")
    }

    pub(crate) fn is_whole(self) -> bool {
        self.of == 1
    }
}

/// Slots of a partition: `first`, and `count` in all. The number of the connection chooses one of
/// them.
#[derive(Debug, Clone)]
pub struct SlotRange {
    pub(crate) first: i16,
    /// The slot before the first one, and the distance from there to the last one.
    pub(crate) before: i16,
    pub(crate) span: i16,
    pub(crate) count: i16,
    pub(crate) partition: Partition,
    session: OnceLock<Box<SessionSlot>>,
}

/// How a session of PostgreSQL keeps its slot. It is the same for all tables with as many slots.
#[derive(Debug, Clone)]
pub struct SessionSlot {
    /// The name of a setting whose length is the place of the session's slot, from `before`.
    pub(crate) setting: String,
    /// The query that makes the setting.
    pub(crate) make: String,
}

impl SlotRange {
    #[inline]
    fn new(first: i16, count: i16, partition: Partition) -> Self {
        SlotRange {
            first,
            before: first - 1,
            span: 1 + partition.of * (count - 1),
            count,
            partition,
            session: OnceLock::new(),
        }
    }

    /// Returns how a session keeps its slot among these. `make` is called once for each table, and
    /// again by a statement that chooses from other slots than the first one.
    pub(crate) fn session<'a>(
        &'a self,
        first_slots: &'a OnceLock<SlotRange>,
        make: fn(&SlotRange) -> SessionSlot,
    ) -> &'a SessionSlot {
        let mut slots = first_slots.get_or_init(|| self.clone());
        if (slots.count, slots.partition) != (self.count, self.partition) {
            slots = self;
        }
        slots.session.get_or_init(|| Box::new(make(slots)))
    }

    /// The slot of the rows that this thread or process merges and corrects.
    pub(crate) fn merged() -> Self {
        let partition = Partition::chosen();
        SlotRange::new(partition.merged, 1, partition)
    }
}
