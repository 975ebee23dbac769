//! The statistics of the whole site. The counter table is read without a key.

use std::collections::HashMap;

use askama::Template;
use askama_web::WebTemplate;
use chrono::{Days, Months};
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::prelude::*;

use crate::article::{COUNTS, Counts, last_days, today};
use crate::chart::{Series, filters};
use crate::errors::Result;
use crate::schema::{article_counters, articles};
use crate::server::App;

#[derive(Template, WebTemplate)]
#[template(path = "stats.html")]
pub struct StatsPage {
    spans: Vec<Span>,
    charts: Vec<Chart>,
}

/// The counts of the last days, and the slugs, titles and views of their most read articles.
struct Span {
    name: &'static str,
    counts: Counts,
    most_read: Vec<(String, String, i64)>,
}

/// A title, the views, and how the days are printed.
type Chart = (&'static str, Series, &'static str);

pub async fn stats(app: App) -> Result<StatsPage> {
    // It begins with a month, because the counts of old days are kept by month.
    let year = Period::Month.start(today() - Months::new(11))..=today();
    let spans = [
        ("Today", last_days(1)),
        ("7 days", last_days(7)),
        ("30 days", last_days(30)),
        ("12 months", year),
        ("Ever", last_days(0)),
    ];
    let charts = [
        ("Views a day", Period::Day, 29, "%-d %b"),
        // The counts of older weeks are kept by month.
        ("Views a week", Period::Week, 83, "week of %-d %b"),
        ("Views a month", Period::Month, 365, "%b %Y"),
        ("Views a year", Period::Year, 730, "%Y"),
    ];
    app.run(move |conn| {
        let spans = spans.into_iter().map(|(name, days)| {
            let read = ranking(article_counters::views);
            let read = read.between(days.clone()).limit(3);
            let read: Vec<(i64, i64)> = read.load(conn)?;
            let counts = counter_value(COUNTS).between(days).get_result(conn)?;
            let ids = read.iter().map(|(id, _)| *id);
            let names = articles::table
                .filter(articles::id.eq_any(ids))
                .select((articles::id, (articles::slug, articles::title)));
            let names = names.load::<(i64, (String, String))>(conn)?;
            let names: HashMap<_, _> = names.into_iter().collect();
            let most_read = read.into_iter().filter_map(|(id, views)| {
                let (slug, title) = names.get(&id)?.clone();
                Some((slug, title, views))
            });
            Ok(Span {
                name,
                counts,
                most_read: most_read.collect(),
            })
        });
        let spans = spans.collect::<Result<_>>()?;
        let charts = charts.into_iter().map(|(title, period, days, format)| {
            let first = period.start(today() - Days::new(days));
            let views = counter_series(article_counters::views).per(period);
            Ok((title, views.between(first..=today()).load(conn)?, format))
        });
        let charts = charts.collect::<Result<_>>()?;
        Ok(StatsPage { spans, charts })
    })
    .await
}
