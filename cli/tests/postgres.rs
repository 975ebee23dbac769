//! The command on PostgreSQL, at POSTGRES_URL.

mod behaviour;
#[path = "behaviour/held.rs"]
mod held;
#[path = "behaviour/hot_row.rs"]
mod hot_row;
#[path = "behaviour/nodes.rs"]
mod nodes;
#[path = "../../tests/server.rs"]
mod server;
#[path = "postgres/mod.rs"]
mod trust;

use std::sync::mpsc;
use std::thread;

use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::prelude::*;

use behaviour::Execute;
use behaviour::Ran;
use behaviour::doctor::{waits, with_counters};
use behaviour::triggers::assert_kept;
use hot_row::{await_wait, begin, count, report, session_id, with_a_waiter, with_articles};
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
    assert_kept(&database, &format!("--file {shop}/counters.toml"), kept);
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

/// The second one waits for the place in the queue, and no longer for the holder.
#[test]
fn those_in_the_queue_for_a_row_are_told_with_the_row_and_the_holder() {
    let database = with_counters();
    let update = "UPDATE article_counters SET views = views + 1";
    let (waiter_is, waiters) = mpsc::channel();
    let answer = thread::scope(|scope| {
        let holder = &mut database.connect();
        count(7, holder).unwrap();
        begin(holder);
        count(7, holder).unwrap();
        let mut ids = Vec::new();
        for _ in 0..2 {
            scope.spawn(|| {
                let conn = &mut database.connect();
                waiter_is.send(session_id(conn)).unwrap();
                diesel::sql_query(update).execute(conn).unwrap();
            });
            let waiter = waiters.recv().unwrap();
            await_wait(waiter, &mut database.connect());
            ids.push(waiter);
        }
        let answer = database.run(&["doctor", "article_counters", "--json"]);
        AnsiTransactionManager::commit_transaction(holder).unwrap();
        answer
    });
    let report = answer.json();
    let [[kind, on]] = waits(&report)[..] else {
        panic!("{report}")
    };
    assert!(kind == "row" && on.starts_with("entity 7, "), "{report}");
    assert_eq!(report["waits"][0]["sessions"], 2, "{report}");
}

/// Runs `doctor` as a role that may read the counters only.
fn look_as_reader(database: &TestDatabase, option: &[&str]) -> Ran {
    let role = format!("counters_test_{}", uuid::Uuid::new_v4().simple());
    database.execute(&format!(
        "CREATE ROLE {role} LOGIN; GRANT SELECT ON article_counters TO {role}"
    ));
    let url = database.url().replace("postgres@", &format!("{role}@"));
    let doctor = [&["doctor", "article_counters"], option].concat();
    let answer = behaviour::run_with(&doctor, Some(&url));
    database.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    answer
}

#[test]
fn a_missing_right_is_named_and_the_rest_is_told() {
    let database = with_counters();
    let look = || look_as_reader(&database, &[]);
    let (_, answer) = hot_row::with_a_hot_row(&database, look);
    answer.finds("GRANT pg_read_all_stats TO counters_test_");
    answer.prints("entity 7");
}

const WAIT_FOR_THE_PARENT: &str = "INSERT INTO article_counters VALUES (7, '2026-01-01', 9, 1)";

#[test]
fn a_wait_for_the_parents_row_is_told_though_the_statements_are_hidden() {
    let database = with_articles();
    let look = || look_as_reader(&database, &["--json"]);
    let hold = "SELECT FROM articles FOR UPDATE";
    let answer = with_a_waiter(&database, hold, WAIT_FOR_THE_PARENT, look);
    answer.finds("parent_row");
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
    checked.finds("fixed_width");
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
    assert_eq!(faults[0]["fault"], "unlogged");
    database.mend(&faults[0]);
    database.command("check").works();
}

#[test]
fn no_command_hangs_behind_a_lock() {
    let database = with_counters();
    let holder = &mut database.connect();
    begin(holder);
    diesel::sql_query("LOCK TABLE article_counters")
        .execute(holder)
        .unwrap();
    let merged = database.command("compact article_counters");
    merged.fails("see `diesel-counters doctor TABLE`");
    AnsiTransactionManager::commit_transaction(holder).unwrap();
}

