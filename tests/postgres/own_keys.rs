//! Keys of types that only PostgreSQL has.

use diesel::connection::SimpleConnection;
use diesel::deserialize::{FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::prelude::*;
use diesel::result::Error;
use diesel::serialize::{IsNull, Output, Result, ToSql};
use diesel_counters::Drift;
use diesel_counters::bounds::StoredKey;
use diesel_counters::dsl::{compact, delete_counters, fold, recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::page_counters::{self, hits};
use diesel_counters_tests::schema::user_counters;

use crate::behaviour;
use crate::{CASELESS, TestDatabase};

diesel_counters_tests::counter_table!(device_counters (device_id -> Uuid) (uses));

#[test]
fn a_key_may_be_a_uuid() {
    let database = TestDatabase::create();
    let conn = &mut database.connect();
    conn.batch_execute(
        "CREATE TABLE device_counters (
             device_id UUID, day DATE, slot SMALLINT, uses BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (device_id, day, slot)
         )",
    )
    .unwrap();
    let keys = [(); 5].map(|()| uuid::Uuid::new_v4());
    behaviour::keys::each_key_is_its_own!(uuid::Uuid: device_counters::uses, keys,
        |_key: &uuid::Uuid| false, conn);
}

/// Only PostgreSQL has columns whose names differ in nothing but case.
#[test]
fn a_counter_whose_name_differs_in_case_is_not_lost() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute(
        "ALTER TABLE user_counters ADD \"Visits\" BIGINT NOT NULL DEFAULT 0;
         INSERT INTO user_counters (user_id, day, slot, visits, \"Visits\")
         VALUES (1, '2026-03-01', 1, 10, 100), (1, '2026-03-01', 2, 20, 200)",
    )
    .unwrap();
    let merged = compact(user_counters::table).execute(conn);
    let Err(Error::QueryBuilderError(error)) = merged else {
        panic!("{merged:?}");
    };
    assert!(error.to_string().contains("column `Visits`"), "{error}");
}

/// An SQL type of the application's own, as `diesel print-schema` wrote it before it added `Clone`.
#[derive(diesel::sql_types::SqlType, diesel::query_builder::QueryId)]
#[diesel(postgres_type(name = "kind"))]
pub struct KindType;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = KindType)]
pub enum Kind {
    A,
    B,
}

impl ToSql<KindType, Pg> for Kind {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> Result {
        std::io::Write::write_all(out, if *self == Kind::A { b"a" } else { b"b" })?;
        Ok(IsNull::No)
    }
}

impl FromSql<KindType, Pg> for Kind {
    fn from_sql(value: PgValue<'_>) -> diesel::deserialize::Result<Self> {
        let is_b = usize::from(value.as_bytes() == b"b");
        Ok([Kind::A, Kind::B][is_b])
    }
}

impl StoredKey for KindType {
    type Key = Kind;
}

#[test]
fn a_key_may_be_of_an_sql_type_that_is_not_clone() {
    diesel::table! {
        use diesel::sql_types::{BigInt, Date, SmallInt};
        use crate::own_keys::KindType;
        kind_counters (kind, day, slot) {
            kind -> KindType,
            day -> Date,
            slot -> SmallInt,
            views -> BigInt,
        }
    }
    diesel_counters::counter_table!(kind_counters);
    use kind_counters::{slot, table, views};

    let database = TestDatabase::create();
    let conn = &mut database.connect();
    conn.batch_execute(
        "CREATE TYPE kind AS ENUM ('b', 'a');
         CREATE TABLE kind_counters (kind kind NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (kind, day, slot))",
    )
    .unwrap();
    behaviour::keys::each_key_is_its_own!(Kind: kind_counters::views, [Kind::A, Kind::B],
        |_key: &Kind| false, &mut *conn);
    // Kind A was deleted.
    let of_a = increment(views).of(Kind::A);
    assert_eq!(of_a.clone().execute(conn), Ok(1), "{of_a:?}");
    let none = table
        .filter(slot.lt(0))
        .select((kind_counters::kind, views));
    let drift: Vec<Drift<Kind>> = recount(views, none).of(Kind::A).execute(conn).unwrap();
    assert_eq!((drift[0].entity, drift[0].stored), (Kind::A, 1));
}

/// Only the database knows that they are one key.
#[test]
fn two_spellings_of_a_key_in_one_statement_are_an_error() {
    let (conn, _database) = &mut behaviour::collations::with_paths(CASELESS[1]);
    let counted = increment(hits)
        .of_many([("foo", 1), ("FOO", 1)])
        .execute(conn);
    let error = counted.unwrap_err().to_string();
    assert!(error.contains("a second time"), "{error}");
    for (path, d) in [("foo", 1), ("FOO", 2)] {
        let row = increment(hits).of(path).on(behaviour::day(2026, 3, d));
        row.execute(conn).unwrap();
    }
    let none = page_counters::table.filter(page_counters::slot.lt(0));
    let by_day = none.select((page_counters::path, page_counters::day, hits));
    let drift: QueryResult<Vec<Drift<String>>> = recount(hits, by_day).execute(conn);
    let error = drift.unwrap_err().to_string();
    assert!(error.contains("a second time"), "{error}");
    let drift: Vec<Drift<String>> = recount(hits, by_day).of("Foo").execute(conn).unwrap();
    assert_eq!(drift.iter().map(|of_day| of_day.stored).sum::<i64>(), 2);
}

/// The server refuses a prepared query whose columns have got other types, on each connection that
/// has prepared it.
#[test]
fn merges_and_copies_go_on_after_a_key_has_got_another_type() {
    mod pages {
        diesel::table! { pages (path) { path -> Text, total_hits -> BigInt } }
        diesel_counters_tests::counter_table!(
            page_counters (path -> Text) (hits) { parent = pages::path }
        );
    }
    use pages::page_counters::{hits, table};
    use pages::pages::total_hits;

    #[derive(HasCounters)]
    #[diesel(table_name = pages::pages, primary_key(path))]
    #[counters(table_name = pages::page_counters)]
    struct Page {
        path: String,
    }

    let database = TestDatabase::create();
    let conn = &mut database.connect();
    conn.batch_execute(
        "CREATE TABLE pages (path VARCHAR(50) PRIMARY KEY, total_hits BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE page_counters (path VARCHAR(50), day DATE, slot SMALLINT, hits BIGINT NOT NULL,
             PRIMARY KEY (path, day, slot));
         INSERT INTO pages VALUES ('/')",
    )
    .unwrap();
    for sql_type in ["VARCHAR(50)", "VARCHAR(100)", "TEXT"] {
        conn.batch_execute(&format!(
            "ALTER TABLE pages ALTER path TYPE {sql_type};
             ALTER TABLE page_counters ALTER path TYPE {sql_type}"
        ))
        .unwrap();
        let row = increment(hits).of("/").on(behaviour::day(2026, 3, 1));
        row.execute(conn).unwrap();
        assert_eq!(compact(table).execute(conn).map(|done| done.merged), Ok(1));
        assert_eq!(Page::materialize(hits, total_hits).execute(conn), Ok(1));
    }
}
