//! From what was seen to what to do.

use std::collections::BTreeSet;

use diesel_counters::DEFAULT_SLOTS;

use super::database::Words;
use super::print;
use super::report::{Advice, Holder, ParentRow, Report, Row, Session};

/// The row that corrections lock has this day, and slot 0.
const NO_DAY: &str = "1970-01-01";

/// A transaction that is idle for longer may be forgotten.
const FORGOTTEN_SECONDS: f64 = 10.0;

pub fn advice(report: &Report, words: &Words, is_blind: bool) -> Vec<Advice> {
    let found = Found::of(report);
    let advice = [
        correction(&found),
        count_last(&found),
        foreign_key(&found, words),
        end_holder(report, words),
        slots(&found, report, words),
        deadlock(report, words),
        table_lock(report, words),
        short_transactions(report),
    ];
    let mut advice: Vec<_> = advice.into_iter().flatten().collect();
    if advice.is_empty() && !report.contention {
        advice.push(match is_blind {
            true => look_again(),
            false => none(report),
        });
    }
    advice
}

/// What the current waits and those that were watched have in common.
struct Found<'a> {
    rows: BTreeSet<&'a Row>,
    parent_rows: BTreeSet<&'a ParentRow>,
    holders: BTreeSet<Holder>,
    /// Whether a counter's row is known to be waited for.
    counters: bool,
}

impl<'a> Found<'a> {
    fn of(report: &'a Report) -> Self {
        let waits: Vec<_> = report.waits_in_full().collect();
        let mut found = Found {
            // Of several rows, any one may be the row.
            rows: waits
                .iter()
                .filter_map(|wait| wait.rows.first().filter(|_| wait.rows.len() == 1))
                .collect(),
            parent_rows: waits.iter().flat_map(|wait| &wait.parent_row).collect(),
            holders: waits
                .iter()
                .flat_map(|wait| wait.holders.iter().map(Holder::of))
                .collect(),
            counters: waits.iter().any(|wait| !wait.rows.is_empty()),
        };
        if let Some(watch) = &report.watch {
            found.rows.extend(watch.rows.iter().map(|seen| &seen.value));
            let parent_rows = watch.parent_rows.iter().map(|seen| &seen.value);
            found.parent_rows.extend(parent_rows);
            let holders = watch.holders.iter().map(|seen| seen.value.clone());
            found.holders.extend(holders);
            found.counters |= !watch.rows.is_empty();
        }
        found
    }
}

fn of(name: &'static str, what: impl Into<String>, why: impl Into<String>) -> Advice {
    Advice {
        name,
        what: what.into(),
        why: why.into(),
        sql: Vec::new(),
    }
}

fn correction(found: &Found) -> Option<Advice> {
    let is_locked = |row: &&&Row| row.day == NO_DAY && row.slot == 0;
    let row = found.rows.iter().find(is_locked)?;
    Some(of(
        "correction",
        "Commit right after set_counter, reset_counter or recount.",
        format!(
            "sessions wait for the row that corrections lock ({}); increments do not wait for it",
            print::row(row)
        ),
    ))
}

fn count_last(found: &Found) -> Option<Advice> {
    let holder = found.holders.iter().find(|holder| holder.counted_earlier)?;
    Some(of(
        "count_last",
        "Count last in the transaction, and commit at once.",
        format!(
            "the row's holder counted earlier in its transaction, which is now {}",
            holder.state
        ),
    ))
}

fn foreign_key(found: &Found, words: &Words) -> Option<Advice> {
    let ParentRow { table, foreign_key } = found.parent_rows.first()?;
    let [what, why] = words.parent_row;
    Some(of(
        "foreign_key",
        format!(
            "Look at what locks rows of {table}. {what} Or drop the foreign key {foreign_key}, and \
             delete counters with the rows that they count."
        ),
        format!("a new row of a counter locks its row of {table} for the foreign key, and {why}"),
    ))
}

fn end_holder(report: &Report, words: &Words) -> Option<Advice> {
    let mut holders = report.look.waits.iter().flat_map(|wait| &wait.holders);
    let holder = holders.find(|holder| may_be_forgotten(holder))?;
    let advice = of(
        "end_holder",
        format!(
            "Look at what the program of session {} does. End the session only if its transaction \
             is known to be forgotten: what it has not committed is lost.",
            holder.id
        ),
        format!(
            "it has run nothing for {}, and others wait",
            print::duration(holder.idle_seconds.unwrap_or_default())
        ),
    );
    Some(Advice {
        sql: vec![(words.end_session)(holder.id)],
        ..advice
    })
}