/// What a transaction has counted in does not tell what another one waits for. Of a parent's row that
/// was changed and locked, the waiter has locked no place.
#[test]
fn a_wait_for_the_parents_row_is_told_whatever_its_holder_has_written() {
    for written in [
        "INSERT INTO article_counters VALUES (7, '2026-01-01', 3, 1)",
        "UPDATE articles SET title = 1",
    ] {
        let database = with_articles();
        let hold = format!("{written}; SELECT FROM articles FOR UPDATE");
        let report = report(&database, &hold, WAIT_FOR_THE_PARENT);
        assert_eq!(waits(&report)[0][0], "parent_row", "{report}");
    }
}

/// Such as a merge, while another session has a slot of its own.
#[test]
fn a_holder_of_several_slots_does_not_make_several_slots_hot() {
    let database = with_counters();
    let day = "SELECT 7, DATE '2026-01-01', slot, 1 FROM generate_series(1, 9) slot";
    database.execute(&format!("INSERT INTO article_counters {day}"));
    let wait = "INSERT INTO article_counters VALUES (7, '2026-01-01', 3, 1)
                ON CONFLICT (article_id, day, slot) DO UPDATE SET views = 3";
    let hold = "UPDATE article_counters SET views = 2";
    let report = report(&database, hold, wait);
    let on = "a row that the database does not tell";
    assert_eq!(waits(&report), [["row", on]], "{report}");
}

/// It refuses what is written from then on.
#[test]
fn a_check_that_is_not_valid_makes_no_stock_and_refuses_decrements() {
    let database = TestDatabase::with_article_counters();
    database.execute("ALTER TABLE article_counters ADD CHECK (likes >= 0) NOT VALID");
    database.command("check").finds("and it is not a stock");
    let mark = "diesel_counters: period = total, stock = (likes)";
    database.execute(&format!(
        "COMMENT ON COLUMN article_counters.day IS '{mark}'"
    ));
    let checked = database.command("check --json");
    database.mend(&checked.faults()[0]);
    database.command("check").is_good("article_counters");
}

#[test]
fn a_row_of_a_partition_is_told() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE article_counters (
             article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (article_id, day, slot)
         ) PARTITION BY RANGE (day);
         CREATE TABLE older PARTITION OF article_counters FOR VALUES FROM (MINVALUE) TO ('2020-01-01');
         CREATE TABLE newer PARTITION OF article_counters FOR VALUES FROM ('2020-01-01') TO (MAXVALUE);
         INSERT INTO article_counters VALUES (6, '1999-01-01', 3, 1)",
    );
    let update = "UPDATE article_counters SET views = views + 1 WHERE article_id = 7";
    count(7, &mut database.connect()).unwrap();
    let report = report(&database, update, update);
    let [kind, on] = waits(&report)[0];
    assert!(kind == "row" && on.starts_with("entity 7, "), "{report}");
}

/// Only of a server with max_prepared_transactions, which by default it has none of.
#[test]
fn a_prepared_transaction_is_left_to_its_view() {
    let database = with_counters();
    let sql = "SELECT CAST(current_setting('max_prepared_transactions') AS bigint) AS value";
    if hot_row::number(sql, &mut database.connect()) == 0 {
        return;
    }
    count(7, &mut database.connect()).unwrap();
    let gid = format!("it's {}", uuid::Uuid::new_v4()).replace('\'', "''");
    let holder = &mut database.connect();
    for sql in [
        "BEGIN",
        "UPDATE article_counters SET views = 0",
        &format!("PREPARE TRANSACTION '{gid}'"),
    ] {
        diesel::sql_query(sql).execute(holder).unwrap();
    }
    let (waiter_is, waiter) = mpsc::channel();
    let answer = thread::scope(|scope| {
        scope.spawn(|| {
            let conn = &mut database.connect();
            waiter_is.send(session_id(conn)).unwrap();
            count(7, conn).unwrap();
        });
        await_wait(waiter.recv().unwrap(), &mut database.connect());
        let answer = database.run(&["doctor", "article_counters"]);
        database.execute(&format!("ROLLBACK PREPARED '{gid}'"));
        answer
    });
    answer.finds("entity 7");
    answer.prints("pg_prepared_xacts");
}

/// Whatever the form of days is that the database or the role has set.
#[test]
fn the_row_of_a_correction_is_known_in_each_form_of_days() {
    let database = with_counters();
    let name = database.url().rsplit('/').next().unwrap().to_owned();
    database.execute(&format!(
        "ALTER DATABASE {name} SET datestyle = 'SQL, DMY';
         INSERT INTO article_counters VALUES (7, '1970-01-01', 0, 0)"
    ));
    let correct = "UPDATE article_counters SET views = 5";
    let report = report(&database, correct, correct);
    let on = "entity 7, day 1970-01-01, slot 0";
    assert_eq!(waits(&report), [["correction", on]], "{report}");
}

