//! SQLite's lock: it has one writer, and no row locks.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use diesel::connection::SimpleConnection;

use super::looks::Looks;
use super::seen::Look;
use crate::connection::AnyConnection;

/// A lock that is held at each of these tries is held for long.
const TRIES: usize = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

pub fn look(looks: &mut Looks<'_>) -> Result<Look> {
    let what = "which connection holds the write lock, and which ones wait for it";
    looks.miss(what, "SQLite does not tell", None);
    let mut is_held = is_write_locked(looks.conn)?;
    for _ in 1..TRIES {
        if is_held {
            sleep(BETWEEN_TRIES);
            is_held = is_write_locked(looks.conn)?;
        }
    }
    Ok(Look {
        write_lock_held: Some(is_held),
        ..Look::default()
    })
}

/// Takes the lock and lets it go.
fn is_write_locked(conn: &mut AnyConnection) -> Result<bool> {
    conn.batch_execute("PRAGMA busy_timeout = 0")?;
    let taken = conn.batch_execute("BEGIN IMMEDIATE; ROLLBACK");
    conn.batch_execute("PRAGMA busy_timeout = 5000")?;
    match taken {
        Ok(()) => Ok(false),
        Err(error) if error.to_string().contains("is locked") => Ok(true),
        Err(error) => Err(error.into()),
    }
}
