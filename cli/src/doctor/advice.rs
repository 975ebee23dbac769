//! From what was found to what to do.

use std::collections::BTreeSet;

use diesel_counters::{DEFAULT_SLOTS, Dialect};

use super::report::{Advice, Holder, Report, Row, Session};
use super::target::Target;

/// Where the row stands that corrections lock.
const NO_DAY: &str = "1970-01-01";

/// With fewer rows or updates than this, shares say nothing.
const ENOUGH: i64 = 1000;

/// A transaction that is idle for longer has been forgotten.
const FORGOTTEN_SECONDS: f64 = 10.0;

pub fn advice(report: &Report, target: &Target) -> Vec<Advice> {
    let found = Found::of(report);
    let mut advice = Vec::new();
    advice.extend(correction(&found));
    advice.extend(count_last(&found));
    advice.extend(end_holder(report, target));
    advice.extend(slots(&found, report, target));
    advice.extend(deadlock(report));
    advice.extend(table_locks(report));
    advice.extend(one_writer(report, target));
    advice.extend(isolation(report, target));
    advice.extend(layout(report, target));
    advice.extend(vacuum(report, target));
    if !report.contention {
        advice.push(no_contention(report));
    }
    advice
}

/// What the waits of now and those that were watched have in common.
struct Found<'a> {
    rows: BTreeSet<&'a Row>,
    holders: BTreeSet<Holder>,
    waits: bool,
}

impl<'a> Found<'a> {
    fn of(report: &'a Report) -> Self {
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
            holders: watched
                .flat_map(|watch| watch.holders.iter().map(|seen| seen.what.clone()))
                .chain(now().flat_map(|wait| wait.holders.iter().map(Holder::from)))
                .collect(),
            waits: now().next().is_some(),
        }
    }
}

fn correction(found: &Found) -> Option<Advice> {
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
            super::print::row(locked)
        ),
        sql: None,
    })
}

fn count_last(found: &Found) -> Option<Advice> {
    let went_on =
        |holder: &&Holder| holder.idle_in_transaction || holder.statement_counts == Some(false);
    let holder = found.holders.iter().find(went_on)?;
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
        sql: None,
    })
}

fn end_holder(report: &Report, target: &Target) -> Option<Advice> {
    let forgotten = |holder: &&Session| {
        holder.idle_in_transaction && holder.transaction_seconds >= Some(FORGOTTEN_SECONDS)
    };
    let holder = report
        .waits
        .iter()
        .flat_map(|wait| &wait.holders)
        .find(forgotten)?;
    Some(Advice {
        name: "end_holder",
        what: format!(
            "If nobody is going to end the transaction of session {}, end the session.",
            holder.id
        ),
        why: "it is idle for long, and others wait; what it has not committed is lost".to_owned(),
        sql: Some(match target.dialect {
            Dialect::PostgreSql => format!("SELECT pg_terminate_backend({})", holder.id),
            _ => format!("KILL {}", holder.id),
        }),
    })
}

fn slots(found: &Found, report: &Report, target: &Target) -> Option<Advice> {
    if !found.waits || target.dialect == Dialect::Sqlite {
        return None;
    }
    let slots: BTreeSet<i64> = found.rows.iter().map(|row| row.slot).collect();
    let clients = report.history.sessions.unwrap_or(0);
    let used = report.days.iter().filter_map(|day| day.highest_slot).max();
    if slots.len() > 1 && used >= Some(clients) {
        return Some(Advice {
            name: "sticky",
            what: "Keep each thread in a slot of its own: Slot::Sticky, or Slot::Partition { index, of } \
                   in each of several processes, and not Slot::Random."
                .to_owned(),
            why: format!(
                "{} different slots are waited for, though there are more in use \
                 than the {clients} other clients need: threads meet by chance",
                slots.len()
            ),
            sql: None,
        });
    }
    let wanted = (clients.max(1) as u64)
        .next_power_of_two()
        .max(DEFAULT_SLOTS as u64);
    Some(Advice {
        name: "more_slots",
        what: format!(
            "Give each writing thread a slot of its own: as many slots as threads that count, over all \
             processes. With {clients} other clients connected now, #[counters(slots = {wanted})]. \
             Slot::Partition {{ index, of }} keeps several processes apart."
        ),
        why: format!(
            "transactions wait for each other in one slot{}{}",
            used.map_or(String::new(), |used| format!(
                "; slots up to {used} are in use"
            )),
            unevenly(report)
        ),
        sql: None,
    })
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
            ", and one has {:.0} % of the count of the busiest entity",
            share * 100.0
        ),
        _ => String::new(),
    }
}

fn deadlock(report: &Report) -> Option<Advice> {
    let deadlock = report.deadlock()?;
    let rows: BTreeSet<_> = deadlock
        .transactions
        .iter()
        .filter_map(|t| t.waited_for.as_ref())
        .collect();
    Some(Advice {
        name: "deadlock",
        what: "Count in one slot a transaction (Slot::Sticky, not Slot::Random, and slots for all threads), \
               or several entities in one statement, which sorts them: increment(…).of_many(…). \
               Run again, as a whole, a transaction that was rolled back."
            .to_owned(),
        why: if rows.len() > 1 {
            "two transactions held a row each and waited for the other's".to_owned()
        } else {
            "two transactions waited for each other".to_owned()
        },
        sql: None,
    })
}

