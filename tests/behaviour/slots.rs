//! Which slot an increment goes to.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::Slot;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{Article, BusyArticle, TimelessArticle};
use diesel_counters_tests::schema::article_counters::views;

use super::{article, rows};
use crate::{HAS_SLOTS, TestDatabase};

fn slots_used(conn: &mut crate::Conn) -> BTreeSet<i16> {
    rows(&article(1), conn).iter().map(|row| row.slot).collect()
}

#[test]
fn sixteen_threads_have_sixteen_different_slots() {
    let (database, mut conn, _article) = TestDatabase::with_article();
    let article = BusyArticle { id: 1 };
    let all_are_counting = Barrier::new(16);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let conn = &mut database.connect();
                let counted = [(); 2].map(|()| article.incr_counter(views, conn));
                // Nobody leaves, and hands its slot on, before everybody has one.
                all_are_counting.wait();
                assert_eq!(counted, [Ok(()), Ok(())]);
            });
        }
    });
    let used = slots_used(&mut conn);
    assert_eq!(used.len(), if HAS_SLOTS { 16 } else { 1 }, "{used:?}");
    assert_eq!(article.counter_value(views, &mut conn), Ok(32));
}

#[test]
fn a_thread_keeps_its_slot() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    for _ in 0..20 {
        article.incr_counter(views, &mut conn).unwrap();
    }
    assert_eq!(slots_used(&mut conn).len(), 1);
}

#[test]
fn random_slots_spread_over_all_of_the_models() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    for _ in 0..64 {
        TimelessArticle::increment(views)
            .of(1_i64)
            .slot(Slot::Random)
            .execute(&mut conn)
            .unwrap();
    }
    let expected = if HAS_SLOTS { [1, 2].into() } else { [0].into() };
    assert_eq!(slots_used(&mut conn), expected);
    assert_eq!(article.counter_value(views, &mut conn), Ok(64));
}

#[test]
fn a_partition_stays_in_its_share_of_the_slots() {
    for (index, of, share) in [
        (0, 2, 1..=16),
        (1, 2, 17..=32),
        (2, 3, 22..=32),
        (39, 40, 32..=32),
    ] {
        let (_database, mut conn, _article) = TestDatabase::with_article();
        Article::increment(views)
            .of(1_i64)
            .slot(Slot::Partition { index, of })
            .execute(&mut conn)
            .unwrap();
        let slot = rows(&article(1), &mut conn)[0].slot;
        let share = if HAS_SLOTS { share } else { 0..=0 };
        assert!(share.contains(&slot), "{slot} of partition {index} of {of}");
    }
}

#[test]
fn a_partition_that_is_none_is_an_error_that_says_so() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    for (index, of) in [(0, 0), (3, 3)] {
        let result = increment(views)
            .of(1_i64)
            .slot(Slot::Partition { index, of })
            .execute(&mut conn);
        if HAS_SLOTS {
            let Err(Error::SerializationError(error)) = result else {
                panic!("{result:?}");
            };
            assert!(
                error.to_string().contains("partitions count from 0"),
                "{error}"
            );
            assert_eq!(article.counter_value(views, &mut conn), Ok(0));
        } else {
            assert_eq!(result, Ok(1));
        }
    }
}
