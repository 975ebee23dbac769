//! The counters of many entities at once.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::Drift;
use diesel_counters::dsl::recount;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{Article, Page, WeeklyArticle, weekly_counters};
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::schema::file_counters::downloads;
use diesel_counters_tests::schema::page_counters::hits;
use diesel_counters_tests::watch::watch;

table! {
    uses (id) {
        id -> BigInt,
        path -> Text,
    }
}

use super::{article, day};
use crate::{Conn, TestDatabase};

fn counted() -> (TestDatabase, Conn) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for d in 1..=2 {
        increment((views, likes))
            .on(day(2026, 1, d))
            .of_many([(1, (10, 1)), (3, (30, 3))])
            .execute(&mut conn)
            .unwrap();
    }
    (database, conn)
}

#[test]
fn values_are_aligned_with_the_models() {
    let (_database, mut conn) = counted();
    let page = [3, 1, 2, 3].map(article);
    let watched = watch(&mut conn, |conn| {
        assert_eq!(
            Article::counter_values(&page, views, conn),
            Ok(vec![60, 20, 0, 60])
        );
    });
    assert_eq!(watched.queries.len(), 1);
    let several = Article::counter_values(&page, (likes, views, comments), &mut conn);
    assert_eq!(
        several,
        Ok(vec![(6, 60, 0), (2, 20, 0), (0, 0, 0), (6, 60, 0)])
    );
}

#[test]
fn values_may_be_of_some_days() {
    let (_database, mut conn) = counted();
    let page = [3, 1, 2].map(article);
    let second = day(2026, 1, 2);
    let values = Article::counter_values_between(&page, views, second.., &mut conn);
    assert_eq!(values, Ok(vec![30, 10, 0]));
    let nothing = Article::counter_values_between(&page, views, second..second, &mut conn);
    assert_eq!(nothing, Ok(vec![0, 0, 0]));
    // What a model counts by the week is filed under the week's Monday.
    let weekly = [WeeklyArticle { id: 2 }];
    let monday = day(2026, 1, 5);
    let friday = day(2026, 1, 9);
    let count = increment(weekly_counters::views).of(2_i64).on(friday);
    count.execute(&mut conn).unwrap();
    for (days, expected) in [
        (friday..=friday, 1),
        (monday..=monday, 1),
        (second..=second, 0),
    ] {
        let values =
            WeeklyArticle::counter_values_between(&weekly, weekly_counters::views, days, &mut conn);
        assert_eq!(values, Ok(vec![expected]));
    }
}

#[test]
fn values_may_be_asked_for_by_id() {
    let (_database, mut conn) = counted();
    let ids = vec![3_i64, 99, 1];
    let on = |d| counter_value(views).of_many(&ids).on(day(2026, 1, d));
    assert_eq!(on(1).load(&mut conn), Ok(vec![30, 0, 10]));
    assert_eq!(on(3).load(&mut conn), Ok(vec![0, 0, 0]));
    let both = counter_value((views, likes)).of_many(&ids).load(&mut conn);
    assert_eq!(both, Ok(vec![(60, 6), (0, 0), (20, 2)]));
}

#[test]
fn of_nobody_there_is_nothing_and_no_query() {
    let (_database, mut conn) = counted();
    let watched = watch(&mut conn, |conn| {
        assert_eq!(Article::counter_values(&[], views, conn), Ok(vec![]));
    });
    assert_eq!(watched.queries, [""; 0]);
}

#[test]
fn keys_may_be_text_or_bytes() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    increment(hits)
        .of_many([("/a", 1), ("/b", 2), ("/A", 4)])
        .execute(conn)
        .unwrap();
    let pages = ["/b", "/", "/A", "/a"].map(|url| Page {
        url: url.to_owned(),
    });
    let values = Page::counter_values(&pages, hits, conn);
    assert_eq!(values, Ok(vec![2, 0, 4, 1]));

    increment(downloads)
        .of_many([(vec![0_u8, 255], 3)])
        .execute(conn)
        .unwrap();
    let digests = [vec![1_u8], vec![0, 255]];
    let values = counter_value(downloads).of_many(&digests).load(conn);
    assert_eq!(values, Ok(vec![0, 3]));
}

#[test]
fn any_number_is_prepared_few_times() {
    let (_database, mut conn) = counted();
    let watched = watch(&mut conn, |conn| {
        for number in 1..=300 {
            let ids: Vec<i64> = (1..=number).collect();
            let values = counter_value(views).of_many(&ids).load(conn).unwrap();
            assert_eq!(values.len(), ids.len());
            assert_eq!(values.iter().sum::<i64>(), if number < 3 { 20 } else { 80 });
        }
    });
    assert_eq!(watched.queries.len(), 300);
    // Powers of two up to 512.
    let texts = if crate::STATEMENTS_OF_ANY == 1 { 1 } else { 10 };
    assert_eq!(watched.prepared.len(), super::KEPT * texts);
}

#[test]
fn more_than_a_statement_can_bind_is_read_in_chunks() {
    let (_database, mut conn) = counted();
    let ids: Vec<i64> = (0..70_000).rev().collect();
    let watched = watch(&mut conn, |conn| {
        let values = counter_value(views).of_many(&ids).load(conn).unwrap();
        assert_eq!(values.len(), 70_000);
        assert_eq!(values[70_000 - 1 - 3], 60);
        assert_eq!(values[70_000 - 1 - 1], 20);
        assert_eq!(values.iter().sum::<i64>(), 80);
    });
    let queries = if crate::STATEMENTS_OF_ANY == 1 { 1 } else { 70 };
    assert_eq!(watched.queries.len(), queries);
}

