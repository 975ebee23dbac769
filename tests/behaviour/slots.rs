//! Which slot an increment goes to.

use std::collections::BTreeSet;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::result::Error;
use diesel_counters::ClaimSlots;
use diesel_counters::dsl::{claim_slot, set_counter};
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{BusyArticle, busy_counters, random_counters};
use diesel_counters_tests::schema::article_counters::{self, views};

use super::{article, rows, wait_until};
use crate::{Conn, HAS_SLOTS, TestDatabase, has_claimed};

/// It has so many slots that a connection's number tells its slot.
const ARTICLE: BusyArticle = BusyArticle { id: 1 };

fn slots_used(conn: &mut Conn) -> BTreeSet<i16> {
    rows(&article(1), conn).iter().map(|row| row.slot).collect()
}

fn claimed(database: &TestDatabase) -> Conn {
    let mut conn = database.connect();
    claim_slot().execute(&mut conn).unwrap();
    conn
}

/// The slot that this connection counts in.
fn slot_of(conn: &mut Conn) -> i16 {
    conn.test_transaction::<_, Error, _>(|conn| {
        diesel::delete(article_counters::table).execute(conn)?;
        ARTICLE.incr_counter(busy_counters::views, conn)?;
        Ok(rows(&article(1), conn)[0].slot)
    })
}

#[test]
fn open_transactions_that_count_the_same_articles_in_any_order_do_not_meet() {
    if !HAS_SLOTS {
        return;
    }
    let database = TestDatabase::with_tables();
    let mut connections: Vec<_> = (0..32).map(|_| claimed(&database)).collect();
    for conn in &mut connections {
        conn.batch_execute(crate::GIVE_UP_SOON).unwrap();
        conn.batch_execute("BEGIN").unwrap();
    }
    for step in 0..5 {
        for (i, conn) in connections.iter_mut().enumerate() {
            let id = 1 + (step * (i as i64 + 1)) % 5;
            article(id).incr_counter(views, conn).unwrap();
        }
    }
    // The first of them stays open, and nobody waits for it.
    for conn in &mut connections[1..] {
        conn.batch_execute("COMMIT").unwrap();
        article(1).incr_counter(views, conn).unwrap();
    }
}

#[test]
fn a_connection_whose_first_count_is_rolled_back_has_a_slot_that_no_other_has() {
    let database = TestDatabase::with_tables();
    let [conn, other] = &mut [(); 2].map(|()| database.connect());
    let slots = [slot_of(conn), slot_of(other), slot_of(conn), slot_of(other)];
    ARTICLE.incr_counter(busy_counters::views, conn).unwrap();
    assert_eq!(slots[..2], slots[2..]);
    assert_eq!(slots[0] != slots[1], HAS_SLOTS);
    assert_eq!(slots_used(conn), [slots[0]].into());
}

#[test]
fn a_connection_that_claims_between_counts_counts_in_its_own_slot() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    ARTICLE.incr_counter(busy_counters::views, conn).unwrap();
    for _ in 0..2 {
        claim_slot().execute(conn).unwrap();
    }
    assert_eq!(slot_of(conn), if HAS_SLOTS { 1 } else { 0 });
}

#[test]
fn a_slot_is_free_again_when_its_connection_is_gone() {
    let database = TestDatabase::with_tables();
    let slot = slot_of(&mut claimed(&database));
    let is_free = || slot_of(&mut claimed(&database)) == slot;
    assert!(wait_until(is_free));
}

#[test]
fn the_connections_of_a_pool_claim_their_slots() {
    let database = TestDatabase::with_tables();
    let pool = Pool::builder().max_size(4);
    let pool = pool.connection_customizer(Box::new(ClaimSlots));
    let manager = ConnectionManager::<Conn>::new(database.url());
    let pool = pool.build(manager).unwrap();
    let mut connections = [(); 4].map(|()| pool.get().unwrap());
    for conn in &mut connections {
        assert_eq!(has_claimed(conn), HAS_SLOTS);
        ARTICLE.incr_counter(busy_counters::views, conn).unwrap();
    }
    let expected = if HAS_SLOTS { 1..=4 } else { 0..=0 };
    assert_eq!(slots_used(&mut connections[0]), expected.collect());
}

#[test]
fn a_random_slot_claims_nothing() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let random = increment(random_counters::views).of(1_i64);
    random.execute(conn).unwrap();
    assert!(!has_claimed(conn));
}

diesel_counters_tests::article_counters!(lonely_counters (views) { slots = 1 });
diesel_counters_tests::article_counters!(lonely_random_counters (views) { slots = 1, slot = Random });
diesel_counters_tests::article_counters!(busy_random_counters (views) { slots = 32767, slot = Random });

#[test]
fn one_slot_and_the_most_slots_can_be_chosen_from_in_each_way() {
    let (conn, _database, article) = &mut TestDatabase::with_connection();
    macro_rules! count_in {
        ($($table:ident: $slots:expr;)*) => {$({
            diesel::delete(article_counters::table).execute(conn).unwrap();
            let count = || increment($table::views);
            for _ in 0..3 {
                count().of(1_i64).execute(conn).unwrap();
                count().of_many([(1_i64, 1)]).execute(conn).unwrap();
            }
            let slots = if HAS_SLOTS { $slots } else { 0..=0 };
            let used = slots_used(conn);
            assert!(used.iter().all(|slot| slots.contains(slot)), "{used:?}");
            assert_eq!(article.counter_value(views, conn), Ok(6));
            let set = set_counter($table::views).of(1_i64).to(9);
            assert_eq!(set.execute(conn), Ok(6));
            assert_eq!(article.counter_value(views, conn), Ok(9));
        })*};
    }
    count_in! {
        lonely_counters: 1..=1;
        lonely_random_counters: 1..=1;
        busy_counters: 1..=32767;
        busy_random_counters: 1..=32767;
    }
}

#[test]
fn random_slots_differ() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    for _ in 0..40 {
        let one = || increment(random_counters::views);
        one().of(1_i64).execute(conn).unwrap();
        one().of_many([(1_i64, 1)]).execute(conn).unwrap();
    }
    let used = slots_used(conn);
    assert_eq!(used.len() > 5, HAS_SLOTS, "{used:?}");
    assert!(used.iter().all(|slot| (0..=32).contains(slot)), "{used:?}");
}
