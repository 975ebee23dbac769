//! SQLite's lock: it allows one writer and has no row locks.

use anyhow::Result;
use diesel::connection::SimpleConnection;

use super::wait::{WRITE_LOCK, Wait};
use crate::connection::AnyConnection;

/// Takes the write lock and releases it. If that takes longer than 250 ms, somebody else holds the
/// lock for long, which is reported as a wait.
pub fn look(conn: &mut AnyConnection) -> Result<Vec<Wait>> {
    match conn.batch_execute("PRAGMA busy_timeout = 250; BEGIN IMMEDIATE; ROLLBACK") {
        Ok(()) => Ok(Vec::new()),
        Err(error) if error.to_string().contains("is locked") => Ok(vec![Wait {
            kind: WRITE_LOCK.name,
            on: "the write lock".to_owned(),
            sessions: 1,
            longest_seconds: 0.25,
            holder: Some("another connection".to_owned()),
            holder_is_idle: false,
            end: None,
            advice: WRITE_LOCK.advice,
        }]),
        Err(error) => Err(error.into()),
    }
}