/// However long its transaction has run, a session that still runs statements is at work.
fn may_be_forgotten(session: &Session) -> bool {
    session.idle_seconds >= Some(FORGOTTEN_SECONDS)
}

fn slots(found: &Found, report: &Report, words: &Words) -> Option<Advice> {
    if !found.counters {
        return None;
    }
    let waited_for: BTreeSet<i64> = found.rows.iter().map(|row| row.slot).collect();
    let clients = report.look.clients.unwrap_or(0);
    let slots = report.slots.iter().flat_map(|day| &day.slots);
    let highest = slots.map(|slot| i64::from(slot.slot)).max();
    if waited_for.len() > 1 && highest >= Some(clients) {
        return Some(of(
            "connection_slots",
            format!(
                "Give each connection a slot of its own: use Slot::Connection, which is the default, \
                 and not Slot::Random.{}",
                words.claim_slots
            ),
            format!(
                "sessions wait for {} different slots, though slots up to {} are in use, and only \
                 {clients} other clients are connected",
                waited_for.len(),
                highest.unwrap_or_default()
            ),
        ));
    }
    let wanted = (2 * clients.max(1) as u64)
        .next_power_of_two()
        .max(DEFAULT_SLOTS as u64);
    Some(of(
        "more_slots",
        format!(
            "Use #[counters(slots = {wanted})]: a counter needs twice as many slots as connections \
             that count. Those are the size of the pool times the number of processes; {clients} \
             other clients are connected now.{}",
            words.claim_slots
        ),
        "transactions wait for each other in one slot",
    ))
}

fn deadlock(report: &Report, words: &Words) -> Option<Advice> {
    report.recent_deadlock()?;
    Some(of(
        "deadlock",
        format!(
            "Count in one slot a transaction: use Slot::Connection, not Slot::Random, and more slots \
             than connections.{} Or count several entities in one statement, which sorts them: \
             increment(…).of_many(…). Run again, as a whole, a transaction that was rolled back.",
            words.claim_slots
        ),
        "two transactions waited for each other's rows",
    ))
}

fn table_lock(report: &Report, words: &Words) -> Option<Advice> {
    let watched = report.watch.as_ref().map_or(0, |watch| watch.table_waits);
    let sessions = match report.look.table_waits.max(watched) {
        0 => return None,
        1 => "1 session waits".to_owned(),
        waits => format!("{waits} sessions wait"),
    };
    Some(of(
        "table_lock",
        format!(
            "Look at which session has locked the table: {}.",
            words.table_locks
        ),
        format!("{sessions} for the whole table, as behind ALTER TABLE"),
    ))
}

fn short_transactions(report: &Report) -> Option<Advice> {
    report.look.write_lock_held?;
    report.contention.then(|| {
        of(
            "short_transactions",
            "Keep transactions that write short: begin them with immediate_transaction, count last, \
             and commit at once; set PRAGMA busy_timeout on every connection.",
            "SQLite has one writer, and its lock was held; slots do not help here",
        )
    })
}

fn look_again() -> Advice {
    of(
        "look_again",
        "Look again with the rights named above.",
        "without them, who waits is not seen",
    )
}

fn none(report: &Report) -> Advice {
    let Some(watch) = &report.watch else {
        return of(
            "none",
            "No session waited at this look: look with --watch 30 while it is slow.",
            "one look says nothing about the time before and after it",
        );
    };
    let what = match report.not_seen.is_empty() {
        true => format!(
            "Counters are not what is slow, if it was slow during the watch. `diesel-counters check \
             {}` looks at the table's shape.",
            report.table
        ),
        false => "No session was seen to wait; what could not be seen is named above.".to_owned(),
    };
    let why = format!(
        "{} looks in {} s saw no session wait",
        watch.looks, watch.seconds
    );
    of("none", what, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_transaction_that_works_is_not_forgotten() {
        let working = Session {
            idle_seconds: Some(0.002),
            transaction_seconds: Some(3600.0),
            ..Session::default()
        };
        assert!(!may_be_forgotten(&working));
        let idle = Session {
            idle_seconds: Some(FORGOTTEN_SECONDS),
            ..working
        };
        assert!(may_be_forgotten(&idle));
    }
}
