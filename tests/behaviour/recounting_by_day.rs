//! Recounting each day from the rows that were counted on it.

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::dsl::date;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date};
use diesel_counters::Drift;
use diesel_counters::dsl::{fold, recount};
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{
    Article, Site, WeeklyArticle, timeless_counters, weekly_counters,
};
use diesel_counters_tests::schema::article_counters::{likes, views};
use diesel_counters_tests::schema::{article_counters, site_counters};

use super::{article, day};
use crate::{Conn, TestDatabase, write_transaction};

table! {
    downloads (id) {
        id -> BigInt,
        article_id -> BigInt,
        at -> Timestamp,
        pages -> BigInt,
    }
}

/// Of article 1 there are two downloads on the 2nd of March 2026 and one on the 4th, of
/// article 2 one on the 4th, all on Monday's to Wednesday's week.
fn logged() -> (TestDatabase, Conn) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    conn.batch_execute(
        "CREATE TABLE downloads (id BIGINT PRIMARY KEY, article_id BIGINT NOT NULL,
             at TIMESTAMP NOT NULL, pages BIGINT NOT NULL);
         INSERT INTO downloads VALUES (1, 1, '2026-03-02 08:00:00', 10),
             (2, 1, '2026-03-02 23:59:59', 20), (3, 1, '2026-03-04 01:00:00', 30),
             (4, 2, '2026-03-04 02:00:00', 40)",
    )
    .unwrap();
    (database, conn)
}

#[diesel::dsl::auto_type]
fn each_download() -> _ {
    let one: diesel::dsl::AsExprOf<i64, BigInt> = 1_i64.into_sql::<BigInt>();
    downloads::table.select((downloads::article_id, date(downloads::at), one))
}

fn march(from: u32, to: u32) -> std::ops::RangeInclusive<NaiveDate> {
    day(2026, 3, from)..=day(2026, 3, to)
}

/// The views of each day from the 1st to the 5th of March.
fn bars(id: i64, conn: &mut Conn) -> Vec<i64> {
    let bars = article(id).daily_counts(views, march(1, 5), conn).unwrap();
    bars.into_iter().map(|(_, n)| n).collect()
}

#[test]
fn the_counts_of_a_log_are_imported_on_their_days_and_once() {
    for batch in [1, 100] {
        let (_database, mut conn) = logged();
        let conn = &mut conn;
        for expected in [3, 0] {
            let recount = recount(views, each_download()).batch(batch);
            let imported: Vec<Drift<i64>> = recount.execute(conn).unwrap();
            assert_eq!(imported.len(), expected);
            assert_eq!(bars(1, conn), [0, 2, 0, 1, 0]);
            assert_eq!(bars(2, conn), [0, 0, 0, 1, 0]);
            let totals = Article::counter_values(&[1, 2, 3].map(article), views, conn);
            assert_eq!(totals, Ok(vec![3, 1, 0]));
        }
    }
}

#[test]
fn a_recount_by_day_puts_totals_and_series_right() {
    let (_database, mut conn) = logged();
    let conn = &mut conn;
    let counted = [(1, 2, 2), (1, 3, 5), (2, 4, 7), (3, 5, 1)];
    for (id, on, n) in counted {
        let counted = increment((views, likes)).on(day(2026, 3, on));
        counted.of(id).by((n, 1)).execute(conn).unwrap();
    }
    let wrong = [(1, 3, 5, 0), (1, 4, 0, 1), (2, 4, 7, 1), (3, 5, 1, 0)];
    let wrong = wrong.map(|(id, on, stored, actual)| Drift {
        entity: id,
        day: Some(day(2026, 3, on)),
        stored,
        actual,
    });
    let found = recount(views, each_download()).dry_run(conn);
    assert_eq!(found, Ok(wrong.to_vec()));
    assert_eq!(article(2).recount(views, each_download(), conn), Ok(-6));
    assert_eq!(bars(2, conn), [0, 0, 0, 1, 0]);
    assert_eq!(
        Article::recount_all(views, each_download(), conn),
        Ok([&wrong[..2], &wrong[3..]].concat())
    );
    assert_eq!(bars(1, conn), [0, 2, 0, 1, 0]);
    assert_eq!(bars(3, conn), [0; 5]);
    let untouched = Article::counter_values(&[1, 2, 3].map(article), likes, conn);
    assert_eq!(untouched, Ok(vec![2, 1, 1]));
}

