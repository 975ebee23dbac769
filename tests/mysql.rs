//! The behaviour tests on MySQL or MariaDB, at MYSQL_URL.

/// Ends an `INSERT` that does nothing if the key exists.
macro_rules! on_conflict_do_nothing {
    ($insert:expr) => {
        $insert
            .on_conflict(diesel::dsl::DuplicatedKeys)
            .do_nothing()
    };
}

mod behaviour;
mod commits;
mod server;

use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Bool};
use diesel_counters::dsl::set_counter;
use diesel_counters::prelude::*;
use diesel_counters::{CounterBuffer, is_overflow, is_retryable};
use diesel_counters_tests::schema::article_counters::views;
use diesel_counters_tests::schema::file_counters::downloads;
use diesel_counters_tests::schema::user_counters::visits;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use crate::behaviour::wait_until;

pub use diesel_counters_tests::write_transaction;
pub use server::TestDatabase;

pub type Conn = MysqlConnection;

pub const TEST_TABLES: EmbeddedMigrations = embed_migrations!("migrations/mysql");
pub const REFERENCE: EmbeddedMigrations = embed_migrations!("../migrations/mysql");

/// Makes the schema that a qualified table of the tests is in, and removes it.
pub const SCHEMA: [&str; 2] = [
    "CREATE DATABASE counters_test_elsewhere",
    "DROP DATABASE counters_test_elsewhere",
];
diesel_counters_tests::tables_in_schema!(counters_test_elsewhere);

/// Has the connection count in this slot of 32, beside others that do.
pub fn count_in_slot(slot: i16, conn: &mut Conn) {
    let number = slot - 1;
    conn.batch_execute(&format!("SET @diesel_counters_number = {number}"))
        .unwrap();
}

pub const HAS_SLOTS: bool = true;

/// MySQL and MariaDB.
pub const IS_MYSQL: bool = true;

/// How many statements count 100 entities, and how many there are for any number.
pub const STATEMENTS_OF_100: usize = 3;
pub const STATEMENTS_OF_ANY: usize = 9;

/// Ends all connections to the database but this one.
pub fn kill_others(conn: &mut Conn) {
    let others = sql::<BigInt>(
        "CAST(id AS SIGNED) FROM information_schema.processlist
         WHERE db = DATABASE() AND id <> CONNECTION_ID()",
    );
    let others = diesel::select(others);
    // MySQL can't list the sessions while one of them runs a statement with an emoji in it.
    let mut listed = others.clone().load::<i64>(conn);
    behaviour::wait_until(|| {
        if listed.is_err() {
            listed = others.clone().load(conn);
        }
        listed.is_ok()
    });
    for other in listed.unwrap() {
        // One that has gone meanwhile is as good.
        let _ = diesel::sql_query(format!("KILL {other}")).execute(conn);
    }
}

/// Whether the session has claimed a number.
pub fn has_claimed(conn: &mut Conn) -> bool {
    let held = "CONNECTION_ID() <=> IS_USED_LOCK(SHA2(
         CONCAT_WS('/', 'diesel_counters.number', DATABASE(), @diesel_counters_number), 224))";
    diesel::select(sql::<Bool>(held)).get_result(conn).unwrap()
}

/// Has a statement wait for a lock only shortly.
pub const GIVE_UP_SOON: &str = "SET SESSION innodb_lock_wait_timeout = 1";

/// Has a transaction fail that writes a row which changed since it read.
pub const FAIL_ON_CHANGED_ROWS: Option<&str> = Some("SET SESSION innodb_snapshot_isolation = ON");

/// Has a transaction write a row which changed since it read. (MySQL always does, and does not know
/// the variable.)
pub const OVERWRITE_CHANGED_ROWS: &str =
    "SET @unused = 1 /*M!101108 , SESSION innodb_snapshot_isolation = OFF */";

/// What to run before a column of this type takes `a` and `A` for one text.
pub const CASELESS: [&str; 2] = ["", "VARCHAR(100) COLLATE utf8mb4_general_ci"];

/// A column of this type tells them apart.
pub const CASED: &str = "VARCHAR(100) COLLATE utf8mb4_bin";

pub const ANALYZE: &str = "ANALYZE TABLE articles; ANALYZE TABLE article_counters";

/// The plan of a query.
pub fn plan_of(sql: &str, conn: &mut Conn) -> String {
    #[derive(QueryableByName)]
    struct Plan {
        #[diesel(sql_type = diesel::sql_types::Text, column_name = "EXPLAIN")]
        json: String,
    }
    // MySQL does not describe an EXPLAIN that is a prepared statement, and MariaDB puts
    // it into no variable.
    conn.batch_execute("SET SESSION explain_json_format_version = 1")
        .ok();
    let into_variable = conn.batch_execute(&format!("EXPLAIN FORMAT=JSON INTO @plan {sql}"));
    let explain = match into_variable {
        Ok(()) => "SELECT CAST(@plan AS CHAR) AS `EXPLAIN`".to_owned(),
        Err(_) => format!("EXPLAIN FORMAT=JSON {sql}"),
    };
    let plan: Plan = diesel::sql_query(explain).get_result(conn).unwrap();
    plan.json
}

