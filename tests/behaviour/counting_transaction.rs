//! A transaction that gathers its increments and writes them at its end.

use std::sync::Barrier;
use std::thread;

use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::prelude::*;
use diesel_counters::{CountingTransaction, counting_transaction, is_overflow};
use diesel_counters_tests::models::{
    Page, Site, random_counters, timeless_counters, weekly_counters,
};
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::schema::page_counters::hits;
use diesel_counters_tests::schema::{articles, comments as written, site_counters};
use diesel_counters_tests::watch::watch;

use super::{article, day, insert_comment, rows};
use crate::{Conn, HAS_SLOTS, IS_MYSQL, TestDatabase, write_transaction};

type Tx<'a> = CountingTransaction<'a, Conn>;

/// Returns the statements of a transaction that does `work`, from BEGIN to COMMIT or ROLLBACK.
fn statements(conn: &mut Conn, work: impl FnOnce(&mut Tx<'_>) -> QueryResult<()>) -> Vec<String> {
    let watched = watch(conn, |conn| drop(counting_transaction(conn, work)));
    watched.queries
}

fn counted(id: i64, conn: &mut Conn) -> i64 {
    article(id).counter_value(views, conn).unwrap()
}

/// Another row that the transaction writes.
fn publish(id: i64, tx: &mut Tx<'_>) -> QueryResult<()> {
    diesel::insert_into(articles::table)
        .values(article(id))
        .execute(tx.conn())?;
    tx.count(increment(views).of(id));
    Ok(())
}

#[test]
fn increments_of_one_entity_are_one_statement_and_the_last() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let statements = statements(&mut conn, |tx| {
        tx.count(increment(views).of(1));
        tx.count(increment(views).of(1).by(5));
        tx.count(increment((likes, views)).of(1).by((3, 10)));
        tx.count(increment(comments).of_many([(1, 7), (1, 1)]));
        publish(1000, tx)?;
        // It has counted nothing yet.
        assert_eq!(counted(1, tx.conn()), 0);
        tx.count(increment(views).of(1000).by(-1));
        Ok(())
    });
    let [_begin, publish, _read, count, commit] = &statements[..] else {
        panic!("{statements:?}");
    };
    assert!(publish.contains("articles"), "{publish}");
    assert!(count.contains("article_counters"), "{count}");
    assert!(commit.starts_with("COMMIT"), "{commit}");
    let value = article(1).counter_value((views, likes, comments), &mut conn);
    assert_eq!(value, Ok((16, 3, 8)));
    assert_eq!(rows(&article(1000), &mut conn), []);
}

#[test]
fn sums_of_zero_send_nothing_and_random_slots_are_chosen() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let of_zero = statements(&mut conn, |tx| {
        tx.count(increment(views).of(1));
        tx.count(increment(views).of_many([(1, -1), (2, 0)]));
        tx.count(increment(site_counters::hits).by(0));
        Ok(())
    });
    assert_eq!(of_zero.len(), 2, "{of_zero:?}");
    let random = statements(&mut conn, |tx| {
        for id in [1, 2, 1, 2] {
            tx.count(increment(random_counters::views).of(id));
        }
        Ok(())
    });
    assert_eq!(random.len(), 3, "{random:?}");
    assert_eq!([1, 2].map(|id| counted(id, &mut conn)), [2, 2]);
}

