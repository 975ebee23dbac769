//! Counters of no entity.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::dsl::{recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Site;
use diesel_counters_tests::schema::comments;
use diesel_counters_tests::schema::site_counters::{errors, hits};

use super::day;
use crate::TestDatabase;

#[test]
fn a_site_is_counted_and_read_as_any_model_is() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    Site.incr_counter(hits, conn).unwrap();
    Site.incr_counter_by(hits, 10, conn).unwrap();
    Site.incr_counter_by(errors, -1, conn).unwrap();
    Site.incr_counter_by((hits, errors), (1, 3), conn).unwrap();
    increment(hits)
        .on(day(2026, 1, 1))
        .by(100)
        .execute(conn)
        .unwrap();
    increment(hits)
        .by(1000)
        .on(day(2026, 1, 3))
        .execute(conn)
        .unwrap();

    assert_eq!(Site.counter_value(hits, conn), Ok(1112));
    assert_eq!(Site.counter_value((hits, errors), conn), Ok((1112, 2)));
    assert_eq!(Site.counter_value_on(hits, day(2026, 1, 1), conn), Ok(100));
    let between = Site.counter_value_between(hits, ..=day(2026, 1, 3), conn);
    assert_eq!(between, Ok(1100));
    assert_eq!(counter_value(hits).get_result::<i64>(conn), Ok(1112));
    let bars = Site.daily_counts(hits, day(2026, 1, 1)..=day(2026, 1, 3), conn);
    let expected = [(1, 100), (2, 0), (3, 1000)].map(|(d, n)| (day(2026, 1, d), n));
    assert_eq!(bars, Ok(expected.to_vec()));
    let bars = counter_series(hits).between(..day(2026, 1, 2)).load(conn);
    assert_eq!(bars, Ok(vec![(day(2026, 1, 1), 100)]));
    let months = counter_series(hits)
        .per(Period::Month)
        .between(..day(2026, 2, 1))
        .load(conn);
    assert_eq!(months, Ok(vec![(day(2026, 1, 1), 1100)]));
}

#[test]
fn a_sites_counters_are_put_right_as_any_models_are() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    Site.incr_counter_by((hits, errors), (5, 1), conn).unwrap();
    assert_eq!(Site.set_counter(hits, 50, conn), Ok(5));
    assert_eq!(Site.set_counter(errors, 0, conn), Ok(1));
    assert_eq!(set_counter(errors).to(7).execute(conn), Ok(0));
    assert_eq!(Site.counter_value((hits, errors), conn), Ok((50, 7)));

    for body in ["one", "two"] {
        diesel::insert_into(comments::table)
            .values((comments::article_id.eq(1), comments::body.eq(body)))
            .execute(conn)
            .unwrap();
    }
    let source = comments::table.select(count_star());
    assert_eq!(Site.recount(hits, source, conn), Ok(-48));
    assert_eq!(recount(hits, source).of_all().execute(conn), Ok(0));
    let both = comments::table.select((count_star(), count_star()));
    assert_eq!(Site.recount((hits, errors), both, conn), Ok((0, -5)));

    assert!(Site.delete_counters(conn).unwrap() > 0);
    assert_eq!(Site.counter_value((hits, errors), conn), Ok((0, 0)));
}