/// So many times, and no other way.
pub fn assert_reads_by_primary_key(plan: &str, times: usize) {
    let counted = [
        "\"diesel_counters_counted\"",
        "\"counters\"",
        "\"article_counters\"",
    ];
    let tables = plan.split("\"table_name\": ").skip(1);
    let reads: Vec<_> = tables
        .filter(|table| counted.iter().any(|name| table.starts_with(name)))
        .collect();
    assert_eq!(reads.len(), times, "{plan}");
    for read in reads {
        assert!(read.contains("\"key\": \"PRIMARY\""), "{plan}");
        assert!(!read.contains("\"access_type\": \"index\""), "{plan}");
    }
}

/// By a prefix of it, and never the whole table.
pub fn assert_reads_a_range(plan: &str, table: &str) {
    assert_reads_a_part(plan, table);
    for read in reads_of(plan, table) {
        // The list of keys takes its types from the table, and reads no row of it.
        let is_impossible = read.contains("Impossible WHERE") || read.contains("Zero limit");
        let is_by_key = read.contains("\"key\": \"PRIMARY\"");
        assert!(is_impossible || is_by_key, "{plan}");
    }
}

/// By an index, and never the whole table.
pub fn assert_reads_a_part(plan: &str, table: &str) {
    let reads = reads_of(plan, table);
    assert!(!reads.is_empty(), "{plan}");
    for read in reads {
        assert!(!read.contains("\"access_type\": \"index\""), "{plan}");
        assert!(!read.contains("\"access_type\": \"ALL\""), "{plan}");
    }
}

fn reads_of<'p>(plan: &'p str, table: &str) -> Vec<&'p str> {
    let name = format!("\"{table}\"");
    let tables = plan.split("\"table_name\": ").skip(1);
    tables.filter(|read| read.starts_with(&name)).collect()
}

impl TestDatabase {
    pub fn create() -> Self {
        Self::create_on("MYSQL_URL", "CHARACTER SET utf8mb4")
    }
}

/// At READ COMMITTED a locking read does not keep rows from appearing behind it.
#[test]
fn a_counter_set_at_read_committed_misses_no_part_of_a_transaction() {
    let database = TestDatabase::with_tables();
    let (conn, other) = (&mut database.connect(), &mut database.connect());
    let count = |day, by, conn: &mut Conn| {
        let row = increment(visits).of(1).on(behaviour::day(2026, 1, day));
        count_in_slot(1, conn);
        row.by(by).execute(conn)
    };
    for n in [1, 5] {
        count(n, 10, conn).unwrap();
    }
    conn.batch_execute(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
         SET SESSION innodb_lock_wait_timeout = 300",
    )
    .unwrap();
    let number = diesel::select(sql::<BigInt>("CONNECTION_ID()"));
    let number: i64 = number.get_result(conn).unwrap();

    std::thread::scope(|scope| {
        other.batch_execute("BEGIN").unwrap();
        count(1, -1, other).unwrap();
        let set = scope
            .spawn(|| conn.transaction(|conn| set_counter(visits).of(1).to(100).execute(conn)));
        // It reads from the last day, and comes to wait at the first one.
        let waits = sql::<Bool>(
            "EXISTS (SELECT 1 FROM information_schema.innodb_trx \
             WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = ",
        );
        let waits = diesel::select(waits.bind::<BigInt, _>(number).sql(")"));
        let watcher = &mut database.connect();
        while !waits.clone().get_result::<bool>(watcher).unwrap() {
            assert!(!set.is_finished(), "it waited for nothing");
            // Who looks again within 100 ms is shown the same.
            std::thread::sleep(std::time::Duration::from_millis(150));
        }
        count(9, 1, other).unwrap();
        other.batch_execute("COMMIT").unwrap();
        assert_eq!(set.join().unwrap(), Ok(20));
    });
    let value = counter_value(visits).of(1).get_result(conn);
    assert_eq!(value, Ok(100_i64));
}

/// Without its strict mode the server adjusts values rather than refusing them.
#[test]
fn a_lenient_server_adjusts_no_count() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute("SET SESSION sql_mode = ''").unwrap();

    let greatest = increment(visits).of(1).by(i64::MAX);
    assert_eq!(greatest.execute(conn), Ok(1));
    let one_more = increment(visits).of(1).execute(conn);
    assert!(one_more.as_ref().is_err_and(is_overflow), "{one_more:?}");
    let count = increment(visits).of(1).on(chrono::NaiveDate::MAX);
    let no_such_day = count.execute(conn);
    let is_refused = matches!(no_such_day, Err(Error::SerializationError(_)));
    assert!(is_refused, "{no_such_day:?}");
    let value = counter_value(visits).of(1).get_result::<i64>(conn);
    assert_eq!(value, Ok(i64::MAX));
}

