//! The front page: articles and their counts, searched, sorted and paged in one query.

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_counters::dsl::{ranking, total};
use diesel_counters::prelude::*;

use crate::article::{Article, Counts, last_days};
use crate::chart::Series;
use crate::db::Conn;
use crate::schema::{article_counters, articles};

diesel::define_sql_function!(fn lower(text: Text) -> Text);

pub const PER_PAGE: usize = 10;

#[derive(Clone, Copy, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    #[default]
    Ever,
    Week,
    Today,
    Newest,
}

/// The name of each `Sort`, its label, and the number of days whose views are shown; 0 for all.
pub const SORTS: [(&str, &str, u64); 4] = [
    ("ever", "Most read", 0),
    ("week", "This week", 7),
    ("today", "Today", 1),
    ("newest", "Newest", 0),
];

/// Returns a page of the articles whose title or text contains `search`, and one article more if there
/// is a next page.
pub fn page(
    search: &str,
    sort: Sort,
    page: u32,
    conn: &mut Conn,
) -> QueryResult<Vec<(Article, Counts)>> {
    let pattern = format!("%{}%", search.replace(['%', '_', '\\'], "_"));
    let read = ranking(article_counters::views).between(last_days(SORTS[sort as usize].2));
    let likes = total(article_counters::likes);
    let comments = total(article_counters::comments);
    let list = articles::table
        // The database sums the views once for all articles, and not for each row.
        .left_join(read)
        .filter(
            (lower(articles::title).like(lower(&pattern)))
                .or(lower(articles::body).like(lower(&pattern))),
        )
        .select((Article::as_select(), (read.total(), likes, comments)))
        .limit(PER_PAGE as i64 + 1)
        .offset((i64::from(page) - 1) * PER_PAGE as i64);
    match sort {
        Sort::Newest => list.order(articles::id.desc()).load(conn),
        _ => list
            .order((read.total().desc(), articles::id.desc()))
            .load(conn),
    }
}

/// Returns the views of each of the last 30 days, for each of the articles.
pub fn sparklines(articles: &[(Article, Counts)], conn: &mut Conn) -> QueryResult<Vec<Series>> {
    counter_series(article_counters::views)
        .of_many(articles.iter().map(|(article, _)| article.id))
        .between(last_days(30))
        .load(conn)
}
