//! The report for people.

use super::database::Database;
use super::report::{
    Activity, Advice, NotSeen, ParentRow, Report, Row, Seen, Session, Slot, Wait, Watch,
};
use crate::output::{bar, columns, printable, wrapped};

/// How many slots are shown.
const SLOTS: usize = 16;
const BAR_WIDTH: usize = 30;
const ADVICE_WIDTH: usize = 92;
const STATEMENT_WIDTH: usize = 160;

pub fn text(report: &Report, database: &Database) -> String {
    let watched = match report.watch.seconds {
        0 => Vec::new(),
        _ => watched(&report.watch),
    };
    let day = report.day.map_or(String::new(), |day| format!(" of {day}"));
    let advice = report.advice.iter().enumerate().flat_map(advice);
    let sections = [
        ("now", now(report, database)),
        ("watched", watched),
        ("last deadlock", last_deadlock(report, database)),
        (&format!("slots{day}"), slots(&report.slots)),
        (
            "not seen",
            report.not_seen.iter().flat_map(not_seen).collect(),
        ),
        ("what to do", advice.collect()),
    ];
    let mut text = format!("{} on {}\n", printable(&report.table), report.database);
    for (title, lines) in sections.iter().filter(|(_, lines)| !lines.is_empty()) {
        let lines: Vec<_> = lines.iter().map(|line| printable(line)).collect();
        text += &format!("\n{title}\n  {}\n", lines.join("\n  "));
    }
    text
}

fn now(report: &Report, database: &Database) -> Vec<String> {
    let look = &report.look;
    let mut lines: Vec<_> = look.waits.iter().flat_map(wait).collect();
    if look.table_waits > 0 {
        let (waits, which) = (look.table_waits, database.table_locks);
        lines.push(format!(
            "sessions wait for the whole table: {waits}; {which}"
        ));
    }
    if lines.is_empty() {
        lines.push(
            match look.write_lock_held {
                Some(true) => "the write lock is held by another connection",
                Some(false) => "the write lock is free",
                None if report.is_blind() => "not seen: see below",
                None => "no session waits for a row of this table",
            }
            .to_owned(),
        );
    }
    lines
}

fn wait(wait: &Wait) -> Vec<String> {
    let mut lines = vec![format!(
        "{} waits for {} ({}), for {}",
        session(&wait.waiter),
        wait.parent_row
            .as_ref()
            .map_or_else(|| one_of(&wait.rows), parent_row),
        wait.lock,
        duration(wait.seconds)
    )];
    lines.extend(statement("  runs", &wait.waiter.activity.statement));
    for holder in &wait.holders {
        let Activity {
            state,
            statement: last,
            ..
        } = &holder.activity;
        let idle = holder.idle_seconds.map(|s| format!(" for {}", duration(s)));
        let began = holder.transaction_seconds.map(duration);
        let began = began.map(|began| format!(", its transaction began {began} ago"));
        lines.push(format!(
            "  held by {}: {state}{}{}",
            session(holder),
            idle.unwrap_or_default(),
            began.unwrap_or_default()
        ));
        let runs = state.starts_with("active");
        lines.extend(statement(
            if runs { "    runs" } else { "    ran last" },
            last,
        ));
    }
    if wait.holders.is_empty() {
        lines.push("  behind others in the queue".to_owned());
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
    match rows {
        [] => "a row that the database does not tell, such as one that is not committed".to_owned(),
        [one] => row(one),
        several => {
            let rows: Vec<_> = several.iter().map(row).collect();
            format!("one of {}", rows.join("; "))
        }
    }
}

pub fn row(Row { entity, day, slot }: &Row) -> String {
    match entity {
        Some(entity) => format!("entity {entity}, day {day}, slot {slot}"),
        None => format!("day {day}, slot {slot}"),
    }
}

fn parent_row(ParentRow { table, column }: &ParentRow) -> String {
    format!("a row of {table}, for the foreign key of {column}")
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
        lines.extend(counted(&watch.parent_rows, parent_row));
        lines.push("waits by statement:".to_owned());
        lines.extend(counted(&watch.statements, |sql| short(sql)));
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

fn last_deadlock(report: &Report, database: &Database) -> Vec<String> {
    let Some(deadlock) = &report.last_deadlock else {
        return database
            .no_deadlock
            .map(str::to_owned)
            .into_iter()
            .collect();
    };
    let mut lines = vec![format!(
        "of this table, at {} by the server's clock",
        deadlock.at
    )];
    for transaction in &deadlock.transactions {
        let id = transaction
            .id
            .map_or("unknown".to_owned(), |id| id.to_string());
        let row = transaction
            .waited_for
            .as_ref()
            .map_or("a lock".to_owned(), row);
        let end = if transaction.rolled_back {
            ", and was rolled back"
        } else {
            ""
        };
        lines.push(format!("session {id} waited for {row}{end}"));
        lines.extend(statement("  ran", &transaction.statement));
    }
    lines
}

fn slots(slots: &[Slot]) -> Vec<String> {
    if slots.is_empty() {
        return Vec::new();
    }
    let width = |share: f64| bar((share * 1e3) as i64, fullest(slots), BAR_WIDTH);
    let cells = slots.iter().take(SLOTS).map(|slot| {
        let share = slot.share.unwrap_or(0.0);
        let percent = format!("{:.0}%", share * 100.0);
        vec![
            slot.slot.to_string(),
            slot.row_count.to_string(),
            percent,
            width(share),
        ]
    });
    let table = columns(&["slot", "rows", "count", ""], &[0, 1, 2], cells.collect());
    let mut lines: Vec<_> = table.lines().map(str::to_owned).collect();
    if slots.len() > SLOTS {
        lines.push(format!("and {} slots with less", slots.len() - SLOTS));
    }
    lines
}

fn fullest(slots: &[Slot]) -> i64 {
    let share = slots.first().and_then(|slot| slot.share);
    (share.unwrap_or(0.0) * 1e3) as i64
}

fn not_seen(missed: &NotSeen) -> Vec<String> {
    match &missed.grant {
        None => vec![format!("{}: {}", missed.what, missed.why)],
        Some(grant) => vec![
            format!("{}; to see it:", missed.what),
            format!("  {grant};"),
        ],
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
