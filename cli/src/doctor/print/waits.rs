//! Who waits for whom.

use super::words::{duration, short};
use crate::doctor::report::{Elsewhere, Holder, Row, Session, Wait, Watched};

pub fn wait(wait: &Wait) -> Vec<String> {
    let mut lines = vec![format!(
        "{} waits for {} ({}), for {}",
        session(&wait.waiter),
        what(wait),
        wait.lock,
        waited(wait.seconds)
    )];
    lines.extend(
        wait.waiter
            .statement
            .iter()
            .map(|sql| format!("  runs: {}", short(sql))),
    );
    for holder in &wait.holders {
        let since = holder.transaction_seconds.map(duration);
        let began = match holder.prepared_transaction {
            Some(_) => "",
            None => "its transaction began ",
        };
        let idle = holder.idle_seconds.map(duration);
        lines.push(format!(
            "  held by {}: {}{}{}",
            session(holder),
            holder.state,
            idle.map_or(String::new(), |idle| format!(" for {idle}")),
            since.map_or(String::new(), |since| format!(", {began}{since} ago"))
        ));
        if holder.has_counted == Some(false) && !holder.locked.is_empty() {
            lines.push(format!(
                "    has not counted, and has locked: {}",
                holder.locked.join(", ")
            ));
        }
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

/// InnoDB counts whole seconds.
fn waited(seconds: f64) -> String {
    if seconds == 0.0 {
        return "less than 1 s".to_owned();
    }
    duration(seconds)
}

fn session(session: &Session) -> String {
    let who = [&session.user, &session.application];
    let who: Vec<_> = who.into_iter().flatten().map(String::as_str).collect();
    let session = match &session.prepared_transaction {
        Some(gid) => format!("the prepared transaction {gid}"),
        None => format!("session {}", session.id),
    };
    match who.is_empty() {
        true => session,
        false => format!("{session} ({})", who.join(", ")),
    }
}

fn what(wait: &Wait) -> String {
    match &wait.elsewhere {
        _ if wait.whole_table => "the whole table".to_owned(),
        Some(elsewhere) => row_of(elsewhere),
        None => which_row(&wait.rows),
    }
}

fn row_of(elsewhere: &Elsewhere) -> String {
    let Elsewhere { table, foreign_key } = elsewhere;
    match foreign_key {
        Some(name) => format!("a row of {table}, at which the foreign key {name} looks"),
        None => format!("a row of {table}"),
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

pub fn watched(watch: &Watched) -> Vec<String> {
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
    if !watch.rows.is_empty() || !watch.elsewhere.is_empty() {
        lines.push("waits, by row:".to_owned());
        let rows = watch.rows.iter();
        lines.extend(rows.map(|seen| most(row(&seen.what), seen.waits)));
        let elsewhere = watch.elsewhere.iter();
        lines.extend(elsewhere.map(|seen| most(row_of(&seen.what), seen.waits)));
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
