//! From what was seen to what to do.

use std::collections::BTreeSet;

use diesel_counters::DEFAULT_SLOTS;

use super::print;
use super::report::{Advice, Report};
use super::words::Words;
use crate::locks::{Activity, Deadlock, Row, WHO_WAITS, Wait};

/// Whether this is the row that corrections lock, and increments do not.
fn is_of_corrections(row: &Row) -> bool {
    row.day == "1970-01-01" && row.slot <= 0
}

/// A transaction that is idle for longer may be forgotten. However long a transaction has run,
/// a session that still runs statements is at work.
const FORGOTTEN_SECONDS: f64 = 10.0;

pub fn advice(report: &Report, words: &Words) -> Vec<Advice> {
    let advice = [
        correction(report),
        count_last(report),
        foreign_key(report),
        end_holder(report, words),
        slots(report, words),
        deadlock(report, words),
        table_lock(report, words),
        short_transactions(report),
        none(report),
    ];
    advice.into_iter().flatten().collect()
}

fn correction(report: &Report) -> Option<Advice> {
    let mut rows = report.watch.rows.iter().map(|seen| &seen.value);
    let row = rows.find(|row| is_of_corrections(row))?;
    let what = "Commit right after set_counter, reset_counter or recount.";
    let row = print::row(row);
    let why = format!("sessions wait for the row that corrections lock ({row}); increments do not");
    Some(Advice::new("correction", what, why))
}

fn count_last(report: &Report) -> Option<Advice> {
    let mut holders = report.watch.holders.iter().map(|seen| &seen.value);
    let Activity { state, .. } = holders.find(|holder| holder.counted_earlier)?;
    let what = "Count last in the transaction, and commit at once.";
    let why =
        format!("the holder of the row counted earlier in its transaction; now it is {state}");
    Some(Advice::new("count_last", what, why))
}

fn foreign_key(report: &Report) -> Option<Advice> {
    let table = &report.watch.parent_tables.first()?.value;
    let what = format!(
        "Lock and change rows of {table} last in a transaction, and commit at once; on PostgreSQL, \
         use FOR NO KEY UPDATE, not FOR UPDATE. Or drop the foreign key, and delete counters with \
         the rows that they count."
    );
    let why = format!(
        "a new row of a counter locks its row of {table} for the foreign key, and waits for a \
         transaction that has locked it FOR UPDATE"
    );
    Some(Advice::new("foreign_key", what, why))
}

fn end_holder(report: &Report, words: &Words) -> Option<Advice> {
    let mut holders = report.look.waits.iter().flat_map(|wait| &wait.holders);
    let is_forgotten = |seconds: &f64| *seconds >= FORGOTTEN_SECONDS;
    let (id, idle) =
        holders.find_map(|holder| Some((holder.id, holder.idle_seconds.filter(is_forgotten)?)))?;
    let what = format!(
        "Look at what the program of session {id} does. End the session only if its transaction \
         is known to be forgotten: what it has not committed is lost."
    );
    let idle = print::duration(idle);
    let why = format!("it has run nothing for {idle}, and others wait");
    Some(Advice {
        sql: vec![words.end_session.replace("{}", &id.to_string())],
        ..Advice::new("end_holder", what, why)
    })
}

