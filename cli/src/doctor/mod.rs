//! `doctor`: whether sessions wait for rows of a counter table, and for which ones.

pub mod mysql;
mod postgres;
mod sqlite;

use std::cmp::Reverse;

use anyhow::{Result, bail};
use diesel::sql_types::{BigInt, Double, Nullable, Text};
use serde::Serialize;
use serde_json::json;

use crate::catalogue::{self, CounterTable, counter_table, is_meant_to_count};
use crate::connection::AnyConnection;
use crate::database::{MYSQL, POSTGRES};
use crate::options::{self, Options};
use crate::output::{printable, wrapped};

/// Show which rows of counter tables sessions wait for now, who holds them, and what to do.
///
/// It changes nothing. Exits with 3 if it finds contention: a session that waits, or SQLite's write lock
/// held. On MySQL it reads performance_schema.data_locks, which lists every row lock of the server: where
/// many rows are locked, that costs a busy server time and memory.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  diesel-counters doctor
  diesel-counters doctor article_counters
  watch -n 1 diesel-counters doctor article_counters")]
pub struct Doctor {
    /// The counter table, such as article_counters or blog.article_counters [default: all counter tables].
    #[arg(value_parser = options::name)]
    table: Option<String>,
}

/// What is waited for: its name in JSON, and what to do.
type Kind = [&'static str; 2];

const ROW: Kind = [
    "row",
    "Count last in the transaction and commit at once. Use more slots than connections that count, and \
     Slot::Connection, with claim_slot() on MySQL and MariaDB.",
];
/// Increments do not lock it.
const CORRECTION: Kind = [
    "correction",
    "Commit right after set_counter, recount or delete_counters.",
];
/// In the table of a stock, whatever the row.
const STOCK: Kind = [
    "stock",
    "A take locks a row until its transaction ends, and takes of the last units wait for each other: take last \
     in the transaction, and commit at once.",
];
const PARENT_ROW: Kind = [
    "parent_row",
    "Lock and change rows of that table last in a transaction, on PostgreSQL with FOR NO KEY UPDATE, \
     or drop the foreign key.",
];
const WRITE_LOCK: Kind = [
    "write_lock",
    "Keep transactions that write short: begin them with immediate_transaction, count last, and set \
     PRAGMA busy_timeout. Slots do not help on SQLite.",
];

/// Sessions that wait for one thing.
#[derive(Serialize)]
struct Wait {
    kind: &'static str,
    on: String,
    sessions: usize,
    longest_seconds: f64,
    /// The holder during the longest wait. `None` if it waits too, or is not shown.
    holder: Option<String>,
    advice: &'static str,
}

/// Returns whether it found contention.
pub fn run(doctor: Doctor, options: &Options) -> Result<bool> {
    let conn = &mut options.connect()?;
    if let Some(name) = &doctor.table {
        let counters = counter_table(conn, name)?;
        let looked = look_at(&counters, conn)?;
        options.print(&looked, || text(&looked))?;
        return Ok(looked.contention);
    }
    let mut tables = Vec::new();
    for counters in all_counter_tables(conn)? {
        tables.push(look_at(&counters, conn)?);
    }
    let contention = tables.iter().any(|looked| looked.contention);
    let report = json!({ "contention": contention, "tables": tables });
    options.print(&report, || tables.iter().map(text).collect())?;
    Ok(contention)
}

/// As `check` chooses them.
fn all_counter_tables(conn: &mut AnyConnection) -> Result<Vec<CounterTable>> {
    let all = catalogue::tables(conn)?.into_iter();
    let all = all.filter(is_meant_to_count);
    let all: Vec<_> = all
        .filter_map(|table| CounterTable::try_from(table).ok())
        .collect();
    if all.is_empty() {
        bail!("this database has no counter table: is it the right database?");
    }
    Ok(all)
}

/// The waits for a table.
#[derive(Serialize)]
struct Looked {
    table: String,
    contention: bool,
    waits: Vec<Wait>,
    /// What could not be seen and why.
    not_seen: Vec<String>,
}

fn look_at(counters: &CounterTable, conn: &mut AnyConnection) -> Result<Looked> {
    let not_seen = Vec::new();
    let mut look = Look {
        conn,
        counters,
        not_seen,
    };
    let mut found = match look.conn.database() {
        POSTGRES => postgres::look(&mut look)?,
        MYSQL => mysql::look(&mut look)?,
        _ => sqlite::look(look.conn)?,
    };
    // The longest one is first.
    found.sort_by(|one, other| other.longest_seconds.total_cmp(&one.longest_seconds));
    let mut waits: Vec<Wait> = Vec::new();
    for wait in found {
        let same = |other: &&mut Wait| (other.kind, &other.on) == (wait.kind, &wait.on);
        match waits.iter_mut().find(same) {
            Some(other) => other.sessions += 1,
            None => waits.push(wait),
        }
    }
    waits.sort_by_key(|wait| Reverse(wait.sessions));
    Ok(Looked {
        table: counters.table.to_string(),
        contention: !waits.is_empty(),
        waits,
        not_seen: look.not_seen,
    })
}

fn text(looked: &Looked) -> String {
    let no = if looked.contention { "" } else { "no " };
    let mut text = format!("{}: {no}contention\n", looked.table);
    text.extend(looked.waits.iter().map(describe));
    for missed in &looked.not_seen {
        text += &format!("\nnot seen: {missed}\n");
    }
    text.lines().map(|line| printable(line) + "\n").collect()
}

fn describe(wait: &Wait) -> String {
    const HIDDEN: &str = "a session that waits too, or that the database does not show";
    // A key or a statement may have several lines.
    let [on, holder] = [&wait.on, wait.holder.as_deref().unwrap_or(HIDDEN)].map(printable);
    let (sessions, seconds) = (wait.sessions, wait.longest_seconds);
    let advice = wrapped(wait.advice, 90).join("\n  ");
    let wait = match sessions {
        1 => format!("1 session waits, for {seconds:.1} s"),
        _ => format!("{sessions} sessions wait, for up to {seconds:.1} s"),
    };
    format!("\n{on}: {wait}\n  held by {holder}\n  {advice}\n")
}

/// A look at the waits for a table.
struct Look<'a> {
    conn: &'a mut AnyConnection,
    counters: &'a CounterTable,
    /// What could not be seen and why, and the statement that grants the missing right.
    not_seen: Vec<String>,
}