#[test]
fn a_recount_of_the_same_total_moves_counts_to_their_days() {
    let (_database, mut conn) = logged();
    let conn = &mut conn;
    let wrong_day = increment(views).on(day(2026, 3, 1)).of(1).by(3);
    wrong_day.execute(conn).unwrap();
    let added = recount(views, each_download()).of(1_i64).execute(conn);
    assert_eq!(added, Ok(0));
    assert_eq!(bars(1, conn), [0, 2, 0, 1, 0]);
}

#[test]
fn folded_days_get_their_counts_back() {
    let (_database, mut conn) = logged();
    let conn = &mut conn;
    Article::recount_all(views, each_download(), conn).unwrap();
    let old = fold(article_counters::table).before(day(2026, 3, 4));
    old.execute(conn).unwrap();
    assert_eq!(bars(1, conn), [0, 0, 0, 1, 0]);
    assert_eq!(article(1).recount(views, each_download(), conn), Ok(0));
    assert_eq!(bars(1, conn), [0, 2, 0, 1, 0]);
    assert_eq!(article(1).counter_value(views, conn), Ok(3));
}

#[test]
fn several_counters_and_those_of_no_entity_are_recounted_by_day() {
    let (_database, mut conn) = logged();
    let conn = &mut conn;
    let pages = downloads::table.select((
        downloads::article_id,
        date(downloads::at),
        1_i64.into_sql::<BigInt>(),
        downloads::pages,
    ));
    Article::recount_all((views, likes), pages, conn).unwrap();
    let values = Article::counter_values(&[1, 2].map(article), (views, likes), conn);
    assert_eq!(values, Ok(vec![(3, 60), (1, 40)]));
    let fourth = article(1).counter_value_on((views, likes), day(2026, 3, 4), conn);
    assert_eq!(fourth, Ok((1, 30)));

    let hits = downloads::table.select((date(downloads::at), downloads::pages));
    let added = Site.recount(site_counters::hits, hits, conn);
    assert_eq!(added, Ok(100));
    let added = recount(site_counters::hits, hits).of_all().execute(conn);
    assert_eq!(added, Ok(0));
    let bars = Site.daily_counts(site_counters::hits, march(2, 4), conn);
    let expected = [(2, 30), (3, 0), (4, 70)].map(|(d, n)| (day(2026, 3, d), n));
    assert_eq!(bars, Ok(expected.to_vec()));
}

#[test]
fn a_day_on_which_a_model_does_not_count_is_an_error_that_names_it() {
    let (_database, mut conn) = logged();
    let conn = &mut conn;
    let weekly = WeeklyArticle { id: 1 };
    let error = weekly
        .recount(weekly_counters::views, each_download(), conn)
        .unwrap_err();
    let error = error.to_string();
    assert!(error.contains("2026-03-04"), "{error}");
    assert!(error.contains("select 2026-03-02"), "{error}");
    assert!(WeeklyArticle::recount_all(weekly_counters::views, each_download(), conn).is_err());
    assert_eq!(weekly.counter_value(weekly_counters::views, conn), Ok(0));

    // Counted by day, before it was counted by week.
    let by_day = increment(views).on(day(2026, 3, 4)).of(1).by(9);
    by_day.execute(conn).unwrap();
    let monday = day(2026, 3, 2).into_sql::<Date>();
    let mondays =
        downloads::table.select((downloads::article_id, monday, 1_i64.into_sql::<BigInt>()));
    assert_eq!(
        weekly.recount(weekly_counters::views, mondays, conn),
        Ok(3 - 9)
    );
    let weeks = counter_series(weekly_counters::views)
        .of(1_i64)
        .between(march(1, 5))
        .load(conn);
    let expected = [(day(2026, 2, 23), 0), (day(2026, 3, 2), 3)];
    assert_eq!(weeks, Ok(expected.to_vec()));
}

/// As of one moment, before or after each of them.
#[test]
fn downloads_that_are_counted_during_a_recount_by_day_are_counted_once() {
    const DOWNLOADS: i64 = 100;
    let (database, mut conn) = logged();
    Article::recount_all(views, each_download(), &mut conn).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let database = &database;
            scope.spawn(move || {
                let conn = &mut database.connect();
                for id in 0..DOWNLOADS {
                    let id = 100 + thread * DOWNLOADS + id;
                    write_transaction(conn, |conn| {
                        let at = day(2026, 3, 2).and_hms_opt(0, 0, 0).unwrap();
                        diesel::insert_into(downloads::table)
                            .values((
                                downloads::id.eq(id),
                                downloads::article_id.eq(1),
                                downloads::at.eq(at),
                                downloads::pages.eq(1),
                            ))
                            .execute(conn)?;
                        let counted = increment(views).on(at.date());
                        counted.of(1).execute(conn)
                    })
                    .unwrap();
                }
            });
        }
        for _ in 0..20 {
            assert_eq!(article(1).recount(views, each_download(), &mut conn), Ok(0));
            let all = Article::recount_all(views, each_download(), &mut conn);
            assert_eq!(all, Ok(vec![]));
        }
    });
    assert_eq!(bars(1, &mut conn), [0, 2 + 4 * DOWNLOADS, 0, 1, 0]);
}

