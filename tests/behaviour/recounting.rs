//! Recounting from the rows that were counted, in all or by day.

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::dsl::{count_star, date};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date};
use diesel_counters::Drift;
use diesel_counters::dsl::recount;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{
    Article, Site, WeeklyArticle, timeless_counters, weekly_counters,
};
use diesel_counters_tests::schema;
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::schema::site_counters;

use super::{added, article, comments_by_article, count_on, day, insert_comment, rows};
use crate::{Conn, TestDatabase};

/// Articles 1 and 3 have two comments, 4 one; counted are 2, 0, and 1, and 7 of
/// article 5.
fn drifted() -> (Conn, TestDatabase) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for id in [1, 1, 3, 3, 4] {
        insert_comment(id, "Nice.", &mut conn).unwrap();
    }
    for d in 1..=2 {
        let count = increment(comments).on(day(2026, 1, d));
        let count = count.of_many([(1, 1), (5, 3)]);
        count.execute(&mut conn).unwrap();
    }
    let count = increment(comments).of_many([(4, 1), (5, 1)]);
    count.execute(&mut conn).unwrap();
    (conn, database)
}

fn drift(entity: i64, stored: i64, actual: i64) -> Drift<i64> {
    Drift::new(entity, None, stored, actual)
}

#[test]
fn several_counters_are_recounted_in_one_call() {
    let (conn, _database) = &mut drifted();
    let source = {
        use schema::comments::{article_id, id, table};
        let greatest = diesel::dsl::max(id).assume_not_null();
        let of_each = (article_id, count_star(), greatest);
        table.group_by(article_id).select(of_each)
    };
    let both = recount((comments, views), source);
    let found = both.clone().execute::<i64, _>(conn).unwrap();
    let stored: Vec<_> = found.iter().map(|d| (d.entity, d.stored)).collect();
    assert_eq!(stored, [(1, (2, 0)), (3, (0, 0)), (4, (1, 0)), (5, (7, 0))]);
    assert_eq!(both.execute::<i64, _>(conn), Ok(vec![]));
}

#[test]
fn the_source_may_be_any_query_and_a_dry_run_changes_nothing() {
    let (conn, _database) = &mut drifted();
    use schema::comments::{article_id, body, table};
    let of_each = table.group_by(article_id);
    let of_each = of_each.select((article_id, count_star()));
    let boxed = of_each.filter(body.eq("Nice.")).into_boxed();
    let wrong = vec![drift(3, 0, 2), drift(5, 7, 0)];
    let found = recount(comments, boxed).dry_run(conn);
    assert_eq!(found.as_ref(), Ok(&wrong));
    assert_eq!(rows(&article(3), conn), []);
    // Rows of the same entity add up, with and without a group.
    let one_each = table.select((article_id, 1_i64.into_sql::<BigInt>()));
    assert_eq!(recount(comments, one_each).dry_run(conn), found);
    let corrected = recount(comments, comments_by_article()).execute(conn);
    assert_eq!(corrected, found);
    let values = Article::counter_values(&[1, 2, 3, 4, 5].map(article), comments, conn);
    assert_eq!(values, Ok(vec![2, 0, 2, 1, 0]));
}

table! {
    downloads (id) { id -> BigInt, article_id -> BigInt, at -> Timestamp, pages -> BigInt }
}

/// Of article 1 there are two downloads on the 2nd of March 2026 and one on the 4th, of
/// article 2 one on the 4th, all on Monday's to Wednesday's week.
fn logged() -> (Conn, TestDatabase) {
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
    (conn, database)
}

#[diesel::dsl::auto_type]
fn each_download() -> _ {
    let one: diesel::dsl::AsExprOf<i64, BigInt> = 1_i64.into_sql::<BigInt>();
    downloads::table.select((downloads::article_id, date(downloads::at), one))
}

fn march(from: u32, to: u32) -> std::ops::RangeInclusive<NaiveDate> {
    day(2026, 3, from)..=day(2026, 3, to)
}

#[test]
fn several_counters_and_those_of_no_entity_are_recounted_by_day() {
    let (conn, _database) = &mut logged();
    let one = 1_i64.into_sql::<BigInt>();
    let of_day = (downloads::article_id, date(downloads::at));
    let pages = downloads::table.select((of_day.0, of_day.1, one, downloads::pages));
    let both = recount((views, likes), pages).execute::<i64, _>(conn);
    assert_eq!(both.unwrap().len(), 3);
    let values = Article::counter_values(&[1, 2].map(article), (views, likes), conn);
    assert_eq!(values, Ok(vec![(3, 60), (1, 40)]));
    let fourth = counter_value((views, likes)).of(1_i64).on(day(2026, 3, 4));
    assert_eq!(fourth.get_result(conn), Ok((1, 30)));

    let hits = downloads::table.select((date(downloads::at), downloads::pages));
    let corrected = recount(site_counters::hits, hits).of(&Site);
    assert_eq!(added(corrected.execute::<(), _>(conn)), Ok(100));
    let again = recount(site_counters::hits, hits).execute::<(), _>(conn);
    assert_eq!(again, Ok(vec![]));
    let bars = Site.daily_counts(site_counters::hits, march(2, 4), conn);
    let expected = [(2, 30), (3, 0), (4, 70)].map(|(d, n)| (day(2026, 3, d), n));
    assert_eq!(bars, Ok(expected.to_vec()));
}