/// The statement names the table of the rows only, or a table whose deletion cascades to them.
#[test]
fn a_wait_inside_of_a_generated_trigger_is_told() {
    for existing in [
        "",
        "INSERT INTO article_likes (id, article_id) VALUES (1, 1)",
    ] {
        for wait in [
            "INSERT INTO article_likes (id, article_id) VALUES (3, 1)",
            "DELETE FROM articles WHERE id = 2",
        ] {
            let database = behaviour::triggers::tables(true);
            let site = ["--count", "site_counters.likes", "--slots", "1"];
            behaviour::triggers::counted(&database, &site);
            if !existing.is_empty() {
                database.execute(existing);
            }
            if wait.starts_with("DELETE") {
                database.execute("INSERT INTO article_likes (id, article_id) VALUES (9, 2)");
            }
            let hold = "INSERT INTO article_likes (id, article_id) VALUES (2, 1)";
            let look = || database.command("doctor site_counters --json");
            let answer = with_a_waiter(&database, hold, wait, look);
            assert_eq!(answer.code, 3, "{wait}: {answer:?}");
            assert_eq!(waits(&answer.json())[0][0], "row", "{wait}: {answer:?}");
        }
    }
}

mod triggers {
    use crate::behaviour::Execute;
    use diesel::connection::SimpleConnection;
    use diesel::prelude::*;
    use diesel_migrations::{FileBasedMigrations, MigrationHarness};
    use itertools::Itertools;

    use crate::TestDatabase;
    use crate::behaviour::triggers::{
        LIKES_OF_ARTICLES, cascades, counted, counted_likes, counted_too, create_triggers, file_of,
        generate, generate_triggers, likes, likes_of, migrate, number, open, tables,
    };
    use crate::hot_row::wait_until;

    diesel::table! {
        article_likes (id) {
            id -> BigInt,
            article_id -> BigInt,
        }
    }

    #[test]
    fn copied_rows_are_counted() {
        let database = counted_likes();
        let conn = &mut open(&database);
        let copied = diesel::copy_from(article_likes::table)
            .from_raw_data((article_likes::id, article_likes::article_id), |copy| {
                for id in 0..100_000 {
                    writeln!(copy, "{id}\t{}", id % 2 + 1).unwrap();
                }
                diesel::QueryResult::Ok(())
            })
            .execute(conn)
            .unwrap();
        assert_eq!(copied, 100_000);
        assert_eq!(likes([1, 2], conn), [50_000, 50_000]);
    }

