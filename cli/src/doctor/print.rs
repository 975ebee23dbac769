//! The report for people.

use std::fmt::{Display, Write};

use crate::output::wrapped;

use super::report::{
    Advice, DayOfSlots, Deadlock, Deadlocks, Holder, Isolation, NotSeen, Report, Row, RowLocks,
    RowUpdates, Session, TableIo, Wait, Watched, Writer,
};

pub fn text(report: &Report) -> String {
    let mut out = format!("{} on {}\n", report.table, report.database);
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            // Writing into a String does not fail.
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

fn wait(wait: &Wait) -> Vec<String> {
    let mut lines = vec![format!(
        "{} waits for {} ({}), for {}",
        session(&wait.waiter),
        if wait.whole_table {
            "the whole table".to_owned()
        } else {
            which_row(&wait.rows)
        },
        wait.lock,
        duration(wait.seconds)
    )];
    lines.extend(
        wait.waiter
            .statement
            .iter()
            .map(|sql| format!("  runs: {}", short(sql))),
    );
    for holder in &wait.holders {
        let since = holder.transaction_seconds.map(duration);
        lines.push(format!(
            "  held by {}: {}{}",
            session(holder),
            holder.state,
            since.map_or(String::new(), |since| format!(
                ", its transaction began {since} ago"
            ))
        ));
        let verb = if holder.state.starts_with("active") {
            "runs"
        } else {
            "ran last"
        };
        lines.extend(
            holder
                .statement
                .iter()
                .map(|sql| format!("    {verb}: {}", short(sql))),
        );
    }
    if wait.holders.is_empty() {
        lines.push("  behind others in the queue".to_owned());
    }
    lines
}

fn session(session: &Session) -> String {
    let who = [&session.user, &session.application];
    let who: Vec<_> = who.into_iter().flatten().map(String::as_str).collect();
    match who.is_empty() {
        true => format!("session {}", session.id),
        false => format!("session {} ({})", session.id, who.join(", ")),
    }
}

fn which_row(rows: &[Row]) -> String {
    match rows {
        [] => {
            "a row that the database does not tell (one that is not committed yet, say)".to_owned()
        }
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

fn watched(watch: &Watched) -> Vec<String> {
    let mut lines = vec![format!(
        "{} of {} looks in {} s saw contention; {} waits, at most {} at once",
        watch.samples_with_contention,
        watch.samples,
        watch.seconds,
        watch.waits,
        watch.most_at_once
    )];
    if let Some(longest) = &watch.longest {
        lines.push(format!(
            "the longest, as far as it was seen: {}",
            duration(longest.seconds)
        ));
        lines.extend(wait(longest).into_iter().map(|line| format!("  {line}")));
    }
    let most = |what: String, waits: usize| format!("  {waits:>5}  {what}");
    if !watch.rows.is_empty() {
        lines.push("waits, by row:".to_owned());
        lines.extend(
            watch
                .rows
                .iter()
                .map(|seen| most(row(&seen.what), seen.waits)),
        );
    }
    if !watch.statements.is_empty() {
        lines.push("by the statement that waited:".to_owned());
        lines.extend(
            watch
                .statements
                .iter()
                .map(|seen| most(short(&seen.what), seen.waits)),
        );
    }
    if !watch.holders.is_empty() {
        lines.push("by what the holder was at:".to_owned());
        lines.extend(
            watch
                .holders
                .iter()
                .map(|seen| most(holder(&seen.what), seen.waits)),
        );
    }
    lines
}

fn holder(holder: &Holder) -> String {
    match &holder.statement {
        Some(sql) => format!("{}: {}", holder.state, short(sql)),
        None => holder.state.clone(),
    }
}

fn since_it_started(report: &Report) -> Vec<String> {
    let history = &report.history;
    let mut lines = Vec::new();
    lines.extend(history.deadlocks.iter().flat_map(deadlocks));
    lines.extend(history.row_locks.iter().map(row_locks));
    lines.extend(history.table_io.iter().map(table_io));
    lines.extend(history.row_updates.iter().flat_map(row_updates));
    lines.extend(history.isolation.iter().map(isolation));
    lines.extend(
        history
            .sessions
            .map(|sessions| format!("clients of this database: {sessions}, and this one")),
    );
    lines
}

fn deadlocks(deadlocks: &Deadlocks) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(count) = deadlocks.count {
        let since = since(&deadlocks.since);
        lines.push(format!("deadlocks of {}: {count}{since}", deadlocks.scope));
    }
    lines.extend(deadlocks.last.iter().flat_map(deadlock));
    lines
}

fn deadlock(deadlock: &Deadlock) -> Vec<String> {
    let mut lines = vec![format!(
        "the last deadlock was about this table, at {} by the server's clock:",
        deadlock.at
    )];
    for part in &deadlock.transactions {
        let who = part
            .id
            .map_or("a session".to_owned(), |id| format!("session {id}"));
        let end = if part.rolled_back {
            ", and was rolled back"
        } else {
            ""
        };
        let row = part.waited_for.as_ref().map_or("a lock".to_owned(), row);
        lines.push(format!("  {who} waited for {row}{end}"));
        lines.extend(
            part.statement
                .iter()
                .map(|sql| format!("    ran: {}", short(sql))),
        );
    }
    lines
}

fn row_locks(locks: &RowLocks) -> String {
    format!(
        "row lock waits of the whole server: {}, on average {} ms, at most {} ms, {} now{}",
        locks.waits,
        locks.average_milliseconds,
        locks.longest_milliseconds,
        locks.waiting_now,
        since(&locks.since)
    )
}

fn table_io(io: &TableIo) -> String {
    format!(
        "this table: {} row reads in {}, {} row writes in {} (waiting for locks is part of it)",
        io.reads,
        duration(io.read_seconds),
        io.writes,
        duration(io.write_seconds)
    )
}

fn row_updates(rows: &RowUpdates) -> Vec<String> {
    let hot = match rows.updates {
        0 => String::new(),
        updates => format!(", {} % of them heap-only", rows.hot_updates * 100 / updates),
    };
    let at = |time: &Option<String>| time.clone().unwrap_or("never".to_owned());
    vec![
        format!(
            "updates of this table: {}{hot}{}",
            rows.updates,
            since(&rows.since)
        ),
        format!(
            "rows: {} live, {} dead; last vacuum {}, last autovacuum {}",
            rows.live_rows,
            rows.dead_rows,
            at(&rows.last_vacuum),
            at(&rows.last_autovacuum)
        ),
    ]
}

fn isolation(isolation: &Isolation) -> String {
    format!(
        "isolation: {} for new sessions of this user, {} for the server's",
        isolation.session, isolation.global
    )
}

fn since(time: &Option<String>) -> String {
    time.as_ref()
        .map_or(String::new(), |time| format!(", since {time}"))
}

fn day(day: &DayOfSlots) -> Vec<String> {
    if day.rows == 0 {
        return vec![format!("{}: no rows", day.day)];
    }
    let per_entity = day.rows as f64 / day.entities.max(1) as f64;
    let fullest = day.fullest_share.map_or(String::new(), |share| {
        format!(
            "; the fullest, {}, has {} % of the count",
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
            format!(", the fullest has {} % of its count", percent(share))
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

/// On one line, and no longer than a line.
fn short(statement: &str) -> String {
    const LENGTH: usize = 160;
    let words: Vec<_> = statement.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.001 => "less than 1 ms".to_owned(),
        s if s < 0.1 => format!("{:.1} ms", s * 1000.0),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}
