//! `doctor`: shows whether sessions wait for rows of a counter table, and for which ones.

pub mod mysql;
mod postgres;
mod sqlite;
mod wait;

use std::cmp::Reverse;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::json;

use crate::catalogue::{CounterTable, counter_table};
use crate::chosen::all_counter_tables;
use crate::connection::AnyConnection;
use crate::database::{MYSQL, POSTGRES};
use crate::options::{self, Options};
use crate::output::{printable, wrapped};
use wait::{Look, Wait};

/// Show which rows of your counter tables sessions wait for right now, who holds them, and what to
/// do.
///
/// Changes nothing. Exits with 3 if it finds contention: a session that waits, or SQLite's write
/// lock being held. On MySQL, it reads performance_schema.data_locks, which lists every row lock on
/// the server. If many rows are locked, that costs a busy server time and memory.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  diesel-counters doctor
  diesel-counters doctor article_counters
  watch -n 1 diesel-counters doctor article_counters")]
pub struct Doctor {
    /// The counter table, for example article_counters or blog.article_counters [default: the
    /// counter tables that `check` checks].
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
        return require_known(looked.contention);
    }
    let mut tables = Vec::new();
    for counters in all_counter_tables(conn)? {
        tables.push(look_at(&counters, conn)?);
    }
    let has = |contention| tables.iter().any(|looked| looked.contention == contention);
    let contention = if has(Some(true)) {
        Some(true)
    } else if has(None) {
        None
    } else {
        Some(false)
    };
    let report = json!({ "contention": contention, "tables": tables });
    options.print(&report, || tables.iter().map(text).collect())?;
    require_known(contention)
}

/// Returns whether there is contention. Fails if that couldn't be seen, so that nobody takes it for
/// "no contention".
fn require_known(contention: Option<bool>) -> Result<bool> {
    contention.context("could not see all waits: the report says which ones, and why")
}

/// The sessions that wait for one table.
#[derive(Serialize)]
struct Looked {
    table: String,
    /// `None` if it couldn't be seen.
    contention: Option<bool>,
    waits: Vec<Wait>,
    /// What couldn't be seen, and why.
    not_seen: Vec<String>,
}

/// Finds the sessions that wait for rows of a table.
fn look_at(counters: &CounterTable, conn: &mut AnyConnection) -> Result<Looked> {
    let mut look = Look {
        conn,
        counters,
        not_seen: Vec::new(),
        is_blind: false,
    };
    let found = match look.conn.database() {
        POSTGRES => postgres::look(&mut look)?,
        MYSQL => mysql::look(&mut look)?,
        _ => sqlite::look(look.conn)?,
    };
    let waits = by_holder(joined_waits(found));
    Ok(Looked {
        table: counters.table.to_string(),
        contention: (!look.is_blind).then_some(!waits.is_empty()),
        waits,
        not_seen: look.not_seen,
    })
}

/// Joins the sessions that wait for the same row. The row that most of them wait for comes first.
fn joined_waits(mut of_sessions: Vec<Wait>) -> Vec<Wait> {
    // Waits whose holder isn't known come last, so that they can join others.
    of_sessions.sort_by(|one, other| {
        let is_unknown = |wait: &Wait| wait.holder.is_none();
        let longest_first = other.longest_seconds.total_cmp(&one.longest_seconds);
        is_unknown(one).cmp(&is_unknown(other)).then(longest_first)
    });
    let mut joined: Vec<Wait> = Vec::new();
    for wait in of_sessions {
        // PostgreSQL doesn't tell the second session in a queue who the holder is.
        let is_same = |other: &&mut Wait| {
            (other.kind, &other.on) == (wait.kind, &wait.on)
                && (other.holder == wait.holder || wait.holder.is_none())
        };
        match joined.iter_mut().find(is_same) {
            Some(same) => {
                same.sessions += 1;
                same.longest_seconds = same.longest_seconds.max(wait.longest_seconds);
            }
            None => joined.push(wait),
        }
    }
    joined.sort_by_key(|wait| Reverse(wait.sessions));
    joined
}

