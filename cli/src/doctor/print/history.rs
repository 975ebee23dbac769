//! What the database has added up.

use super::row;
use super::words::{duration, short};
use crate::doctor::report::{
    Deadlock, Deadlocks, Isolation, Report, RowLocks, RowUpdates, TableIo,
};

pub fn since_it_started(report: &Report) -> Vec<String> {
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
        updates => format!(", {}% of them heap-only", rows.hot_updates * 100 / updates),
    };
    let partitions = match rows.partitions {
        0 => String::new(),
        partitions => format!(" of all {partitions} partitions"),
    };
    let at = |time: &Option<String>| time.clone().unwrap_or("never".to_owned());
    vec![
        format!(
            "updates of this table: {}{hot}{}",
            rows.updates,
            since(&rows.since)
        ),
        format!(
            "rows{partitions}: {} live, {} dead; last vacuum {}, last autovacuum {}",
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