fn table_locks(report: &Report) -> Option<Advice> {
    let wait = report.waits_known().find(|wait| wait.whole_table)?;
    Some(Advice {
        name: "table_lock",
        what:
            "Change a table that is counted in with a lock_timeout, and try again when it runs out."
                .to_owned(),
        why: format!(
            "the whole table is waited for ({}): everything that counts queues behind it",
            wait.lock
        ),
        sql: None,
    })
}

fn one_writer(report: &Report, target: &Target) -> Vec<Advice> {
    let Some(writer) = &report.history.writer else {
        return Vec::new();
    };
    let mut advice = Vec::new();
    if writer.held_now || report.contention {
        advice.push(Advice {
            name: "short_transactions",
            what: "Keep transactions that write short: begin them with immediate_transaction, count last, \
                   and commit at once; set PRAGMA busy_timeout on every connection."
                .to_owned(),
            why: "SQLite has one writer, and its lock was held; slots buy nothing here".to_owned(),
            sql: None,
        });
    }
    if writer.journal_mode != "wal" {
        advice.push(Advice {
            name: "wal",
            what: "Turn on the write-ahead log: readers and the writer do not wait for each other then.".to_owned(),
            why: format!("the journal mode is {} (table {})", writer.journal_mode, target.display),
            sql: Some("PRAGMA journal_mode = WAL".to_owned()),
        });
    }
    advice
}

fn isolation(report: &Report, target: &Target) -> Option<Advice> {
    let isolation = report.history.isolation.as_ref()?;
    let level = isolation.session.as_str();
    let (why, sql) = match target.dialect {
        Dialect::PostgreSql if level != "read committed" => (
            "two transactions that count in one slot make one of them fail with a serialization error, \
             where READ COMMITTED waits",
            "ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'read committed'",
        ),
        Dialect::MySql if level == "serializable" => (
            "every read of a count locks its rows, and increments wait for it",
            "SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED",
        ),
        // At REPEATABLE READ the first count of a slot and a day locks the gap it goes into.
        Dialect::MySql
            if level == "repeatable read"
                && report
                    .waits_known()
                    .any(|wait| wait.lock.contains("GAP") && !wait.lock.contains("NOT_GAP")) =>
        {
            (
                "what is waited for is a gap between rows, which READ COMMITTED locks less of",
                "SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED",
            )
        }
        _ => return None,
    };
    Some(Advice {
        name: "isolation",
        what: "Count at READ COMMITTED.".to_owned(),
        why: format!("new sessions begin at {}: {why}", level.to_uppercase()),
        sql: Some(sql.to_owned()),
    })
}

fn layout(report: &Report, target: &Target) -> Vec<Advice> {
    let layout = &report.layout;
    let on_counters = layout.indexes_on_counters.iter().map(|index| Advice {
        name: "drop_index",
        what: format!("Drop the index {}: it is on a counter.", index.name),
        why: match target.dialect {
            Dialect::PostgreSql => "every increment writes it too, and none is a heap-only update",
            _ => "every increment writes it too",
        }
        .to_owned(),
        sql: index.drop.clone(),
    });
    let unique = layout.other_unique_indexes.iter().map(|index| Advice {
        name: "drop_unique_index",
        what: format!(
            "Drop the unique index {} ({}).",
            index.name,
            index.columns.join(", ")
        ),
        why: match target.dialect {
            Dialect::MySql => "ON DUPLICATE KEY UPDATE acts on any unique index, and locks in each",
            _ => "an increment expects a conflict in the key only, and fails at any other",
        }
        .to_owned(),
        sql: index.drop.clone(),
    });
    let mut advice: Vec<_> = on_counters.chain(unique).collect();
    if !layout.key_is_primary {
        let key = layout.key.join(", ");
        advice.push(Advice {
            name: "primary_key",
            what: format!(
                "Make ({key}) the primary key, in place of ({}).",
                layout.primary_key.join(", ")
            ),
            why: "a counter's row is found by a second index and each count writes both; \
                  on MySQL that was slower than no slots at all"
                .to_owned(),
            sql: None,
        });
    }
    advice
}

fn vacuum(report: &Report, target: &Target) -> Option<Advice> {
    let rows = report.history.row_updates.as_ref()?;
    if rows.dead_rows < ENOUGH || rows.dead_rows < rows.live_rows {
        return None;
    }
    let table = &target.sql_name;
    Some(Advice {
        name: "vacuum",
        what: "Remove dead rows, and let autovacuum do it earlier; \
               look for transactions that are open for long, which keep it from that."
            .to_owned(),
        why: format!(
            "there are {} dead rows to {} live ones",
            rows.dead_rows, rows.live_rows
        ),
        sql: Some(format!(
            "VACUUM {table}; ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0.05)"
        )),
    })
}

fn no_contention(report: &Report) -> Advice {
    if report.is_blind() {
        return Advice {
            name: "look_again",
            what: "Look again with the rights named above: who waits was not seen.".to_owned(),
            why: "without them there is no telling whether counters are what is slow".to_owned(),
            sql: None,
        };
    }
    Advice {
        name: "none",
        what: "No contention seen: counters are not what is slow.".to_owned(),
        why: match &report.watch {
            Some(watch) => format!(
                "{} looks in {} s saw nobody wait",
                watch.samples, watch.seconds
            ),
            None => "this was one look; --watch 30 looks for longer, while it is slow".to_owned(),
        },
        sql: None,
    }
}
