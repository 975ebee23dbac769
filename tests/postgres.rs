//! The behaviour tests on PostgreSQL, at POSTGRES_URL.

/// Ends an `INSERT` that does nothing if the key exists.
macro_rules! on_conflict_do_nothing {
    ($insert:expr) => {
        $insert.on_conflict_do_nothing()
    };
}

mod behaviour;
#[path = "postgres/claims.rs"]
mod claims;
mod commits;
#[path = "postgres/conflicts.rs"]
mod conflicts;
mod counting;
#[path = "postgres/own_keys.rs"]
mod own_keys;
#[cfg(unix)]
mod pooler;
mod returning;
mod row_security;
mod server;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

pub use diesel_counters_tests::write_transaction;
pub use server::TestDatabase;

pub type Conn = PgConnection;

pub const TEST_TABLES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
pub const REFERENCE: EmbeddedMigrations = embed_migrations!("../migrations/postgres");

/// Makes the schema that a qualified table of the tests is in, and removes it.
pub const SCHEMA: [&str; 2] = ["CREATE SCHEMA elsewhere", "DROP SCHEMA elsewhere CASCADE"];
diesel_counters_tests::tables_in_schema!(elsewhere);

/// Has the connection count in this slot of 32, beside others that do.
pub fn count_in_slot(slot: i16, conn: &mut Conn) {
    conn.batch_execute(&format!("SET diesel_counters.number = '{}'", slot - 1))
        .unwrap();
}

pub const HAS_SLOTS: bool = true;

/// MySQL and MariaDB.
pub const IS_MYSQL: bool = false;

/// How many statements count 100 entities, and how many there are for any number.
pub const STATEMENTS_OF_100: usize = 1;
pub const STATEMENTS_OF_ANY: usize = 2;

/// Ends all connections to the database but this one.
pub fn kill_others(conn: &mut Conn) {
    let killed = diesel::sql_query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    killed.execute(conn).unwrap();
}

/// Whether the session has claimed a number.
pub fn has_claimed(conn: &mut Conn) -> bool {
    let locks = diesel::sql_query(
        "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
    );
    locks.execute(conn).unwrap() > 0
}

/// Has a statement wait for a lock only shortly.
pub const GIVE_UP_SOON: &str = "SET lock_timeout = '100ms'";

/// Has a transaction fail that writes a row which changed since it read.
pub const FAIL_ON_CHANGED_ROWS: Option<&str> =
    Some("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ");

/// Has a transaction write a row which changed since it read.
pub const OVERWRITE_CHANGED_ROWS: &str =
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// What to run before a column of this type takes `a` and `A` for one text.
pub const CASELESS: [&str; 2] = [
    "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);",
    "TEXT COLLATE caseless",
];

/// A column of this type tells them apart.
pub const CASED: &str = "TEXT";

pub const ANALYZE: &str = "VACUUM ANALYZE";

/// The plan of a query.
pub fn plan_of(sql: &str, conn: &mut Conn) -> String {
    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = diesel::sql_types::Text, column_name = "QUERY PLAN")]
        line: String,
    }
    let plan: Vec<Line> = diesel::sql_query(format!("EXPLAIN {sql}"))
        .load(conn)
        .unwrap();
    plan.into_iter().map(|row| row.line + "\n").collect()
}

/// So many times, and no other way.
pub fn assert_reads_by_primary_key(plan: &str, times: usize) {
    let reads = plan.matches("article_counters_pkey").count();
    assert_eq!(reads, times, "{plan}");
    assert!(!plan.contains("Seq Scan on article_counters"), "{plan}");
}

/// By a prefix of it, and never the whole table.
pub fn assert_reads_a_range(plan: &str, table: &str) {
    let is_read = ["Index Cond: (", "Index Cond: (("]
        .map(|cond| plan.contains(&format!("{cond}crate_id = ")));
    assert!(is_read.contains(&true), "{plan}");
    assert_reads_a_part(plan, table);
}

/// By an index, and never the whole table.
pub fn assert_reads_a_part(plan: &str, table: &str) {
    let reads = ["Index Cond: ", &format!(" on {table} ")];
    assert!(reads.iter().all(|read| plan.contains(read)), "{plan}");
    assert!(!plan.contains(&format!("Seq Scan on {table}")), "{plan}");
}

impl TestDatabase {
    pub fn create() -> Self {
        Self::create_on("POSTGRES_URL", "TEMPLATE template0")
    }
}
