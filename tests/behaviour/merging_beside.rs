//! Merging while others count, read, set and merge, and when it is killed.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32};
use std::thread;
use std::time::Duration;

use chrono::{Days, NaiveDate};
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::ForeignKeyViolation;
use diesel::result::Error::DatabaseError;
use diesel_counters::Compacted;
use diesel_counters::dsl::{CompactOf, compact, fold};
use diesel_counters::is_retryable;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{Article, busy_counters};
use diesel_counters_tests::schema::article_counters::{self, comments, likes, views};
use diesel_counters_tests::schema::articles;
use rand::RngExt;

use super::compacting::insert_row;
use super::{article, day, utc_today, wait_until};
use crate::{Conn, HAS_SLOTS, IS_MYSQL, TestDatabase, write_transaction};

const WRITERS: usize = 8;
const EACH: i64 = 300;
/// What is there before, in rows of other slots too.
const BEFORE: i64 = 5 * 20 * 4;

/// Today, and days that are merged and folded meanwhile.
fn days() -> [NaiveDate; 4] {
    let today = utc_today();
    [
        today,
        today - Days::new(3),
        today - Days::new(40),
        day(2020, 2, 29),
    ]
}

fn insert_rows(conn: &mut Conn) {
    for id in 1..=5 {
        for on in 1..=20 {
            for slot in 1..=4 {
                insert_row(id, day(2026, 1, on), slot, (1, 0, 0), conn);
            }
        }
    }
}

/// A merge that does not know of others, because it takes no lock.
fn another_compact() -> CompactOf<article_counters::table> {
    compact(article_counters::table)
        .without_lock()
        .before(utc_today())
}

/// The views of all articles, in one query.
fn all_views(conn: &mut Conn) -> i64 {
    let values = counter_value(views)
        .of_many(&[1_i64, 2, 3, 4, 5])
        .load(conn);
    values.unwrap().iter().sum()
}

#[test]
fn merging_beside_writers_and_readers_loses_and_doubles_nothing() {
    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    insert_rows(conn);
    let (begun, committed) = (AtomicI64::new(BEFORE), AtomicI64::new(BEFORE));
    let done = AtomicBool::new(false);
    // What a reader and three mergers have done, for which the writers go on.
    let turns = [(); 4].map(|()| AtomicU32::new(0));
    let all_had_turns = AtomicBool::new(false);

    let writers = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                scope.spawn(|| {
                    let conn = &mut database.connect();
                    let mut written = 0;
                    while written < EACH || !all_had_turns.load(SeqCst) {
                        count_two(&begun, &committed, conn)?;
                        written += 1;
                    }
                    QueryResult::Ok(())
                })
            })
            .collect();
        let [reads, compacted, compacted_by_another, folded] = &turns;
        let reader = scope.spawn(|| {
            let conn = &mut database.connect();
            let mut last = BEFORE;
            while !done.load(SeqCst) {
                let at_least = committed.load(SeqCst);
                let total = all_views(conn);
                let at_most = begun.load(SeqCst);
                assert!(
                    last.max(at_least) <= total && total <= at_most,
                    "{total} is read after {last}, of {at_least} to {at_most}"
                );
                last = total;
                reads.fetch_add(1, SeqCst);
            }
        });
        let mergers = [
            scope.spawn(|| {
                merge_until(&done, compacted, &database, |conn| {
                    compact(article_counters::table).batch(20).execute(conn)
                })
            }),
            scope.spawn(|| {
                merge_until(&done, compacted_by_another, &database, |conn| {
                    another_compact().batch(30).execute(conn)
                })
            }),
            scope.spawn(|| {
                merge_until(&done, folded, &database, |conn| {
                    let before = utc_today() - Days::new(30);
                    fold(article_counters::table)
                        .before(before)
                        .batch(25)
                        .execute(conn)
                })
            }),
        ];
        wait_until(|| {
            let failed = reader.is_finished() || mergers.iter().any(|m| m.is_finished());
            failed || turns.iter().all(|turn| turn.load(SeqCst) > 0)
        });
        all_had_turns.store(true, SeqCst);
        let writers: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        done.store(true, SeqCst);
        writers
    });

    for written in writers {
        written.unwrap().unwrap();
    }
    let all = committed.into_inner();
    assert!(all >= BEFORE + 2 * EACH * WRITERS as i64);
    assert_eq!(all_views(conn), all);
    assert!(turns.iter().all(|turn| turn.load(SeqCst) > 0), "{turns:?}");

    // And what is left is merged without a rest.
    let last = another_compact().execute(conn).unwrap();
    assert_eq!(last.left, 0);
    assert_eq!(all_views(conn), all);
}

