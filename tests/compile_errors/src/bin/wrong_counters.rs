//! Columns that do not count, or not for this model.

use diesel::prelude::*;
use diesel_counters::dsl::{compact, fold};
use diesel_counters::prelude::*;

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
        short -> Integer,
        maybe -> Nullable<BigInt>,
    }
}
diesel_counters::counter_table!(article_counters);

diesel::table! {
    user_counters (user_id, day, slot) {
        user_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        visits -> BigInt,
    }
}
diesel_counters::counter_table!(user_counters);

diesel::table! {
    articles (id) { id -> BigInt, views -> BigInt }
}

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
struct Article {
    id: i64,
}

struct Plain {
    id: i64,
}

fn of_another_table(article: &Article, conn: &mut SqliteConnection) {
    article.incr_counter(user_counters::visits, conn).unwrap();
}

fn read_of_another_table(article: &Article, conn: &mut SqliteConnection) {
    article.counter_value(user_counters::visits, conn).unwrap();
}

fn of_no_counter_table(article: &Article, conn: &mut SqliteConnection) {
    article.incr_counter(articles::views, conn).unwrap();
}

fn not_a_bigint(article: &Article, conn: &mut SqliteConnection) {
    article.incr_counter(article_counters::short, conn).unwrap();
}

fn nullable(conn: &mut SqliteConnection) {
    increment(article_counters::maybe).of(1_i64).execute(conn).unwrap();
}

fn of_two_tables(conn: &mut SqliteConnection) {
    let both = (article_counters::views, user_counters::visits);
    increment(both).of(1_i64).execute(conn).unwrap();
}

fn of_two_tables_by_amounts(article: &Article, conn: &mut SqliteConnection) {
    let both = (article_counters::views, user_counters::visits);
    article.incr_counter_by(both, (1, 1), conn).unwrap();
}

fn on_a_model_without_counters(plain: &Plain, conn: &mut SqliteConnection) {
    plain.incr_counter(article_counters::views, conn).unwrap();
}

fn of_a_key_of_another_type(conn: &mut SqliteConnection) {
    increment(article_counters::views).of("one").execute(conn).unwrap();
}

fn of_a_column(conn: &mut SqliteConnection) {
    increment(article_counters::views).of(article_counters::article_id).execute(conn).unwrap();
}

fn without_an_entity(conn: &mut SqliteConnection) {
    increment(article_counters::views).execute(conn).unwrap();
}

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
struct KeyOfAnotherType {
    id: String,
}

diesel::table! {
    // No key that a program without a model could read.
    hour_counters (hour, day, slot) {
        hour -> Time,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(hour_counters);

fn merges() {
    let _ = compact(articles::table);
    let _ = fold(articles::table);
    let _ = compact(hour_counters::table);
}

fn main() {}
