//! The behaviour tests on PostgreSQL, at POSTGRES_URL.

mod behaviour;
mod commits;
mod counting;
#[cfg(unix)]
mod pooler;
mod row_security;
mod server;

use behaviour::{PATIENCE, wait_until};
use chrono::{Days, Utc};
use diesel::connection::SimpleConnection;
use diesel::deserialize::{FromSql, FromSqlRow};
use diesel::dsl::sql;
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::prelude::*;
use diesel::result::Error;
use diesel::serialize::{IsNull, Output, Result, ToSql};
use diesel::sql_types::{Bool, Integer, Text};
use diesel_counters::dsl::{
    StoredKey, claim_slot, compact, delete_counters, fold, recount, set_counter,
};
use diesel_counters::prelude::*;
use diesel_counters::{Compactor, Drift, Slot, is_retryable, retry, with_default_slot};
use diesel_counters_tests::schema::article_counters::{self, likes, slot, views};
use diesel_counters_tests::schema::page_counters::{self, hits};
use diesel_counters_tests::schema::user_counters;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use std::sync::mpsc::channel;

pub use diesel_counters_tests::write_transaction;
pub use server::TestDatabase;

pub type Conn = PgConnection;

pub const TEST_TABLES: EmbeddedMigrations = embed_migrations!("migrations/postgres");
pub const REFERENCE: EmbeddedMigrations = embed_migrations!("../migrations/postgres");

/// Makes the schema that a qualified table of the tests is in, and removes it.
pub const SCHEMA: [&str; 2] = ["CREATE SCHEMA elsewhere", "DROP SCHEMA elsewhere CASCADE"];
diesel_counters_tests::tables_in_schema!(elsewhere);

pub const HAS_SLOTS: bool = true;

/// MySQL and MariaDB.
pub const IS_MYSQL: bool = false;

/// How many statements count 100 entities, and how many there are for any number.
pub const STATEMENTS_OF_100: usize = 1;
pub const STATEMENTS_OF_ANY: usize = 1;

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

diesel_counters_tests::counter_table!(device_counters (device_id -> Uuid) (uses));

/// The server keeps 1,023 bytes of a statement. The names of the counters are the last ones.
#[test]
fn pg_stat_activity_shows_an_increment_as_a_whole() {
    let (conn, database, article) = &mut TestDatabase::with_connection();
    let pid = diesel::select(sql::<Integer>("pg_backend_pid()"));
    let pid: i32 = pid.get_result(conn).unwrap();
    article.incr_counter((views, likes), conn).unwrap();
    let query = format!("(SELECT query FROM pg_stat_activity WHERE pid = {pid})");
    let query = diesel::select(sql::<Text>(&query));
    let query: String = query.get_result(&mut database.connect()).unwrap();
    let end = r#""likes" = diesel_counters_stored."likes" + excluded."likes""#;
    assert!(query.ends_with(end), "{query}");
}

#[test]
fn a_key_may_be_a_uuid() {
    let database = TestDatabase::create();
    let conn = &mut database.connect();
    conn.batch_execute(
        "CREATE TABLE device_counters (
             device_id UUID, day DATE, slot SMALLINT, uses BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (device_id, day, slot)
         )",
    )
    .unwrap();
    let keys = [(); 5].map(|()| uuid::Uuid::new_v4());
    behaviour::keys::each_key_is_its_own!(uuid::Uuid: device_counters::uses, keys,
        |_key: &uuid::Uuid| false, conn);
}

#[test]
fn a_session_that_was_discarded_claims_a_number_again() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    claim_slot().execute(conn).unwrap();
    for (discard, keeps_locks) in [("DISCARD ALL", false), ("RESET ALL", true)] {
        conn.batch_execute(discard).unwrap();
        assert_eq!(has_claimed(conn), keeps_locks);
        claim_slot().execute(conn).unwrap();
        assert!(has_claimed(conn));
    }
}

