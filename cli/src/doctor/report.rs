//! What was seen: the document that `--json` prints.

use chrono::NaiveDate;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};
use serde::Serialize;

#[derive(Serialize)]
pub struct Report {
    pub table: String,
    /// The product and its version.
    pub database: String,
    /// Whether a session waits, SQLite's write lock is held, or this table had a deadlock in
    /// the last day.
    pub contention: bool,
    #[serde(flatten)]
    pub look: Look,
    /// What `--watch` saw.
    pub watch: Option<Watched>,
    /// The last deadlock of the server, if it was of this table.
    pub last_deadlock: Option<Deadlock>,
    /// How slots are filled on the last day that has rows.
    pub slots: Option<DayOfSlots>,
    pub not_seen: Vec<NotSeen>,
    pub advice: Vec<Advice>,
}

/// What one look saw.
#[derive(Default, Serialize)]
pub struct Look {
    /// Sessions that wait for a row, the longest wait first.
    pub waits: Vec<Wait>,
    /// The number of sessions that wait for the whole table.
    pub table_waits: usize,
    /// How many other clients are connected to this database.
    pub clients: Option<i64>,
    /// Whether another connection holds SQLite's write lock.
    pub write_lock_held: Option<bool>,
}

/// A session that waits for a row, and the sessions that hold it.
#[derive(Clone, Serialize)]
pub struct Wait {
    pub waiter: Session,
    pub seconds: f64,
    /// The lock, in the database's words.
    pub lock: String,
    /// The row. Where the holder has locked several rows, PostgreSQL does not tell which of
    /// them it is.
    pub rows: Vec<Row>,
    /// Set where the row is one of the parent table.
    pub parent_row: Option<ParentRow>,
    /// Empty where the row's holder is not known, or waits for a row itself.
    pub holders: Vec<Session>,
}

/// A row of the table that a foreign key of the counter table refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ParentRow {
    pub table: String,
    pub foreign_key: String,
}

/// A connection to the database.
#[derive(Clone, Default, Serialize)]
pub struct Session {
    /// PostgreSQL's pid, MySQL's connection id.
    pub id: i64,
    pub user: Option<String>,
    /// The application's name, or else its host.
    pub application: Option<String>,
    pub state: String,
    /// How long it has run no statement. Only of a session that is idle in a transaction.
    pub idle_seconds: Option<f64>,
    pub transaction_seconds: Option<f64>,
    /// The current statement, or else the last one.
    pub statement: Option<String>,
    /// Whether its transaction has counted, and is now idle or runs another statement.
    pub counted_earlier: bool,
}

/// The key of a counter's row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, QueryableByName, Serialize)]
pub struct Row {
    /// None in a table without entities.
    #[diesel(sql_type = Nullable<Text>)]
    pub entity: Option<String>,
    #[diesel(sql_type = Text)]
    pub day: String,
    #[diesel(sql_type = BigInt)]
    pub slot: i64,
}

/// What several looks saw.
#[derive(Serialize)]
pub struct Watched {
    pub seconds: u64,
    pub looks: usize,
    pub looks_with_contention: usize,
    /// A wait that several looks saw is counted once.
    pub waits: usize,
    pub most_at_once: usize,
    /// The most sessions that waited for the whole table at once.
    pub table_waits: usize,
    pub longest: Option<Wait>,
    pub rows: Vec<Seen<Row>>,
    pub parent_rows: Vec<Seen<ParentRow>>,
    pub statements: Vec<Seen<String>>,
    pub holders: Vec<Seen<Holder>>,
}

/// Something that several waits have in common.
#[derive(Serialize)]
pub struct Seen<T> {
    pub value: T,
    pub waits: usize,
}

/// What the holder of a row did.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Holder {
    pub state: String,
    pub statement: Option<String>,
    pub counted_earlier: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Deadlock {
    /// By the server's clock, in its time zone.
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
pub struct DayOfSlots {
    pub day: NaiveDate,
    /// The one with the highest count first.
    pub slots: Vec<SlotOfDay>,
}

#[derive(Serialize)]
pub struct SlotOfDay {
    pub slot: i16,
    pub rows: i64,
    /// Its part of the day's count, of all counters together.
    pub share: Option<f64>,
}

/// What could not be looked at.
#[derive(Clone, PartialEq, Serialize)]
pub struct NotSeen {
    pub what: String,
    pub why: String,
    /// The statement that grants the missing right.
    pub grant: Option<String>,
}

#[derive(Serialize)]
pub struct Advice {
    /// A stable name for scripts.
    pub name: &'static str,
    pub what: String,
    pub why: String,
    pub sql: Vec<String>,
}

impl Holder {
    pub fn of(session: &Session) -> Self {
        Holder {
            state: session.state.clone(),
            statement: session.statement.clone(),
            counted_earlier: session.counted_earlier,
        }
    }
}

impl Look {
    pub fn has_contention(&self) -> bool {
        !self.waits.is_empty() || self.table_waits > 0 || self.write_lock_held == Some(true)
    }
}

impl Report {
    /// The waits that are known in full: the current ones and the longest one that was watched.
    pub fn waits_in_full(&self) -> impl Iterator<Item = &Wait> {
        let longest = self.watch.as_ref().and_then(|watch| watch.longest.as_ref());
        self.look.waits.iter().chain(longest)
    }

    /// The last deadlock, unless it is more than a day old.
    pub fn recent_deadlock(&self) -> Option<&Deadlock> {
        const DAY: f64 = 24.0 * 3600.0;
        let last = self.last_deadlock.as_ref()?;
        (last.seconds_ago <= Some(DAY)).then_some(last)
    }
}
