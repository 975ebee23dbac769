//! The command on MySQL or MariaDB, at MYSQL_URL.

mod behaviour;
mod database;
#[path = "behaviour/held.rs"]
mod held;
#[path = "behaviour/hot_row.rs"]
mod hot_row;
#[path = "mysql/mod.rs"]
mod on_mysql;
#[path = "../../tests/server.rs"]
mod server;

use database::TestDatabase;

type Conn = diesel::MysqlConnection;

const BACKEND: &str = "mysql";
const HAS_SLOTS: bool = true;

const REFERENCE: &str =
    include_str!("../../migrations/mysql/00000000000001_create_article_counters/up.sql");
const BAD: &str = include_str!("bad/mysql.sql");

/// A text of which each spelling is a key of its own.
const TEXT: &str = "VARCHAR(50) CHARACTER SET utf8mb4
    COLLATE /*!80017 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */";

/// What keys of bytes and of UUIDs are here.
const BYTES: [&str; 2] = ["VARBINARY(255)", "x'00ff'"];
const UUID: [&str; 2] = ["BINARY(16)", "x'67e5504410b1426f9247bb680e5fe0c8'"];

/// Which session this is, as the database numbers them.
const SESSION_ID: &str = "SELECT CAST(CONNECTION_ID() AS SIGNED) AS value";

/// Whether a session waits for a lock.
const IS_WAITING: &str = "
    SELECT COUNT(*) AS value FROM information_schema.innodb_trx
    WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = ?";

impl TestDatabase {
    pub fn create() -> Self {
        Self::create_on("MYSQL_URL", "CHARACTER SET utf8mb4")
    }
}

#[test]
fn a_url_may_say_mariadb() {
    let database = TestDatabase::with_article_counters();
    let url = database.url().replace("mysql://", "mariadb://");
    let checked = behaviour::run(&["check", "--database-url", &url]);
    checked.is_good("article_counters");
}

#[test]
fn tables_whose_names_differ_in_case_are_two() {
    let database = TestDatabase::create();
    for (name, rows) in [("hit_counters", 1), ("Hit_counters", 2)] {
        database.execute(&format!(
            "CREATE TABLE {name} (
                 day DATE NOT NULL, slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0,
                 PRIMARY KEY (day, slot)
             );
             INSERT INTO {name} SELECT '2026-01-01', n, 1 FROM (SELECT 1 AS n UNION SELECT {rows}) AS slots"
        ));
        let merged = database.command(&format!("compact {name} --json")).json();
        assert_eq!(merged["merged_rows"], rows);
    }
    let checked = database.command("check").stdout;
    let good = checked.lines().filter(|line| line.ends_with(": good"));
    let mut good = Vec::from_iter(good);
    good.sort();
    assert_eq!(good, ["Hit_counters: good", "hit_counters: good"]);
}

#[test]
fn an_engine_without_transactions_is_told() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE hit_counters (
             day DATE NOT NULL, slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (day, slot)
         ) ENGINE = MyISAM",
    );
    let faults = database.command("check --json").faults();
    assert_eq!(faults[0]["fault"], "storage");
    database.mend(&faults[0]);
    database.command("check").is_good("hit_counters");
}

#[test]
fn a_url_without_a_database_is_an_error() {
    let database = TestDatabase::create();
    let url = database.url();
    let (server, _) = url.rsplit_once('/').unwrap();
    for url in [server.to_owned(), format!("{server}/")] {
        let checked = behaviour::run_with(&["check"], Some(&url));
        checked.fails("Name it in the URL");
    }
}

/// A counter table of pages, whose paths have this type.
fn with_paths(path: &str) -> TestDatabase {
    let database = TestDatabase::create();
    database.create_counters("page_counters", &format!("path {path}"));
    database
}

