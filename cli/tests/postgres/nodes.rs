//! A database that is one of several nodes.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::behaviour::Execute;
use crate::server::TestDatabase;

const TRIGGERS: &str =
    include_str!("../../../migrations/triggers/postgres/00000000000002_count_article_likes/up.sql");

/// The database is the second of two nodes.
fn second_node() -> TestDatabase {
    let database = TestDatabase::with_article_counters();
    set_partition("1/2", &database);
    database
}

fn set_partition(partition: &str, database: &TestDatabase) {
    database.execute(&format!(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET diesel_counters.partition = %L',
             current_database(), '{partition}'); END $$",
    ));
}

fn slots(database: &TestDatabase) -> String {
    let slots = "(SELECT string_agg(slot || ': ' || views + likes, ', ' ORDER BY slot)
         FROM article_counters WHERE views + likes <> 0)";
    let slots = diesel::select(sql::<Text>(slots));
    slots.get_result(&mut database.connect()).unwrap()
}

#[test]
fn the_command_writes_in_the_partition_of_the_database() {
    let database = second_node();
    database.execute(
        "INSERT INTO article_counters (article_id, day, slot, views)
         SELECT 1, '2026-01-02', slot, 1 FROM generate_series(1, 6) AS slot",
    );
    database.command("compact article_counters").works();
    assert_eq!(slots(&database), "-1: 3, 1: 1, 3: 1, 5: 1");
    let merge = "compact article_counters --partition 0/2";
    database.command(merge).works();
    assert_eq!(slots(&database), "-1: 3, 0: 3");
}

#[test]
fn triggers_count_in_the_partition_of_the_database() {
    let database = second_node();
    database.execute(
        "CREATE TABLE article_likes (article_id BIGINT NOT NULL REFERENCES articles (id)
             ON DELETE CASCADE, user_id BIGINT NOT NULL, PRIMARY KEY (article_id, user_id));
         INSERT INTO article_likes VALUES (1, 1)",
    );
    database.execute(TRIGGERS);
    assert_eq!(slots(&database), "-1: 1");
    // Each connection has a number, and a slot of the partition.
    let mut connections = Vec::new();
    for user in 2..5 {
        let mut conn = database.connect();
        conn.run(&format!("INSERT INTO article_likes VALUES (1, {user})"));
        connections.push(conn);
    }
    assert_eq!(slots(&database), "-1: 1, 2: 1, 4: 1, 6: 1");
    database.command("check").works();
    database.execute("UPDATE article_counters SET likes = likes + 5 WHERE slot = 2");
    database.command("recount").works();
    assert_eq!(slots(&database), "-1: -4, 2: 6, 4: 1, 6: 1");
}

#[test]
fn a_partition_that_is_none_is_said() {
    let database = TestDatabase::with_article_counters();
    for wrong in ["2/2", "1", "a/b", "0/40000"] {
        let ran = database.run(&["check", "--partition", wrong]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("is not a partition"), "{ran:?}");
    }
    set_partition("3/2", &database);
    database.command("check").fails("diesel_counters.partition");
}

/// Names no other server: what a subscription writes into the catalogue is enough.
const REPLICATED: &str = "
    CREATE PUBLICATION counts FOR TABLE article_counters;
    CREATE SUBSCRIPTION counts CONNECTION '' PUBLICATION counts WITH (connect = false);
    ALTER SUBSCRIPTION counts SET (slot_name = NONE);
    SET allow_system_table_mods = on;
    INSERT INTO pg_subscription_rel (srsubid, srrelid, srsubstate)
    SELECT oid, to_regclass('article_counters'), 'r' FROM pg_subscription WHERE subname = 'counts'
        AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// The names of what is wrong with the table.
fn faults(database: &TestDatabase) -> Vec<String> {
    // The partition of a run is not that of the database.
    let check = ["check", "--json", "--partition", "1/2"];
    let faults = database.run(&check).faults().into_iter();
    let faults = faults.filter(|fault| fault["severity"] == "wrong");
    let names = faults.map(|fault| fault["fault"].as_str().unwrap().to_owned());
    names.collect()
}

#[test]
fn tables_that_several_nodes_write_require_a_partition_and_no_cascade() {
    let database = TestDatabase::with_article_counters();
    database.execute("CREATE PUBLICATION only_read FOR TABLE article_counters");
    assert_eq!(faults(&database), [""; 0]);
    database.execute(REPLICATED);
    assert_eq!(faults(&database), ["no_node", "cascade_on_nodes"]);
    let drop = "DROP CONSTRAINT article_counters_article_id_fkey";
    database.execute(&format!("ALTER TABLE article_counters {drop}"));
    set_partition("0/2", &database);
    assert_eq!(faults(&database), [""; 0]);
    let stock = "diesel_counters: period = total, stock = (likes)";
    database.execute(&format!(
        "ALTER TABLE article_counters ADD CHECK (likes >= 0);
         COMMENT ON COLUMN article_counters.day IS '{stock}'"
    ));
    assert_eq!(faults(&database), ["stock_on_nodes"]);
    database.execute("DROP SUBSCRIPTION counts");
}

/// A second foreign key of a column, or one of several columns.
#[test]
fn each_foreign_key_of_a_table_that_several_nodes_write_must_not_cascade() {
    for foreign_key in [
        "(article_id) REFERENCES drafts (id)",
        "(article_id, day) REFERENCES editions (article_id, day)",
    ] {
        let database = TestDatabase::with_article_counters();
        database.execute(&format!(
            "CREATE TABLE drafts (id BIGINT PRIMARY KEY);
             CREATE TABLE editions (article_id BIGINT, day DATE, PRIMARY KEY (article_id, day));
             ALTER TABLE article_counters DROP CONSTRAINT article_counters_article_id_fkey;
             ALTER TABLE article_counters
                 ADD CONSTRAINT a FOREIGN KEY (article_id) REFERENCES articles (id),
                 ADD CONSTRAINT b FOREIGN KEY {foreign_key} ON DELETE CASCADE"
        ));
        set_partition("0/2", &database);
        assert_eq!(faults(&database), [""; 0]);
        database.execute(REPLICATED);
        assert_eq!(faults(&database), ["cascade_on_nodes"], "{foreign_key}");
        database.execute("DROP SUBSCRIPTION counts");
    }
}