#[test]
fn rows_are_written_by_table_and_day_and_key() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let page = |i: i64| format!("page {i:03}");
    let statements = statements(&mut conn, |tx| {
        for second in [2, 1] {
            let day = day(2026, 1, second);
            tx.count(increment(site_counters::errors).on(day));
            tx.count(increment(hits).of_many([(page(7), 1)]).on(day));
            for i in (0..100).rev() {
                tx.count(increment(hits).of(page(i)).on(day));
            }
            tx.count(increment(site_counters::hits).on(day));
            tx.count(increment(views).of(i64::from(second)).on(day));
        }
        Ok(())
    });
    let all = statements.concat();
    // 200 rows need as many statements as 100.
    let pages = crate::STATEMENTS_OF_100;
    assert_eq!(statements.len(), 1 + 1 + pages + 1 + 1, "{all}");
    let tables = ["article_counters", "page_counters", "site_counters"];
    let wanted = [vec![0], vec![1; pages], vec![2]].concat();
    let written = statements[1..statements.len() - 1]
        .iter()
        .map(|sql| tables.iter().position(|table| sql.contains(table)).unwrap());
    assert_eq!(Vec::from_iter(written), wanted);
    let order = all
        .match_indices("\"page ")
        .map(|(at, _)| &all[at + 1..at + 9]);
    assert!(order.eq((0..200).map(|i| page(i % 100))), "{all}");
    let value = |id: i64, conn: &mut _| Page { url: page(id) }.counter_value(hits, conn);
    assert_eq!(value(7, &mut conn), Ok(4));
    assert_eq!(value(99, &mut conn), Ok(2));
    let of_site = Site.counter_value((site_counters::hits, site_counters::errors), &mut conn);
    assert_eq!(of_site, Ok((2, 2)));
}

#[test]
fn the_settings_of_an_increment_hold() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    crate::count_in_slot(2, &mut conn);
    statements(&mut conn, |tx| {
        tx.count(increment(views).of(1).on(day(2026, 1, 2)));
        tx.count(increment(views).of(1).on(day(2026, 1, 2)).by(2));
        tx.count(increment(weekly_counters::views).of(1));
        tx.count(increment(timeless_counters::views).of(1));
        Ok(())
    });
    let rows = rows(&article(1), &mut conn);
    let written = Vec::from_iter(rows.iter().map(|row| (row.day, row.slot, row.views)));
    let days = [day(1970, 1, 1), day(2026, 1, 2), day(2026, 12, 28)];
    let slot = if HAS_SLOTS { 2 } else { 0 };
    let [timeless, january, monday] = days.map(|day| (day, slot));
    let expected = [(timeless, 1), (january, 3), (monday, 1)];
    assert_eq!(written, expected.map(|((day, slot), n)| (day, slot, n)));
}

#[test]
fn its_statements_are_prepared_once() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    // The text depends on what is counted, and not on the amounts.
    for (amount, prepared) in [(-1, 2), (5, 0)] {
        let watched = watch(&mut conn, |conn| {
            let counted = counting_transaction(conn, |tx| {
                tx.count(increment((views, likes)).of_many([(1, (1, amount)), (2, (1, 1))]));
                tx.count(increment(likes).of(1));
                tx.count(increment(site_counters::hits));
                QueryResult::Ok(())
            });
            counted.unwrap();
        });
        assert_eq!(watched.prepared.len(), prepared, "{watched:?}");
    }
    let value = article(1).counter_value((views, likes), &mut conn);
    assert_eq!(value, Ok((2, 6)));
}

#[test]
fn if_a_count_cannot_be_written_nothing_is() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let result = counting_transaction(&mut conn, |tx| {
        publish(1000, tx)?;
        tx.count(increment(site_counters::hits));
        tx.count(increment(views).of(404));
        QueryResult::Ok(())
    });
    let is_refused = matches!(result, Err(Error::DatabaseError(..)));
    assert!(is_refused, "{result:?}");
    assert_eq!(articles::table.count().get_result(&mut conn), Ok(5_i64));
    assert_eq!(Site.counter_value(site_counters::hits, &mut conn), Ok(0));
}

#[test]
fn a_savepoint_that_fails_drops_its_own_counts() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    counting_transaction(&mut conn, |tx| {
        tx.count(increment(views).of(1).by(1));
        let failed = tx.transaction(|tx| {
            publish(1000, tx)?;
            tx.count(increment(views).of(1).by(10));
            tx.transaction(|tx| {
                tx.count(increment(views).of(1).by(100));
                QueryResult::Ok(())
            })?;
            Err::<(), _>(Error::RollbackTransaction)
        });
        assert_eq!(failed, Err(Error::RollbackTransaction));
        tx.transaction(|tx| {
            publish(1001, tx)?;
            tx.count(increment(views).of(1).by(1_000));
            tx.transaction(|tx| {
                tx.count(increment(views).of(1).by(10_000));
                Err(Error::RollbackTransaction)
            })
            .or(QueryResult::Ok(()))
        })?;
        tx.count(increment(views).of(1).by(100_000));
        QueryResult::Ok(())
    })
    .unwrap();
    assert_eq!([1, 1001].map(|id| counted(id, &mut conn)), [101_001, 1]);
    assert_eq!(articles::table.count().get_result(&mut conn), Ok(6_i64));
}

