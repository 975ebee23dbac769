//! The tests' models.

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::HasCounters;

use crate::schema::*;

diesel_counters::has_parent!(article_counters -> articles (id));

diesel::table! {
    /// The counters of comments, which are stored in the table of the articles' counters.
    #[sql_name = "article_counters"]
    comment_counters (comment_id, day, slot) {
        #[sql_name = "article_id"]
        comment_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        likes -> BigInt,
    }
}

diesel_counters::has_parent!(comment_counters -> comments (id));

/// Most tests count the counters of an article.
#[derive(Debug, Clone, Identifiable, Insertable, Queryable, Selectable, HasCounters)]
#[diesel(table_name = articles)]
#[counters(table_name = article_counters)]
pub struct Article {
    pub id: i64,
    pub title: String,
}

/// The same articles, as a model that tells weeks apart.
#[derive(HasCounters)]
#[counters(table_name = article_counters, period = "week", today = new_years_eve)]
pub struct WeeklyArticle {
    pub id: i64,
}

/// The same articles, as a model that tells months apart.
#[derive(HasCounters)]
#[counters(table_name = article_counters, period = "month", today = new_years_eve)]
pub struct MonthlyArticle {
    pub id: i64,
}

/// The same articles, as a model that tells no times apart, in few slots.
#[derive(HasCounters)]
#[counters(table_name = article_counters, period = "total", slots = 2)]
pub struct TimelessArticle {
    pub id: i64,
}

/// The same articles, as a model with more slots than the server has connections: tests
/// run next to each other.
#[derive(HasCounters)]
#[counters(table_name = article_counters, slots = 32767)]
pub struct BusyArticle {
    pub id: i64,
}

pub fn new_years_eve() -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 12, 31).unwrap()
}

/// A model with an `i32` key, under another name, and two counter tables.
#[derive(HasCounters)]
#[diesel(primary_key(number))]
#[counters(table_name = user_counters)]
#[counters(table_name = crate::schema::odd_name, slots = 4)]
pub struct Visitor<'a> {
    #[diesel(column_name = number)]
    pub id: i32,
    pub name: &'a str,
}

/// A model with a text key, of another name than the field's.
#[derive(HasCounters)]
#[diesel(primary_key(path))]
#[counters(table_name = page_counters)]
pub struct Page {
    #[diesel(column_name = path)]
    pub url: String,
}

/// A model whose key stands among what Diesel's own derives read.
#[derive(Identifiable, Queryable, Selectable, HasCounters)]
#[diesel(table_name = articles, base_query = articles::table.order(articles::id), base_query_type = diesel::dsl::Order<articles::table, articles::id>, primary_key(number))]
#[counters(table_name = article_counters)]
pub struct NumberedArticle {
    #[diesel(select_expression = articles::id, select_expression_type = articles::id, column_name = number)]
    pub number: i64,
    #[diesel(column_name = "title", deserialize_as = String)]
    pub id: String,
}

/// The whole site, which is no row of any table.
#[derive(HasCounters)]
#[counters(table_name = site_counters)]
pub struct Site;

/// A tuple of a model, with bytes for a key.
#[derive(HasCounters)]
#[diesel(primary_key(digest))]
#[counters(table_name = file_counters)]
pub struct File(#[diesel(column_name = digest)] pub Vec<u8>);
