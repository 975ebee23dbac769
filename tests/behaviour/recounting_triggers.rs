//! Recounting what triggers count.

use std::sync::mpsc::channel;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::result::Error::RollbackTransaction;
use diesel_counters::dsl::recount_triggers;
use diesel_counters::prelude::*;
use diesel_counters::{Compactor, RecountedTable};
use diesel_counters_tests::schema::article_counters::likes;

use super::{PATIENCE, day};
use crate::{Conn, IS_MYSQL, LIKES_TRIGGERS, TestDatabase, write_transaction};

/// Article 1 has two likes, which are counted, and 5 that are not there.
fn drifted() -> (TestDatabase, Conn) {
    let (database, mut conn, _article) = TestDatabase::with_article();
    conn.batch_execute(
        "CREATE TABLE article_likes (article_id BIGINT NOT NULL, user_id BIGINT NOT NULL, \
         PRIMARY KEY (article_id, user_id), \
         FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE)",
    )
    .unwrap();
    conn.batch_execute(LIKES_TRIGGERS).unwrap();
    conn.batch_execute("INSERT INTO article_likes VALUES (1, 7), (1, 8)")
        .unwrap();
    let more = increment(likes).of(1_i64).by(5).on(day(2026, 3, 1));
    more.execute(&mut conn).unwrap();
    (database, conn)
}

fn likes_of_1(conn: &mut Conn) -> i64 {
    counter_value(likes).of(1_i64).get_result(conn).unwrap()
}

/// The only wrong count: stored, and actual.
fn wrong(tables: &[RecountedTable]) -> (&str, i64, i64) {
    let [table] = tables else {
        panic!("{tables:?}")
    };
    assert_eq!(
        [&*table.triggers, &table.rows, &table.table],
        ["count_article_likes", "article_likes", "article_counters"]
    );
    let [wrong] = &*table.wrong else {
        panic!("{table:?}")
    };
    assert_eq!((&*wrong.counter, wrong.day), ("likes", None));
    (&wrong.entity, wrong.stored, wrong.actual)
}

#[test]
fn the_counters_of_triggers_are_put_right() {
    let (_database, mut conn) = drifted();
    let conn = &mut conn;
    let found = recount_triggers().dry_run(conn).unwrap();
    assert_eq!(wrong(&found), ("1", 7, 2));
    assert_eq!(likes_of_1(conn), 7);

    let mut left = Vec::new();
    let recount = recount_triggers().on_progress(|table| left.push(table.left));
    let corrected = recount.execute(conn).unwrap();
    assert_eq!(wrong(&corrected), ("1", 7, 2));
    assert_eq!((likes_of_1(conn), left), (2, vec![0]));

    let again = recount_triggers().of("count_article_likes").execute(conn);
    assert_eq!(again.unwrap()[0].wrong, []);
}

#[test]
fn it_stops_before_a_table() {
    let (_database, mut conn) = drifted();
    let stopped = recount_triggers().stop_when(|| true).execute(&mut conn);
    assert_eq!(stopped, Ok(vec![]));
    assert_eq!(likes_of_1(&mut conn), 7);
}

#[test]
fn triggers_that_do_not_exist_are_an_error() {
    let (_database, mut conn) = drifted();
    let error = recount_triggers().of("count_likes").execute(&mut conn);
    assert_eq!(
        error.unwrap_err().to_string(),
        "there are no triggers count_likes; there are count_article_likes"
    );
    let (_database, mut conn, _article) = TestDatabase::with_article();
    assert_eq!(recount_triggers().execute(&mut conn), Ok(vec![]));
    let error = recount_triggers().of("count_likes").execute(&mut conn);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no triggers"), "{error}");
}

#[test]
fn in_the_callers_transaction_it_rolls_back_or_is_refused() {
    let (_database, mut conn) = drifted();
    for likes_before in [7, 2] {
        let result: QueryResult<()> = write_transaction(&mut conn, |conn| {
            for _ in 0..2 {
                let corrected = recount_triggers().execute(conn);
                if IS_MYSQL {
                    let error = corrected.unwrap_err().to_string();
                    assert!(error.contains("outside of a transaction"), "{error}");
                } else {
                    corrected?;
                    assert_eq!(likes_of_1(conn), 2);
                }
            }
            Err(RollbackTransaction)
        });
        assert_eq!(result, Err(RollbackTransaction));
        assert_eq!(likes_of_1(&mut conn), likes_before);
        recount_triggers().execute(&mut conn).unwrap();
    }
}

#[test]
fn it_runs_in_a_test_transaction() {
    let (_database, mut conn) = drifted();
    let conn = &mut conn;
    conn.begin_test_transaction().unwrap();
    for (stored, more) in [(7, 3), (5, 1)] {
        let corrected = recount_triggers().execute(conn).unwrap();
        assert_eq!(wrong(&corrected), ("1", stored, 2));
        let more = increment(likes).of(1_i64).by(more);
        more.execute(conn).unwrap();
    }
}

#[test]
fn a_compactor_runs_it() {
    let (database, mut conn) = drifted();
    let manager = ConnectionManager::<Conn>::new(database.url());
    let pool = Pool::builder().max_size(1).build(manager).unwrap();
    let (said, runs) = channel();
    let compactor = Compactor::of(pool)
        .recount_triggers()
        .on_run(move |run| said.send(run.to_string()).unwrap())
        .start()
        .unwrap();
    let said = runs.recv_timeout(PATIENCE);
    assert_eq!(said.as_deref(), Ok("triggers: 1 count corrected, 1 table"));
    compactor.stop();
    assert_eq!(likes_of_1(&mut conn), 2);
}
