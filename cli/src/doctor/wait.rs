//! Sessions that wait for rows of a counter table, and what to do about every kind of wait.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Bool, Double, Nullable, Text};
use serde::Serialize;

use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;

/// A kind of wait.
pub struct WaitKind {
    /// Its name in JSON.
    pub name: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

pub const ROW: WaitKind = WaitKind {
    name: "row",
    advice: "Count last in the transaction and commit at once. Use more slots than connections \
             that count, and Slot::Connection, with claim_slot() on MySQL and MariaDB.",
};
/// Increments don't lock this row.
pub const CORRECTION: WaitKind = WaitKind {
    name: "correction",
    advice: "Commit right after set_counter, recount or delete_counters.",
};
/// Any row of a table that has a stock.
pub const STOCK: WaitKind = WaitKind {
    name: "stock",
    advice: "A take locks a row until its transaction ends, and takes of the last units wait for \
             each other: take last in the transaction, and commit at once.",
};
pub const PARENT_ROW: WaitKind = WaitKind {
    name: "parent_row",
    advice: "Lock and change rows of that table last in a transaction, on PostgreSQL with FOR NO \
             KEY UPDATE, or drop the foreign key.",
};
pub const WRITE_LOCK: WaitKind = WaitKind {
    name: "write_lock",
    advice: "Keep transactions that write short: begin them with immediate_transaction, count \
             last, and set PRAGMA busy_timeout. Slots do not help on SQLite.",
};

/// The sessions that wait for the same thing.
#[derive(Serialize)]
pub struct Wait {
    pub kind: &'static str,
    pub on: String,
    pub sessions: usize,
    pub longest_seconds: f64,
    /// The session that holds it. `None` if that session waits too, or isn't visible.
    pub holder: Option<String>,
    /// Whether the holder has an open transaction but runs no statement.
    pub holder_is_idle: bool,
    /// The statement that ends the holder's session.
    pub end: Option<String>,
    pub advice: &'static str,
}

/// A look at the waits for one table.
pub struct Look<'a> {
    pub conn: &'a mut AnyConnection,
    pub counters: &'a CounterTable,
    /// What couldn't be seen and why, with the statement that grants the missing right.
    pub not_seen: Vec<String>,
    /// Whether no wait at all could be seen.
    pub is_blind: bool,
}

impl Look<'_> {
    /// Notes that no wait at all can be seen.
    pub fn note_nothing_seen(&mut self, what_and_why: String) {
        self.is_blind = true;
        self.note_not_seen(what_and_why);
    }

    /// Notes what can't be seen, and why. The report then lists it once.
    pub fn note_not_seen(&mut self, what_and_why: String) {
        if !self.not_seen.contains(&what_and_why) {
            self.not_seen.push(what_and_why);
        }
    }
}

/// A session that waits. The queries order these by session.
#[derive(QueryableByName)]
pub struct LockWait {
    #[diesel(sql_type = BigInt)]
    pub waiter: i64,
    #[diesel(sql_type = Double)]
    pub seconds: f64,
    /// The parent table, if the row is one of its rows.
    #[diesel(sql_type = Nullable<Text>)]
    pub parent: Option<String>,
    /// Where the row is, in the database's own words.
    #[diesel(sql_type = Nullable<Text>)]
    pub place: Option<String>,
    /// The waiter's statement, if it's visible.
    #[diesel(sql_type = Nullable<Text>)]
    pub statement: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    pub holder: Option<String>,
    #[diesel(sql_type = Bool)]
    pub holder_is_idle: bool,
    #[diesel(sql_type = Nullable<Text>)]
    pub end_holder: Option<String>,
}

impl LockWait {
    /// Whether the session's statement might count in a table, judging by its text: it names one of
    /// these tables, or it's a COMMIT, which could be for any of them.
    pub fn could_count_in(&self, names: &[&str]) -> bool {
        let statement = self.statement.as_deref().unwrap_or_default().to_lowercase();
        let is_commit = ["", "commit", "end"].contains(&statement.trim().trim_end_matches(';'));
        let is_named = |name: &&str| statement.contains(&name.to_lowercase());
        is_commit || names.iter().any(is_named)
    }

    /// Turns this into a wait for a row of the counter table, if that one is known, or of the
    /// parent table.
    pub fn into_wait(self, row: Option<String>, counters: &CounterTable) -> Wait {
        let row = row.unwrap_or_else(|| "an unknown row".to_owned());
        let has_stock = !counters.mark().unwrap_or_default().stock.is_empty();
        // Increments never lock this row.
        let is_correction = row.ends_with("day 1970-01-01, slot 0");
        let (kind, on) = match self.parent {
            Some(parent) => {
                let parent_row = format!("a row of {parent}, which the foreign key locks");
                (PARENT_ROW, parent_row)
            }
            None if has_stock => (STOCK, row),
            None if is_correction => (CORRECTION, row),
            None => (ROW, row),
        };
        Wait {
            kind: kind.name,
            on,
            sessions: 1,
            longest_seconds: self.seconds,
            holder_is_idle: self.holder_is_idle,
            end: self.end_holder.filter(|_| self.holder.is_some()),
            holder: self.holder,
            advice: kind.advice,
        }
    }
}
