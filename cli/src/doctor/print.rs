//! The report for people.

use super::report::{Advice, Report, Seen, Slot, Watch};
use super::words::Words;
use crate::locks::{Activity, Deadlock, NotSeen, Row, Session, Wait};
use crate::output::{bar, columns, printable, wrapped};

/// How many slots are shown.
const SLOTS: usize = 16;
const BAR_WIDTH: usize = 30;
const ADVICE_WIDTH: usize = 92;
const STATEMENT_WIDTH: usize = 160;

pub fn text(report: &Report, words: &Words) -> String {
    let watched = Some(&report.watch).filter(|watch| watch.seconds > 0);
    let watched = watched.map(self::watched);
    let day = report.day.map_or(String::new(), |day| format!(" of {day}"));
    let not_seen = report.not_seen.iter().flat_map(not_seen);
    let advice = report.advice.iter().enumerate().flat_map(advice);
    let sections = [
        ("now", now(report, words)),
        ("watched", watched.unwrap_or_default()),
        ("last deadlock", last_deadlock(report, words)),
        (&format!("slots{day}"), slots(&report.slots)),
        ("not seen", not_seen.collect()),
        ("what to do", advice.collect()),
    ];
    let mut text = printable(&format!("{} on {}", report.table, report.database)) + "\n";
    for (title, lines) in sections.iter().filter(|(_, lines)| !lines.is_empty()) {
        let lines: Vec<_> = lines.iter().map(|line| printable(line)).collect();
        text += &format!("\n{title}\n  {}\n", lines.join("\n  "));
    }
    text
}

fn now(report: &Report, words: &Words) -> Vec<String> {
    let look = &report.look;
    let mut lines: Vec<_> = look.waits.iter().flat_map(wait).collect();
    let quiet = match look.write_lock_held {
        Some(true) => "the write lock is held by another connection",
        Some(false) => "the write lock is free",
        None if report.is_blind() => "not seen: see below",
        None => "no session waits for a row of this table",
    };
    if look.clients.table_waits > 0 {
        let (waits, which) = (look.clients.table_waits, words.table_locks);
        lines.push(format!(
            "sessions wait for the whole table: {waits}; {which}"
        ));
    } else if lines.is_empty() {
        lines.push(quiet.to_owned());
    }
    lines
}

fn wait(wait: &Wait) -> Vec<String> {
    let row = match &wait.parent_table {
        Some(parent) => row_of(parent),
        None => one_of(&wait.rows),
    };
    let seconds = duration(wait.seconds);
    let waiter = session(&wait.waiter);
    let mut lines = vec![format!(
        "{waiter} waits for {row} ({}), for {seconds}",
        wait.lock
    )];
    lines.extend(statement("  runs", &wait.waiter.activity.statement));
    for holder in &wait.holders {
        let Activity {
            state,
            statement: last,
            ..
        } = &holder.activity;
        let mut line = format!("  held by {}: {state}", session(holder));
        if let Some(seconds) = holder.idle_seconds {
            line += &format!(" for {}", duration(seconds));
        }
        if let Some(seconds) = holder.transaction_seconds {
            line += &format!(", its transaction began {} ago", duration(seconds));
        }
        lines.push(line);
        let verb = if state.starts_with("active") {
            "runs"
        } else {
            "ran last"
        };
        lines.extend(statement(&format!("    {verb}"), last));
    }
    if wait.holders.is_empty() {
        lines.push(
            "  held by a session that waits too, or that the database does not show".to_owned(),
        );
    }
    lines
}

fn session(session: &Session) -> String {
    let who = [&session.user, &session.application].into_iter().flatten();
    let who: Vec<_> = who.map(String::as_str).collect();
    format!("session {} ({})", session.id, who.join(", "))
}

fn statement(verb: &str, statement: &Option<String>) -> Option<String> {
    Some(format!("{verb}: {}", short(statement.as_ref()?)))
}

