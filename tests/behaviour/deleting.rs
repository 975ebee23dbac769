//! Removing counters.

use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel_counters::dsl::delete_counters;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{self, views};

use super::{article, day};
use crate::{Conn, TestDatabase};

fn counted() -> (Conn, TestDatabase) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for d in 1..=2 {
        let count = increment(views).on(day(2026, 1, d));
        let count = count.of_many((1..=5).map(|id| (id, id)));
        count.execute(&mut conn).unwrap();
    }
    (conn, database)
}

fn values(conn: &mut Conn) -> Vec<i64> {
    let ids = [1_i64, 2, 3, 4, 5];
    counter_value(views).of_many(&ids).load(conn).unwrap()
}

/// Nobody retries here: they wait for each other, and none fails.
#[test]
fn deletions_that_wait_for_an_increment_do_not_deadlock() {
    for round in 0..10 {
        let (conn, database) = &mut counted();
        conn.batch_execute("BEGIN").unwrap();
        let of_rows_that_are_there = increment(views).on(day(2026, 1, 1));
        let count = of_rows_that_are_there.of_many([(3, 1), (4, 1), (5, 1)]);
        count.execute(conn).unwrap();
        thread::scope(|scope| {
            for thread in 0..4 {
                let database = &database;
                scope.spawn(move || {
                    let conn = &mut database.connect();
                    let delete = delete_counters(article_counters::table);
                    let removed = match (round + thread) % 4 {
                        0 => delete.of_many(&[3, 5]).execute(conn),
                        1 => delete.of(&article(4)).execute(conn),
                        2 => delete.of_many(&[5, 4, 3]).execute(conn),
                        _ => delete.of(&article(5)).execute(conn),
                    };
                    removed.unwrap();
                });
            }
            // They should wait by now, and need not.
            thread::sleep(Duration::from_millis(100));
            conn.batch_execute("COMMIT").unwrap();
        });
        assert_eq!(values(conn), [2, 4, 0, 0, 0]);
    }
}
