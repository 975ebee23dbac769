//! From lock waits and sessions to the waits of the report.

use anyhow::Result;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Bool, Double, Nullable, Text};

use super::seen::{Row, Session, Wait};
use crate::catalogue::CounterTable;

/// A session that waits for a row, and a session that it waits for.
#[derive(QueryableByName)]
pub struct LockWait {
    #[diesel(sql_type = BigInt)]
    pub waiter: i64,
    #[diesel(sql_type = BigInt)]
    pub holder: i64,
    #[diesel(sql_type = Double)]
    pub seconds: f64,
    #[diesel(sql_type = Text)]
    pub lock_name: String,
    /// Where the row is found, in the database's words.
    #[diesel(sql_type = Nullable<Text>)]
    pub place: Option<String>,
    /// The parent table, if the row is one of it.
    #[diesel(sql_type = Nullable<Text>)]
    pub parent: Option<String>,
    /// Whether the row is known to be one of the counter table.
    #[diesel(sql_type = Bool)]
    pub is_here: bool,
}

/// The sessions of all of them, separated by commas.
pub fn ids(lock_waits: &[LockWait]) -> String {
    let ids = lock_waits
        .iter()
        .flat_map(|wait| [wait.waiter, wait.holder]);
    ids.map(|id| id.to_string()).collect::<Vec<_>>().join(",")
}

/// Expects the lock waits of one waiter beside each other.
pub fn waits(
    lock_waits: &[LockWait],
    sessions: &[Session],
    counters: &CounterTable,
    mut rows: impl FnMut(&LockWait) -> Result<Vec<Row>>,
) -> Result<Vec<Wait>> {
    let session = |id: i64| sessions.iter().find(|session| session.id == id);
    let mut waits: Vec<Wait> = Vec::new();
    for wait in lock_waits {
        let Some(waiter) = session(wait.waiter) else {
            continue;
        };
        // A session that does not count may wait for the parent's row, too.
        if !wait.is_here && waiter.counts_in(counters) == Some(false) {
            continue;
        }
        let last = waits.last();
        if last.is_none_or(|last| last.waiter.id != waiter.id) {
            waits.push(Wait {
                waiter: waiter.holding(None),
                seconds: wait.seconds,
                lock: wait.lock_name.clone(),
                rows: match wait.parent {
                    Some(_) => Vec::new(),
                    None => rows(wait)?,
                },
                parent_table: wait.parent.clone(),
                holders: Vec::new(),
            });
        }
        if let (Some(last), Some(holder)) = (waits.last_mut(), session(wait.holder)) {
            let row_of = Some(counters).filter(|_| wait.parent.is_none());
            // PostgreSQL may name a holder twice.
            if last.holders.iter().all(|other| other.id != holder.id) {
                last.holders.push(holder.holding(row_of));
            }
        }
    }
    // A holder that waits itself is in the queue, as the waiter is.
    let waiters: Vec<i64> = waits.iter().map(|wait| wait.waiter.id).collect();
    for wait in &mut waits {
        wait.holders.retain(|holder| !waiters.contains(&holder.id));
    }
    Ok(waits)
}