/// Its setting is rolled back, and its lock is not.
#[test]
fn a_claim_that_is_rolled_back_is_no_other_sessions() {
    let (conn, database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute("BEGIN; SAVEPOINT one").unwrap();
    increment(views).of(1_i64).execute(conn).unwrap();
    conn.batch_execute("ROLLBACK TO one").unwrap();
    let other = &mut database.connect();
    increment(views).of(1_i64).execute(other).unwrap();
    increment(views).of(1_i64).execute(conn).unwrap();
    conn.batch_execute("COMMIT").unwrap();
    let used = article_counters::table.select(slot).order(slot);
    assert_eq!(used.load(conn), Ok(vec![1_i16, 2]));
    let own = article_counters::table.filter(slot.eq(1)).select(views);
    assert_eq!(own.get_result(other), Ok(1));
}

const OTHER_PARTITION: &str =
    "the partition of this statement is not that of the database, diesel_counters.partition = 1/8";

/// It would write the rows of another node.
#[test]
fn whatever_writes_counters_without_the_partition_of_its_database_is_an_error() {
    let database = TestDatabase::with_tables();
    let article = behaviour::article(1);
    let of = |index| Slot::Partition { index, of: 8 };
    for (name, operation) in behaviour::nodes::RUNS {
        let run = |default| {
            let conn = &mut database.connect();
            for node in [of(0), of(1)] {
                let count = increment(views).of(1_i64).on(behaviour::day(2026, 1, 3));
                count.slot(node).execute(conn).unwrap();
            }
            let conn = &mut database.connect();
            // A number that the connection already has does not change what is refused.
            claim_slot().execute(conn).unwrap();
            conn.batch_execute("SET diesel_counters.partition = ' 1/08'")?;
            with_default_slot(default, || operation(&article, conn))
        };
        for wrong in [Slot::Connection, of(0), Slot::Partition { index: 1, of: 2 }] {
            let error = run(wrong).unwrap_err().to_string();
            let expected = OTHER_PARTITION.replace("1/8", " 1/08");
            assert!(error.contains(&expected), "{name}: {error}");
        }
        assert_eq!(run(of(1)), Ok(()), "{name}");
    }
    // Of the other node, there is what was counted with its partition.
    let slots = article_counters::table.select(slot);
    let slots: Vec<i16> = slots.load(&mut database.connect()).unwrap();
    let known = |number: &i16| [1, 2, -1].contains(&(number % 8));
    assert!(slots.iter().all(known), "{slots:?}");
}

/// Its merged rows would be those of another node.
#[test]
fn a_merge_without_the_partition_of_its_database_that_finds_locked_rows_inserts_none() {
    let database = TestDatabase::with_tables();
    let (conn, other) = (&mut database.connect(), &mut database.connect());
    let old = Utc::now().date_naive() - Days::new(9);
    increment(views).of(1_i64).on(old).execute(other).unwrap();
    other.batch_execute("BEGIN").unwrap();
    increment(views).of(1_i64).on(old).execute(other).unwrap();

    conn.batch_execute("SET diesel_counters.partition = '1/8'")
        .unwrap();
    let merged = compact(article_counters::table).execute(conn);
    let error = merged.unwrap_err().to_string();
    assert!(error.contains(OTHER_PARTITION), "{error}");
    other.batch_execute("COMMIT").unwrap();
    let slots = article_counters::table.select(slot).load(conn);
    assert_eq!(slots, Ok(vec![1_i16]));
}

/// A serialization failure can be the error of the COMMIT.
#[test]
fn a_serializable_transaction_is_run_again() {
    let database = TestDatabase::with_tables();
    let (conn, other) = (&mut database.connect(), &mut database.connect());
    let article = behaviour::article(1);
    let mut seen = vec![];
    retry()
        .run(conn, |conn| {
            conn.build_transaction().serializable().run(|conn| {
                seen.push(article.counter_value(views, conn)?);
                if seen.len() == 1 {
                    // It reads what the transaction writes, and writes what the transaction reads.
                    other.build_transaction().serializable().run(|other| {
                        article.counter_value(likes, other)?;
                        article.incr_counter(views, other)
                    })?;
                }
                article.incr_counter(likes, conn)
            })
        })
        .unwrap();
    assert_eq!(seen, [0, 1]);
    assert_eq!(article.counter_value((views, likes), conn), Ok((1, 1)));
}

/// Only PostgreSQL has columns whose names differ in nothing but case.
#[test]
fn a_counter_whose_name_differs_in_case_is_not_lost() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute(
        "ALTER TABLE user_counters ADD \"Visits\" BIGINT NOT NULL DEFAULT 0;
         INSERT INTO user_counters (user_id, day, slot, visits, \"Visits\")
         VALUES (1, '2026-03-01', 1, 10, 100), (1, '2026-03-01', 2, 20, 200)",
    )
    .unwrap();
    let merged = compact(user_counters::table).execute(conn);
    let Err(Error::QueryBuilderError(error)) = merged else {
        panic!("{merged:?}");
    };
    assert!(error.to_string().contains("column `Visits`"), "{error}");
}

/// An SQL type of the application's own, as `diesel print-schema` wrote it before it added `Clone`.
#[derive(diesel::sql_types::SqlType, diesel::query_builder::QueryId)]
#[diesel(postgres_type(name = "kind"))]
pub struct KindType;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = KindType)]
pub enum Kind {
    A,
    B,
}