/// The server translates the texts by which errors are recognized.
#[test]
fn a_conflict_is_recognized_in_english() {
    let database = TestDatabase::with_tables();
    let (conn, other) = (&mut database.connect(), &mut database.connect());
    for conn in [&mut *conn, &mut *other] {
        count_in_slot(1, conn);
    }
    let count = increment(visits).of(1);
    other.batch_execute("BEGIN").unwrap();
    count.clone().execute(other).unwrap();
    conn.batch_execute(GIVE_UP_SOON).unwrap();
    conn.batch_execute("SET lc_messages = 'de_DE'").unwrap();
    let error = count.clone().execute(conn).unwrap_err();
    let is_translated = !error.to_string().contains("Lock wait timeout");
    assert_eq!(is_retryable(&error), !is_translated, "{error}");
    conn.batch_execute("SET lc_messages = 'en_US'").unwrap();
    let error = count.execute(conn).unwrap_err();
    assert!(is_retryable(&error), "{error}");
}

/// The server pads them with zeros when it stores them, and not when it compares them.
#[test]
fn bytes_that_are_shorter_than_a_binary_column_are_not_found() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute("ALTER TABLE file_counters MODIFY digest BINARY(4) NOT NULL")
        .unwrap();
    let short = increment(downloads).of([1, 2].as_slice());
    assert_eq!(short.execute(conn), Ok(1));
    let keys = [[1, 2].as_slice(), [1, 2, 0, 0].as_slice()];
    let values = counter_value(downloads).of_many(keys).load(conn);
    assert_eq!(values, Ok(vec![0, 1]));
}

/// A backup keeps commits back, for as long as it takes. If one failed after a second, the buffer
/// could not know whether it was rolled back.
#[test]
fn the_commit_of_a_buffer_waits_for_a_backup() {
    let (conn, database, _article) = &mut TestDatabase::with_connection();
    if conn.batch_execute("BACKUP STAGE START").is_err() {
        return; // Only MariaDB has it.
    }
    let url = database.url();
    // The program's own limit ends no COMMIT, either.
    let builder = CounterBuffer::builder(move || {
        let mut conn = Conn::establish(&url)?;
        let limit = "SET SESSION lock_wait_timeout = 1";
        conn.batch_execute(limit).expect("the limit is set");
        Ok::<_, ConnectionError>(conn)
    });
    let never = Duration::from_secs(1_000_000);
    let buffer = builder.every(never).start().unwrap();
    buffer.count(increment(views).of(1_i64)).unwrap();
    conn.batch_execute("BACKUP STAGE BLOCK_COMMIT").unwrap();
    thread::scope(|scope| {
        let flush = scope.spawn(|| buffer.flush());
        // Longer than it waits for another lock.
        let waits = sql::<BigInt>(
            "SELECT COUNT(*) FROM information_schema.processlist
             WHERE db = DATABASE() AND state = 'Waiting for backup lock' AND time_ms > 1200",
        );
        let has_waited = |conn: &mut Conn| waits.clone().get_result(conn) == Ok(1_i64);
        let has_ended = wait_until(|| flush.is_finished() || has_waited(conn));
        let is_finished = flush.is_finished();
        conn.batch_execute("BACKUP STAGE END").unwrap();
        let write = flush.join().unwrap();
        assert!(has_ended && !is_finished && write.written == 1, "{write}");
    });
}

/// The migration in docs/coming-from.md, as it stands there.
#[test]
fn a_slotted_table_is_carried_over() {
    diesel_counters_tests::counter_table!(
        record_counters (record_type -> Text, record_id -> BigInt) (hits)
    );
    use record_counters::hits;

    let docs = include_str!("../docs/coming-from.md");
    let (_, section) = docs.split_once("## GitHub's slotted table").unwrap();
    let (_, sql) = section.split_once("```sql").unwrap();
    let (sql, _) = sql.split_once("```").unwrap();

    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute(
        "CREATE TABLE slotted_counters (
             id BIGINT AUTO_INCREMENT PRIMARY KEY, record_type VARCHAR(64) NOT NULL,
             record_id BIGINT NOT NULL, slot INT NOT NULL, count BIGINT NOT NULL,
             UNIQUE (record_type, record_id, slot)
         );
         INSERT INTO slotted_counters (record_type, record_id, slot, count)
         VALUES ('Article', 7, 3, 40), ('Article', 7, 99, 2), ('User', 7, 3, 5)",
    )
    .unwrap();
    conn.batch_execute(sql).unwrap();

    let count = increment(hits).of(("Article", 7_i64));
    count.execute(conn).unwrap();
    for (kind, count) in [("Article", 43_i64), ("User", 5)] {
        let value = counter_value(hits).of((kind, 7_i64)).get_result(conn);
        assert_eq!(value, Ok(count));
    }
}
