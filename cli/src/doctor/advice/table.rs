//! What to do about the table, and how the database is set.

use diesel_counters::Dialect;

use crate::doctor::report::{Advice, Report};
use crate::doctor::target::Target;

/// With fewer rows or updates than this, shares say nothing.
const ENOUGH: i64 = 1000;

pub fn one_writer(report: &Report, target: &Target) -> Vec<Advice> {
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
            sql: Vec::new(),
        });
    }
    if writer.journal_mode != "wal" {
        advice.push(Advice {
            name: "wal",
            what: "Turn on the write-ahead log: readers and the writer do not wait for each other then.".to_owned(),
            why: format!("the journal mode is {} (table {})", writer.journal_mode, target.display),
            sql: vec!["PRAGMA journal_mode = WAL".to_owned()],
        });
    }
    advice
}

pub fn isolation(report: &Report, target: &Target) -> Option<Advice> {
    let isolation = report.history.isolation.as_ref()?;
    let level = isolation.session.as_str();
    let why = match target.dialect {
        Dialect::PostgreSql if level != "read committed" => {
            "two transactions that count in one slot make one of them fail with a serialization error, \
             where READ COMMITTED waits"
        }
        Dialect::MySql if level == "serializable" => {
            "every read of a count locks its rows, and increments wait for it"
        }
        // At REPEATABLE READ the first count of a slot and a day locks the gap it goes into.
        Dialect::MySql
            if level == "repeatable read"
                && report
                    .waits_known()
                    .any(|wait| wait.lock.contains("GAP") && !wait.lock.contains("NOT_GAP")) =>
        {
            "what is waited for is a gap between rows, which READ COMMITTED locks less of"
        }
        _ => return None,
    };
    let cost = match target.dialect {
        Dialect::MySql => {
            ", and the server refuses to write at it where its binary log is of statements \
             (binlog_format = STATEMENT)"
        }
        _ => "",
    };
    Some(Advice {
        name: "isolation",
        what: format!(
            "Count at READ COMMITTED: set it in the application, for the sessions or the transactions \
             that count. Each statement of those then sees what others have committed meanwhile{cost}."
        ),
        why: format!("new sessions begin at {}: {why}", level.to_uppercase()),
        sql: Vec::new(),
    })
}

pub fn layout(report: &Report, target: &Target) -> Vec<Advice> {
    let layout = &report.layout;
    let on_counters = layout.indexes_on_counters.iter().map(|index| Advice {
        name: "drop_index",
        what: format!("Drop the index {}: it is on a counter.", index.name),
        why: match target.dialect {
            Dialect::PostgreSql => "every increment writes it too, and none is a heap-only update",
            _ => "every increment writes it too",
        }
        .to_owned(),
        sql: index.drop.iter().cloned().collect(),
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
        sql: index.drop.iter().cloned().collect(),
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
            sql: Vec::new(),
        });
    }
    advice
}

pub fn vacuum(report: &Report, target: &Target) -> Option<Advice> {
    let rows = report.history.row_updates.as_ref()?;
    if rows.dead_rows < ENOUGH || rows.dead_rows < rows.live_rows {
        return None;
    }
    let table = &target.sql_name;
    let vacuum = format!("VACUUM {table}");
    let earlier = format!("ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0.05)");
    Some(Advice {
        name: "vacuum",
        what: "Remove dead rows, and let autovacuum do it earlier; \
               look for transactions that are open for long, which keep it from that."
            .to_owned(),
        why: format!(
            "there are {} dead rows to {} live ones",
            rows.dead_rows, rows.live_rows
        ),
        // Each partition has settings of its own.
        sql: match rows.partitions {
            0 => vec![vacuum, earlier],
            _ => vec![vacuum],
        },
    })
}
