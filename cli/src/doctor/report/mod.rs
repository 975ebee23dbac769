//! What is found: the document that `--json` prints.

mod history;

use serde::Serialize;

pub use history::*;

/// What is older says nothing of now.
const A_DAY: f64 = 24.0 * 3600.0;

/// How it is named where it is not seen.
pub const WHO_WAITS: &str = "who waits for whom";

/// The whole of it.
#[derive(Serialize)]
pub struct Report {
    pub table: String,
    /// The product and its version.
    pub database: String,
    /// Whether waits, a held write lock, a lock in its own way, or a deadlock of this table in
    /// the last day were seen.
    pub contention: bool,
    /// Who waits now.
    pub waits: Vec<Wait>,
    /// What `--watch` saw.
    pub watch: Option<Watched>,
    #[serde(flatten)]
    pub history: History,
    /// How slots are filled: today, and on the last day that has rows.
    pub days: Vec<DayOfSlots>,
    pub layout: Layout,
    /// What could not be looked at, and what it takes.
    pub not_seen: Vec<NotSeen>,
    pub advice: Vec<Advice>,
}

/// A session that waits, and whom for.
#[derive(Clone, Serialize)]
pub struct Wait {
    pub waiter: Session,
    pub seconds: f64,
    /// Whether it waits for the table, as behind an ALTER TABLE, rather than for a row.
    pub whole_table: bool,
    /// The lock that it waits for, in the database's words.
    pub lock: String,
    /// The row. Of several it is one, and the database does not tell which.
    pub rows: Vec<Row>,
    /// Where the row is of another table.
    pub elsewhere: Option<Elsewhere>,
    pub holders: Vec<Session>,
}

/// Another table, whose row is waited for by whoever counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Elsewhere {
    pub table: String,
    /// The counter table's constraint that looks at that row.
    pub foreign_key: Option<String>,
}

/// A connection to the database.
#[derive(Clone, Default, Serialize)]
pub struct Session {
    /// PostgreSQL's pid, MySQL's connection id; 0 of a prepared transaction.
    pub id: i64,
    /// The name of a transaction that PREPARE TRANSACTION took from its session.
    pub prepared_transaction: Option<String>,
    pub user: Option<String>,
    /// What it calls itself, or where it connects from.
    pub application: Option<String>,
    pub state: String,
    /// Whether it is in a transaction and runs no statement.
    pub idle_in_transaction: bool,
    /// For how long it has run no statement, within its transaction.
    pub idle_seconds: Option<f64>,
    pub transaction_seconds: Option<f64>,
    /// What it runs, or ran last.
    pub statement: Option<String>,
    /// Whether that names the counter table; None where a COMMIT tells nothing.
    pub statement_counts: Option<bool>,
    /// PostgreSQL: whether its transaction has written to the counter table.
    pub has_counted: Option<bool>,
    /// PostgreSQL: the other tables in which it may hold rows.
    pub locked: Vec<String>,
}

/// The key of a counter's row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Row {
    /// None in a table of no entities.
    pub entity: Option<String>,
    pub day: String,
    pub slot: i64,
}

/// What several looks in a row saw.
#[derive(Serialize)]
pub struct Watched {
    pub seconds: u64,
    pub samples: usize,
    /// How many of them saw somebody wait, or SQLite's write lock held.
    pub samples_with_contention: usize,
    /// Waits that were seen; each once, however often it was seen.
    pub waits: usize,
    pub most_at_once: usize,
    /// The one that was seen to take longest.
    pub longest: Option<Wait>,
    /// What was waited for most, with the number of waits.
    pub rows: Vec<Seen<Row>>,
    pub elsewhere: Vec<Seen<Elsewhere>>,
    pub statements: Vec<Seen<String>>,
    pub holders: Vec<Seen<Holder>>,
}

#[derive(Serialize)]
pub struct Seen<T> {
    pub what: T,
    pub waits: usize,
}

/// What a holder of a row was seen at.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Holder {
    pub state: String,
    pub statement: Option<String>,
    pub idle_in_transaction: bool,
    pub statement_counts: Option<bool>,
    /// False also where the row that it holds is of another table.
    pub has_counted: Option<bool>,
}

