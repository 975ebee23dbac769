//! SQLite's lock: it has one writer, and no row locks.

use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use diesel::connection::SimpleConnection;

use super::{WRITE_LOCK, Wait};
use crate::connection::AnyConnection;

/// A lock that is held at each of these tries is held for long.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

pub fn look(conn: &mut AnyConnection) -> Result<Vec<Wait>> {
    for _ in 0..TRIES {
        if !is_write_locked(conn)? {
            return Ok(Vec::new());
        }
        sleep(BETWEEN_TRIES);
    }
    Ok(vec![Wait {
        kind: WRITE_LOCK,
        on: "the write lock".to_owned(),
        sessions: 1,
        seconds: (BETWEEN_TRIES * TRIES).as_secs_f64(),
        holder: Some("another connection".to_owned()),
    }])
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