#[test]
fn a_collation_that_pads_is_a_note() {
    let database = with_paths("VARCHAR(50) COLLATE utf8mb4_bin");
    let checked = database.command("check --json");
    checked.works();
    let [fault, severity] = ["fault", "severity"].map(|key| checked.faults()[0][key].clone());
    assert_eq!([fault, severity], ["text_key", "note"]);
    let checked = with_paths(TEXT).run(&["check"]);
    assert!(!checked.stdout.contains("collation"), "{checked:?}");
}

mod triggers {
    use crate::behaviour::Execute;
    use crate::behaviour::project::trigger;
    use diesel::connection::SimpleConnection;

    use crate::behaviour::triggers::{
        OF_ARTICLES, count_likes, counted_likes, likes_of, number, open, table_of, tables,
    };

    #[test]
    fn a_recount_corrects_what_truncate_removed() {
        let database = counted_likes();
        let conn = &mut open(&database);
        conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1)");
        conn.run("TRUNCATE TABLE article_likes");
        assert_eq!(likes_of(1, conn), 2);
        let recounted = database.command("recount --lower");
        recounted.prints("of 1: stored 2, rows 0");
        assert_eq!(likes_of(1, conn), 0);
    }

    /// MySQL and MariaDB run no triggers for the rows that a cascade deletes or changes.
    #[test]
    fn a_cascade_of_another_entity_is_counted_by_a_trigger_of_its_table() {
        let database = tables(true);
        let counts = "count = ['user_id:user_counters.stars=stars', 'site_counters.likes']";
        database.count(&count_likes(counts));
        let conn = &mut open(&database);
        let stars = "SELECT CAST(COALESCE(SUM(stars), 0) AS SIGNED) FROM user_counters";
        let likes = "SELECT CAST(SUM(likes) AS SIGNED) FROM site_counters";
        conn.run(
            "INSERT INTO article_likes (id, article_id, user_id) VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1)",
        );
        assert_eq!([number(stars, conn), number(likes, conn)], [3, 3]);
        conn.run("DELETE FROM articles WHERE id = 1");
        assert_eq!([number(stars, conn), number(likes, conn)], [1, 1]);
        conn.run("DELETE FROM users WHERE id = 1");
        assert_eq!([number(stars, conn), number(likes, conn)], [0, 1]);
        // Without that trigger it is not, and that is found.
        conn.run("DROP TRIGGER count_likes_of_article_id");
        conn.run("DELETE FROM articles WHERE id = 2");
        assert_eq!(number(likes, conn), 1);
        let checked = database.run(&["check", "site_counters"]);
        checked.prints("articles has no trigger count_likes_of_article_id");
        let recount = || database.command("recount --lower");
        recount().fails("are not those of");
        for fault in database.trigger_faults("site_counters") {
            database.mend(&fault);
        }
        recount().works();
        assert_eq!(number(likes, conn), 0);
    }

    #[test]
    fn a_cascade_to_the_same_table_is_refused() {
        let database = tables(true);
        database.execute(
            "ALTER TABLE article_likes ADD COLUMN reply_to BIGINT,
                 ADD FOREIGN KEY (reply_to) REFERENCES article_likes (id) ON DELETE CASCADE",
        );
        let generated = database.generate(&count_likes(OF_ARTICLES));
        generated.fails("refers to article_likes itself");
    }

    /// The server refuses triggers of other databases' tables.
    #[test]
    fn rows_and_cascades_of_another_database_are_refused() {
        let (database, other) = (tables(true), crate::TestDatabase::create());
        other.execute("CREATE TABLE articles (id BIGINT PRIMARY KEY)");
        let in_other = format!("{}.articles", other.name);
        let count = "count = ['id:article_counters.likes']";
        let generated = database.generate(&trigger("count_articles", &in_other, count));
        generated.fails("is in another database");
        database.execute(&format!(
            "ALTER TABLE article_likes ADD COLUMN other_id BIGINT,
                 ADD FOREIGN KEY (other_id) REFERENCES {in_other} (id) ON DELETE CASCADE"
        ));
        let generated = database.generate(&count_likes(OF_ARTICLES));
        generated.fails("refers to another database");
        database.execute("DROP TABLE article_likes");
    }

    /// It is another table.
    #[test]
    fn a_table_of_another_database_with_the_name_of_the_rows_is_counted_in() {
        let database = crate::TestDatabase::create();
        let other = crate::TestDatabase::create();
        database.execute("CREATE TABLE visits (id BIGINT PRIMARY KEY, page_id BIGINT NOT NULL)");
        other.execute(
            "CREATE TABLE visits (page_id BIGINT PRIMARY KEY, number BIGINT NOT NULL DEFAULT 0);
             INSERT INTO visits (page_id) VALUES (1), (2)",
        );
        let other_name = &other.name;
        let count = format!("count = ['page_id:{other_name}.visits.number']");
        database.count(&trigger("count_visits", "visits", &count));
        let conn = &mut open(&database);
        conn.run("INSERT INTO visits VALUES (1, 1), (2, 1), (3, 2)");
        let counted = format!("SELECT number FROM {other_name}.visits WHERE page_id = 1");
        assert_eq!(number(&counted, conn), 2);
    }

    /// A statement that changes the schema commits: what ran before an error stays.
    #[test]
    fn a_migration_that_ended_half_way_runs_again() {
        let database = tables(true);
        database.generate(&count_likes(OF_ARTICLES)).works();
        let up = database.last_migration("up.sql");
        let (half, _) = up.split_once("CREATE TRIGGER count_likes_delete").unwrap();
        database.execute(half);
        let conn = &mut open(&database);
        conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1)");
        database.migrate();
        conn.run("DELETE FROM article_likes WHERE id = 1");
        assert_eq!(likes_of(1, conn), 1);
        database.command("check article_counters").works();
    }

    #[test]
    fn foreign_keys_that_change_rows_uncounted_are_refused() {
        for [foreign_key, why] in table_of(
            "
            (article_id) REFERENCES articles (id) ON UPDATE CASCADE         | has ON UPDATE CASCADE
            (article_id, user_id) REFERENCES pairs (a, b) ON DELETE CASCADE | has several columns
            (user_id) REFERENCES users (id) ON DELETE SET NULL              | counted. Remove the ON DELETE and ON UPDATE of user_id first",
        ) {
            let database = tables(true);
            database.execute(&format!(
                "CREATE TABLE pairs (a BIGINT, b BIGINT, PRIMARY KEY (a, b));
                 DROP TABLE article_likes;
                 CREATE TABLE article_likes (id BIGINT PRIMARY KEY, article_id BIGINT, user_id BIGINT,
                     liked BIGINT GENERATED ALWAYS AS (COALESCE(user_id, article_id)) VIRTUAL,
                     FOREIGN KEY {foreign_key})"
            ));
            let liked = count_likes(&format!("{OF_ARTICLES}when = 'liked'"));
            database.generate(&liked).fails(why);
        }
    }

    /// MariaDB runs the triggers of an update for a row that it ignores.
    #[test]
    fn a_row_that_an_update_ignores_counts_as_before() {
        for update in [
            "UPDATE IGNORE article_likes SET article_id = 2 WHERE article_id = 1",
            "UPDATE IGNORE article_likes SET article_id = 2, stars = 7 WHERE article_id = 1 ORDER BY id DESC",
            "UPDATE IGNORE article_likes SET id = 4 - id, article_id = 3",
            "UPDATE IGNORE article_likes SET article_id = 99 WHERE id = 1",
            "UPDATE IGNORE article_likes JOIN articles ON articles.id = article_id
                 SET article_id = 2 WHERE articles.id = 1",
        ] {
            let database = tables(true);
            database.count(&count_likes(&format!("{OF_ARTICLES}by = 'stars'")));
            let conn = &mut open(&database);
            conn.run(
                "INSERT INTO article_likes (id, article_id, user_id) VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1)",
            );
            conn.run(update);
            database.assert_agrees();
        }
    }

    /// A statement that deletes no parent, or puts it back, changes as many rows as without
    /// triggers.
    #[test]
    fn a_parent_that_stays_keeps_its_rows() {
        let site = count_likes("count = ['site_counters.likes']");
        for statement in [
            "DELETE IGNORE FROM articles WHERE id = 1",
            "DELETE IGNORE FROM articles",
            "REPLACE INTO articles VALUES (1)",
            "REPLACE INTO articles VALUES (2), (3)",
            "DELETE FROM articles WHERE id = 2",
            "SET foreign_key_checks = 0; DELETE FROM articles",
        ] {
            let kept = [false, true].map(|is_counted| {
                let database = tables(true);
                if is_counted {
                    database.count(&site);
                }
                let conn = &mut open(&database);
                conn.run(
                    "CREATE TABLE reports (article_id BIGINT, FOREIGN KEY (article_id) REFERENCES articles (id));
                     INSERT INTO reports VALUES (1);
                     INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1), (3, 2)",
                );
                // MariaDB refuses a REPLACE of this parent.
                let _ = conn.batch_execute(statement);
                let rows = number("SELECT COUNT(*) FROM article_likes", conn);
                if is_counted && !statement.contains("IGNORE") {
                    let likes = "SELECT CAST(SUM(likes) AS SIGNED) FROM site_counters";
                    assert_eq!(number(likes, conn), rows, "{statement}");
                }
                rows
            });
            assert_eq!(kept[0], kept[1], "{statement}");
        }
    }

    #[test]
    fn foreign_keys_of_one_parent_are_counted_together() {
        let database = tables(true);
        database.execute(
            "CREATE TABLE friendships (
                 id BIGINT PRIMARY KEY, a BIGINT, b BIGINT, c BIGINT,
                 FOREIGN KEY (a) REFERENCES users (id) ON DELETE CASCADE,
                 FOREIGN KEY (b) REFERENCES users (id) ON DELETE SET NULL,
                 FOREIGN KEY (c) REFERENCES users (id) ON DELETE SET NULL
             )",
        );
        database.count(
            r#"
            [[trigger]]
            name = "count_friends"
            rows = "friendships"
            count = ["a:user_counters.stars", "b:user_counters.stars", "site_counters.likes"]
            when = "c IS NOT NULL OR b > 0"
            "#,
        );
        let conn = &mut open(&database);
        conn.run(
            "INSERT INTO friendships VALUES (1, 1, 2, 3), (2, 1, 1, 1), (3, 2, 1, NULL), (4, 2, 1, 1),
                 (5, 3, NULL, 1), (6, 4, 3, 2), (7, 4, 4, NULL), (8, 5, 3, NULL)",
        );
        for user in 1..=5 {
            conn.run(&format!("DELETE FROM users WHERE id = {user}"));
            database.assert_agrees();
        }
    }
}

#[test]
fn a_key_without_a_sign_is_merged() {
    for (sql_type, greatest) in [("INT", "4294967295"), ("BIGINT", "18446744073709551615")] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE hit_counters (
                 id {sql_type} UNSIGNED NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (id, day, slot)
             );
             INSERT INTO hit_counters VALUES ({greatest}, '2026-01-01', 1, 1), (7, '2026-01-01', 1, 1),
                 ({greatest}, '2026-01-01', 2, 1), (7, '2026-01-02', 2, 1)"
        ));
        let merged = database.command("fold hit_counters --before 2026-02-01 --batch 1 --json");
        assert_eq!(merged.json()["merged_rows"], 4, "{merged:?}");
        let of = format!("hit_counters WHERE id = {greatest} AND day = '1970-01-01'");
        assert_eq!(database.rows_and_sum(&of, "hits"), (1, 2));
        assert_eq!(database.rows_and_sum("hit_counters", "hits"), (2, 4));
    }
}
