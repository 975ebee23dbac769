//! A page of the list of articles, in one query with what is counted of each.

use std::ops::Bound::{Included, Unbounded};

use chrono::Utc;
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::prelude::*;

use crate::db::AnyConnection;
use crate::models::{Article, Counts};
use crate::schema::{article_counters, articles};
use crate::sort::Sort;

/// How many articles a page of the list has.
const PER_PAGE: i64 = 20;

/// How many pages the list has. The first page is 1, and always there.
pub fn pages(conn: &mut AnyConnection) -> QueryResult<i64> {
    let articles: i64 = articles::table.count().get_result(conn)?;
    Ok(1.max((articles + PER_PAGE - 1) / PER_PAGE))
}

/// The articles of a page and their counts; in the order of this week, the views are
/// those since Monday.
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
        // This sums the views of every article, whichever page is read: a large site
        // joins `diesel_counters::dsl::ranking`, or sorts by a column that
        // `HasCounters::materialize` fills.
        Sort::MostRead | Sort::MostReadThisWeek => {
            page.order(views.desc()).then_order_by(articles::id.desc())
        }
    }
    .load(conn)
}
