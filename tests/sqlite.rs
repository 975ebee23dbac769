//! The behaviour tests on SQLite.

/// Ends an `INSERT` that does nothing if the key exists.
macro_rules! on_conflict_do_nothing {
    ($insert:expr) => {
        $insert.on_conflict_do_nothing()
    };
}

mod behaviour;
mod returning;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::dsl::{compact, fold};
use diesel_counters::prelude::*;
use diesel_counters::{CountingTransaction, HasCounters, counting_transaction};
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, views};
use diesel_counters_tests::schema::articles::{self, total_views};
use diesel_counters_tests::schema::comments;
use diesel_counters_tests::schema::user_counters::{self, visits};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use tempfile::TempDir;

pub type Conn = SqliteConnection;

pub const TEST_TABLES: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
pub const REFERENCE: EmbeddedMigrations = embed_migrations!("../migrations/sqlite");

/// Makes the schema that a qualified table of the tests is in, and removes it.
pub const SCHEMA: [&str; 2] = ["", ""];
diesel_counters_tests::tables_in_schema!(main);

/// SQLite has one writer at a time.
/// SQLite has one slot.
pub fn count_in_slot(_slot: i16, _conn: &mut Conn) {}

pub const HAS_SLOTS: bool = false;

/// MySQL and MariaDB.
pub const IS_MYSQL: bool = false;

/// How many statements count 100 entities, and how many there are for any number.
pub const STATEMENTS_OF_100: usize = 3;
pub const STATEMENTS_OF_ANY: usize = 9;

/// There is no server that could.
pub fn kill_others(_conn: &mut Conn) {}

/// A session has no number here.
pub fn has_claimed(_conn: &mut Conn) -> bool {
    false
}

/// Has a statement wait for a lock only shortly.
pub const GIVE_UP_SOON: &str = "PRAGMA busy_timeout = 10";

/// Has a transaction fail that writes a row which changed since it read.
pub const FAIL_ON_CHANGED_ROWS: Option<&str> = None;

/// It would have to wait.
pub const OVERWRITE_CHANGED_ROWS: &str = "";

/// What to run before a column of this type takes `a` and `A` for one text.
pub const CASELESS: [&str; 2] = ["", "TEXT COLLATE NOCASE"];

/// A column of this type tells them apart.
pub const CASED: &str = "TEXT";

pub const ANALYZE: &str = "ANALYZE";

/// The plan of a query.
pub fn plan_of(sql: &str, conn: &mut Conn) -> String {
    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = diesel::sql_types::Text)]
        detail: String,
    }
    let plan: Vec<Line> = diesel::sql_query(format!("EXPLAIN QUERY PLAN {sql}"))
        .load(conn)
        .unwrap();
    plan.into_iter().map(|row| row.detail + "\n").collect()
}

/// So many times, and no other way.
pub fn assert_reads_by_primary_key(plan: &str, times: usize) {
    let reads = plan.matches("(article_id=?").count();
    assert_eq!(reads, times, "{plan}");
    assert!(!plan.contains("SCAN diesel_counters_counted"), "{plan}");
    assert!(!plan.contains("SCAN counters"), "{plan}");
    assert!(!plan.contains("SCAN article_counters"), "{plan}");
}

/// By a prefix of it, and never the whole table.
pub fn assert_reads_a_range(plan: &str, table: &str) {
    let reads: Vec<_> = plan.lines().filter(|line| line.contains(table)).collect();
    assert!(!reads.is_empty(), "{plan}");
    for read in reads {
        assert!(read.contains("(crate_id=?"), "{plan}");
    }
}

/// By an index, and never the whole table.
pub fn assert_reads_a_part(plan: &str, table: &str) {
    assert!(plan.contains(&format!("SEARCH {table}")), "{plan}");
    assert!(!plan.contains(&format!("SCAN {table}")), "{plan}");
}

/// An empty database, which goes when this is dropped.
pub struct TestDatabase {
    folder: TempDir,
}

impl TestDatabase {
    pub fn create() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = TestDatabase { folder };
        let wal = database
            .connect()
            .batch_execute("PRAGMA journal_mode = WAL");
        wal.unwrap();
        database
    }

    pub fn url(&self) -> String {
        let file = self.folder.path().join("test.sqlite");
        file.to_str().unwrap().to_owned()
    }

    pub fn connect(&self) -> Conn {
        let mut conn = Conn::establish(&self.url()).unwrap();
        // No test is to fail for having waited.
        conn.batch_execute("PRAGMA busy_timeout = 600000; PRAGMA foreign_keys = ON")
            .unwrap();
        conn
    }
}

/// A transaction that writes.
pub fn write_transaction<T, E: From<diesel::result::Error>>(
    conn: &mut Conn,
    f: impl FnOnce(&mut Conn) -> Result<T, E>,
) -> Result<T, E> {
    conn.immediate_transaction(f)
}

