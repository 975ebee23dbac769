//! What was seen: the document that `--json` prints.

use chrono::NaiveDate;
use serde::Serialize;

use crate::locks::{Activity, Deadlock, Look, NotSeen, Row, Wait};

#[derive(Serialize)]
pub struct Report {
    pub table: String,
    /// The product and its version.
    pub database: String,
    /// Whether a session waits, SQLite's write lock is held, or this table had a deadlock in
    /// the last day.
    pub contention: bool,
    /// The last look.
    #[serde(flatten)]
    pub look: Look,
    /// What all looks saw: the only one, or those of `--watch`.
    pub watch: Watch,
    /// The last deadlock of the server, if it was of this table.
    pub last_deadlock: Option<Deadlock>,
    /// The last day that has rows.
    pub day: Option<NaiveDate>,
    /// Those of that day; the one with the highest count first.
    pub slots: Vec<Slot>,
    pub not_seen: Vec<NotSeen>,
    pub advice: Vec<Advice>,
}

/// What several looks saw. A wait that more than one look saw is counted once.
#[derive(Default, Serialize)]
pub struct Watch {
    pub seconds: u64,
    pub looks: usize,
    pub looks_with_contention: usize,
    pub waits: usize,
    /// The most sessions that waited at once: for rows, and for the whole table.
    pub most_at_once: usize,
    pub most_table_waits: i64,
    pub longest: Option<Wait>,
    /// Without the waits for one of several rows.
    pub rows: Vec<Seen<Row>>,
    pub parent_tables: Vec<Seen<String>>,
    pub holders: Vec<Seen<Activity>>,
}

/// What several waits have in common.
#[derive(Serialize)]
pub struct Seen<T> {
    pub value: T,
    pub waits: usize,
}

#[derive(Serialize)]
pub struct Slot {
    pub slot: i16,
    pub row_count: i64,
    /// Its part of the day's count, of all counters together.
    pub share: Option<f64>,
}

#[derive(Serialize)]
pub struct Advice {
    /// A stable name for scripts.
    pub name: &'static str,
    pub what: String,
    pub why: String,
    pub sql: Vec<String>,
}
