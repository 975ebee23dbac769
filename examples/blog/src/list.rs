//! A page of the list of articles and their counts, in one query.

use std::ops::Bound::{Included, Unbounded};

use chrono::Utc;
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::dsl::total;

use crate::db::AnyConnection;
use crate::models::{Article, Counts};
use crate::schema::{article_counters, articles};
use crate::sort::Sort;

/// The number of articles on a page of the list.
const PER_PAGE: i64 = 20;

/// Returns the number of pages of the list, at least 1.
pub fn pages(conn: &mut AnyConnection) -> QueryResult<i64> {
    let articles: i64 = articles::table.count().get_result(conn)?;
    Ok(1.max((articles + PER_PAGE - 1) / PER_PAGE))
}

/// Returns the articles on a page and their counts. With [`Sort::MostReadThisWeek`], the
/// views are those since Monday.
pub fn page(
    number: i64,
    sort: Sort,
    conn: &mut AnyConnection,
) -> QueryResult<Vec<(Article, Counts)>> {
    let today = Utc::now().date_naive();
    let days = match sort {
        Sort::Newest | Sort::MostRead => (Unbounded, Unbounded),
        Sort::MostReadThisWeek => (Included(Period::Week.start(today)), Included(today)),
    };
    let views = total(article_counters::views).between(days);
    let counts = (
        views,
        total(article_counters::likes),
        total(article_counters::comments),
    );

    let page = articles::table
        .select((Article::as_select(), counts))
        .offset((number - 1) * PER_PAGE)
        .limit(PER_PAGE)
        .into_boxed();
    match sort {
        Sort::Newest => page.order(articles::id.desc()),
        // For each page, this sums the views of all articles. A large site joins
        // `diesel_counters::dsl::ranking`, or sorts by a column that
        // `HasCounters::materialize` fills.
        Sort::MostRead | Sort::MostReadThisWeek => {
            page.order(views.desc()).then_order_by(articles::id.desc())
        }
    }
    .load(conn)
}
