//! The reference migration.

use diesel::migration::MigrationVersion;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters;
use diesel_migrations::MigrationHarness;

use crate::{REFERENCE, TestDatabase};

/// `diesel print-schema` uses these names of the types on PostgreSQL and MySQL.
mod printed {
    diesel::table! {
        article_counters (article_id, day, slot) {
            article_id -> Int8,
            day -> Date,
            slot -> Smallint,
            views -> Int8,
            likes -> BigInt,
            comments -> Bigint,
        }
    }
}
diesel_counters::counter_table!(printed::article_counters);

#[test]
fn it_can_be_counted_in_as_print_schema_prints_it() {
    use printed::article_counters::{comments, views};

    let (_database, mut conn, _article) = TestDatabase::with_article();
    let counters = (views, comments);
    increment(counters).of(1_i64).execute(&mut conn).unwrap();
    let value = counter_value(counters).of(1_i64).get_result(&mut conn);
    assert_eq!(value, Ok((1_i64, 1_i64)));
}

#[test]
fn it_goes_down_and_up_again() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let rows = |conn: &mut _| article_counters::table.count().get_result::<i64>(conn);
    conn.revert_last_migration(REFERENCE).unwrap();
    assert!(rows(&mut conn).is_err());
    conn.run_pending_migrations(REFERENCE).unwrap();
    assert_eq!(rows(&mut conn), Ok(0));
}

/// Diesel reverts the newest of the versions that it finds in the database, which
/// must be one of the application's own.
#[test]
fn it_is_older_than_any_migration_of_an_application() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let applied = conn.applied_migrations().unwrap();
    assert_eq!(applied.len(), 2);
    let first = MigrationVersion::from("20150101000000");
    assert!(applied.iter().all(|version| *version < first));
}
