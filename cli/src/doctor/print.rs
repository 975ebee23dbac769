//! The report for people.

use std::fmt::Write;

use super::database::{WHO_WAITS, Words};
use super::report::{
    Advice, DayOfSlots, Deadlock, Holder, NotSeen, ParentRow, Report, Row, Session, Wait, Watched,
};
use crate::output::{bar, columns, printable, wrapped};

/// How many slots are shown.
const SLOTS: usize = 16;
const BAR: usize = 30;
/// Of a line of advice.
const WIDTH: usize = 92;
/// Of a statement.
const STATEMENT: usize = 160;

pub fn text(report: &Report, words: &Words) -> String {
    let mut out = format!("{} on {}\n", printable(&report.table), report.database);
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            // Writing into a String does not fail.
            let lines: Vec<_> = lines.iter().map(|line| printable(line)).collect();
            let _ = write!(out, "\n{title}\n  {}\n", lines.join("\n  "));
        }
    };
    section("now", now(report, words));
    section("watched", report.watch.iter().flat_map(watched).collect());
    section("last deadlock", last_deadlock(report, words));
    section("slots", report.slots.iter().flat_map(slots).collect());
    section("not seen", not_seen(&report.not_seen));
    let advice = report.advice.iter().enumerate().flat_map(advice);
    section("what to do", advice.collect());
    out
}

fn now(report: &Report, words: &Words) -> Vec<String> {
    let look = &report.look;
    if let Some(is_held) = look.write_lock_held {
        return vec![format!(
            "the write lock is {}; SQLite has one writer, and no row locks",
            if is_held {
                "held by another connection"
            } else {
                "free"
            }
        )];
    }
    let mut lines: Vec<_> = look.waits.iter().flat_map(wait).collect();
    if look.table_waits > 0 {
        lines.push(format!(
            "sessions wait for the whole table: {} ({})",
            look.table_waits, words.table_locks
        ));
    }
    if lines.is_empty() {
        let is_blind = report
            .not_seen
            .iter()
            .any(|missed| missed.what == WHO_WAITS);
        lines.push(match is_blind {
            true => "not seen: see below".to_owned(),
            false => "no session waits for a row of this table".to_owned(),
        });
    }
    lines
}

fn wait(wait: &Wait) -> Vec<String> {
    let mut lines = vec![format!(
        "{} waits for {} ({}), for {}",
        session(&wait.waiter),
        match &wait.parent_row {
            Some(parent) => parent_row(parent),
            None => one_of(&wait.rows),
        },
        wait.lock,
        duration(wait.seconds)
    )];
    lines.extend(statement("  runs", &wait.waiter.statement));
    for holder in &wait.holders {
        let idle = holder.idle_seconds.map(duration);
        let began = holder.transaction_seconds.map(duration);
        lines.push(format!(
            "  held by {}: {}{}{}",
            session(holder),
            holder.state,
            idle.map_or(String::new(), |idle| format!(" for {idle}")),
            began.map_or(String::new(), |began| format!(
                ", its transaction began {began} ago"
            ))
        ));
        let verb = match holder.state.starts_with("active") {
            true => "    runs",
            false => "    ran last",
        };
        lines.extend(statement(verb, &holder.statement));
    }
    if wait.holders.is_empty() {
        lines.push("  behind others in the queue".to_owned());
    }
    lines
}

fn session(session: &Session) -> String {
    let who = [&session.user, &session.application].into_iter().flatten();
    let who: Vec<_> = who.map(String::as_str).collect();
    match who.is_empty() {
        true => format!("session {}", session.id),
        false => format!("session {} ({})", session.id, who.join(", ")),
    }
}

fn statement(verb: &str, statement: &Option<String>) -> Option<String> {
    let statement = statement.as_ref()?;
    Some(format!("{verb}: {}", short(statement)))
}

fn one_of(rows: &[Row]) -> String {
    match rows {
        [] => "a row that the database does not tell, such as one that is not committed".to_owned(),
        [one] => row(one),
        several => {
            let rows: Vec<_> = several.iter().map(row).collect();
            format!("one of {}", rows.join("; "))
        }
    }
}

pub fn row(row: &Row) -> String {
    let Row { entity, day, slot } = row;
    match entity {
        Some(entity) => format!("entity {entity}, day {day}, slot {slot}"),
        None => format!("day {day}, slot {slot}"),
    }
}

fn parent_row(parent: &ParentRow) -> String {
    let ParentRow { table, foreign_key } = parent;
    format!("a row of {table}, for the foreign key {foreign_key}")
}