impl Look<'_> {
    fn miss(&mut self, what_and_why: String) {
        if !self.not_seen.contains(&what_and_why) {
            self.not_seen.push(what_and_why);
        }
    }
}

/// A session that waits, in the order of the sessions.
#[derive(diesel::Queryable)]
struct LockWait {
    waiter: i64,
    seconds: f64,
    /// The parent table, if the row is one of it.
    parent: Option<String>,
    /// Where the row is found, in the database's words.
    place: Option<String>,
    /// Of the waiter, if it may be seen.
    statement: Option<String>,
    holder: Option<String>,
}

type LockWaitTypes = (BigInt, Double, Texts, Texts, Texts, Texts);
type Texts = Nullable<Text>;

impl LockWait {
    /// Whether its statement counts in the table, as far as its text shows. A COMMIT shows nothing.
    fn may_count_in(&self, table: &CounterTable) -> bool {
        let statement = self.statement.as_deref().unwrap_or_default().to_lowercase();
        let ends = ["", "commit", "end"].contains(&statement.trim().trim_end_matches(';'));
        ends || statement.contains(&table.table.name.to_lowercase())
    }

    /// The wait, which is for this row if it is one of the table.
    fn wait(self, row: Option<String>, table: &CounterTable) -> Wait {
        let unknown = "a row that the database does not tell";
        let row = row.unwrap_or_else(|| unknown.to_owned());
        let slot = row.rsplit_once("day 1970-01-01, slot ");
        // Nodes have slots below 0.
        let is_merged = |slot: &str| slot == "0" || slot.starts_with('-');
        let of_parent = |parent| format!("a row of {parent}, which the foreign key locks");
        let ([kind, advice], on) = match self.parent {
            Some(parent) => (PARENT_ROW, of_parent(parent)),
            None if !table.mark().unwrap_or_default().stock.is_empty() => (STOCK, row),
            None if slot.is_some_and(|(_, slot)| is_merged(slot)) => (CORRECTION, row),
            None => (ROW, row),
        };
        Wait {
            kind,
            on,
            sessions: 1,
            longest_seconds: self.seconds,
            holder: self.holder,
            advice,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_waits_and_two_sessions_wait() {
        let [kind, advice] = ROW;
        let wait = |sessions| Wait {
            kind,
            on: "entity 7".to_owned(),
            sessions,
            longest_seconds: 2.0,
            holder: None,
            advice,
        };
        assert!(describe(&wait(1)).contains("entity 7: 1 session waits, for 2.0 s\n"));
        assert!(describe(&wait(2)).contains("entity 7: 2 sessions wait, for up to 2.0 s\n"));
    }
}
