//! The command on PostgreSQL, at POSTGRES_URL.

mod behaviour;
mod database;
#[path = "behaviour/held.rs"]
mod held;
#[path = "behaviour/hot_row.rs"]
mod hot_row;
#[path = "postgres/mod.rs"]
mod on_postgres;
#[path = "../../tests/server.rs"]
mod server;

use diesel::prelude::*;

use behaviour::Execute;
use behaviour::triggers::assert_kept;
use database::TestDatabase;

type Conn = diesel::PgConnection;

const BACKEND: &str = "postgres";
const HAS_SLOTS: bool = true;

const REFERENCE: &str =
    include_str!("../../migrations/postgres/00000000000001_create_article_counters/up.sql");
const BAD: &str = include_str!("bad/postgres.sql");

/// A text of which each spelling is a key of its own.
const TEXT: &str = "TEXT";

/// What keys of bytes and of UUIDs are here.
const BYTES: [&str; 2] = ["BYTEA", "decode('00ff', 'hex')"];
const UUID: [&str; 2] = ["UUID", "'67e55044-10b1-426f-9247-bb680e5fe0c8'"];

/// Which session this is, as the database numbers them.
const SESSION_ID: &str = "SELECT CAST(pg_backend_pid() AS bigint) AS value";

/// Whether a session waits for a lock.
const IS_WAITING: &str = "SELECT count(*) AS value FROM pg_locks WHERE NOT granted AND pid = $1";

impl TestDatabase {
    pub fn create() -> Self {
        Self::create_on("POSTGRES_URL", "TEMPLATE template0")
    }
}

#[test]
fn the_triggers_of_the_shop_are_what_it_writes() {
    let database = TestDatabase::create();
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/async");
    let tables = format!("{shop}/migrations/2026-11-28-000000_create_shop/up.sql");
    database.execute(&std::fs::read_to_string(tables).unwrap());
    let kept = "examples/async/migrations/2026-11-28-000100_count_orders";
    assert_kept(
        &database,
        include_str!("../../examples/async/counters.toml"),
        kept,
    );
}

#[test]
fn a_table_may_be_in_another_schema() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.hit_counters (
             day DATE, slot SMALLINT, hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (day, slot)
         ); INSERT INTO elsewhere.hit_counters VALUES ('2026-01-01', 1, 7)",
    );
    let checked = database.command("check");
    assert!(checked.stdout.starts_with("elsewhere.hit_counters: good\n"));
    let merged = database.command("compact elsewhere.hit_counters --json");
    assert_eq!(merged.json()["merged_rows"], 1);
    let wrong = database.command("compact hit_counters");
    wrong.fails("its counter tables are elsewhere.hit_counters");
}

#[test]
fn a_schema_can_have_a_dot_in_its_name() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE SCHEMA \"old.blog\"; CREATE TABLE \"old.blog\".hit_counters (
             day DATE NOT NULL, slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (day, slot)
         )",
    );
    database.command("compact old.blog.hit_counters").works();
}

#[test]
fn a_table_of_another_server_is_no_table() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE SCHEMA elsewhere; CREATE FOREIGN DATA WRAPPER nothing;
         CREATE SERVER other FOREIGN DATA WRAPPER nothing;
         CREATE FOREIGN TABLE elsewhere.f_counters (day DATE, slot SMALLINT, hits BIGINT) SERVER other",
    );
    let checked = database.command("check elsewhere.f_counters");
    checked.fails("there is no ordinary table elsewhere.f_counters");
}

#[test]
fn a_password_is_not_repeated_when_libpq_cannot_read_it() {
    for url in [
        "postgres://me:se%zz@localhost/blog",
        "postgres:///blog?password=se%zz",
    ] {
        let checked = behaviour::run(&["check", "--database-url", url]);
        assert!(checked.stderr.contains(r#"token: "***""#), "{checked:?}");
    }
}

/// A bound text is compared with `(code)::text`, of which there is no index.
#[test]
fn a_key_of_a_fixed_width_is_slow() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE codes (code CHAR(4) PRIMARY KEY); INSERT INTO codes VALUES ('ab');
         CREATE TABLE code_counters (
             code CHAR(4) REFERENCES codes, day DATE, slot SMALLINT,
             hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (code, day, slot)
         );
         INSERT INTO code_counters VALUES ('ab', '2026-01-01', 9, 7)",
    );
    let looks_in_index = || {
        #[derive(QueryableByName)]
        struct Line {
            #[diesel(sql_type = diesel::sql_types::Text, column_name = "QUERY PLAN")]
            text: String,
        }
        let conn = &mut database.connect();
        conn.run("SET enable_seqscan = off");
        let plan: Vec<Line> =
            diesel::sql_query("EXPLAIN SELECT hits FROM code_counters WHERE code = 'ab'::text")
                .load(conn)
                .unwrap();
        plan.iter().any(|line| line.text.contains("Index Cond"))
    };
    assert!(!looks_in_index());
    let checked = database.command("check code_counters --json");
    checked.finds("text_key");
    assert_eq!(checked.faults()[0]["severity"], "slow");
}

#[test]
fn a_table_that_a_crash_empties_is_told() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE UNLOGGED TABLE page_counters (
             page_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (page_id, day, slot)
         )",
    );
    let faults = database.command("check --json").faults();
    assert_eq!(faults[0]["fault"], "storage");
    database.mend(&faults[0]);
    database.command("check").works();
}

/// It refuses what is written from then on.
#[test]
fn a_check_that_is_not_valid_refuses_decrements_too() {
    let database = TestDatabase::with_article_counters();
    database.execute("ALTER TABLE article_counters ADD CHECK (likes >= 0) NOT VALID");
    database.command("check").finds("and it isn't a stock");
    let mark = "diesel_counters: period = total, stock = (likes)";
    database.execute(&format!(
        "COMMENT ON COLUMN article_counters.day IS '{mark}'"
    ));
    database.command("check").is_good("article_counters");
}
