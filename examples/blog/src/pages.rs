//! The pages, and what the forms on an article's page do.

use std::collections::{BTreeSet, HashMap};

use anyhow::ensure;
use askama::Template;
use askama_web::WebTemplate;
use axum::extract::{Form, Path, Query};
use axum::http::{StatusCode, Uri};
use axum::response::{Html, IntoResponse, Redirect, Response};
use chrono::{Days, NaiveDate, Utc};
use diesel::prelude::*;
use diesel_counters::{Period, dsl::total, prelude::*};
use serde::Deserialize;

use crate::article::{Article, Comment, Counts, last_days, today};
use crate::race_view::{MOST, RaceView};
use crate::schema::article_counters::{self, comments, likes, views};
use crate::schema::articles;
use crate::{db, readers, server::App, visitor::Visitor};

type Result<T> = std::result::Result<T, StatusCode>;

/// The end of an axis: the largest count, rounded up to an even number, for example 4, 10, 12 or
/// 520.
fn top(bars: &[(NaiveDate, i64)]) -> i64 {
    let most = bars.iter().map(|bar| bar.1).fold(1, i64::max);
    let step = (10_i64.pow(most.ilog10()) / 5).max(2);
    most.saturating_add(step - 1) / step * step
}

/// Writes `1 comment` or `2 comments`, with the number in bold.
fn counted(count: &i64, one: &str) -> String {
    let end = if *count == 1 { "" } else { "s" };
    format!("<b>{}</b> {one}{end}", number(count))
}

