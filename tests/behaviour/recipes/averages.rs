//! "Averages" in docs/reading.md: one total divided by another.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Double, Nullable};
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{likes, views};
use diesel_counters_tests::schema::articles;

use crate::behaviour::day;
use crate::{Conn, TestDatabase};

/// Likes per view. It is a macro so that each test can choose days.
macro_rules! average {
    ($sum:expr, $number:expr) => {
        sql::<Nullable<Double>>("(")
            .bind::<Double, _>(1.0)
            .sql(" * ")
            .bind::<BigInt, _>($sum)
            .sql(" / NULLIF(")
            .bind::<BigInt, _>($number)
            .sql(", 0))")
    };
}

/// Articles 1 to 5 have the averages 1/2, 14/3, none, 2/3 and -1/2. Half of article 4's are of
/// January 1st.
fn rated() -> (Conn, TestDatabase) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for (id, d, by) in [
        (1, 1, (1, 2)),
        (2, 1, (14, 3)),
        (4, 1, (0, 1)),
        (4, 2, (2, 2)),
        (5, 1, (-1, 2)),
    ] {
        let rate = increment((likes, views)).of(id).on(day(2026, 1, d)).by(by);
        rate.execute(&mut conn).unwrap();
    }
    (conn, database)
}

#[test]
fn articles_are_sorted_by_their_average() {
    let (conn, _database) = &mut rated();
    let average = average!(total(likes), total(views));
    let best = articles::table
        .select((articles::id, average.clone()))
        .order((total(views).eq(0), average.desc(), articles::id))
        .load::<(i64, Option<f64>)>(conn);
    let expected = vec![
        (2, Some(14.0 / 3.0)),
        (4, Some(2.0 / 3.0)),
        (1, Some(0.5)),
        (5, Some(-0.5)),
        (3, None),
    ];
    assert_eq!(best, Ok(expected));
}

#[test]
fn an_average_is_compared_and_calculated_with() {
    let (conn, _database) = &mut rated();
    let good = articles::table.filter(average!(total(likes), total(views)).ge(0.5));
    let percent = average!(total(likes), total(views)) * 100.0;
    let good = good.select((articles::id, percent)).order(articles::id);
    let good = good.load::<(i64, Option<f64>)>(conn).unwrap();
    let rounded = good
        .iter()
        .map(|(id, percent)| (*id, percent.map(f64::round)));
    let expected = [(1, Some(50.0)), (2, Some(467.0)), (4, Some(67.0))];
    assert!(rounded.eq(expected), "{good:?}");
}

#[test]
fn an_average_can_be_of_some_days() {
    let (conn, _database) = &mut rated();
    let new_year = day(2026, 1, 1);
    let average = average!(total(likes).on(new_year), total(views).on(new_year));
    let of_day = articles::table.find(4).select(average);
    assert_eq!(of_day.first(conn), Ok(Some(0.0)));
    let later = || day(2026, 1, 2)..;
    let average = average!(total(likes).between(later()), total(views).between(later()));
    let of_later = articles::table.select(average).order(articles::id);
    let expected = vec![None, None, None, Some(1.0), None];
    assert_eq!(of_later.load(conn), Ok(expected));
}

/// A page that shows one article has both totals from one query, and divides them itself.
#[test]
fn an_average_of_one_entity_needs_no_sql() {
    let (conn, _database) = &mut rated();
    let average = |id: i64, conn: &mut Conn| {
        let (sum, number) = counter_value((likes, views))
            .of(id)
            .get_result::<(i64, i64)>(conn)?;
        QueryResult::Ok((number > 0).then(|| sum as f64 / number as f64))
    };
    assert_eq!(average(2, conn), Ok(Some(14.0 / 3.0)));
    assert_eq!(average(3, conn), Ok(None));
}
