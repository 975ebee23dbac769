//! Counts that Diesel is asked to read, which only their own `load` reads.

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::views;

fn one_total_of_many_entities(conn: &mut SqliteConnection) {
    let _ = counter_value(views).of_many([1_i64, 2]).get_result::<i64>(conn);
}

fn the_first_of_many_entities(conn: &mut SqliteConnection) {
    let _ = counter_value(views).of_many([1_i64, 2]).first::<i64>(conn);
}

fn many_entities_with_another_method(conn: &mut SqliteConnection) {
    let _ = counter_value(views).of_many([1_i64, 2]).get_results::<i64>(conn);
}

fn a_series_with_another_method(conn: &mut SqliteConnection) {
    let _ = counter_series(views).of(1_i64).get_results::<(NaiveDate, i64)>(conn);
}

fn the_first_day_of_a_series(conn: &mut SqliteConnection) {
    let _ = counter_series(views).of(1_i64).first::<(NaiveDate, i64)>(conn);
}

fn a_ranking_of_many_entities(conn: &mut SqliteConnection) {
    let _ = ranking(views).of_many([1_i64, 2]).load::<(i64, i64)>(conn);
}

fn one_value_with_load(conn: &mut SqliteConnection) {
    let _: i64 = counter_value(views).of(1_i64).load(conn).unwrap();
}

fn main() {}
