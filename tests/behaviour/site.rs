//! Counters of no entity.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_counters::Drift;
use diesel_counters::Period;
use diesel_counters::dsl::{delete_counters, recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Site;
use diesel_counters_tests::schema::comments;
use diesel_counters_tests::schema::site_counters::{self, errors, hits};

use super::{added, day, insert_comment};
use crate::TestDatabase;

#[test]
fn a_site_is_counted_and_read_as_any_model_is() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    Site.incr_counter(hits, conn).unwrap();
    Site.incr_counter_by((hits, errors), (11, 2), conn).unwrap();
    let [first, third] = [1, 3].map(|d| day(2026, 1, d));
    for (on, n) in [(first, 100), (third, 1000)] {
        increment(hits).on(on).by(n).execute(conn).unwrap();
    }
    assert_eq!(Site.counter_value((hits, errors), conn), Ok((1112, 2)));
    let on_first = counter_value(hits).of(&Site).on(first);
    assert_eq!(on_first.get_result(conn), Ok(100));
    let between = Site.counter_value_between(hits, ..=third, conn);
    assert_eq!(between, Ok(1100));
    assert_eq!(counter_value(hits).get_result::<i64>(conn), Ok(1112));
    let bars = Site.daily_counts(hits, first..=third, conn);
    let expected = vec![(first, 100), (day(2026, 1, 2), 0), (third, 1000)];
    assert_eq!(bars, Ok(expected));
    let months = counter_series(hits).per(Period::Month);
    let months = months.between(..day(2026, 2, 1)).load(conn);
    assert_eq!(months, Ok(vec![(first, 1100)]));
}

#[test]
fn a_sites_counters_are_put_right_as_any_models_are() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    Site.incr_counter_by((hits, errors), (5, 1), conn).unwrap();
    assert_eq!(set_counter(hits).of(&Site).to(50).execute(conn), Ok(5));
    assert_eq!(set_counter(errors).to(7).execute(conn), Ok(1));
    assert_eq!(Site.counter_value((hits, errors), conn), Ok((50, 7)));

    insert_comment(1, "one", conn).unwrap();
    insert_comment(1, "two", conn).unwrap();
    let source = comments::table.select(count_star());
    let corrected = recount(hits, source).of(&Site);
    assert_eq!(added(corrected.execute::<(), _>(conn)), Ok(-48));
    assert_eq!(recount(hits, source).execute::<(), _>(conn), Ok(vec![]));
    let both = comments::table.select((count_star(), count_star()));
    let corrected = recount((hits, errors), both).of(&Site);
    let corrected = corrected.execute::<(), _>(conn).unwrap();
    let counts = |drift: &Drift<(), _>| (drift.stored, drift.actual);
    let counts: Vec<((i64, i64), (i64, i64))> = corrected.iter().map(counts).collect();
    assert_eq!(counts, [((2, 7), (2, 2))]);

    let deleted = delete_counters(site_counters::table).of(&Site);
    assert_eq!(deleted.execute(conn), Ok(1));
    assert_eq!(Site.counter_value((hits, errors), conn), Ok((0, 0)));
}
