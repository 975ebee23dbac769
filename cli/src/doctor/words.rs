//! What differs by database in the words of a report.

use diesel_counters::Dialect;

pub struct Words {
    /// An expression: the product and its version.
    pub version: &'static str,
    /// Where deadlocks are found, if none is known.
    pub no_deadlock: Option<&'static str>,
    /// Where it shows who has locked a whole table.
    pub table_locks: &'static str,
    /// Ends the session `{}`.
    pub end_session: &'static str,
    /// What a connection needs before its slot is certain to be its own.
    pub claim_slots: &'static str,
}

pub fn of(dialect: Dialect) -> Words {
    match dialect {
        Dialect::PostgreSql => Words {
            version: "'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)",
            no_deadlock: Some(
                "PostgreSQL writes deadlocks to the server's log: search it for \"deadlock detected\"",
            ),
            table_locks: "pg_locks shows which one",
            end_session: "SELECT pg_terminate_backend({})",
            claim_slots: "",
        },
        Dialect::MySql => Words {
            version: "CONCAT(IF(VERSION() LIKE '%MariaDB%', 'MariaDB ', 'MySQL '), \
              SUBSTRING_INDEX(VERSION(), '-', 1))",
            no_deadlock: Some("none of this table is known; the server keeps only its last one"),
            table_locks: "performance_schema.metadata_locks shows which one",
            end_session: "KILL {}",
            claim_slots: " Run claim_slot() on each new connection, as ClaimSlots does in a pool.",
        },
        Dialect::Sqlite => Words {
            version: "'SQLite ' || sqlite_version()",
            no_deadlock: None,
            table_locks: "SQLite does not tell which one",
            end_session: "",
            claim_slots: "",
        },
    }
}
