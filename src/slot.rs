//! How an increment chooses the slot that it writes to.

/// The default number of slots of a counter: 32.
pub const DEFAULT_SLOTS: i16 = 32;

/// How an increment chooses its slot, a number from 1 to the counter's number of slots.
///
/// You set it for each table: `counter_table!(article_counters { slot = Random })`.
///
/// On SQLite, an increment always writes to slot 0, because SQLite has one writer at a time. On the
/// other databases, slot 0 holds the rows that [`compact`](crate::dsl::compact()) has merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Slot {
    /// Each database connection has its own slot. This is the default.
    ///
    /// Transactions on different connections write different rows. They don't wait for each other's
    /// counters and don't deadlock on them, in whatever order they count. The server chooses the
    /// slot when it runs the statement; see [`claim_slot`](crate::dsl::claim_slot()). If you have
    /// more connections than slots, some share a slot and can wait for each other; see [how many
    /// slots](crate::guide::pools#how-many-slots) you need.
    #[default]
    Connection,
    /// A random slot for each statement.
    ///
    /// You need many times more slots than with [`Connection`](Slot::Connection) if connections
    /// should write different rows. Transactions that count several entities can deadlock, unless a
    /// [`counting_transaction`](crate::counting_transaction()) writes the counts in one order.
    Random,
}

/// The slot to add to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InSlot {
    /// The slot that the table's [`Slot`] chooses.
    Chosen,
    /// Slot 0, which holds merged rows.
    Merged,
}
