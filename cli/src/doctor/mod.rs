//! `doctor`: whether sessions wait for rows of a counter table, and for which ones.

pub mod mysql;
mod postgres;
mod sqlite;
mod wait;

use std::cmp::Reverse;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::json;

use crate::catalogue::{self, CounterTable, counter_table, is_meant_to_count};
use crate::connection::AnyConnection;
use crate::database::{MYSQL, POSTGRES};
use crate::options::{self, Options};
use crate::output::{printable, wrapped};
use wait::{Look, Wait};

/// Show which rows of counter tables sessions wait for now, who holds them, and what to do.
///
/// It changes nothing. Exits with 3 if it finds contention: a session that waits, or SQLite's write
/// lock held. On MySQL it reads performance_schema.data_locks, which lists every row lock of the
/// server: where many rows are locked, that costs a busy server time and memory.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  diesel-counters doctor
  diesel-counters doctor article_counters
  watch -n 1 diesel-counters doctor article_counters")]
pub struct Doctor {
    /// The counter table, such as article_counters or blog.article_counters [default: the counter
    /// tables that `check` checks].
    #[arg(value_parser = options::name)]
    table: Option<String>,
}

/// Returns whether it found contention.
pub fn run(doctor: Doctor, options: &Options) -> Result<bool> {
    let conn = &mut options.connect()?;
    if let Some(name) = &doctor.table {
        let counters = counter_table(conn, name)?;
        let looked = look_at(&counters, conn)?;
        options.print(&looked, || text(&looked))?;
        return known(looked.contention);
    }
    let mut tables = Vec::new();
    for counters in all_counter_tables(conn)? {
        tables.push(look_at(&counters, conn)?);
    }
    let has = |contention| tables.iter().any(|looked| looked.contention == contention);
    let contention = match () {
        () if has(Some(true)) => Some(true),
        () if has(None) => None,
        () => Some(false),
    };
    let report = json!({ "contention": contention, "tables": tables });
    options.print(&report, || tables.iter().map(text).collect())?;
    known(contention)
}

/// Fails if it is not known whether there is contention, so that nobody takes that for none.
fn known(contention: Option<bool>) -> Result<bool> {
    contention.context("could not see all waits: see what is not seen, and why")
}

/// As `check` chooses them.
fn all_counter_tables(conn: &mut AnyConnection) -> Result<Vec<CounterTable>> {
    let all: Vec<_> = catalogue::tables(conn)?
        .into_iter()
        .filter(is_meant_to_count)
        .filter_map(|table| CounterTable::try_from(table).ok())
        .collect();
    if all.is_empty() {
        let tables = catalogue::which_there_are(conn)?;
        bail!("no table is looked at without its name: is it the right database? {tables}");
    }
    Ok(all)
}

/// The waits for a table.
#[derive(Serialize)]
struct Looked {
    table: String,
    /// `None` if that could not be seen.
    contention: Option<bool>,
    waits: Vec<Wait>,
    /// What could not be seen and why.
    not_seen: Vec<String>,
}

fn look_at(counters: &CounterTable, conn: &mut AnyConnection) -> Result<Looked> {
    let mut look = Look {
        conn,
        counters,
        not_seen: Vec::new(),
        is_blind: false,
    };
    let mut found = match look.conn.database() {
        POSTGRES => postgres::look(&mut look)?,
        MYSQL => mysql::look(&mut look)?,
        _ => sqlite::look(look.conn)?,
    };
    // The longest wait comes first: its time and its holder are those that are shown.
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
        contention: (!look.is_blind).then_some(!waits.is_empty()),
        waits,
        not_seen: look.not_seen,
    })
}

fn text(looked: &Looked) -> String {
    let contention = match looked.contention {
        Some(true) => "contention",
        Some(false) => "no contention",
        None => "it is not known whether there is contention",
    };
    let mut text = format!("{}: {contention}\n", looked.table);
    text.extend(looked.waits.iter().map(describe));
    for missed in &looked.not_seen {
        text += &format!("\nnot seen: {missed}\n");
    }
    text.lines().map(|line| printable(line) + "\n").collect()
}

fn describe(wait: &Wait) -> String {
    const HIDDEN: &str = "a session that waits too, or that the database does not show";
    // A key or a statement may have several lines.
    let on = printable(&wait.on);
    let holder = printable(wait.holder.as_deref().unwrap_or(HIDDEN));
    let sessions = wait.sessions;
    let seconds = wait.longest_seconds;
    let advice = wrapped(wait.advice, 90).join("\n  ");
    let waits = match sessions {
        1 => format!("1 session waits, for {seconds:.1} s"),
        _ => format!("{sessions} sessions wait, for up to {seconds:.1} s"),
    };
    format!("\n{on}: {waits}\n  held by {holder}\n  {advice}\n")
}

#[cfg(test)]
mod tests {
    use super::wait::ROW;
    use super::*;

    #[test]
    fn one_session_waits_and_two_sessions_wait() {
        let wait = |sessions| Wait {
            kind: ROW.name,
            on: "entity 7".to_owned(),
            sessions,
            longest_seconds: 2.0,
            holder: None,
            advice: ROW.advice,
        };
        assert!(describe(&wait(1)).contains("entity 7: 1 session waits, for 2.0 s\n"));
        assert!(describe(&wait(2)).contains("entity 7: 2 sessions wait, for up to 2.0 s\n"));
    }
}
