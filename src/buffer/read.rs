//! Reading what is written and what is pending as of one moment.

use std::fmt;
use std::hash::Hash;

use diesel::connection::Connection;

use crate::buffer::shared::Shared;
use crate::key::OwnedKey;
use crate::sql::CounterBackend;
use crate::typed::counters::{Counters, KeyType};

/// What a buffer has counted but not written yet; passed to the closure of
/// [`read`](crate::CounterBuffer::read).
pub struct Pending<'a, Conn: Connection<Backend: CounterBackend> + 'static> {
    /// `None` if what is pending is left out.
    shared: Option<&'a Shared<Conn>>,
}

/// From this call on, the next batch waits for the read.
const FIRST_BLOCKING_CALL: usize = 4;

/// A batch that began earlier can still commit during the call before this one, but none can commit
/// during this one.
const LAST_CALL: usize = FIRST_BLOCKING_CALL + 1;

impl<Conn: Connection<Backend: CounterBackend> + 'static> Shared<Conn> {
    /// Calls `read` until no COMMIT overlaps the call. From [`FIRST_BLOCKING_CALL`] on, the next
    /// batch waits. If that doesn't help either, the last call leaves out what is pending.
    pub(super) fn read<T, E>(
        &self,
        mut read: impl FnMut(&Pending<'_, Conn>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut blocked = None;
        for call in 1..=LAST_CALL {
            if call == FIRST_BLOCKING_CALL {
                blocked = Some(self.commits.block_next_batch());
            }
            let Some(begun_before) = self.commits.wait_until_answered() else {
                break;
            };
            let pending = Pending { shared: Some(self) };
            let found = read(&pending)?;
            let no_commit_has_begun = self.commits.begun() == begun_before;
            if no_commit_has_begun {
                return Ok(found);
            }
        }
        drop(blocked);
        let without_pending = Pending { shared: None };
        read(&without_pending)
    }
}

impl<Conn: Connection<Backend: CounterBackend> + 'static> Pending<'_, Conn> {
    /// Returns what is pending for this entity, as
    /// [`pending_of`](crate::CounterBuffer::pending_of) does: an `i64`, or a tuple.
    pub fn of<C, K>(&self, _counters: C, key: &K) -> C::Value
    where
        C: Counters<Table: 'static>,
        K: OwnedKey<KeyType<C>, Conn::Backend> + Hash + Send + 'static,
    {
        let amounts = self.shared.map(|shared| shared.pending_of::<C, K>(key));
        C::value(amounts.unwrap_or_default())
    }
}

impl<Conn: Connection<Backend: CounterBackend>> fmt::Debug for Pending<'_, Conn> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}