fn one_of(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "a row that the database does not tell, such as one that is not committed"
            .to_owned();
    }
    let rows: Vec<_> = rows.iter().map(row).collect();
    rows.join("; or ")
}

pub fn row(Row { entity, day, slot }: &Row) -> String {
    match entity {
        Some(entity) => format!("entity {entity}, day {day}, slot {slot}"),
        None => format!("day {day}, slot {slot}"),
    }
}

fn row_of(parent: &String) -> String {
    format!("a row of {parent}, which the foreign key locks")
}

fn watched(watch: &Watch) -> Vec<String> {
    let mut lines = vec![format!(
        "{} of {} looks in {} s saw contention; {} waits, at most {} at once",
        watch.looks_with_contention, watch.looks, watch.seconds, watch.waits, watch.most_at_once
    )];
    if let Some(longest) = &watch.longest {
        lines.push("the longest wait:".to_owned());
        lines.extend(wait(longest).iter().map(|line| format!("  {line}")));
        lines.push("waits by row:".to_owned());
        lines.extend(counted(&watch.rows, row));
        lines.extend(counted(&watch.parent_tables, row_of));
        lines.push("waits by what the holder did:".to_owned());
        lines.extend(counted(&watch.holders, |holder| match &holder.statement {
            Some(sql) => format!("{}: {}", holder.state, short(sql)),
            None => holder.state.clone(),
        }));
    }
    lines
}

fn counted<T>(seen: &[Seen<T>], text: fn(&T) -> String) -> impl Iterator<Item = String> {
    seen.iter()
        .map(move |seen| format!("  {:>5}  {}", seen.waits, text(&seen.value)))
}

fn last_deadlock(report: &Report, words: &Words) -> Vec<String> {
    let Some(Deadlock { at, status, .. }) = &report.last_deadlock else {
        return words
            .no_deadlock
            .iter()
            .map(|line| line.to_string())
            .collect();
    };
    let first = format!("of this table, at {at} by the server's clock:");
    let lines = status.iter().map(|line| format!("  {line}"));
    [first].into_iter().chain(lines).collect()
}

fn slots(slots: &[Slot]) -> Vec<String> {
    let Some(first) = slots.first() else {
        return Vec::new();
    };
    let thousandths = |slot: &Slot| (slot.share.unwrap_or(0.0) * 1e3) as i64;
    let cells = slots.iter().take(SLOTS).map(|slot| {
        let percent = format!("{:.0}%", slot.share.unwrap_or(0.0) * 1e2);
        let bar = bar(thousandths(slot), thousandths(first), BAR_WIDTH);
        vec![
            slot.slot.to_string(),
            slot.row_count.to_string(),
            percent,
            bar,
        ]
    });
    let table = columns(&["slot", "rows", "share", ""], &[0, 1, 2], cells.collect());
    let mut lines: Vec<_> = table.lines().map(str::to_owned).collect();
    if slots.len() > SLOTS {
        lines.push(format!("and {} slots with less", slots.len() - SLOTS));
    }
    lines
}

fn not_seen(missed: &NotSeen) -> Vec<String> {
    let NotSeen { what, why, grant } = missed;
    match grant {
        None => vec![format!("{what}: {why}")],
        Some(grant) => vec![format!("{what}; to see it:"), format!("  {grant};")],
    }
}

fn advice((number, advice): (usize, &Advice)) -> Vec<String> {
    let mut lines = wrapped(&format!("{}. {}", number + 1, advice.what), ADVICE_WIDTH);
    lines.extend(wrapped(&format!("Why: {}.", advice.why), ADVICE_WIDTH));
    lines.extend(advice.sql.iter().map(|sql| format!("{sql};")));
    for line in lines.iter_mut().skip(1) {
        line.insert_str(0, "   ");
    }
    lines
}

/// A statement on one line.
fn short(statement: &str) -> String {
    let words: Vec<_> = statement.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(STATEMENT_WIDTH) {
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