/// Groups the waits by the session that holds the lock. The one that holds up the most sessions
/// comes first.
fn by_holder(waits: Vec<Wait>) -> Vec<Wait> {
    let mut groups: Vec<Vec<Wait>> = Vec::new();
    for wait in waits {
        match groups
            .iter_mut()
            .find(|group| group[0].holder == wait.holder)
        {
            Some(group) => group.push(wait),
            None => groups.push(vec![wait]),
        }
    }
    let sessions = |group: &Vec<Wait>| group.iter().map(|wait| wait.sessions).sum::<usize>();
    groups.sort_by_key(|group| Reverse(sessions(group)));
    groups.into_iter().flatten().collect()
}

/// Writes what `doctor` prints about a table.
fn text(looked: &Looked) -> String {
    let contention = match looked.contention {
        Some(true) => "contention",
        Some(false) => "no contention",
        None => "can't tell whether there is contention",
    };
    let mut text = format!("{}: {contention}\n", looked.table);
    let holders = looked
        .waits
        .chunk_by(|one, other| one.holder == other.holder);
    text.extend(holders.map(describe));
    for missed in &looked.not_seen {
        text += &format!("\nnot seen: {missed}\n");
    }
    text.lines().map(|line| printable(line) + "\n").collect()
}

/// Describes a session that holds locks, by the waits for it: what others wait for, and what to do.
fn describe(waits: &[Wait]) -> String {
    const WIDTH: usize = 90;
    const HIDDEN: &str = "a session that waits too, or that the database does not show";
    let first = &waits[0];
    let holder = printable(first.holder.as_deref().unwrap_or(HIDDEN));
    let mut text = format!("\nheld by {holder}\n");
    for wait in waits {
        text += &format!("  {}\n", how_long(wait));
    }
    if let Some(end) = first.end.as_ref().filter(|_| first.holder_is_idle) {
        text += "  If it stays idle, its program has forgotten the transaction. End the session:\n";
        text += &format!("    {end}\n");
    }
    let mut seen: Vec<&str> = Vec::new();
    for wait in waits {
        if !seen.contains(&wait.advice) {
            seen.push(wait.advice);
            text += &format!("  {}\n", wrapped(wait.advice, WIDTH).join("\n  "));
        }
    }
    text
}

/// Returns `entity 7, day 2026-01-31, slot 3: 2 sessions wait, for up to 2.0 s`.
fn how_long(wait: &Wait) -> String {
    // A key can have line breaks in it.
    let on = printable(&wait.on);
    let seconds = wait.longest_seconds;
    match wait.sessions {
        1 => format!("{on}: 1 session waits, for {seconds:.1} s"),
        sessions => format!("{on}: {sessions} sessions wait, for up to {seconds:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::wait::ROW;
    use super::*;

    /// Returns a wait for a row, with values that the tests expect.
    fn wait(on: &str, holder: &str, sessions: usize) -> Wait {
        Wait {
            kind: ROW.name,
            on: on.to_owned(),
            sessions,
            longest_seconds: 2.0,
            holder: Some(holder.to_owned()),
            holder_is_idle: true,
            end: Some("KILL 5".to_owned()),
            advice: ROW.advice,
        }
    }

    #[test]
    fn one_session_waits_and_two_sessions_wait() {
        let how_long = |sessions| super::how_long(&wait("entity 7", "session 5", sessions));
        assert_eq!(how_long(1), "entity 7: 1 session waits, for 2.0 s");
        assert_eq!(how_long(2), "entity 7: 2 sessions wait, for up to 2.0 s");
    }

    #[test]
    fn waits_are_listed_below_the_session_that_holds_up_most_others() {
        let waits = by_holder(vec![
            wait("entity 1", "session 4", 2),
            wait("entity 2", "session 5", 1),
            wait("entity 3", "session 5", 2),
        ]);
        let looked = Looked {
            table: "article_counters".to_owned(),
            contention: Some(true),
            waits,
            not_seen: Vec::new(),
        };
        let text = text(&looked);
        let lines: Vec<_> = text.lines().collect();
        let positions = [
            "held by session 5",
            "  entity 2: 1 session waits, for 2.0 s",
            "  entity 3: 2 sessions wait, for up to 2.0 s",
            "    KILL 5",
            "held by session 4",
            "  entity 1: 2 sessions wait, for up to 2.0 s",
        ]
        .map(|line| lines.iter().position(|one| *one == line).expect(line));
        assert!(positions.is_sorted(), "{text}");
        assert_eq!(text.matches("Count last").count(), 2, "{text}");
    }
}