    /// A claim is a lock of the server.
    #[test]
    fn to_count_in_one_slot_no_number_is_claimed() {
        let claims =
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
        for (slots, claimed) in [("1", 0), ("2", 1)] {
            let database = tables(true);
            counted_too(&database, &["--slots", slots]);
            let conn = &mut open(&database);
            conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1)");
            assert_eq!(likes_of(1, conn), 1);
            assert_eq!(number(claims, conn), claimed, "{slots} slots");
        }
    }

    #[test]
    fn truncated_rows_are_counted() {
        let database = counted_likes();
        let conn = &mut open(&database);
        let insert = "INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1), (3, 2)";
        conn.run(insert);
        conn.run("BEGIN; TRUNCATE article_likes; ROLLBACK");
        assert_eq!(likes([1, 2], conn), [2, 1]);
        // It could miss rows that were committed after its snapshot.
        conn.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
        let refused = conn.batch_execute("TRUNCATE article_likes").unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("cannot see all rows"), "{refused}");
        conn.run("ROLLBACK; TRUNCATE article_likes");
        assert_eq!(likes([1, 2], conn), [0, 0]);
        conn.run(insert);
        conn.run("TRUNCATE articles CASCADE");
        assert_eq!(likes([1, 2], conn), [0, 0]);
    }

    /// Each of them, and `session_replication_role`, which leaves no trace but wrong counts.
    #[test]
    fn a_disabled_trigger_is_found() {
        let insert = "count_likes_insert";
        for (how, trigger, why) in [
            ("DISABLE", insert, "it is disabled"),
            ("DISABLE", "ALL", "it is disabled"),
            ("ENABLE REPLICA", insert, "it runs on replicas only"),
            ("ENABLE ALWAYS", insert, "it also runs on replicas"),
        ] {
            let database = counted_likes();
            let conn = &mut open(&database);
            conn.run(&format!(
                "ALTER TABLE article_likes {how} TRIGGER {trigger}"
            ));
            conn.run("SET session_replication_role = replica");
            conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1)");
            conn.run("SET session_replication_role = origin");
            let checked = database.command("check article_counters --json");
            checked.finds(why);
            for fault in database.trigger_faults("article_counters") {
                assert_eq!(fault["fault"], "trigger_disabled");
                database.mend(&fault);
            }
            database.run(&["check", "article_counters"]).works();
            database.run(&["recount"]);
            assert_eq!(likes_of(1, conn), 2, "{how}");
        }
    }

    #[test]
    fn a_key_that_an_update_cascades_is_refused() {
        let database = tables(true);
        database.execute(
            "ALTER TABLE article_counters DROP CONSTRAINT article_counters_article_id_fkey;
             ALTER TABLE article_counters ADD FOREIGN KEY (article_id) REFERENCES articles (id)
                 ON DELETE CASCADE ON UPDATE CASCADE",
        );
        let ran = generate(&database, &LIKES_OF_ARTICLES).0;
        ran.fails("Remove ON UPDATE CASCADE first");
    }

    /// A writer of the column that has not committed, and one that deadlocks with a migration that locks
    /// the rows first.
    #[test]
    fn a_migration_waits_for_writers_of_its_column() {
        let database = TestDatabase::create();
        database.execute(
            "CREATE TABLE posts (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE article_likes (post_id BIGINT NOT NULL REFERENCES posts, who TEXT NOT NULL);
             INSERT INTO posts VALUES (1, 0); INSERT INTO article_likes VALUES (1, 'a'), (1, 'b')",
        );
        let (ran, folder) = generate(&database, &["--count", "post_id:posts.likes"]);
        ran.works();
        let writer = &mut open(&database);
        writer.run("BEGIN; UPDATE posts SET likes = likes + 1");
        std::thread::scope(|scope| {
            let migrates = scope.spawn(|| migrate(&database, &folder));
            let conn = &mut open(&database);
            wait_until("the migration does not wait", || {
                let waits =
                    "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                    WHERE NOT l.granted AND d.datname = current_database()";
                number(waits, conn) > 0
            });
            writer.run("INSERT INTO article_likes VALUES (1, 'c'); COMMIT");
            migrates.join().unwrap();
        });
        assert_eq!(number("SELECT likes FROM posts", writer), 3);
    }

    /// Rows without an entity are there in spite of the foreign key.
    #[test]
    fn a_foreign_key_that_was_not_validated_is_none() {
        let database = TestDatabase::create();
        database.execute(
            "CREATE TABLE posts (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE article_likes (post_id BIGINT NOT NULL, who TEXT NOT NULL);
             INSERT INTO posts VALUES (1, 0); INSERT INTO article_likes VALUES (1, 'a'), (77, 'b');
             ALTER TABLE article_likes ADD FOREIGN KEY (post_id) REFERENCES posts NOT VALID",
        );
        let definition = ["--count", "post_id:posts.likes"];
        counted(&database, &definition);
        database.assert_agrees();
    }

    /// A writer of votes locks them, then comments and then posts.
    #[test]
    fn a_migration_that_drops_triggers_locks_tables_as_a_writer_does() {
        let database = TestDatabase::create();
        database.execute(
            "CREATE TABLE posts (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE comments (id BIGINT PRIMARY KEY, post_id BIGINT NOT NULL REFERENCES posts,
                 likes BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE votes (comment_id BIGINT NOT NULL REFERENCES comments);
             INSERT INTO posts VALUES (1, 0); INSERT INTO comments VALUES (1, 1, 0)",
        );
        let (_folder, words) = file_of(
            "[[trigger]]
             name = \"count_votes\"
             rows = \"votes\"
             count = [\"comment_id:comments.likes\"]
             [[trigger]]
             name = \"count_comments\"
             rows = \"comments\"
             count = [\"post_id:posts.likes=likes\"]",
        );
        let (ran, folder) = generate_triggers(&database, &words, &[]);
        migrate(&database, &folder);
        let ran = ran.json();
        let down = ran["down"].as_str().unwrap();
        let writer = &mut open(&database);
        // What an INSERT locks before its triggers run.
        writer.run("BEGIN; LOCK TABLE votes IN ROW EXCLUSIVE MODE");
        std::thread::scope(|scope| {
            let migrates = scope.spawn(|| open(&database).batch_execute(down));
            wait_until("the migration does not wait", || {
                let waits =
                    "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                    WHERE NOT l.granted AND d.datname = current_database()";
                number(waits, &mut open(&database)) > 0
            });
            let written = writer.batch_execute("INSERT INTO votes VALUES (1); COMMIT");
            assert_eq!((written, migrates.join().unwrap()), (Ok(()), Ok(())));
        });
        assert_eq!(number("SELECT likes FROM posts", writer), 1);
    }

    #[test]
    fn a_foreign_key_that_was_not_validated_leaves_rows_without_an_entity() {
        let database = tables(true);
        database.execute(
            "ALTER TABLE article_likes DROP CONSTRAINT article_likes_article_id_fkey;
             INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 77);
             ALTER TABLE article_likes ADD FOREIGN KEY (article_id) REFERENCES articles
                 ON DELETE CASCADE NOT VALID",
        );
        counted(&database, &LIKES_OF_ARTICLES);
        let conn = &mut open(&database);
        conn.run("UPDATE article_likes SET id = id + 10, stars = 2");
        conn.run("DELETE FROM article_likes WHERE article_id = 77");
        assert_eq!(likes([1, 77], conn), [1, 0]);
        database.assert_agrees();
    }

    /// It refuses counts of an entity that is gone, as any foreign key does.
    #[test]
    fn a_foreign_key_of_the_counters_that_was_not_validated_acts() {
        let database = tables(true);
        database.execute(
            "ALTER TABLE article_counters DROP CONSTRAINT article_counters_article_id_fkey;
             ALTER TABLE article_counters ADD FOREIGN KEY (article_id) REFERENCES articles
                 ON DELETE CASCADE NOT VALID",
        );
        counted(&database, &LIKES_OF_ARTICLES);
        let conn = &mut open(&database);
        conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 2)");
        conn.run("DELETE FROM articles WHERE id = 1");
        assert_eq!(likes([1, 2], conn), [0, 1]);
        database.assert_agrees();
        // Its rows are those of other entities.
        database.execute(
            "ALTER TABLE article_counters DROP CONSTRAINT article_counters_article_id_fkey;
             ALTER TABLE article_counters ADD FOREIGN KEY (article_id) REFERENCES users NOT VALID",
        );
        let ran = generate_triggers(
            &database,
            "count_others --rows article_likes",
            &LIKES_OF_ARTICLES,
        )
        .0;
        ran.fails("rows would count for the wrong entities");
    }

    /// It says which values a column has.
    #[test]
    fn a_foreign_key_that_was_not_validated_names_the_key() {
        let database = TestDatabase::create();
        database.execute(
            "CREATE TABLE users (id BIGINT PRIMARY KEY);
             CREATE TABLE profiles (
                 id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL UNIQUE REFERENCES users,
                 posts BIGINT NOT NULL DEFAULT 0
             );
             CREATE TABLE posts (id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL);
             INSERT INTO users VALUES (1), (2); INSERT INTO profiles VALUES (1, 2), (2, 1);
             INSERT INTO posts VALUES (1, 1), (2, 77);
             ALTER TABLE posts ADD FOREIGN KEY (user_id) REFERENCES users NOT VALID",
        );
        let words = "count_posts --rows posts --count user_id:profiles.posts";
        create_triggers(&database, words, &[]);
        let conn = &mut open(&database);
        conn.run("INSERT INTO posts VALUES (3, 1)");
        let posts = |id| format!("SELECT posts FROM profiles WHERE id = {id}");
        assert_eq!([1, 2].map(|id| number(&posts(id), conn)), [0, 2]);
        database.assert_agrees();
    }

    /// The statistics of a real application, with triggers of its own, move to columns and slots.
    #[test]
    fn statistics_of_other_triggers_become_counters() {
        let database = TestDatabase::create();
        database.execute(include_str!("statistics/before.sql"));
        database.set_period("tag_counters", "total");
        database.set_period("site_counters", "total");
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/statistics/counters.toml"
        );
        let (ran, folder) = generate_triggers(&database, "", &["--file", file]);
        ran.works();
        database.execute(
            "DROP TRIGGER count_comments ON comments; DROP TRIGGER count_tags ON post_tags",
        );
        migrate(&database, &folder);
        let conn = &mut open(&database);
        let mut then = |statement: &str| {
            conn.run(statement);
            let wrong = number(include_str!("statistics/wrong.sql"), conn);
            assert_eq!(wrong, 0, "{statement}");
        };
        then("SELECT 1");
        then("INSERT INTO comments VALUES (100, NULL, 1), (101, 2, 1), (102, 2, 12)");
        then("UPDATE post_scores SET score = 1 WHERE post_id < 7");
        then(
            "INSERT INTO post_scores SELECT 3, 1, -1 ON CONFLICT (post_id, user_id) DO UPDATE SET score = -1",
        );
        then("DELETE FROM post_tags WHERE tag_id = 2");
        then("DELETE FROM users WHERE id = 2");
        then("DELETE FROM posts WHERE id IN (1, 5, 12)");
        then("UPDATE posts SET file_size = 7, user_id = 1");
        then("DELETE FROM tags WHERE id = 3");
        then(
            "DELETE FROM pools WHERE id = 1; INSERT INTO pool_posts VALUES (2, 4), (3, 4) ON CONFLICT DO NOTHING",
        );
        then("INSERT INTO post_favorites SELECT 4, id FROM users ON CONFLICT DO NOTHING");
        then("DELETE FROM posts");
    }

    /// Triggers of a statement belong to the table that the statement names.
    #[test]
    fn rows_of_a_partition_are_counted_by_the_name_of_its_table() {
        let database = tables(true);
        database.execute(
            "DROP TABLE article_likes;
             CREATE TABLE article_likes (id BIGINT, article_id BIGINT) PARTITION BY HASH (id);
             CREATE TABLE likes_0 PARTITION OF article_likes FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        );
        counted(&database, &LIKES_OF_ARTICLES);
        let conn = &mut open(&database);
        conn.run("INSERT INTO article_likes VALUES (1, 1), (2, 1)");
        conn.run("INSERT INTO likes_0 VALUES (3, 1)");
        assert_eq!(likes_of(1, conn), 2);
        database.run(&["recount"]);
        assert_eq!(likes_of(1, conn), 3);
    }

    #[test]
    fn a_migration_that_could_miss_rows_fails() {
        let database = tables(true);
        let (_, folder) = generate(&database, &LIKES_OF_ARTICLES);
        let conn = &mut open(&database);
        conn.run("SET default_transaction_isolation = 'repeatable read'");
        let migrations = FileBasedMigrations::from_path(folder.path()).unwrap();
        let failed = conn.run_pending_migrations(migrations).unwrap_err();
        let (failed, says) = (failed.to_string(), "run this migration at READ COMMITTED");
        assert!(failed.contains(says), "{failed}");
    }

    #[test]
    fn a_changed_function_is_found() {
        let database = counted_likes();
        for change in [
            "SECURITY INVOKER",
            "RESET search_path",
            "SET search_path = public",
        ] {
            database.execute(&format!("ALTER FUNCTION count_likes_insert() {change}"));
            let faults = database.trigger_faults("article_counters");
            assert_eq!(faults[0]["fault"], "trigger_changed", "{change}");
            database.mend(&faults[0]);
            database.command("check article_counters").works();
        }
    }

    /// The server runs the actions of foreign keys in the order in which these were created.
    #[test]
    fn what_several_foreign_keys_change_is_counted_in_each_order() {
        let deleted = cascades::deleted();
        let mut number = 0;
        for condition in cascades::CONDITIONS {
            for deferrable in ["", "DEFERRABLE INITIALLY DEFERRED"] {
                let database = cascades::counted(true, deferrable, condition);
                let conn = &mut open(&database);
                let definitions =
                    "SELECT string_agg(format('%s %s %s', conrelid::regclass, conname,
                        pg_get_constraintdef(oid)), ';') FROM pg_constraint
                    WHERE conname IN ('user_of_article', 'article_of_counter', 'article_of_comment',
                        'writer_of_comment', 'user_of_counter')";
                let definitions =
                    diesel::dsl::sql::<diesel::sql_types::Text>(&format!("({definitions})"));
                let definitions: String = diesel::select(definitions).get_result(conn).unwrap();
                for order in definitions.split(';').permutations(5) {
                    let again = order.iter().map(|definition| {
                        let mut words = definition.splitn(3, ' ');
                        let mut next = || words.next().unwrap();
                        let (table, name, definition) = (next(), next(), next());
                        format!(
                            "ALTER TABLE {table} DROP CONSTRAINT {name};
                             ALTER TABLE {table} ADD CONSTRAINT {name} {definition};"
                        )
                    });
                    conn.run(&again.collect::<String>());
                    // The server itself cannot run some of them: it checks a row again that it changes
                    // twice, and whose article is gone.
                    let runs = |deleted: &&str| {
                        let alone = format!(
                            "BEGIN; ALTER TABLE comments DISABLE TRIGGER USER;
                             DELETE FROM {deleted}; SET CONSTRAINTS ALL IMMEDIATE"
                        );
                        let runs = conn.batch_execute(&alone).is_ok();
                        conn.run("ROLLBACK");
                        runs
                    };
                    let deleted: Vec<_> = deleted.iter().copied().filter(runs).collect();
                    number += deleted.len();
                    cascades::assert_counted(
                        &deleted,
                        condition,
                        "SET CONSTRAINTS ALL IMMEDIATE",
                        conn,
                    );
                }
            }
        }
        assert!(number > 2000, "{number}");
    }

    #[test]
    fn rows_can_come_before_their_entity() {
        let database = tables(true);
        database.execute(
            "ALTER TABLE article_likes ALTER CONSTRAINT article_likes_article_id_fkey
                 DEFERRABLE INITIALLY DEFERRED",
        );
        let (ran, _) = generate(&database, &LIKES_OF_ARTICLES);
        let why = "Make it DEFERRABLE INITIALLY DEFERRED too";
        ran.fails(why);
        let counters =
            "ALTER TABLE article_counters ALTER CONSTRAINT article_counters_article_id_fkey";
        database.execute(&format!("{counters} DEFERRABLE INITIALLY DEFERRED"));
        counted(&database, &LIKES_OF_ARTICLES);
        let conn = &mut open(&database);
        conn.run(
            "INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1), (3, 2);
             BEGIN;
             INSERT INTO article_likes (id, article_id) VALUES (4, 8), (5, 8), (6, 8);
             DELETE FROM article_likes WHERE id = 4;
             UPDATE article_likes SET article_id = 1 WHERE id = 5;
             UPDATE article_likes SET article_id = 9 WHERE id IN (1, 3);
             INSERT INTO articles VALUES (8), (9);
             COMMIT",
        );
        assert_eq!(likes([1, 2, 8, 9], conn), [2, 0, 1, 2]);
        conn.run("DELETE FROM articles WHERE id IN (8, 9)");
        database.assert_agrees();
        assert_eq!(database.run(&["check", "article_counters"]).code, 0);
        database.execute(&format!("{counters} NOT DEFERRABLE"));
        database.command("check article_counters --json").finds(why);
    }

    /// The server passes wrong rows to triggers of a partitioned table after a MERGE.
    #[test]
    fn a_merge_into_a_partitioned_table_is_refused() {
        let database = tables(true);
        database.execute(
            "DROP TABLE article_likes;
             CREATE TABLE article_likes (id BIGINT PRIMARY KEY, article_id BIGINT) PARTITION BY RANGE (id);
             CREATE TABLE likes_0 PARTITION OF article_likes FOR VALUES FROM (0) TO (10);
             CREATE TABLE likes_1 PARTITION OF article_likes FOR VALUES FROM (10) TO (20)",
        );
        counted(&database, &LIKES_OF_ARTICLES);
        let conn = &mut open(&database);
        let merge =
            "MERGE INTO article_likes USING (VALUES (2, 2), (1, 2), (11, 2)) AS s (id, article)
            ON article_likes.id = s.id
            WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.article)
            WHEN MATCHED THEN UPDATE SET article_id = s.article";
        conn.run(
            "INSERT INTO article_likes VALUES (1, 1), (3, 1) ON CONFLICT (id) DO UPDATE SET article_id = 2;
             INSERT INTO article_likes VALUES (3, 2) ON CONFLICT (id) DO UPDATE SET article_id = 2;
             UPDATE article_likes SET id = 13 WHERE id = 3;
             WITH deleted AS (DELETE FROM article_likes WHERE id = 13 RETURNING *)
                 INSERT INTO article_likes SELECT 14, article_id FROM deleted",
        );
        let refused = conn.batch_execute(merge).unwrap_err().to_string();
        assert!(refused.contains("cannot execute MERGE"), "{refused}");
        assert_eq!(likes([1, 2], conn), [1, 1]);
        conn.run("DROP RULE count_likes_no_merge ON article_likes");
        let faults = database.trigger_faults("article_counters");
        let what = "article_likes has no rule count_likes_no_merge.";
        assert_eq!(faults[0]["what"], what);
        database.mend(&faults[0]);
        assert_eq!(database.run(&["check", "article_counters"]).code, 0);
        conn.batch_execute(merge).unwrap_err();
    }

    /// Its name is in the function, so that nobody can put another table in the place of the counters.
    #[test]
    fn a_schema_or_table_that_is_renamed_is_refused() {
        for (rename, rows) in [
            ("ALTER SCHEMA public RENAME TO blog", "blog.article_likes"),
            ("ALTER TABLE article_likes RENAME TO likes", "public.likes"),
        ] {
            let database = counted_likes();
            let conn = &mut open(&database);
            conn.run(rename);
            let insert = format!("INSERT INTO {rows} (id, article_id) VALUES (1, 1)");
            let refused = conn.batch_execute(&insert).unwrap_err().to_string();
            let says = format!(
                "counts the rows of public.article_likes, not those of {rows}: generate the triggers again"
            );
            assert!(refused.contains(&says), "{refused}");
        }
    }

    #[test]
    fn disabled_triggers_of_any_schema_are_found() {
        let database = tables(true);
        database.execute(
            "CREATE SCHEMA blog; ALTER TABLE article_counters SET SCHEMA blog; ALTER TABLE articles SET SCHEMA blog;
             ALTER TABLE users SET SCHEMA blog; ALTER TABLE article_likes SET SCHEMA blog",
        );
        create_triggers(
            &database,
            "count_likes --rows blog.article_likes --count article_id:blog.article_counters.likes",
            &[],
        );
        for table in ["blog.article_counters", "--json"] {
            assert_eq!(database.run(&["check", table]).code, 0);
        }
        database.execute("ALTER TABLE blog.article_likes DISABLE TRIGGER ALL");
        for table in ["blog.article_counters", "--json"] {
            database.run(&["check", table]).finds("is disabled");
        }
    }

    /// The names of several schemas are in the function.
    #[test]
    fn a_schema_of_several_that_is_renamed_is_found() {
        let database = tables(true);
        database.execute("CREATE SCHEMA other; ALTER TABLE article_counters SET SCHEMA other");
        let path = "ALTER DATABASE {} SET search_path = public, {schema}";
        let name = database.url().rsplit('/').next().unwrap().to_owned();
        let path = |schema: &str| path.replace("{}", &name).replace("{schema}", schema);
        database.execute(&path("other"));
        counted(&database, &LIKES_OF_ARTICLES);
        let conn = &mut open(&database);
        let insert = "INSERT INTO article_likes (id, article_id) VALUES (1, 1)";
        conn.run(insert);
        database.execute("ALTER SCHEMA other RENAME TO another");
        database.execute(&path("another"));
        let faults = database.trigger_faults("article_counters");
        assert_eq!(faults[0]["fault"], "trigger_definition");
        let again = insert.replace("(1, 1)", "(2, 1)");
        let refused = conn.batch_execute(&again).unwrap_err().to_string();
        // The words of PostgreSQL 15, and those of 18.
        let says = ["schema \"other\"", "relation \"other.article_counters\""];
        let says = says.map(|missing| format!("{missing} does not exist"));
        assert!(says.iter().any(|says| refused.contains(says)), "{refused}");
    }

    /// psql runs each statement in a transaction of its own, and goes on after an error.
    #[test]
    fn a_migration_is_one_statement() {
        let database = tables(true);
        let (ran, _) = generate(&database, &LIKES_OF_ARTICLES);
        let up = ran.json()["up"].as_str().unwrap().to_owned();
        let conn = &mut open(&database);
        conn.run(
            "CREATE FUNCTION count_likes_delete() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        );
        let failed = diesel::sql_query(&up).execute(conn).unwrap_err();
        assert!(failed.to_string().contains("already exists"), "{failed}");
        let triggers = "SELECT COUNT(*) FROM pg_trigger WHERE NOT tgisinternal";
        assert_eq!(number(triggers, conn), 0);
        conn.run("DROP FUNCTION count_likes_delete()");
        diesel::sql_query(&up).execute(conn).unwrap();
        conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1)");
        assert_eq!(likes_of(1, conn), 1);
    }
}