/// On MySQL and MariaDB, the deadlock ends the whole transaction.
#[test]
fn a_savepoint_that_deadlocks_takes_no_counts_of_lost_rows() {
    if !HAS_SLOTS {
        return; // SQLite has one writer.
    }
    for savepoints in 1..=2 {
        let database = TestDatabase::with_tables();
        let both_have_one = Barrier::new(2);
        let results = thread::scope(|scope| {
            let transactions = [(1, 2), (2, 1)].map(|(first, second)| {
                let (database, both_have_one) = (&database, &both_have_one);
                scope.spawn(move || {
                    let conn = &mut database.connect();
                    crate::count_in_slot(1, conn);
                    let at_once = |id: i64| increment(views).of(id);
                    counting_transaction(conn, |tx| {
                        insert_comment(first, "Nice.", tx.conn())?;
                        tx.count(increment(comments).of(first));
                        let deadlock = |tx: &mut CountingTransaction<'_, Conn>| {
                            at_once(first).execute(tx.conn())?;
                            both_have_one.wait();
                            at_once(second).execute(tx.conn())
                        };
                        match savepoints {
                            1 => tx.transaction(deadlock),
                            _ => tx.transaction(|tx| tx.transaction(deadlock)),
                        }
                        .or(QueryResult::Ok(0))
                    })
                })
            });
            transactions.map(|t| t.join().unwrap())
        });
        let failed = results.iter().filter(|result| result.is_err()).count();
        assert_eq!(failed, usize::from(IS_MYSQL), "{results:?}");
        let conn = &mut database.connect();
        let committed = written::table.count().get_result::<i64>(conn).unwrap();
        let counted = [1, 2].map(|id| article(id).counter_value(comments, conn).unwrap());
        assert_eq!(counted[0] + counted[1], committed);
    }
}

#[test]
fn a_sum_that_does_not_fit_is_an_error() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let transaction = |counts: [i64; 3], conn: &mut Conn| {
        counting_transaction(conn, |tx| {
            tx.count(increment(views).of(2));
            for amount in counts {
                tx.count(increment(views).of(1).by(amount));
            }
            QueryResult::Ok(())
        })
    };
    let result = transaction([i64::MAX, 1, 1], &mut conn);
    assert!(result.as_ref().is_err_and(is_overflow), "{result:?}");
    assert_eq!([1, 2].map(|id| counted(id, &mut conn)), [0, 0]);
    // Whether it fits does not depend on the order.
    transaction([i64::MAX, 1, -1], &mut conn).unwrap();
    assert_eq!([1, 2].map(|id| counted(id, &mut conn)), [i64::MAX, 1]);
}

#[test]
fn it_runs_inside_other_transactions() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let count = |conn: &mut Conn| {
        counting_transaction(conn, |tx| {
            tx.count(increment(views).of(1));
            QueryResult::Ok(())
        })
    };
    write_transaction(&mut conn, |conn| {
        count(conn)?;
        assert_eq!(counted(1, conn), 1);
        count(conn)
    })
    .unwrap();
    let rolled_back: QueryResult<()> = conn.transaction(|conn| {
        count(conn)?;
        Err(Error::RollbackTransaction)
    });
    assert_eq!(rolled_back, Err(Error::RollbackTransaction));
    assert_eq!(counted(1, &mut conn), 2);
    conn.begin_test_transaction().unwrap();
    count(&mut conn).unwrap();
    assert_eq!(counted(1, &mut conn), 3);
}