#[test]
fn a_day_on_which_a_model_does_not_count_is_an_error_that_names_it() {
    let (conn, _database) = &mut logged();
    let weekly = WeeklyArticle { id: 1 };
    let one = recount(weekly_counters::views, each_download()).of(&weekly);
    let error = one.execute::<i64, _>(conn).unwrap_err().to_string();
    assert!(error.contains("2026-03-04"), "{error}");
    assert!(error.contains("select 2026-03-02"), "{error}");
    let all = recount(weekly_counters::views, each_download());
    assert!(all.execute::<i64, _>(conn).is_err());
    assert_eq!(weekly.counter_value(weekly_counters::views, conn), Ok(0));

    // Counted by day, before it was counted by week.
    count_on(1, day(2026, 3, 4), 9, conn);
    let monday = day(2026, 3, 2).into_sql::<Date>();
    let mondays =
        downloads::table.select((downloads::article_id, monday, 1_i64.into_sql::<BigInt>()));
    let corrected = recount(weekly_counters::views, mondays).of(&weekly);
    assert_eq!(added(corrected.execute::<i64, _>(conn)), Ok(3 - 9));
    let weeks = counter_series(weekly_counters::views).of(1_i64);
    let weeks = weeks.between(march(1, 5)).load(conn);
    let expected = [(day(2026, 2, 23), 0), (day(2026, 3, 2), 3)];
    assert_eq!(weeks, Ok(expected.to_vec()));
}

#[test]
fn the_docs_say_how_the_counts_of_a_column_are_imported() {
    let docs = include_str!("../../docs/coming-from.md");
    let (_, recipe) = docs.split_once("## A counter column").unwrap();
    let (_, sql) = recipe.split_once("```sql").unwrap();
    let (sql, _) = sql.split_once("```").unwrap();

    let (conn, _database) = &mut logged();
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
    let (conn, _database) = &mut logged();
    let [monday, second, fourth] = [1, 2, 4].map(|d| day(2026, 3, d));
    for (id, on) in [(1_i64, monday), (1, second), (3, second), (3, fourth)] {
        count_on(id, on, 100, conn);
    }
    let of_second = || recount(views, each_download()).between(second..fourth);
    let corrected: Vec<Drift<i64>> = of_second().execute(conn).unwrap();
    let wrong = |id, on, stored, actual| Drift::new(id, Some(on), stored, actual);
    let [one, three] = [(1, 2), (3, 0)].map(|(id, actual)| wrong(id, second, 100, actual));
    assert_eq!(corrected, [one, three]);
    assert_eq!(of_second().dry_run::<i64, _>(conn), Ok(vec![]));
    let series = |id| counter_series(views).of(id).between(monday..=fourth);
    let counts = |id, conn: &mut _| series(id).load(conn).unwrap().into_iter().map(|day| day.1);
    assert!(counts(1_i64, conn).eq([100, 2, 0, 0]));
    assert!(counts(2, conn).eq([0; 4]));
    assert!(counts(3, conn).eq([0, 0, 0, 100]));

    let one = recount(views, each_download()).of(3_i64).between(fourth..);
    assert_eq!(one.execute(conn), Ok(vec![wrong(3, fourth, 100, 0)]));
    let of_fourth = || recount(views, each_download()).between(fourth..=fourth);
    let one = of_fourth().of(1_i64).execute(conn);
    assert_eq!(one, Ok(vec![wrong(1, fourth, 0, 1)]));
    let all = of_fourth();
    let corrected: Vec<Drift<i64>> = all.execute(conn).unwrap();
    assert_eq!(corrected, [wrong(2, fourth, 0, 1)]);
    assert!(counts(1, conn).eq([100, 2, 0, 1]));
}

#[test]
fn days_of_a_table_that_counts_without_a_day_are_an_error() {
    let (conn, _database) = &mut logged();
    let counted = increment(timeless_counters::views).of(1_i64).by(5);
    counted.execute(conn).unwrap();
    let recount = || recount(timeless_counters::views, each_download()).between(march(1, 31));
    let found = recount().dry_run::<i64, _>(conn).map(drop);
    let all: Result<Vec<Drift<i64>>, _> = recount().execute::<i64, _>(conn);
    let one = recount().of(1_i64).execute::<i64, _>(conn);
    for result in [found, all.map(drop), one.map(drop)] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("does not count in total"), "{error}");
    }
    assert_eq!(article(1).counter_value(views, conn), Ok(5));
}
