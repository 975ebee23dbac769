//! What a look sees: sessions that wait for rows of a table, and those that hold them.

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Bool, Double, Nullable, Text};
use serde::Serialize;

use crate::catalogue::CounterTable;

/// The other sessions of this database.
#[derive(Default, QueryableByName, Serialize)]
pub struct Clients {
    #[diesel(sql_type = Nullable<BigInt>)]
    pub clients: Option<i64>,
    /// How many of them wait for the whole table.
    #[diesel(sql_type = BigInt)]
    pub table_waits: i64,
}

/// What one look saw.
#[derive(Default, Serialize)]
pub struct Look {
    /// Sessions that wait for a row, the longest wait first.
    pub waits: Vec<Wait>,
    #[serde(flatten)]
    pub clients: Clients,
    /// Whether another connection holds SQLite's write lock.
    pub write_lock_held: Option<bool>,
}

impl Look {
    pub fn has_contention(&self) -> bool {
        let waits = self.waits.len() as i64 + self.clients.table_waits;
        waits > 0 || self.write_lock_held == Some(true)
    }
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
    /// The parent table, where the row is one of it, which the foreign key locks.
    pub parent_table: Option<String>,
    /// Empty where the holder is not known, or waits for a row itself.
    pub holders: Vec<Session>,
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

/// A connection to the database.
#[derive(Clone, QueryableByName, Serialize)]
pub struct Session {
    /// PostgreSQL's pid, MySQL's connection id.
    #[diesel(sql_type = BigInt)]
    pub id: i64,
    #[diesel(sql_type = Nullable<Text>)]
    pub user: Option<String>,
    /// The application's name, or else its host.
    #[diesel(sql_type = Nullable<Text>)]
    pub application: Option<String>,
    /// How long it has run no statement. Only of a session that is idle in a transaction.
    #[diesel(sql_type = Nullable<Double>)]
    pub idle_seconds: Option<f64>,
    #[diesel(sql_type = Nullable<Double>)]
    pub transaction_seconds: Option<f64>,
    #[diesel(embed)]
    #[serde(flatten)]
    pub activity: Activity,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, QueryableByName, Serialize)]
pub struct Activity {
    #[diesel(sql_type = Text)]
    pub state: String,
    /// The current statement, or else the last one.
    #[diesel(sql_type = Nullable<Text>)]
    pub statement: Option<String>,
    /// Whether the transaction has counted, and is now idle or runs another statement.
    #[diesel(sql_type = Bool)]
    pub counted_earlier: bool,
}

impl Session {
    /// Whether its statement counts in the table, as far as its text shows. A COMMIT shows
    /// nothing.
    pub fn counts_in(&self, table: &CounterTable) -> Option<bool> {
        let statement = self.activity.statement.as_deref()?.to_lowercase();
        let ends = ["commit", "end"].contains(&statement.trim().trim_end_matches(';'));
        (!ends).then(|| statement.contains(&table.table.name.to_lowercase()))
    }

    /// The session as one that holds a row of the table, or does not.
    pub fn holding(&self, row_of: Option<&CounterTable>) -> Self {
        let went_on = |table| self.idle_seconds.is_some() || self.counts_in(table) == Some(false);
        let mut session = self.clone();
        session.activity.counted_earlier &= row_of.is_some_and(went_on);
        session
    }
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Deadlock {
    /// By the server's clock, in its time zone.
    pub at: String,
    pub seconds_ago: Option<f64>,
    /// The lines of `SHOW ENGINE INNODB STATUS` about it.
    pub status: Vec<String>,
}

/// What could not be looked at.
#[derive(PartialEq, Serialize)]
pub struct NotSeen {
    pub what: String,
    pub why: String,
    /// The statement that grants the missing right.
    pub grant: Option<String>,
}
