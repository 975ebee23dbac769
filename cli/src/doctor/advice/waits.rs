//! What to do about waits and deadlocks.

use std::collections::BTreeSet;

use diesel_counters::{DEFAULT_SLOTS, Dialect};

use crate::doctor::report::{Advice, Elsewhere, Holder, Report, Row};
use crate::doctor::target::Target;

/// Where the row stands that corrections lock.
const NO_DAY: &str = "1970-01-01";

/// What the waits of now and those that were watched have in common.
pub struct Found<'a> {
    rows: BTreeSet<&'a Row>,
    holders: BTreeSet<Holder>,
    pub elsewhere: BTreeSet<&'a Elsewhere>,
    /// Whether any counter's row is known to be waited for.
    counters: bool,
}

impl<'a> Found<'a> {
    pub fn of(report: &'a Report) -> Self {
        let watched = report.watch.iter();
        let now = || report.waits_known().filter(|wait| !wait.whole_table);
        Found {
            rows: watched
                .clone()
                .flat_map(|watch| watch.rows.iter().map(|seen| &seen.what))
                // Of several rows it is not known which one is waited for.
                .chain(
                    now()
                        .filter(|wait| wait.rows.len() == 1)
                        .flat_map(|wait| &wait.rows),
                )
                .collect(),
            elsewhere: watched
                .clone()
                .flat_map(|watch| watch.elsewhere.iter().map(|seen| &seen.what))
                .chain(now().filter_map(|wait| wait.elsewhere.as_ref()))
                .collect(),
            counters: watched.clone().any(|watch| !watch.rows.is_empty())
                || now().any(|wait| !wait.rows.is_empty()),
            holders: watched
                .flat_map(|watch| watch.holders.iter().map(|seen| seen.what.clone()))
                .chain(
                    now().flat_map(|wait| {
                        wait.holders.iter().map(|holder| Holder::of(holder, wait))
                    }),
                )
                .collect(),
        }
    }
}

pub fn correction(found: &Found) -> Option<Advice> {
    let locked = found
        .rows
        .iter()
        .find(|row| row.day == NO_DAY && row.slot == 0)?;
    Some(Advice {
        name: "correction",
        what: "Let corrections be short: commit right after set_counter, reset_counter or recount."
            .to_owned(),
        why: format!(
            "{} is the row that corrections lock; increments do not wait for it, other corrections do",
            crate::doctor::print::row(locked)
        ),
        sql: Vec::new(),
    })
}

pub fn count_last(found: &Found) -> Option<Advice> {
    let went_on =
        |holder: &&Holder| holder.idle_in_transaction || holder.statement_counts == Some(false);
    let mut have_counted = found
        .holders
        .iter()
        .filter(|h| h.has_counted != Some(false));
    let holder = have_counted.find(went_on)?;
    Some(Advice {
        name: "count_last",
        what: "Count last in the transaction, and commit at once.".to_owned(),
        why: if holder.idle_in_transaction {
            "the row is held by a transaction that has counted and is idle since: \
             its program does something else before it commits"
                .to_owned()
        } else {
            "the row is held by a transaction that has counted and went on to other statements"
                .to_owned()
        },
        sql: Vec::new(),
    })
}

pub fn slots(found: &Found, report: &Report, target: &Target) -> Option<Advice> {
    if !found.counters || target.dialect == Dialect::Sqlite {
        return None;
    }
    let slots: BTreeSet<i64> = found.rows.iter().map(|row| row.slot).collect();
    let clients = report.history.sessions.unwrap_or(0);
    let used = report.days.iter().filter_map(|day| day.highest_slot).max();
    if slots.len() > 1 && used >= Some(clients) {
        return Some(Advice {
            name: "connection_slots",
            what: format!(
                "Give each connection a slot of its own: use Slot::Connection, which is the default, \
                 and not Slot::Random.{}",
                claims(target)
            ),
            why: format!(
                "{} different slots are waited for, though there are more in use \
                 than the {clients} other clients need: connections meet by chance",
                slots.len()
            ),
            sql: Vec::new(),
        });
    }
    let wanted = (2 * clients.max(1) as u64)
        .next_power_of_two()
        .max(DEFAULT_SLOTS as u64);
    Some(Advice {
        name: "more_slots",
        what: format!(
            "Use #[counters(slots = {wanted})], with {clients} other clients connected now. A counter \
             needs more slots than connections that count: the size of the pool times the number of \
             processes, and better twice that.{}",
            claims(target)
        ),
        why: format!(
            "transactions wait for each other in one slot{}{}",
            used.map_or(String::new(), |used| format!(
                "; slots up to {used} are in use"
            )),
            unevenly(report)
        ),
        sql: Vec::new(),
    })
}

/// What a connection needs before its slot is certain to be its own.
fn claims(target: &Target) -> &'static str {
    match target.dialect {
        Dialect::MySql => " Run claim_slot() on each new connection, as ClaimSlots does in a pool.",
        _ => "",
    }
}

/// How much of what is counted most goes through one row.
fn unevenly(report: &Report) -> String {
    let busiest = report
        .days
        .iter()
        .filter_map(|day| day.busiest.as_ref())
        .next();
    match busiest.and_then(|busiest| busiest.fullest_share) {
        Some(share) if share > 0.5 && share < 1.0 => format!(
            ", and one has {:.0}% of the count of the busiest entity",
            share * 100.0
        ),
        _ => String::new(),
    }
}

pub fn deadlock(report: &Report, target: &Target) -> Option<Advice> {
    let deadlock = report.deadlock()?;
    let rows: BTreeSet<_> = deadlock
        .transactions
        .iter()
        .filter_map(|t| t.waited_for.as_ref())
        .collect();
    Some(Advice {
        name: "deadlock",
        what: format!(
            "Count in one slot a transaction: use Slot::Connection, not Slot::Random, and more slots \
             than connections.{} Or count several entities in one statement, which sorts them: \
             increment(…).of_many(…). Run again, as a whole, a transaction that was rolled back.",
            claims(target)
        ),
        why: if rows.len() > 1 {
            "two transactions held a row each and waited for the other's".to_owned()
        } else {
            "two transactions waited for each other".to_owned()
        },
        sql: Vec::new(),
    })
}

pub fn table_locks(report: &Report, target: &Target) -> Option<Advice> {
    let wait = report.waits_known().find(|wait| wait.whole_table);
    let why = match wait {
        Some(wait) => format!(
            "the whole table is waited for ({}): everything that counts queues behind it",
            wait.lock
        ),
        None if report.is_locked_out() => {
            "this command has waited for the table itself, in vain".to_owned()
        }
        None => return None,
    };
    let timeout = match target.dialect {
        Dialect::MySql => "lock_wait_timeout",
        _ => "lock_timeout",
    };
    Some(Advice {
        name: "table_lock",
        what: format!(
            "Change a table that is counted in with a short {timeout}, and try again when it runs out."
        ),
        why,
        sql: Vec::new(),
    })
}
