//! The tests' models.

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::HasCounters;

use crate::schema::*;

diesel_counters::counter_table!(article_counters { parent = articles::id });
diesel_counters::counter_table!(file_counters);
diesel_counters::counter_table!(odd_name { slots = 4 });
diesel_counters::counter_table!(page_counters);
diesel_counters::counter_table!(site_counters);
diesel_counters::counter_table!(user_counters);

/// A counter table: its key, its counters and its settings.
#[macro_export]
macro_rules! counter_table {
    ($(#[$name:meta])* $table:ident ($($key:ident -> $Type:ident),*) ($($counter:ident),*) $($settings:tt)?) => {
        diesel::table! {
            $(#[$name])*
            $table ($($key,)* day, slot) {
                $($key -> $Type,)*
                day -> Date,
                slot -> SmallInt,
                $($counter -> BigInt,)*
            }
        }
        diesel_counters::counter_table!($table $($settings)?);
    };
}

/// Another `table!` of the articles' counters, with counters and settings of its own.
#[macro_export]
macro_rules! article_counters {
    ($name:ident $counters:tt $($settings:tt)?) => {
        $crate::counter_table!(
            #[sql_name = "article_counters"]
            $name (article_id -> BigInt) $counters $($settings)?
        );
    };
}

article_counters!(weekly_counters (views, likes, comments) { period = Week, today = new_years_eve });
article_counters!(monthly_counters (views, likes, comments) { period = Month, today = new_years_eve });
article_counters!(timeless_counters (views, likes, comments) { period = Total, slots = 2 });
article_counters!(random_counters (views, likes, comments) { slot = Random });
// More slots than the server has connections: tests run next to each other.
article_counters!(busy_counters (views, likes, comments) { slots = 32767 });

/// Most tests count the counters of an article.
#[derive(Debug, Clone, Identifiable, Insertable, Queryable, Selectable, HasCounters)]
#[diesel(table_name = articles)]
#[counters(table_name = article_counters)]
pub struct Article {
    pub id: i64,
    pub title: String,
}

/// The same articles, whose counters are stored by week.
#[derive(HasCounters)]
#[counters(table_name = weekly_counters)]
pub struct WeeklyArticle {
    pub id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = busy_counters)]
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
#[counters(table_name = crate::schema::odd_name)]
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