/// In this mode of the journal, a COMMIT waits for readers. The transaction is then still open.
#[test]
fn a_batch_whose_commit_is_refused_because_of_a_reader_is_written_later() {
    let mut test = behaviour::buffering::Test::new();
    let mode = "PRAGMA journal_mode = DELETE";
    test.conn.batch_execute(mode).unwrap();
    let gives_up = test.pool.get().unwrap().batch_execute(GIVE_UP_SOON);
    gives_up.unwrap();
    let buffer = test.buffer();
    buffer.count(increment(views).of(1_i64)).unwrap();
    test.conn
        .transaction(|conn| {
            articles::table.count().get_result::<i64>(conn)?;
            let write = buffer.flush();
            assert!(write.error.is_some() && write.unknown.is_empty(), "{write}");
            assert_eq!((write.written, write.pending), (0, 1), "{write}");
            QueryResult::Ok(())
        })
        .unwrap();
    // It was rolled back, so it is pending again.
    let shown = buffer.read(|pending| {
        let written: i64 = counter_value(views).of(1_i64).get_result(&mut test.conn)?;
        QueryResult::Ok(written + pending.of(views, &1_i64))
    });
    assert_eq!(shown, Ok(1));
    assert_eq!(buffer.flush().written, 1);
    assert_eq!(test.views(1), 1);
}

/// Read as 2020-01-05, it is sorted as something else.
#[test]
fn a_day_that_is_stored_in_another_way_is_left_and_named_and_others_are_merged() {
    for batch in [1, 2, 3, 100] {
        let (conn, _database, _article) = &mut TestDatabase::with_connection();
        conn.batch_execute(
            "WITH users (id) AS (VALUES (1), (2), (3)),
                 rows (day, slot) AS (VALUES ('2020-01-02', 1), ('2020-01-07', 2), ('2020-01-07', 3))
             INSERT INTO user_counters SELECT id, day, slot, 1 FROM users, rows;
             INSERT INTO user_counters VALUES (2, '2020-1-5', 1, 1), (2, '2020-02-30', 2, 1)",
        )
        .unwrap();

        let result = compact(user_counters::table).batch(batch).execute(conn);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("2 rows of `user_counters`"), "{error}");
        assert!(error.contains("9 rows merged, 0 left"), "{error}");
        let (_, find) = error.split_once("find them with ").unwrap();
        let (find, _) = find.split_once(';').unwrap();
        let found = diesel::sql_query(find).execute(conn);
        assert!(found.is_ok(), "{find}: {found:?}");
        let folded = fold(user_counters::table).before(behaviour::day(2021, 1, 1));
        let error = folded.batch(batch).execute(conn).unwrap_err().to_string();
        assert!(error.contains("6 rows merged, 0 left"), "{error}");
        let values = counter_value(visits).of_many(&[1, 2, 3]).load(conn);
        assert_eq!(values, Ok(vec![3, 5, 3]));
    }
}

#[test]
fn a_key_that_is_stored_in_another_way_is_an_error_and_no_endless_run() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute("INSERT INTO user_counters VALUES (1.5, '2020-01-05', 1, 1)")
        .unwrap();
    let result = compact(user_counters::table).execute(conn);
    let error = result.unwrap_err().to_string();
    assert!(error.contains("(1, 2020-01-05, 1)"), "{error}");
}

/// The same of a model's key: all of these are read as 6.
#[test]
fn models_whose_keys_are_stored_in_another_way_are_an_error_and_no_endless_copy() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
         INSERT INTO articles (id, title) SELECT 6 + n / 200000.0, 'Six and more' FROM numbers",
    )
    .unwrap();
    let result = Article::materialize(views, total_views).execute(conn);
    let error = result.unwrap_err().to_string();
    assert!(error.contains("a run would never get past 6"), "{error}");
}

/// Another program can store anything in a table without checks.
#[test]
fn what_is_no_integer_is_an_error_and_never_a_wrong_number() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    for stored in ["9.5e18", "1.5", "'many'"] {
        let key = "1, '2026-01-01', 0";
        let insert = format!("INSERT OR REPLACE INTO user_counters VALUES ({key}, {stored})");
        conn.batch_execute(&insert).unwrap();
        let value = counter_value(visits).of(1).get_result::<i64>(conn);
        assert!(value.is_err(), "{stored} is read as {value:?}");
    }
}

/// A constraint with `ON CONFLICT ROLLBACK` ends the whole transaction, as does a full disk. The
/// error is then hidden in the savepoint, which cannot be released, or by the program around it,
/// or by the program around two savepoints.
#[test]
fn a_savepoint_that_ends_the_transaction_takes_no_counts_of_lost_rows() {
    type Tx<'a> = CountingTransaction<'a, Conn>;

    fn end_it(tx: &mut Tx<'_>) -> QueryResult<()> {
        let twice = "INSERT INTO one VALUES (1); INSERT INTO one VALUES (1)";
        tx.conn().batch_execute(twice)
    }

    let savepoints: [fn(&mut Tx<'_>) -> QueryResult<()>; 3] = [
        |tx| tx.transaction(|tx| end_it(tx).or(Ok(()))),
        |tx| tx.transaction(end_it),
        |tx| tx.transaction(|tx| tx.transaction(end_it)),
    ];
    for savepoint in savepoints {
        let database = TestDatabase::with_tables();
        let conn = &mut database.connect();
        conn.batch_execute("CREATE TABLE one (id INTEGER UNIQUE ON CONFLICT ROLLBACK)")
            .unwrap();
        let result = counting_transaction(conn, |tx| {
            behaviour::insert_comment(1, "Nice.", tx.conn())?;
            tx.count(increment(article_counters::comments).of(1));
            savepoint(tx).or(QueryResult::Ok(()))
        });
        assert!(result.is_err());
        let conn = &mut database.connect();
        assert_eq!(comments::table.count().get_result(conn), Ok(0_i64));
        let counted = counter_value(article_counters::comments).of(1_i64);
        assert_eq!(counted.get_result(conn), Ok(0_i64));
    }
}