fn slots(report: &Report, words: &Words) -> Option<Advice> {
    let watch = &report.watch;
    let rows = watch.rows.iter().map(|seen| &seen.value);
    let rows = rows.filter(|row| !is_of_corrections(row));
    let waited_for: BTreeSet<i64> = rows.map(|row| row.slot).collect();
    let is_one_of_several = |wait: &Wait| watch.rows.is_empty() && !wait.rows.is_empty();
    let clients = report.look.clients.clients.unwrap_or(0);
    let claim_slots = words.claim_slots;
    let used = report.slots.iter().map(|slot| slot.slot.into());
    let highest: i64 = used.max().unwrap_or(0);
    let several = waited_for.len();
    if several > 1 && highest >= clients {
        let what = format!(
            "Give each connection a slot of its own: use Slot::Connection, which is the default, and \
             not Slot::Random.{claim_slots}"
        );
        let why = format!(
            "sessions wait for {several} different slots, though {clients} other clients are \
             connected, and slots up to {highest} are in use"
        );
        return Some(Advice::new("connection_slots", what, why));
    }
    let twice = (2 * clients.max(1) as u64).next_power_of_two();
    let wanted = twice.max(DEFAULT_SLOTS as u64);
    let what = format!(
        "Use slots = {wanted} in the counter_table!, or more: twice as many slots as connections that count, \
         which are the size of the pool times the number of processes. {clients} other clients are \
         connected now.{claim_slots}"
    );
    let why =
        format!("transactions wait for each other in one slot; slots up to {highest} are in use");
    let waits = several > 0 || watch.longest.as_ref().is_some_and(is_one_of_several);
    waits.then(|| Advice::new("more_slots", what, why))
}

fn deadlock(report: &Report, words: &Words) -> Option<Advice> {
    report.recent_deadlock()?;
    let what = format!(
        "Count in one slot a transaction: use Slot::Connection, not Slot::Random, and more slots \
         than connections.{} Or count several entities in one statement, which sorts them: \
         increment(…).of_many(…). Run again, as a whole, a transaction that was rolled back.",
        words.claim_slots
    );
    let why = "two transactions waited for each other's rows";
    Some(Advice::new("deadlock", what, why))
}

fn table_lock(report: &Report, words: &Words) -> Option<Advice> {
    let now = report.look.clients.table_waits;
    let waits = now.max(report.watch.most_table_waits);
    let which = words.table_locks;
    let what = format!("Look for the session that has locked the table; {which}.");
    let why = format!("sessions wait for the whole table, as behind ALTER TABLE: {waits}");
    (waits > 0).then(|| Advice::new("table_lock", what, why))
}

fn short_transactions(report: &Report) -> Option<Advice> {
    let is_sqlite = report.look.write_lock_held.is_some();
    let what = "Keep transactions that write short: begin them with immediate_transaction, count \
                last, and commit at once; set PRAGMA busy_timeout on every connection.";
    let why = "SQLite has one writer, and its lock was held; slots do not help here";
    (is_sqlite && report.contention).then(|| Advice::new("short_transactions", what, why))
}

fn none(report: &Report) -> Option<Advice> {
    let (looks, seconds) = (report.watch.looks, report.watch.seconds);
    let what = match seconds {
        _ if report.contention => return None,
        _ if report.is_blind() => "Look again with the rights named above: who waits was not seen.",
        0 => "No contention at this look: look with --watch 30 while it is slow.",
        _ if report.not_seen.is_empty() => {
            "Counters are not what is slow, if it was slow during the watch. `diesel-counters check` \
             looks at the table's shape."
        }
        _ => "No contention was seen; what is not seen is named above.",
    };
    let name = if report.is_blind() {
        "look_again"
    } else {
        "none"
    };
    let why = match seconds {
        0 => "one look does not see what happens before and after it".to_owned(),
        _ => format!("{looks} looks in {seconds} s saw no contention"),
    };
    Some(Advice::new(name, what, why))
}

impl Advice {
    fn new(name: &'static str, what: impl Into<String>, why: impl Into<String>) -> Self {
        Advice {
            name,
            what: what.into(),
            why: why.into(),
            sql: Vec::new(),
        }
    }
}

impl Report {
    /// The last deadlock, unless it is more than a day old.
    pub fn recent_deadlock(&self) -> Option<&Deadlock> {
        const DAY: f64 = 24.0 * 3600.0;
        let last = self.last_deadlock.as_ref()?;
        (last.seconds_ago <= Some(DAY)).then_some(last)
    }

    /// Whether a right to see who waits is missing.
    pub fn is_blind(&self) -> bool {
        self.not_seen.iter().any(|missed| missed.what == WHO_WAITS)
    }
}
