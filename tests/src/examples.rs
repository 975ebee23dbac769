//! What the examples of operations count, beside the tables of [`schema`](crate::schema): tables with
//! other keys, columns for totals, and a stock.

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::HasCounters;

use crate::counter_table;
pub use crate::models::{
    Article, WeeklyArticle, monthly_counters, random_counters, timeless_counters, weekly_counters,
};
pub use crate::schema::article_counters::{self, likes, views};
pub use crate::schema::{articles, comments, odd_name, page_counters, site_counters};
pub use diesel::sql_types::{BigInt, Date};

pub fn day(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

pub fn monday() -> NaiveDate {
    day(2026, 3, 2)
}

pub fn sunday() -> NaiveDate {
    day(2026, 3, 8)
}

/// How many comments each article has.
#[diesel::dsl::auto_type]
pub fn comments_by_article() -> _ {
    comments::table
        .group_by(comments::article_id)
        .select((comments::article_id, diesel::dsl::count_star()))
}

/// The same by day.
macro_rules! comments_by_day {
    () => {
        comments::table.group_by(comments::article_id).select((
            comments::article_id,
            diesel::dsl::sql::<Date>("date('2026-03-02')"),
            diesel::dsl::count_star(),
        ))
    };
}
pub(crate) use comments_by_day;

diesel::table! {
    crates (id) { id -> Integer, total_downloads -> BigInt }
}

diesel::table! {
    versions (crate_id, number) { crate_id -> Integer, number -> Text, total_downloads -> BigInt }
}

counter_table!(version_counters (crate_id -> Integer, number -> Text) (downloads, failures) {
    parent = (versions::crate_id, versions::number),
    parent = crates::id,
});

counter_table!(reaction_counters (article_id -> BigInt, emoji -> Text) (given));
counter_table!(
    wide_counters (a -> SmallInt, b -> Integer, c -> BigInt, d -> Text, e -> Binary) (hits)
);

// The articles, with columns for several totals.
diesel::table! {
    #[sql_name = "articles"]
    posts (id) {
        id -> BigInt, total_views -> BigInt, total_likes -> BigInt,
        recent_views -> Integer, recent_likes -> Nullable<Integer>,
    }
}
crate::article_counters!(post_counts (views, likes) { parent = posts::id });

#[derive(HasCounters)]
#[counters(table_name = post_counts)]
pub struct Post {
    pub id: i64,
}

diesel::table! {
    pages (path) { path -> Text, all_hits -> Integer, hits_of_a_day -> BigInt }
}
counter_table!(
    #[sql_name = "page_counters"]
    page_hits (path -> Text) (hits) { parent = pages::path }
);

#[derive(HasCounters)]
#[diesel(primary_key(path))]
#[counters(table_name = page_hits)]
pub struct Page {
    pub path: String,
}

counter_table!(tickets (event_id -> BigInt) (remaining) { period = Total, stock = (remaining) });
