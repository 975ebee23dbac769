//! The report for people.

mod history;
mod waits;
mod words;

use std::fmt::{Display, Write};

use super::report::{Advice, DayOfSlots, NotSeen, Report, Writer};
use crate::output::wrapped;
use history::since_it_started;
pub use waits::row;
use waits::{wait, watched};
pub use words::{duration, visible};

pub fn text(report: &Report) -> String {
    let mut out = format!("{} on {}\n", visible(&report.table), report.database);
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            // Writing into a String does not fail.
            let lines: Vec<_> = lines.iter().map(|line| visible(line)).collect();
            let _ = write!(out, "\n{title}\n  {}\n", lines.join("\n  "));
        }
    };
    section("now", now(report));
    section("watched", report.watch.iter().flat_map(watched).collect());
    section("since it started", since_it_started(report));
    section("slots", report.days.iter().flat_map(day).collect());
    section("not seen", not_seen(&report.not_seen));
    section(
        "what to do",
        report.advice.iter().enumerate().flat_map(advice).collect(),
    );
    out
}

fn now(report: &Report) -> Vec<String> {
    if let Some(writer) = &report.history.writer {
        return write_lock(writer);
    }
    if report.is_blind() {
        return vec!["not seen: see below".to_owned()];
    }
    if report.waits.is_empty() && report.is_locked_out() {
        return vec![
            "nobody is seen to wait, but this command has waited for the table in vain".to_owned(),
        ];
    }
    if report.waits.is_empty() {
        return vec!["nobody waits for a row of this table".to_owned()];
    }
    report.waits.iter().flat_map(wait).collect()
}

fn write_lock(writer: &Writer) -> Vec<String> {
    let held = if writer.held_now {
        "is held by another connection"
    } else {
        "is free"
    };
    vec![
        format!("the write lock {held}; SQLite has one writer, and no row locks"),
        format!("journal mode {}", writer.journal_mode),
    ]
}

fn day(day: &DayOfSlots) -> Vec<String> {
    if day.rows == 0 {
        return vec![format!("{}: no rows", day.day)];
    }
    let per_entity = day.rows as f64 / day.entities.max(1) as f64;
    let fullest = day.fullest_share.map_or(String::new(), |share| {
        format!(
            "; the fullest, {}, has {}% of the count",
            number(day.fullest_slot),
            percent(share)
        )
    });
    let mut lines = vec![format!(
        "{}: rows {}, entities {}, rows an entity {per_entity:.1}; slots in use {}, up to slot {}{fullest}",
        day.day,
        day.rows,
        day.entities,
        day.slots_in_use,
        number(day.highest_slot)
    )];
    lines.extend(day.busiest.iter().map(|busiest| {
        let fullest = busiest.fullest_share.map_or(String::new(), |share| {
            format!(", the fullest has {}% of its count", percent(share))
        });
        format!(
            "  busiest is entity {}: slots in use {}{fullest}",
            busiest.entity, busiest.slots_in_use
        )
    }));
    lines
}

fn number(number: Option<i64>) -> String {
    number.map_or("none".to_owned(), |number| number.to_string())
}

fn percent(share: f64) -> impl Display {
    (share * 100.0).round()
}

/// Together, what one grant shows.
fn not_seen(not_seen: &[NotSeen]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut grants: Vec<&String> = Vec::new();
    for missed in not_seen {
        match &missed.grant {
            None => lines.push(format!("{}: {}", missed.what, missed.why)),
            Some(grant) if !grants.contains(&grant) => grants.push(grant),
            Some(_) => {}
        }
    }
    for grant in grants {
        let of_grant = not_seen
            .iter()
            .filter(|missed| missed.grant.as_ref() == Some(grant));
        let what: Vec<_> = of_grant.map(|missed| missed.what.as_str()).collect();
        lines.push(format!("{}; to see it:", what.join(", ")));
        lines.push(format!("  {grant};"));
    }
    lines
}

/// Of a line of advice.
const WIDTH: usize = 92;

fn advice((number, advice): (usize, &Advice)) -> Vec<String> {
    let text = [
        format!("{}. {}", number + 1, advice.what),
        format!("Why: {}.", advice.why),
    ];
    let mut lines: Vec<String> = text.iter().flat_map(|text| wrapped(text, WIDTH)).collect();
    for line in lines.iter_mut().skip(1) {
        line.insert_str(0, "   ");
    }
    lines.extend(advice.sql.iter().map(|sql| format!("   {sql};")));
    lines
}
