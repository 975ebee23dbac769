//! Keys that the database takes for one: in columns that do not tell cases apart.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::Drift;
use diesel_counters::dsl::{delete_counters, recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::page_counters::{self, hits};

use super::day;
use crate::{CASED, CASELESS, Conn, TestDatabase};

table! {
    uses (id) { id -> BigInt, path -> Text }
}

/// A database with a table of counters whose keys are texts of this type.
pub fn with_paths(text: &str) -> (Conn, TestDatabase) {
    let database = TestDatabase::create();
    let mut conn = database.connect();
    let create = format!(
        "{} CREATE TABLE page_counters (
            path {text} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (path, day, slot)
        )",
        CASELESS[0]
    );
    conn.batch_execute(&create).unwrap();
    (conn, database)
}

#[test]
fn keys_that_the_database_takes_for_one_have_the_counts_of_one() {
    let (conn, _database) = &mut with_paths(CASELESS[1]);
    let days = [
        (1, "foo", 1),
        (1, "Bar", 10),
        (1, "BAZ", 100),
        (2, "baz", 100),
        (3, "Baz", 0),
    ];
    for (on, path, n) in days {
        let page = increment(hits).of(path).on(day(2026, 3, on));
        page.by(n).execute(conn).unwrap();
    }
    let counted = "foo=1 Foo=1 FOO=1 bar=10 BAR=10 none=0 Baz=200 BAZ=200 baz=200 None=0";
    let counted = counted.split(' ').map(|one| one.split_once('=').unwrap());
    let counted: Vec<(&str, i64)> = counted.map(|(of, n)| (of, n.parse().unwrap())).collect();
    for number in 1..=counted.len() {
        for counted in counted.windows(number) {
            let (paths, values): (Vec<&str>, Vec<i64>) = counted.iter().copied().unzip();
            let many = counter_value(hits).of_many(&paths);
            assert_eq!(many.load(conn).as_ref(), Ok(&values), "{paths:?}");
            let [first, second] = [1, 2].map(|d| day(2026, 3, d));
            let many = counter_series(hits).of_many(&paths).between(first..=second);
            let series = values.iter().map(|&n| {
                let bars = if n == 200 { [100, 100] } else { [n, 0] };
                vec![(first, bars[0]), (second, bars[1])]
            });
            let series: Vec<_> = series.collect();
            assert_eq!(many.load(conn), Ok(series), "{paths:?}");
        }
    }
}

/// Where the database compares the two as the counter table does: SQLite always, PostgreSQL
/// by a collation that is not the default, MySQL and MariaDB by a binary one.
#[test]
fn a_recount_from_a_source_of_another_collation_corrects_no_other_entity() {
    let caseless = CASELESS[1];
    let mut collations = vec![(caseless, CASED), (CASED, caseless)];
    if crate::HAS_SLOTS {
        collations.remove(if crate::IS_MYSQL { 0 } else { 1 });
    }
    for (counters, source) in collations {
        let (conn, _database) = &mut with_paths(counters);
        conn.batch_execute(&format!(
            "CREATE TABLE uses (id BIGINT PRIMARY KEY, path {source} NOT NULL);
            INSERT INTO uses VALUES (1, 'Foo'), (2, 'Foo'), (3, 'Foo'), (4, 'foo'), (5, 'bar')"
        ))
        .unwrap();
        increment(hits).of("Foo").by(3).execute(conn).unwrap();
        let each = uses::table.select((uses::path, 1_i64.into_sql::<BigInt>()));
        let is_one = counters == caseless;
        let expected = if is_one { [4, 4, 1] } else { [3, 1, 1] };
        let recounted: Result<Vec<Drift<String>>, _> = recount(hits, each).execute(conn);
        recounted.unwrap();
        let paths = ["Foo", "foo", "bar"];
        let values = counter_value(hits).of_many(&paths).load(conn);
        assert_eq!(values, Ok(expected.to_vec()), "{counters}, {source}");
        for path in paths {
            let again = recount(hits, each).of(path).execute::<String, _>(conn);
            assert_eq!(again, Ok(vec![]), "{path}");
        }
    }
}

#[test]
fn a_key_that_is_spelled_in_two_ways_is_refused() {
    let (conn, _database) = &mut with_paths(CASELESS[1]);
    let on = day(2026, 1, 1);
    let set = |log: &[(&'static str, i64)], conn: &mut _| {
        let log = log.iter().map(|&(path, count)| (path, on, count));
        set_counter(hits).of_days(log).execute(conn)
    };
    assert!(set(&[("foo", 3), ("FOO", 4)], conn).is_err());
    assert_eq!(set(&[("foo", 3), ("bar", 4)], conn), Ok(2));
    assert_eq!(set(&[("FOO", 3), ("BAR", 5)], conn), Ok(1));
    let sum = counter_value(hits).of("Foo").get_result(conn);
    assert_eq!(sum, Ok(3_i64));
    // They are set in two transactions.
    let between = (0..1_100).map(|number| format!("P{number}"));
    let paths = ["FOO".to_owned(), "foo".to_owned()]
        .into_iter()
        .chain(between);
    let log = set_counter(hits).of_days(paths.map(|path| (path, on, 5)));
    let far_apart = log.execute(conn);
    assert!(far_apart.is_err(), "{far_apart:?}");
}

#[test]
fn a_deletion_takes_the_rows_of_a_key_in_each_spelling() {
    let (conn, _database) = &mut with_paths(CASELESS[1]);
    for deleted in ["foo", "Foo"] {
        // The row that is the lock has one spelling, and what was counted another one.
        set_counter(hits).of("foo").to(0).execute(conn).unwrap();
        let counted = increment(hits).of("Foo").by(3).on(day(2026, 1, 5));
        counted.execute(conn).unwrap();
        set_counter(hits).of("bar").to(0).execute(conn).unwrap();
        let both = delete_counters(page_counters::table).of_many([deleted, "bar"]);
        assert_eq!(both.execute(conn), Ok(1), "{deleted}");
        let rows = page_counters::table.count().get_result(conn);
        assert_eq!(rows, Ok(0_i64), "{deleted}");
    }
}