impl ToSql<KindType, Pg> for Kind {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> Result {
        std::io::Write::write_all(out, if *self == Kind::A { b"a" } else { b"b" })?;
        Ok(IsNull::No)
    }
}

impl FromSql<KindType, Pg> for Kind {
    fn from_sql(value: PgValue<'_>) -> diesel::deserialize::Result<Self> {
        let is_b = usize::from(value.as_bytes() == b"b");
        Ok([Kind::A, Kind::B][is_b])
    }
}

impl StoredKey for KindType {
    type Key = Kind;
}

#[test]
fn a_key_may_be_of_an_sql_type_that_is_not_clone() {
    diesel::table! {
        use diesel::sql_types::{BigInt, Date, SmallInt};
        use crate::KindType;
        kind_counters (kind, day, slot) {
            kind -> KindType,
            day -> Date,
            slot -> SmallInt,
            views -> BigInt,
        }
    }
    diesel_counters::counter_table!(kind_counters);
    use kind_counters::{slot, table, views};

    let database = TestDatabase::create();
    let conn = &mut database.connect();
    conn.batch_execute(
        "CREATE TYPE kind AS ENUM ('b', 'a');
         CREATE TABLE kind_counters (kind kind NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (kind, day, slot))",
    )
    .unwrap();
    behaviour::keys::each_key_is_its_own!(Kind: kind_counters::views, [Kind::A, Kind::B],
        |_key: &Kind| false, &mut *conn);
    // Kind A was deleted.
    let of_a = increment(views).of(Kind::A);
    assert_eq!(of_a.clone().execute(conn), Ok(1), "{of_a:?}");
    let none = table
        .filter(slot.lt(0))
        .select((kind_counters::kind, views));
    let drift: Vec<Drift<Kind>> = recount(views, none).of(Kind::A).execute(conn).unwrap();
    assert_eq!((drift[0].entity, drift[0].stored), (Kind::A, 1));
}

/// Only the database knows that they are one key.
#[test]
fn two_spellings_of_a_key_in_one_statement_are_an_error() {
    let (conn, _database) = &mut behaviour::collations::with_paths(CASELESS[1]);
    let counted = increment(hits)
        .of_many([("foo", 1), ("FOO", 1)])
        .execute(conn);
    let error = counted.unwrap_err().to_string();
    assert!(error.contains("a second time"), "{error}");
    for (path, d) in [("foo", 1), ("FOO", 2)] {
        let row = increment(hits).of(path).on(behaviour::day(2026, 3, d));
        row.execute(conn).unwrap();
    }
    let none = page_counters::table.filter(page_counters::slot.lt(0));
    let by_day = none.select((page_counters::path, page_counters::day, hits));
    let drift: QueryResult<Vec<Drift<String>>> = recount(hits, by_day).execute(conn);
    let error = drift.unwrap_err().to_string();
    assert!(error.contains("a second time"), "{error}");
    let drift: Vec<Drift<String>> = recount(hits, by_day).of("Foo").execute(conn).unwrap();
    assert_eq!(drift.iter().map(|of_day| of_day.stored).sum::<i64>(), 2);
}

/// The server refuses a prepared query whose columns have got other types, on each connection that
/// has prepared it.
#[test]
fn merges_and_copies_go_on_after_a_key_has_got_another_type() {
    mod pages {
        diesel::table! { pages (path) { path -> Text, total_hits -> BigInt } }
        diesel_counters_tests::counter_table!(
            page_counters (path -> Text) (hits) { parent = pages::path }
        );
    }
    use pages::page_counters::{hits, table};
    use pages::pages::total_hits;

    #[derive(HasCounters)]
    #[diesel(table_name = pages::pages, primary_key(path))]
    #[counters(table_name = pages::page_counters)]
    struct Page {
        path: String,
    }

    let database = TestDatabase::create();
    let conn = &mut database.connect();
    conn.batch_execute(
        "CREATE TABLE pages (path VARCHAR(50) PRIMARY KEY, total_hits BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE page_counters (path VARCHAR(50), day DATE, slot SMALLINT, hits BIGINT NOT NULL,
             PRIMARY KEY (path, day, slot));
         INSERT INTO pages VALUES ('/')",
    )
    .unwrap();
    for sql_type in ["VARCHAR(50)", "VARCHAR(100)", "TEXT"] {
        conn.batch_execute(&format!(
            "ALTER TABLE pages ALTER path TYPE {sql_type};
             ALTER TABLE page_counters ALTER path TYPE {sql_type}"
        ))
        .unwrap();
        let row = increment(hits).of("/").on(behaviour::day(2026, 3, 1));
        row.execute(conn).unwrap();
        assert_eq!(compact(table).execute(conn).map(|done| done.merged), Ok(1));
        assert_eq!(Page::materialize(hits, total_hits).execute(conn), Ok(1));
    }
}

