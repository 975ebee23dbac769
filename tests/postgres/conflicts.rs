//! Other transactions.

use std::sync::mpsc::channel;

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_counters::dsl::{delete_counters, set_counter};
use diesel_counters::prelude::*;
use diesel_counters::{Compactor, is_retryable, retry};
use diesel_counters_tests::schema::article_counters::{self, likes, views};

use crate::behaviour::{self, PATIENCE, wait_until};
use crate::{Conn, TestDatabase};

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

/// The deletion waits for a correction of the first label, and another one gets its first count
/// meanwhile.
#[test]
fn a_deletion_by_a_prefix_removes_an_entity_that_was_counted_while_it_waited() {
    use behaviour::key_columns::with_tables;
    use diesel_counters_tests::examples::reaction_counters;
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
