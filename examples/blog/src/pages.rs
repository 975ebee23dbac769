//! The pages, and what the forms of an article's page send.

use std::collections::HashMap;
use std::thread;

use anyhow::ensure;
use askama::Template;
use askama_web::WebTemplate;
use axum::extract::{Form, Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect};
use chrono::{Months, NaiveDate, Utc};
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use serde::Deserialize;

use crate::article::{Article, COUNTS, Comment, Counts, last_days, today};
use crate::chart::{self, Series, filters};
use crate::db::{self, retry};
use crate::readers;
use crate::schema::article_counters::{self, comments, likes, views};
use crate::schema::articles;
use crate::server::App;
use crate::visitor::Visitor;

type Result<T> = std::result::Result<T, StatusCode>;

/// The last days that a page is about.
#[derive(Deserialize)]
pub struct Last {
    days: Option<u16>,
}

#[derive(Template, WebTemplate)]
#[template(path = "front.html")]
pub struct FrontPage {
    days: Option<u16>,
    articles: Vec<(Article, Counts)>,
    /// The views of each of the last 30 days, for each of the articles.
    lines: Vec<Series>,
}

/// The newest articles, or the most read of the last days. The query that reads them sorts by their
/// counts.
pub async fn front(app: App, Query(Last { days }): Query<Last>) -> Result<FrontPage> {
    db::run(&app.reads, move |conn| {
        let counts = (total(views), total(likes), total(comments));
        let list = articles::table
            .select((Article::as_select(), counts))
            .limit(20);
        let newest = articles::id.desc();
        let articles: Vec<(Article, Counts)> = match days.map(last_days) {
            None => list.order(newest).load(conn)?,
            Some(days) => list
                .order((total(views).between(days).desc(), newest))
                .load(conn)?,
        };
        let ids = articles.iter().map(|(article, _)| article.id);
        let lines = counter_series(views)
            .of_many(ids)
            .between(last_days(30))
            .load(conn)?;
        Ok(FrontPage {
            days,
            articles,
            lines,
        })
    })
    .await
}

#[derive(Template, WebTemplate)]
#[template(path = "article.html")]
pub struct ArticlePage {
    article: Article,
    counts: Counts,
    is_liked: bool,
    /// The views of the last 14 days.
    days: Series,
    /// The views of each row, by day and slot.
    rows: HashMap<(NaiveDate, i16), i64>,
    comments: Vec<Comment>,
    is_local: bool,
}

pub async fn article(app: App, Path(slug): Path<String>, visitor: Visitor) -> Result<ArticlePage> {
    db::run(&app.reads.clone(), move |conn| {
        let article = Article::find(&slug, conn)?;
        let mut counts: Counts = counter_value(COUNTS).of(&article).get_result(conn)?;
        let mut days = article.daily_counts(views, last_days(14), conn)?;
        // **Through a buffer**. The page shows its own view. What is written after `counts` was read is
        // missing for a second, but no number goes down.
        if visitor.reads {
            app.views.count(increment(views).of(&article))?;
        }
        let pending = app.views.pending_of(views, &article.id);
        counts.views += pending;
        days[13].1 += pending;
        let rows = article_counters::table
            .filter(article_counters::article_id.eq(article.id))
            .select(((article_counters::day, article_counters::slot), views));
        let rows: Vec<((NaiveDate, i16), i64)> = rows.load(conn)?;
        Ok(ArticlePage {
            counts,
            is_liked: article.is_liked_by(&visitor.id, conn)?,
            days,
            rows: rows.into_iter().collect(),
            comments: article.latest_comments(conn)?,
            article,
            is_local: visitor.is_local,
        })
    })
    .await
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Action {
    Comment { author: String, body: String },
    Like,
    Unlike,
    Readers,
}

pub async fn act(
    app: App,
    Path(slug): Path<String>,
    visitor: Visitor,
    Form(action): Form<Action>,
) -> Result<impl IntoResponse> {
    let writes = app.writes.clone();
    let page = format!("/articles/{slug}");
    db::run(&writes, move |conn| {
        let article = Article::find(&slug, conn)?;
        match action {
            Action::Comment { author, body } => {
                // The form has the same limits.
                let clean = |text: String| text.trim().replace('\0', "");
                let (author, body) = (clean(author), clean(body));
                let is_right = !body.is_empty() && body.len() <= 20_000 && author.len() <= 400;
                ensure!(is_right, StatusCode::UNPROCESSABLE_ENTITY);
                let created_at = Utc::now().naive_utc();
                let comment = Comment {
                    author,
                    body,
                    created_at,
                };
                // Its first statement writes, so that SQLite needs no `immediate_transaction`.
                retry().transaction(conn, |conn| article.comment(&comment, conn))?;
            }
            Action::Like => drop(article.like(&visitor.id, today(), conn)?),
            Action::Unlike => drop(article.unlike(&visitor.id, conn)?),
            Action::Readers => {
                ensure!(visitor.is_local, StatusCode::FORBIDDEN);
                thread::spawn(move || readers::come(&app, &article));
            }
        }
        Ok(())
    })
    .await?;
    Ok((visitor.cookies, Redirect::to(&page)))
}

#[derive(Template, WebTemplate)]
#[template(path = "stats.html")]
pub struct StatsPage {
    days: u16,
    /// Names, what they are now, and what they were in the same time before.
    numbers: [(&'static str, i64, i64); 4],
    bars: Series,
    most_read: Vec<(String, String, i64)>,
}

/// The statistics of the whole site: the counter table is read without a key.
pub async fn stats(app: App, Query(Last { days }): Query<Last>) -> Result<StatsPage> {
    let days = days.unwrap_or(30);
    // The counts of old days are kept by month.
    let month = |ago| Period::Month.start(today()) - Months::new(ago);
    let (period, first, before) = match days {
        ..=45 => (
            Period::Day,
            *last_days(days).start(),
            *last_days(2 * days).start(),
        ),
        _ => (Period::Month, month(11), month(23)),
    };
    db::run(&app.reads, move |conn| {
        let now: Counts = counter_value(COUNTS).between(first..).get_result(conn)?;
        let before: Counts = counter_value(COUNTS)
            .between(before..first)
            .get_result(conn)?;
        let bars = counter_series(views).per(period).between(first..=today());
        let read = total(views).between(first..);
        let most_read = articles::table.select((articles::slug, articles::title, read.clone()));
        let liked = |counts: Counts| counts.likes.saturating_mul(1000) / counts.views.max(1);
        Ok(StatsPage {
            days,
            numbers: [
                ("Views", now.views, before.views),
                ("Likes", now.likes, before.likes),
                ("Comments", now.comments, before.comments),
                ("Likes per 1,000 views", liked(now), liked(before)),
            ],
            bars: bars.load(conn)?,
            most_read: most_read.order(read.desc()).limit(5).load(conn)?,
        })
    })
    .await
}