/// An `ALTER TABLE` in a transaction that stays open, for example.
#[test]
fn dropping_a_compactor_does_not_wait_until_another_session_has_ended() {
    let database = TestDatabase::with_tables();
    let (other, watcher) = (&mut database.connect(), &mut database.connect());
    let lock = "BEGIN; LOCK TABLE article_counters";
    other.batch_execute(lock).unwrap();
    let url = database.url();
    let (run, runs) = channel();
    let builder =
        Compactor::builder(move || Conn::establish(&url)).compact(article_counters::table);
    let builder = builder.on_run(move |done| run.send(done.to_string()).unwrap());
    let compactor = builder.start().unwrap();
    let waits = "EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))";
    let waits = diesel::select(sql::<Bool>(waits));
    assert!(wait_until(|| waits.clone().get_result(watcher).unwrap()));

    let (drops, dropped) = channel();
    std::thread::spawn(move || {
        drop(compactor);
        drops.send(())
    });
    let dropped = dropped.recv_timeout(PATIENCE);
    other.batch_execute("COMMIT").unwrap();
    assert_eq!(dropped, Ok(()));
    // Its last run, and then its callback is gone.
    let last: Vec<_> = runs.iter().collect();
    assert_eq!(last.len(), 1, "{last:?}");
}

/// PostgreSQL itself finds conflicts between SERIALIZABLE transactions only.
#[test]
fn a_serializable_correction_conflicts_with_a_deletion_at_any_level() {
    let (database, article) = (TestDatabase::with_tables(), behaviour::article(1));
    let (conn, other) = (&mut database.connect(), &mut database.connect());
    article.incr_counter_by(views, 31, conn).unwrap();
    let set = conn.build_transaction().serializable().run(|conn| {
        assert_eq!(article.counter_value(views, conn), Ok(31));
        let delete = delete_counters(article_counters::table).of(&article);
        assert_eq!(delete.execute(other), Ok(1));
        set_counter(views).of(&article).to(100).execute(conn)
    });
    assert!(set.as_ref().is_err_and(is_retryable), "{set:?}");
    assert_eq!(article.counter_value(views, conn), Ok(0));
}

/// The deletion waits for a correction of the first label, and another one gets its first count meanwhile.
#[test]
fn a_deletion_by_a_prefix_removes_an_entity_that_was_counted_while_it_waited() {
    use behaviour::key_columns::{reaction_counters, with_tables};
    use diesel_counters::dsl::{delete_counters, set_counter};
    use diesel_counters::prelude::*;
    use reaction_counters::given;

    let (conn, database) = &mut with_tables();
    increment(given).of((1_i64, "a")).execute(conn).unwrap();
    conn.transaction(|conn| {
        set_counter(given).of((1_i64, "a")).to(5).execute(conn)?;
        let mut deleting = database.connect();
        let deletion = std::thread::spawn(move || {
            let delete = delete_counters(reaction_counters::table).of(1_i64);
            delete.execute(&mut deleting)
        });
        let mut others = database.connect();
        let is_waiting = || {
            let waiting = "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() \
                           AND wait_event_type = 'Lock')";
            let waiting = diesel::dsl::sql::<diesel::sql_types::Bool>(waiting);
            diesel::select(waiting).get_result(&mut others).unwrap()
        };
        assert!(behaviour::wait_until(is_waiting));
        increment(given)
            .of((1_i64, "b"))
            .execute(&mut database.connect())?;
        QueryResult::Ok(deletion)
    })
    .unwrap()
    .join()
    .unwrap()
    .unwrap();
    let left: i64 = counter_value(given).of(1_i64).get_result(conn).unwrap();
    assert_eq!(left, 0);
}