/// Writes 12345 as 12,345.
pub fn number(count: &i64) -> String {
    let digits = count.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// How many of the last days a page is about.
#[derive(Deserialize)]
pub struct Last {
    #[serde(default)]
    days: u16,
}

#[derive(Template, WebTemplate)]
#[template(path = "front.html")]
pub struct FrontPage {
    race: RaceView,
    days: u16,
    /// The articles, their counts, and their views on these days.
    articles: Vec<(Article, Counts, i64)>,
    /// For each article, its views on each of the last 30 whole days.
    lines: Vec<Vec<(NaiveDate, i64)>>,
    has_sample_readers: bool,
}

/// Shows the race and the articles: the newest first, or the most read of the last days. The query
/// that reads them also sorts them.
pub async fn front(
    app: App,
    Query(Last { days }): Query<Last>,
    visitor: Visitor,
) -> Result<FrontPage> {
    // Only a visitor on this machine brings simulated readers, so a public site has none.
    if visitor.is_local {
        app.sample.are_watched();
    }
    db::run(&app.reads.clone(), move |conn| {
        let counts = (total(views), total(likes), total(comments));
        let read = total(views).between(last_days(days));
        let articles: Vec<(Article, Counts, i64)> = articles::table
            .select((Article::as_select(), counts, read))
            .order((read.desc(), articles::id.desc()))
            .limit(20)
            .load(conn)?;
        let ids = articles.iter().map(|(article, ..)| article.id);
        let lines = counter_series(views).of_many(ids);
        let yesterday = today() - Days::new(1);
        Ok(FrontPage {
            race: RaceView::load(app.races.latest().as_deref(), visitor.is_local, conn)?,
            days,
            lines: lines
                .between(*last_days(31).start()..=yesterday)
                .load(conn)?,
            articles,
            has_sample_readers: app.sample.are_on(),
        })
    })
    .await
}

#[derive(Template, WebTemplate)]
#[template(path = "race_page.html")]
pub struct RacePage {
    race: RaceView,
}

/// Shows the race alone. The front page's script asks for it.
pub async fn race(app: App, visitor: Visitor) -> Result<RacePage> {
    db::run(&app.reads.clone(), move |conn| {
        let race = app.races.latest();
        let race = RaceView::load(race.as_deref(), visitor.is_local, conn)?;
        Ok(RacePage { race })
    })
    .await
}

pub async fn start_race(app: App, visitor: Visitor) -> Result<Redirect> {
    if !visitor.is_local {
        return Err(StatusCode::FORBIDDEN);
    }
    let started = app.races.start(app.url.clone());
    started.map_err(|error| {
        tracing::error!("the race's thread: {error}");
        StatusCode::INTERNAL_SERVER_ERROR
    })?;
    Ok(Redirect::to("/"))
}

#[derive(Deserialize)]
pub struct Switch {
    on: bool,
}

pub async fn switch_readers(
    app: App,
    visitor: Visitor,
    Form(Switch { on }): Form<Switch>,
) -> Result<Redirect> {
    if !visitor.is_local {
        return Err(StatusCode::FORBIDDEN);
    }
    app.sample.switch(on);
    Ok(Redirect::to("/#articles"))
}

#[derive(Template, WebTemplate)]
#[template(path = "article.html")]
pub struct ArticlePage {
    article: Article,
    counts: Counts,
    is_liked: bool,
    /// The views of the last 14 days.
    days: Vec<(NaiveDate, i64)>,
    /// The views of each row, by day and slot.
    rows: HashMap<(NaiveDate, i16), i64>,
    /// The slots that have rows on these days, and slot 0.
    slots: BTreeSet<i16>,
    comments: Vec<Comment>,
    is_local: bool,
}

pub async fn article(app: App, Path(slug): Path<String>, visitor: Visitor) -> Result<ArticlePage> {
    db::run(&app.reads.clone(), move |conn| {
        let article = Article::find(&slug, conn)?;
        // **Through a buffer**. The page shows its own view.
        if visitor.reads && app.views.count(increment(views).of(&article)).is_err() {
            tracing::warn!("a view was not counted");
        }
        // This adds what is pending, and all counts are from the same moment: if the buffer writes
        // in the meantime, it reads again.
        let (counts, days, rows) = app.views.read(|pending| {
            let counts = counter_value((views, likes, comments)).of(&article);
            let mut counts: Counts = counts.get_result(conn)?;
            let mut days = article.daily_counts(views, last_days(14), conn)?;
            let rows = article_counters::table
                .filter(article_counters::article_id.eq(article.id))
                .select(((article_counters::day, article_counters::slot), views));
            let rows: Vec<((NaiveDate, i16), i64)> = rows.load(conn)?;
            let pending = pending.of(views, &article.id);
            counts.views += pending;
            days[13].1 += pending;
            QueryResult::Ok((counts, days, rows))
        })?;
        let first = days[0].0;
        let slots = rows.iter().filter(|((day, _), _)| *day >= first);
        let slots = slots.map(|((_, slot), _)| *slot);
        Ok(ArticlePage {
            counts,
            is_liked: article.is_liked_by(&visitor.id, conn)?,
            days,
            slots: slots.chain([0]).collect(),
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
    page: Uri,
    visitor: Visitor,
    Form(action): Form<Action>,
) -> Result<impl IntoResponse> {
    db::run(&app.writes.clone(), move |conn| {
        let article = Article::find(&slug, conn)?;
        match action {
            Action::Comment { author, body } => {
                // The form has limits too.
                let texts = [author, body].map(|text| text.replace('\0', ""));
                let [author, body] = texts.each_ref().map(|text| text.trim());
                let has_length = (1..20_000).contains(&body.len()) && author.len() < 400;
                ensure!(has_length, StatusCode::UNPROCESSABLE_ENTITY);
                // The first statement writes, so SQLite needs no `immediate_transaction`.
                let now = Utc::now().naive_utc();
                db::retry().transaction(conn, |conn| article.comment(author, body, now, conn))?;
            }
            Action::Like => drop(article.like(&visitor.id, today(), conn)?),
            Action::Unlike => drop(article.unlike(&visitor.id, conn)?),
            Action::Readers => {
                ensure!(visitor.is_local, StatusCode::FORBIDDEN);
                readers::send(&app, article);
            }
        }
        Ok(())
    })
    .await?;
    Ok((visitor.cookies, Redirect::to(page.path())))
}

#[derive(Template, WebTemplate)]
#[template(path = "stats.html")]
pub struct StatsPage {
    days: u16,
    /// Each number's name, its value now, and its value in the same time before.
    numbers: [(&'static str, i64, i64); 4],
    bars: Vec<(NaiveDate, i64)>,
}

/// The whole site's statistics. They read the counter table without a key.
pub async fn stats(app: App, Query(Last { days }): Query<Last>) -> Result<StatsPage> {
    let days = if days == 0 { 30 } else { days.min(364) };
    // Old days are kept by week.
    let period = if days > 45 { Period::Week } else { Period::Day };
    let start = |days| period.start(*last_days(days).start());
    let (first, before) = (start(days), start(days.saturating_mul(2)));
    db::run(&app.reads, move |conn| {
        let counts = counter_value((views, likes, comments));
        let now: Counts = counts.between(first..).get_result(conn)?;
        let then: Counts = counts.between(before..first).get_result(conn)?;
        let bars = counter_series(views).per(period);
        let liked = |counts: Counts| counts.likes.saturating_mul(1000) / counts.views.max(1);
        Ok(StatsPage {
            days,
            numbers: [
                ("Views", now.views, then.views),
                ("Likes", now.likes, then.likes),
                ("Comments", now.comments, then.comments),
                ("Likes per 1,000 views", liked(now), liked(then)),
            ],
            bars: bars.between(first..=today()).load(conn)?,
        })
    })
    .await
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    status: StatusCode,
}

/// Gives every error a page, even those of axum and its layers, and every page its headers.
pub async fn finish(mut response: Response) -> impl IntoResponse {
    let status = response.status();
    if status.as_u16() >= 400 {
        let page = ErrorPage { status }.render().unwrap_or_default();
        response = (status, Html(page)).into_response();
    }
    let policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
    let policy = ("content-security-policy", policy);
    ([policy, ("cache-control", "private, no-cache")], response)
}