/// As the database does, in a column that does not tell cases apart.
#[test]
fn keys_that_the_database_takes_for_one_have_the_counts_of_one() {
    let database = TestDatabase::create();
    let conn = &mut database.connect();
    let [before, caseless] = crate::CASELESS;
    conn.batch_execute(&format!(
        "{before} CREATE TABLE page_counters (
            path {caseless} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            hits BIGINT NOT NULL, PRIMARY KEY (path, day, slot)
        )"
    ))
    .unwrap();
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

    let counted = [
        ("foo", 1),
        ("Foo", 1),
        ("FOO", 1),
        ("bar", 10),
        ("BAR", 10),
        ("none", 0),
        ("Baz", 200),
        ("BAZ", 200),
        ("baz", 200),
        ("None", 0),
    ];
    for number in 1..=counted.len() {
        for counted in counted.windows(number) {
            let (paths, values): (Vec<String>, Vec<i64>) = counted
                .iter()
                .map(|&(path, n)| (path.to_owned(), n))
                .unzip();
            let many = counter_value(hits).of_many(&paths);
            assert_eq!(many.load(conn).as_ref(), Ok(&values), "{paths:?}");
            let many = counter_series(hits)
                .of_many(&paths)
                .between(day(2026, 3, 1)..=day(2026, 3, 2));
            let series = values.iter().map(|&n| {
                let bars = if n == 200 { [100, 100] } else { [n, 0] };
                vec![(day(2026, 3, 1), bars[0]), (day(2026, 3, 2), bars[1])]
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
    let [before, caseless] = crate::CASELESS;
    let mut collations = vec![(caseless, crate::CASED), (crate::CASED, caseless)];
    if crate::HAS_SLOTS {
        collations.remove(if crate::IS_MYSQL { 0 } else { 1 });
    }
    for (counters, source) in collations {
        let database = TestDatabase::create();
        let conn = &mut database.connect();
        conn.batch_execute(&format!(
            "{before} CREATE TABLE page_counters (
                path {counters} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                hits BIGINT NOT NULL, PRIMARY KEY (path, day, slot)
            );
            CREATE TABLE uses (id BIGINT PRIMARY KEY, path {source} NOT NULL);
            INSERT INTO uses VALUES (1, 'Foo'), (2, 'Foo'), (3, 'Foo'), (4, 'foo'), (5, 'bar')"
        ))
        .unwrap();
        increment(hits).of("Foo").by(3).execute(conn).unwrap();
        let each = uses::table.select((uses::path, 1_i64.into_sql::<BigInt>()));
        let is_one = counters == caseless;
        let expected = if is_one { [4, 4, 1] } else { [3, 1, 1] };
        for batch in [100, 1] {
            let recounted: Result<Vec<Drift<String>>, _> =
                recount(hits, each).batch(batch).execute(conn);
            recounted.unwrap();
            let paths = ["Foo", "foo", "bar"].map(str::to_owned);
            let values = counter_value(hits).of_many(&paths).load(conn);
            assert_eq!(values, Ok(expected.to_vec()), "{counters}, {source}");
            for (path, _) in paths.iter().zip(expected) {
                assert_eq!(
                    recount(hits, each).of(path.as_str()).execute(conn),
                    Ok(0),
                    "{path}"
                );
            }
        }
    }
}

#[test]
fn keys_may_be_owned_or_borrowed() {
    use diesel_counters_tests::schema::page_counters;

    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    let counts = [("/a", 1), ("/b", 2)];
    increment(page_counters::hits)
        .of_many(counts)
        .execute(conn)
        .unwrap();
    let read = || counter_value(page_counters::hits);
    assert_eq!(
        read().of_many(["/b", "/c", "/a"]).load(conn),
        Ok(vec![2, 0, 1])
    );
    assert_eq!(read().of_many(&["/b", "/a"]).load(conn), Ok(vec![2, 1]));
    let owned = ["/b", "/a"].map(String::from);
    assert_eq!(read().of_many(&owned).load(conn), Ok(vec![2, 1]));
    assert_eq!(read().of_many(owned).load(conn), Ok(vec![2, 1]));
    let series = counter_series(page_counters::hits)
        .of_many(&["/b"])
        .load(conn);
    assert_eq!(series.unwrap()[0][0].1, 2);
    let deleted = diesel_counters::dsl::delete_counters(page_counters::table);
    assert_eq!(deleted.of_many(&["/b", "/c"]).execute(conn), Ok(1));
}

#[test]
fn days_and_entities_may_be_given_in_either_order() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let (early, late) = (super::day(2026, 1, 1), super::day(2026, 1, 9));
    let by_one = increment(views).of_many([(5_i64, 1)]).on(early);
    by_one
        .slot(diesel_counters::Slot::Random)
        .execute(conn)
        .unwrap();
    let by_two = increment(views).on(late).of_many([(5_i64, 2)]);
    by_two.execute(conn).unwrap();
    for (day, n) in [(early, 1), (late, 2)] {
        assert_eq!(
            counter_value(views).on(day).of_many([5_i64]).load(conn),
            Ok(vec![n])
        );
        assert_eq!(
            counter_value(views).of_many([5_i64]).on(day).load(conn),
            Ok(vec![n])
        );
    }
}
