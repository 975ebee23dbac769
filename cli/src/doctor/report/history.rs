//! What the database has added up.

use serde::Serialize;

use super::Row;

/// What the database has added up, and how it is set.
#[derive(Default, Serialize)]
pub struct History {
    pub deadlocks: Option<Deadlocks>,
    /// PostgreSQL: of this table.
    pub row_updates: Option<RowUpdates>,
    /// MySQL and MariaDB: of the whole server.
    pub row_locks: Option<RowLocks>,
    /// MySQL: of this table.
    pub table_io: Option<TableIo>,
    pub isolation: Option<Isolation>,
    /// How many clients are connected to this database, this one not counted.
    pub sessions: Option<i64>,
    /// SQLite.
    pub writer: Option<Writer>,
}

#[derive(Serialize)]
pub struct Deadlocks {
    /// Of `scope`, since `since`.
    pub count: Option<i64>,
    pub scope: &'static str,
    pub since: Option<String>,
    /// The last one that the server knows, when it is about this table.
    pub last: Option<Deadlock>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deadlock {
    /// By the clock of the server's system.
    pub at: String,
    pub seconds_ago: Option<f64>,
    pub transactions: Vec<Deadlocked>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deadlocked {
    /// The connection's id.
    pub id: Option<i64>,
    pub statement: Option<String>,
    pub waited_for: Option<Row>,
    pub rolled_back: bool,
}

#[derive(Serialize)]
pub struct RowUpdates {
    pub since: Option<String>,
    /// Of all of which this is the sum; 0 where the table has none.
    pub partitions: i64,
    pub updates: i64,
    /// Heap-only ones, which wrote no index.
    pub hot_updates: i64,
    pub live_rows: i64,
    pub dead_rows: i64,
    pub last_vacuum: Option<String>,
    pub last_autovacuum: Option<String>,
}

#[derive(Serialize)]
pub struct RowLocks {
    pub since: Option<String>,
    pub waiting_now: i64,
    pub waits: i64,
    pub average_milliseconds: i64,
    pub longest_milliseconds: i64,
}

#[derive(Serialize)]
pub struct TableIo {
    pub reads: i64,
    pub writes: i64,
    pub read_seconds: f64,
    /// Waiting for row locks is part of it.
    pub write_seconds: f64,
}

#[derive(Serialize)]
pub struct Isolation {
    /// Of a new session of this user.
    pub session: String,
    /// Of the server.
    pub global: String,
}

#[derive(Serialize)]
pub struct Writer {
    pub journal_mode: String,
    pub held_now: bool,
}