/// A transaction that counts two articles, on any of the days, in any order.
fn count_two(begun: &AtomicI64, committed: &AtomicI64, conn: &mut Conn) -> QueryResult<()> {
    let mut rng = rand::rng();
    let two = [(); 2].map(|()| (rng.random_range(1..=5), days()[rng.random_range(0..4)]));
    begun.fetch_add(2, SeqCst);
    loop {
        let counted = write_transaction(conn, |conn| {
            for (id, on) in two {
                increment(busy_counters::views)
                    .of(id)
                    .on(on)
                    .execute(conn)?;
            }
            QueryResult::Ok(())
        });
        match counted {
            // Two that wait for rows next to each other, and find them deleted, each lock
            // the gap that these leave: InnoDB ends one of them. Nowhere else may it happen.
            Err(error) if IS_MYSQL && is_deadlock(&error) => {}
            counted => break counted?,
        }
    }
    committed.fetch_add(2, SeqCst);
    if !HAS_SLOTS {
        // SQLite gives its lock to whoever asks first after it is free.
        thread::sleep(Duration::from_micros(500));
    }
    Ok(())
}

/// Merges again and again, and counts how often.
fn merge_until(
    done: &AtomicBool,
    runs: &AtomicU32,
    database: &TestDatabase,
    merge: impl Fn(&mut Conn) -> QueryResult<Compacted>,
) {
    let conn = &mut database.connect();
    while !done.load(SeqCst) {
        match merge(conn) {
            Ok(run) if run.already_running => {}
            Ok(_) => drop(runs.fetch_add(1, SeqCst)),
            // Two that know nothing of each other may deadlock, which the database ends.
            Err(error) if is_deadlock(&error) => {}
            Err(error) => panic!("{error}"),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn is_deadlock(error: &diesel::result::Error) -> bool {
    error.to_string().to_lowercase().contains("deadlock")
}

#[test]
fn counts_set_beside_a_merge_are_what_they_were_set_to() {
    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    let done = AtomicBool::new(false);
    let undated = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();

    thread::scope(|scope| {
        scope.spawn(|| {
            merge_until(&done, &AtomicU32::new(0), &database, |conn| {
                another_compact().batch(7).execute(conn)
            })
        });
        scope.spawn(|| {
            merge_until(&done, &AtomicU32::new(0), &database, |conn| {
                fold(article_counters::table)
                    .before(utc_today())
                    .batch(7)
                    .execute(conn)
            })
        });
        let set = scope.spawn(|| {
            let conn = &mut database.connect();
            for round in 0..60_i64 {
                // New rows to merge, under the setter's feet.
                for (i, on) in days()[1..].iter().chain([&undated]).enumerate() {
                    for slot in 1..=4 {
                        let row = increment((views, likes)).of(1_i64).on(*on);
                        let row = row.slot(partition(slot)).by((1, i as i64));
                        row.execute(conn).unwrap();
                    }
                }
                let (before, after) = (1000 * round, 1000 * round + 999);
                let article = article(1);
                if round % 2 == 0 {
                    article.set_counter(views, before, conn).unwrap();
                } else {
                    // In a transaction of the caller's, that has read before.
                    loop {
                        let set = write_transaction(conn, |conn| {
                            article.counter_value(views, conn)?;
                            article.set_counter(views, before, conn)
                        });
                        match set {
                            Err(error) if is_retryable(&error) => {}
                            set => {
                                set.unwrap();
                                break;
                            }
                        };
                    }
                }
                let value = article.counter_value(views, conn).unwrap();
                assert_eq!(value, before, "set to {before} of up to {after}");
            }
        });
        let set = set.join();
        done.store(true, SeqCst);
        set.unwrap();
    });
    let expected = 60 * 4 * (1 + 2 + 3);
    assert_eq!(article(1).counter_value(likes, conn), Ok(expected));
}

#[test]
fn articles_are_deleted_beside_a_merge() {
    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                merge_until(&done, &AtomicU32::new(0), &database, |conn| {
                    match another_compact().batch(30).execute(conn) {
                        // An article that went between the two looks at its rows.
                        Err(DatabaseError(ForeignKeyViolation, _)) => Ok(Compacted::default()),
                        run => run,
                    }
                });
            });
        }
        let deleter = scope.spawn(|| {
            let conn = &mut database.connect();
            for round in 0..100_i64 {
                let two = [100 + 2 * round, 101 + 2 * round];
                for id in two {
                    let article = diesel::insert_into(articles::table).values(article(id));
                    article.execute(conn).unwrap();
                    for (on, slot) in days().into_iter().flat_map(|on| [(on, 1), (on, 2)]) {
                        insert_row(id, on, slot, (1, 0, 0), conn);
                    }
                }
                loop {
                    let deleted = write_transaction(conn, |conn| {
                        // In the order of their keys, as a merge has them.
                        for id in two {
                            diesel::delete(articles::table.find(id)).execute(conn)?;
                        }
                        QueryResult::Ok(())
                    });
                    match deleted {
                        Err(error) if IS_MYSQL && is_deadlock(&error) => {}
                        deleted => break deleted.unwrap(),
                    }
                }
            }
        });
        let deleted = deleter.join();
        done.store(true, SeqCst);
        deleted.unwrap();
    });
    let rows = article_counters::table.count().get_result(conn);
    assert_eq!(rows, Ok(0));
}

