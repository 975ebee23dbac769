//! The front page: articles and their counts, searched, sorted and paged in one query.

use askama::Template;
use askama_web::WebTemplate;
use axum::extract::Query;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use serde::Deserialize;

use crate::article::{Article, Counts, last_days};
use crate::chart::{Series, filters};
use crate::errors::Result;
use crate::schema::{article_counters, articles};
use crate::server::App;

diesel::define_sql_function!(fn lower(text: Text) -> Text);

pub const PER_PAGE: usize = 10;

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
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

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    q: String,
    sort: Sort,
    page: u32,
}

#[derive(Template, WebTemplate)]
#[template(path = "list.html")]
pub struct ListPage {
    query: ListQuery,
    sort: usize,
    /// The articles whose title or text contains the search; one more if there is a next page.
    articles: Vec<(Article, Counts)>,
    /// The views of each of the last 30 days, for each of the articles.
    lines: Vec<Series>,
}

pub async fn list(app: App, Query(mut query): Query<ListQuery>) -> Result<ListPage> {
    query.q = query.q.chars().filter(|c| *c != '\0').take(100).collect();
    query.page = query.page.max(1);
    let sort = query.sort as usize;
    app.run(move |conn| {
        let pattern = format!("%{}%", query.q.replace(['%', '_', '\\'], "_"));
        let (title, body) = (lower(articles::title), lower(articles::body));
        let found = title.like(lower(&pattern)).or(body.like(lower(&pattern)));
        let read = total(article_counters::views).between(last_days(SORTS[sort].2));
        let likes = total(article_counters::likes);
        let comments = total(article_counters::comments);
        let list = articles::table
            .filter(found)
            .select((Article::as_select(), (read, likes, comments)))
            .limit(PER_PAGE as i64 + 1)
            .offset((i64::from(query.page) - 1) * PER_PAGE as i64);
        let newest = articles::id.desc();
        let articles: Vec<(Article, Counts)> = match query.sort {
            Sort::Newest => list.order(newest).load(conn)?,
            _ => list.order((read.desc(), newest)).load(conn)?,
        };
        let lines = counter_series(article_counters::views)
            .of_many(articles.iter().map(|(article, _)| article.id))
            .between(last_days(30))
            .load(conn)?;
        Ok(ListPage {
            query,
            sort,
            articles,
            lines,
        })
    })
    .await
}
