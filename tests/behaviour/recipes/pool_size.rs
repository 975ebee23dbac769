//! "How many slots" in docs/pools.md: a table with 32 slots, and a pool with fewer connections.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel_counters::ClaimSlots;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{self, views};

use crate::{Conn, HAS_SLOTS, TestDatabase};

/// All of the pool's connections are counting, so the next request has none.
#[test]
fn a_pool_counts_in_as_many_slots_as_it_has_connections() {
    for size in [1, 4, 10] {
        let (conn, database, _article) = &mut TestDatabase::with_connection();
        let pool = Pool::builder()
            .max_size(size)
            .connection_customizer(Box::new(ClaimSlots))
            .build(ConnectionManager::<Conn>::new(database.url()))
            .unwrap();
        let mut counting: Vec<_> = (0..size).map(|_| pool.get().unwrap()).collect();
        for conn in &mut counting {
            increment(views).of(1_i64).execute(conn).unwrap();
        }
        assert!(pool.try_get().is_none());
        let rows = article_counters::table.select(count_star());
        let slots = if HAS_SLOTS { i64::from(size) } else { 1 };
        assert_eq!(rows.get_result(conn), Ok(slots));
    }
}
