//! The choice of the slot that an increment writes.

/// The default number of slots of a counter: 32.
pub const DEFAULT_SLOTS: i16 = 32;

/// How an increment chooses its slot: a number from 1 to the number of slots of the counter.
///
/// It is a setting of the table: `counter_table!(article_counters { slot = Random })`.
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
    /// one order.
    Random,
}

/// The slot to add to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InSlot {
    /// The connection's own slot.
    Counted,
    /// Slot 0, of merged rows.
    Merged,
}
