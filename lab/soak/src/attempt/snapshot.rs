//! From when on a statement sees what others have committed.

use super::super::IS_MYSQL;
use super::Attempt;
use crate::history::Level;
use crate::record::{Cell, Kind, Seen, Time, Value, now};

impl Attempt {
    /// The earliest time of the snapshot that a query of this transaction sees.
    pub(super) fn snapshot_from(&self) -> Time {
        match self.level {
            // Each statement sees a new one.
            Level::ReadCommitted => now(),
            Level::RepeatableRead | Level::Serializable => self.began,
        }
    }

    /// The earliest time of what a statement sees that locks rows. On MySQL and MariaDB, it sees
    /// the rows as they are now.
    pub(super) fn lock_from(&self) -> Time {
        if IS_MYSQL {
            now()
        } else {
            self.snapshot_from()
        }
    }

    /// Whether a take can be refused by the snapshot of a transaction on MySQL and MariaDB. The
    /// library asks for the level of the session: if only the transaction is above READ COMMITTED,
    /// `take` reads what is left without a lock.
    fn is_refused_by_a_snapshot(&self) -> bool {
        let is_above = |level| level != Level::ReadCommitted;
        IS_MYSQL && is_above(self.level) && !is_above(self.session_level)
    }

    /// The earliest time of what a take that is refused has seen.
    pub(super) fn refusal_from(&self) -> Time {
        if self.is_refused_by_a_snapshot() {
            self.snapshot_from()
        } else {
            self.lock_from()
        }
    }

    /// Whether a take would be refused by a sum of rows of different times: those that this
    /// transaction has written, as they are now, and the others, as they were in its snapshot.
    pub(super) fn sees_a_mixture_of_tickets(&self, article: i64) -> bool {
        let is_of_stock = |cell: &Cell| cell.article() == article && cell.kind() == Kind::Tickets;
        let has_written = self.effects.iter().any(|(cell, _)| is_of_stock(cell));
        self.is_refused_by_a_snapshot() && has_written
    }

    /// On MySQL and MariaDB, a transaction that has read and then written sees the rows that it
    /// wrote as they are now, and the others as they were when it read. At no time was a sum of
    /// both the right one.
    pub(super) fn has_an_older_snapshot(&self) -> bool {
        let is_older = |effects| effects < self.effects.len();
        let repeats = self.level == Level::RepeatableRead;
        IS_MYSQL && repeats && self.snapshot.is_some_and(is_older)
    }

    /// Notes values that were read in a snapshot that was not taken before `from`.
    pub(super) fn see(&mut self, from: Time, values: Vec<Value>) {
        if values.is_empty() {
            return; // No row was found, or only days that are checked in the totals.
        }
        self.seen.push(Seen {
            own: self.effects.clone(),
            ..Seen::since(from, values)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::NO_DAY;
    use crate::tables::TODAY;

    /// An attempt that began at the time 0, before [`now`].
    fn attempt(level: Option<Level>, session_level: Level) -> Attempt {
        Attempt::new(1, level, session_level)
    }

    #[test]
    fn a_session_above_read_committed_has_one_snapshot_in_a_transaction() {
        for session in [Level::RepeatableRead, Level::Serializable] {
            assert_eq!(attempt(None, session).snapshot_from(), 0);
            let lower = attempt(Some(Level::ReadCommitted), session);
            assert!(lower.snapshot_from() > 0);
        }
        assert!(attempt(None, Level::ReadCommitted).snapshot_from() > 0);
        let higher = attempt(Some(Level::RepeatableRead), Level::ReadCommitted);
        assert_eq!(higher.snapshot_from(), 0);
    }

    #[test]
    fn a_refused_take_has_seen_the_snapshot_if_only_the_transaction_has_one() {
        let raised = attempt(Some(Level::RepeatableRead), Level::ReadCommitted);
        assert_eq!(raised.refusal_from(), 0);
        assert!(attempt(None, Level::ReadCommitted).refusal_from() > 0);
        let of_session = attempt(None, Level::RepeatableRead);
        assert_eq!(of_session.refusal_from() > 0, IS_MYSQL);
    }

    #[test]
    fn a_refused_take_is_not_checked_if_own_rows_are_newer_than_the_snapshot() {
        let mut raised = attempt(Some(Level::RepeatableRead), Level::ReadCommitted);
        assert!(!raised.sees_a_mixture_of_tickets(1));
        raised.expect(2, Kind::Tickets, NO_DAY, 5);
        raised.expect(1, Kind::Views, TODAY, 5);
        assert!(!raised.sees_a_mixture_of_tickets(1));
        raised.expect(1, Kind::Tickets, NO_DAY, 5);
        assert_eq!(raised.sees_a_mixture_of_tickets(1), IS_MYSQL);
    }
}