#[test]
fn the_docs_say_how_the_counts_of_a_column_are_imported() {
    let docs = include_str!("../../docs/coming-from.md");
    let (_, recipe) = docs.split_once("## A counter column").unwrap();
    let (_, sql) = recipe.split_once("```sql").unwrap();
    let (sql, _) = sql.split_once("```").unwrap();

    let (_database, mut conn) = logged();
    let conn = &mut conn;
    let column = "ALTER TABLE articles RENAME COLUMN total_views TO views;
        UPDATE articles SET views = 100 * id WHERE id < 3";
    conn.batch_execute(column).unwrap();
    conn.batch_execute(sql).unwrap();
    article(1).incr_counter(views, conn).unwrap();
    let totals = Article::counter_values(&[1, 2, 3].map(article), views, conn);
    assert_eq!(totals, Ok(vec![101, 200, 0]));
    let bars = article(1).daily_counts(views, .., conn).unwrap();
    assert_eq!(bars, [(super::utc_today(), 1)]);
}

#[test]
fn only_the_days_between_are_recounted() {
    let (_database, mut conn) = logged();
    let conn = &mut conn;
    let [monday, second, fourth] = [1, 2, 4].map(|d| day(2026, 3, d));
    for (id, on) in [(1_i64, monday), (1, second), (3, second), (3, fourth)] {
        increment(views)
            .of(id)
            .on(on)
            .by(100)
            .execute(conn)
            .unwrap();
    }
    let source = || {
        let one = 1_i64.into_sql::<BigInt>();
        downloads::table.select((downloads::article_id, date(downloads::at), one))
    };
    let of_second = || recount(views, source()).between(second..fourth);
    let drift: Vec<Drift<i64>> = of_second().execute(conn).unwrap();
    let wrong = |id, on, stored, actual| Drift {
        entity: id,
        day: Some(on),
        stored,
        actual,
    };
    assert_eq!(drift, [wrong(1, second, 100, 2), wrong(3, second, 100, 0)]);
    assert_eq!(of_second().dry_run::<i64, _>(conn), Ok(vec![]));
    let series = |id| counter_series(views).of(id).between(monday..=fourth);
    let counts = |id, conn: &mut _| series(id).load(conn).unwrap().into_iter().map(|day| day.1);
    assert!(counts(1_i64, conn).eq([100, 2, 0, 0]));
    assert!(counts(2, conn).eq([0; 4]));
    assert!(counts(3, conn).eq([0, 0, 0, 100]));

    let one = recount(views, source()).of(3_i64).between(fourth..);
    assert_eq!(one.execute(conn), Ok(-100));
    let one = recount(views, source()).of(1_i64).between(fourth..=fourth);
    assert_eq!(one.execute(conn), Ok(1));
    let all = recount(views, source()).between(fourth..=fourth);
    let drift: Vec<Drift<i64>> = all.execute(conn).unwrap();
    assert_eq!(drift, [wrong(2, fourth, 0, 1)]);
    assert!(counts(1, conn).eq([100, 2, 0, 1]));
}

#[test]
fn days_of_a_table_that_counts_without_a_day_are_an_error() {
    let (_database, mut conn) = logged();
    let conn = &mut conn;
    let counted = increment(timeless_counters::views).of(1_i64).by(5);
    counted.execute(conn).unwrap();
    let recount = || recount(timeless_counters::views, each_download()).between(march(1, 31));
    let found = recount().dry_run::<i64, _>(conn).map(drop);
    let all: Result<Vec<Drift<i64>>, _> = recount().execute(conn);
    let one = recount().of(1_i64).execute(conn);
    for result in [found, all.map(drop), one.map(drop)] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("stores its counts without a day"), "{error}");
    }
    assert_eq!(article(1).counter_value(views, conn), Ok(5));
}
