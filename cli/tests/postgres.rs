//! The command on PostgreSQL, at POSTGRES_URL.

mod behaviour;
mod server;

use server::TestDatabase;

type Conn = diesel::PgConnection;

const BACKEND: &str = "postgres";
const HAS_SLOTS: bool = true;

const REFERENCE: &str =
    include_str!("../../migrations/postgres/00000000000001_create_article_counters/up.sql");
const BAD: &str = include_str!("bad/postgres.sql");

/// What keys of bytes and of UUIDs are here.
const BYTES: [&str; 2] = ["BYTEA", "decode('00ff', 'hex')"];
const UUID: [&str; 2] = ["UUID", "'67e55044-10b1-426f-9247-bb680e5fe0c8'"];

const COLUMNS_OF: &str = "SELECT column_name::text AS name, data_type::text, is_nullable::text
     FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position";

const TEXT: &str = "text";

impl TestDatabase {
    pub fn create() -> Self {
        Self::create_on("POSTGRES_URL", "TEMPLATE template0")
    }
}

#[test]
fn a_table_may_be_in_another_schema() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.hit_counters (
             day DATE, slot SMALLINT, hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (day, slot)
         ); INSERT INTO elsewhere.hit_counters VALUES ('2026-01-01', 1, 7)",
    );
    let checked = database.run(&["check"]);
    assert_eq!(
        checked.stdout,
        "elsewhere.hit_counters: 1 fault\n".to_owned() + checked.stdout.split_once('\n').unwrap().1
    );
    let shown = database
        .run(&["show", "elsewhere.hit_counters", "--json"])
        .json();
    assert_eq!(shown["counters"][0]["total"], 7);
    assert!(
        database
            .run(&["show", "hit_counters"])
            .stderr
            .contains("the counter table is elsewhere.hit_counters")
    );
}
