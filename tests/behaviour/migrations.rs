//! The reference migration.

use diesel::migration::MigrationVersion;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_counters::prelude::*;
use diesel_migrations::MigrationHarness;

use crate::{COLUMNS_OF, Conn, REFERENCE, TestDatabase};

#[derive(Debug, PartialEq, QueryableByName)]
struct ColumnOf {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    data_type: String,
    #[diesel(sql_type = Text)]
    is_nullable: String,
}

fn columns(conn: &mut Conn) -> Vec<ColumnOf> {
    diesel::sql_query(COLUMNS_OF)
        .bind::<Text, _>("article_counters")
        .load(conn)
        .unwrap()
}

/// `diesel print-schema` makes a `BigInt` of a bigint, a `Date` of a date, a
/// `SmallInt` of a smallint, and a `Nullable` of what may be NULL.
#[test]
fn its_columns_have_the_types_of_the_schema() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let columns = columns(&mut conn).into_iter();
    let columns = columns.map(|c| format!("{} {} {}", c.name, c.data_type, c.is_nullable));
    let expected = "article_id bigint NO, day date NO, slot smallint NO, \
        views bigint NO, likes bigint NO, comments bigint NO";
    assert!(columns.eq(expected.split(", ")));
}

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
    conn.revert_last_migration(REFERENCE).unwrap();
    assert_eq!(columns(&mut conn), []);
    conn.run_pending_migrations(REFERENCE).unwrap();
    assert_eq!(columns(&mut conn).len(), 6);
}

/// Diesel reverts the newest of the versions that it finds in the database, which
/// must be one of the application's own.
#[test]
fn it_is_older_than_any_migration_of_an_application() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let applied = conn.applied_migrations().unwrap();
    assert_eq!(applied.len(), 2);
    assert!(
        applied
            .iter()
            .all(|version| *version < MigrationVersion::from("20150101000000"))
    );
}
