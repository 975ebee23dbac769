//! Waits that `doctor` tells on PostgreSQL only.

use std::sync::mpsc;
use std::thread;

use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::prelude::*;

use crate::TestDatabase;
use crate::behaviour::doctor::{waits, with_counters};
use crate::behaviour::{self, Ran};
use crate::hot_row::{
    self, await_wait, begin, count, report, session_id, with_a_waiter, with_articles,
};

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

#[test]
fn a_missing_right_is_named_and_the_rest_is_told() {
    let database = with_counters();
    let look = || look_as_reader(&database, &[]);
    let (_, answer) = hot_row::with_a_hot_row(&database, look);
    answer.finds("GRANT pg_read_all_stats TO counters_test_");
    answer.prints("entity 7");
}

/// Runs `doctor` as a role that may read the counters only.
fn look_as_reader(database: &TestDatabase, option: &[&str]) -> Ran {
    let role = format!("counters_test_{}", uuid::Uuid::new_v4().simple());
    database.create_role(&role);
    database.execute(&format!("GRANT SELECT ON article_counters TO {role}"));
    let doctor = [&["doctor", "article_counters"], option].concat();
    let answer = behaviour::run_with(&doctor, Some(&database.url_as(&role)));
    database.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    answer
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

/// What a transaction has counted in does not tell what another one waits for. Of a parent's row
/// that was changed and locked, the waiter has locked no place.
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
    let on = "an unknown row";
    assert_eq!(waits(&report), [["row", on]], "{report}");
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

/// A server has none by default, but that of `scripts/test` has.
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
    let name = &database.name;
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
            let site = "count = ['site_counters.likes']\nslots = 1";
            database.count(&behaviour::triggers::count_likes(site));
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