/// How the slots of one day are filled.
#[derive(Serialize)]
pub struct DayOfSlots {
    pub day: String,
    pub rows: i64,
    pub entities: i64,
    pub slots_in_use: i64,
    pub highest_slot: Option<i64>,
    /// The slot with the most, and its share of everything that was counted.
    pub fullest_slot: Option<i64>,
    pub fullest_share: Option<f64>,
    /// The entity that was counted most; None in a table of no entities.
    pub busiest: Option<Busiest>,
}

#[derive(Serialize)]
pub struct Busiest {
    pub entity: String,
    pub slots_in_use: i64,
    pub fullest_share: Option<f64>,
}

/// What of the table's shape makes counting slower.
#[derive(Serialize)]
pub struct Layout {
    pub primary_key: Vec<String>,
    /// The columns of the entity, the day and the slot.
    pub key: Vec<String>,
    pub key_is_primary: bool,
    pub indexes_on_counters: Vec<IndexFound>,
    /// Other than the key's.
    pub other_unique_indexes: Vec<IndexFound>,
}

#[derive(Serialize)]
pub struct IndexFound {
    pub name: String,
    pub columns: Vec<String>,
    /// The statement that drops it; None where that takes another table.
    pub drop: Option<String>,
}

#[derive(Clone, Serialize, PartialEq)]
pub struct NotSeen {
    pub what: String,
    pub why: String,
    /// The statement that grants it.
    pub grant: Option<String>,
    /// Whether a lock was waited for in vain.
    pub locked_out: bool,
    /// Whether it took too long.
    pub timed_out: bool,
}

impl NotSeen {
    /// What the database does not tell.
    pub fn of(what: &str, why: impl Into<String>) -> Self {
        NotSeen {
            what: what.to_owned(),
            why: why.into(),
            grant: None,
            locked_out: false,
            timed_out: false,
        }
    }

    /// What an error kept from being seen.
    pub fn failed(what: &str, why: &str) -> Self {
        let reason = why.to_lowercase();
        let is = |reasons: &[&str]| reasons.iter().any(|r| reason.contains(r));
        NotSeen {
            locked_out: is(&["lock timeout", "lock wait timeout"]),
            timed_out: is(&[
                "timeout",
                "max_statement_time",
                "maximum statement execution time",
            ]),
            ..NotSeen::of(what, why)
        }
    }
}

#[derive(Serialize)]
pub struct Advice {
    /// A stable name for scripts.
    pub name: &'static str,
    pub what: String,
    pub why: String,
    /// One statement each.
    pub sql: Vec<String>,
}

impl Report {
    /// Whether anything was in another's way.
    pub fn saw_contention(&self) -> bool {
        let watched = self
            .watch
            .as_ref()
            .is_some_and(|w| w.samples_with_contention > 0);
        let writer_busy = self.history.writer.as_ref().is_some_and(|w| w.held_now);
        !self.waits.is_empty()
            || watched
            || writer_busy
            || self.is_locked_out()
            || self.deadlock().is_some()
    }

    /// Whether it waited for a lock itself, and in vain.
    pub fn is_locked_out(&self) -> bool {
        self.not_seen.iter().any(|missed| missed.locked_out)
    }

    /// Whether there was more to see, with more rights or time.
    pub fn missed_any(&self) -> bool {
        let mut not_seen = self.not_seen.iter();
        not_seen.any(|missed| missed.timed_out || missed.grant.is_some())
    }

    /// Whether it was not allowed to see who waits.
    pub fn is_blind(&self) -> bool {
        self.not_seen.iter().any(|missed| missed.what == WHO_WAITS)
    }

    /// The last deadlock of this table that the server knows, if it is of the last day.
    pub fn deadlock(&self) -> Option<&Deadlock> {
        let last = self.history.deadlocks.as_ref()?.last.as_ref()?;
        (last.seconds_ago <= Some(A_DAY)).then_some(last)
    }

    /// Every wait of which all is known: those of now, and the longest one that was seen.
    pub fn waits_known(&self) -> impl Iterator<Item = &Wait> {
        let longest = self.watch.as_ref().and_then(|watch| watch.longest.as_ref());
        self.waits.iter().chain(longest)
    }
}

impl Holder {
    pub fn of(session: &Session, wait: &Wait) -> Self {
        let elsewhere = wait.elsewhere.as_ref().map(|_| false);
        Holder {
            has_counted: elsewhere.or(session.has_counted),
            state: session.state.clone(),
            statement: session.statement.clone(),
            idle_in_transaction: session.idle_in_transaction,
            statement_counts: session.statement_counts,
        }
    }
}