fn partition(index: u16) -> diesel_counters::Slot {
    diesel_counters::Slot::Partition { index, of: 32 }
}

/// The name of the test below, for the process that it starts.
const MERGES: &str = "merges_until_it_is_killed";

/// Not a test of its own: what the next one starts, and kills.
#[test]
#[ignore = "started by another test"]
fn merges_until_it_is_killed() {
    let Ok(url) = std::env::var("MERGE_AT") else {
        return;
    };
    let conn = &mut Conn::establish(&url).unwrap();
    loop {
        // One at a time says the database, also of one that was killed a moment ago.
        if compact(article_counters::table)
            .batch(9)
            .execute(conn)
            .is_ok()
        {
            let _ = fold(article_counters::table)
                .before(day(2026, 2, 1))
                .batch(9)
                .execute(conn);
        }
    }
}

#[test]
fn a_merge_that_is_killed_again_and_again_loses_and_doubles_nothing() {
    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    let mut expected = (0, 0);
    let mut killed_at_work = 0;
    for kill in 0..1000_i64 {
        if kill >= 50 && killed_at_work > 0 {
            break;
        }
        for id in 1..=3 {
            for slot in 1..=40 {
                let on = if kill % 2 == 0 {
                    day(2026, 1, 5)
                } else {
                    day(2026, 3, 5)
                };
                let on = on + Days::new(slot as u64 % 7);
                let row = diesel::insert_into(article_counters::table).values((
                    article_counters::article_id.eq(id),
                    article_counters::day.eq(on),
                    article_counters::slot.eq(1000 + slot),
                    views.eq(1),
                    comments.eq(kill),
                ));
                // A row that the last one did not come to is there still.
                match row.execute(conn) {
                    Ok(_) => {
                        expected.0 += 1;
                        expected.1 += kill;
                    }
                    Err(diesel::result::Error::DatabaseError(
                        diesel::result::DatabaseErrorKind::UniqueViolation,
                        _,
                    )) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
        let left = |conn: &mut Conn| {
            let rows = article_counters::table.filter(article_counters::slot.gt(0));
            rows.count().get_result::<i64>(conn).unwrap()
        };
        let before = left(conn);
        let mut merger = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact"])
            .arg(format!("behaviour::merging_beside::{MERGES}"))
            .env("MERGE_AT", database.url())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Once it has begun, at a random moment.
        let begun = wait_until(|| left(conn) < before);
        assert!(begun, "the merge {kill} never began");
        thread::sleep(Duration::from_micros(rand::random_range(0..20_000)));
        merger.kill().unwrap();
        merger.wait().unwrap();
        killed_at_work += i32::from(left(conn) > 0);
        let total: (i64, i64) = Article::counter_values(
            [&article(1), &article(2), &article(3)],
            (views, comments),
            conn,
        )
        .unwrap()
        .into_iter()
        .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        assert_eq!(total, expected, "after the merge {kill}");
    }
    assert!(killed_at_work > 0, "none was killed at work");
    // The lock of the last one that was killed goes with its connection.
    let mut last = Compacted::default();
    assert!(wait_until(|| {
        last = compact(article_counters::table).execute(conn).unwrap();
        !last.already_running
    }));
    assert_eq!(last.left, 0);
}