fn watched(watch: &Watched) -> Vec<String> {
    let mut lines = vec![format!(
        "{} of {} looks in {} s saw contention; {} waits, at most {} at once",
        watch.looks_with_contention, watch.looks, watch.seconds, watch.waits, watch.most_at_once
    )];
    if let Some(longest) = &watch.longest {
        lines.push("the longest wait:".to_owned());
        lines.extend(wait(longest).into_iter().map(|line| format!("  {line}")));
    }
    let mut list = |title: &str, values: Vec<(String, usize)>| {
        if !values.is_empty() {
            lines.push(format!("waits by {title}:"));
            let values = values.into_iter();
            lines.extend(values.map(|(value, waits)| format!("  {waits:>5}  {value}")));
        }
    };
    let rows = watch.rows.iter().map(|seen| (row(&seen.value), seen.waits));
    let parents = watch.parent_rows.iter();
    let parents = parents.map(|seen| (parent_row(&seen.value), seen.waits));
    list("row", rows.chain(parents).collect());
    let statements = watch.statements.iter();
    let statements = statements.map(|seen| (short(&seen.value), seen.waits));
    list("statement", statements.collect());
    let holders = watch.holders.iter();
    let holders = holders.map(|seen| (holder(&seen.value), seen.waits));
    list("state of the holder", holders.collect());
    lines
}

fn holder(holder: &Holder) -> String {
    match &holder.statement {
        Some(sql) => format!("{}: {}", holder.state, short(sql)),
        None => holder.state.clone(),
    }
}

fn last_deadlock(report: &Report, words: &Words) -> Vec<String> {
    let Some(Deadlock {
        at, transactions, ..
    }) = &report.last_deadlock
    else {
        return words
            .no_deadlock
            .iter()
            .map(|line| line.to_string())
            .collect();
    };
    let mut lines = vec![format!("of this table, at {at} by the server's clock:")];
    for transaction in transactions {
        lines.push(format!(
            "  {} waited for {}{}",
            transaction
                .id
                .map_or("a session".to_owned(), |id| format!("session {id}")),
            transaction
                .waited_for
                .as_ref()
                .map_or("a lock".to_owned(), row),
            if transaction.rolled_back {
                ", and was rolled back"
            } else {
                ""
            }
        ));
        lines.extend(statement("    ran", &transaction.statement));
    }
    lines
}

fn slots(day: &DayOfSlots) -> Vec<String> {
    let fullest = day.slots.first().and_then(|slot| slot.share);
    let thousandths = |share: f64| (share * 1000.0) as i64;
    let cells = day.slots.iter().take(SLOTS).map(|slot| {
        let share = slot.share.unwrap_or_default();
        vec![
            slot.slot.to_string(),
            slot.rows.to_string(),
            format!("{:.0}%", share * 100.0),
            bar(
                thousandths(share),
                thousandths(fullest.unwrap_or_default()),
                BAR,
            ),
        ]
    });
    let header = ["slot", "rows", "share of the count", ""];
    let table = columns(&header, &[0, 1, 2], cells.collect());
    let mut lines = vec![format!("{}: {} in use", day.day, day.slots.len())];
    lines.extend(table.lines().map(|line| format!("  {line}")));
    if day.slots.len() > SLOTS {
        lines.push(format!("  and {} with less", day.slots.len() - SLOTS));
    }
    lines
}

/// Lists together what one grant shows.
fn not_seen(not_seen: &[NotSeen]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut grants: Vec<(&String, Vec<&str>)> = Vec::new();
    for missed in not_seen {
        let Some(grant) = &missed.grant else {
            lines.push(format!("{}: {}", missed.what, missed.why));
            continue;
        };
        match grants.iter_mut().find(|(known, _)| *known == grant) {
            Some((_, what)) => what.push(&missed.what),
            None => grants.push((grant, vec![&missed.what])),
        }
    }
    for (grant, what) in grants {
        lines.push(format!("{}; to see it:", what.join(", ")));
        lines.push(format!("  {grant};"));
    }
    lines
}

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

/// A statement on one line.
fn short(statement: &str) -> String {
    let words: Vec<_> = statement.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(STATEMENT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// InnoDB counts whole seconds, so that 0 is anything below 1 s.
pub fn duration(seconds: f64) -> String {
    match seconds {
        0.0 => "less than 1 s".to_owned(),
        s if s < 0.1 => format!("{:.1} ms", s * 1000.0),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}
