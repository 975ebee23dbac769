//! The statistics of the whole site. The counter table is read without a key.

use chrono::{Days, Months};
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::prelude::*;

use crate::article::{COUNTS, Counts, last_days, today};
use crate::chart::Series;
use crate::db::Conn;
use crate::schema::{article_counters, articles};

/// The counts of the last days, and the most read articles.
pub struct Span {
    pub name: &'static str,
    pub counts: Counts,
    pub most_read: Vec<(String, String, i64)>,
}

/// Reads the counts of today, the last 7 days, and so on.
pub fn spans(conn: &mut Conn) -> QueryResult<Vec<Span>> {
    // It begins with a month, because the counts of old days are kept by month.
    let year = Period::Month.start(today() - Months::new(11))..=today();
    let spans = [
        ("Today", last_days(1)),
        ("7 days", last_days(7)),
        ("30 days", last_days(30)),
        ("12 months", year),
        ("Ever", last_days(0)),
    ];
    let spans = spans.into_iter().map(|(name, days)| {
        let most_read = ranking(article_counters::views).between(days.clone());
        let most_read = most_read.limit(3);
        Ok(Span {
            name,
            counts: counter_value(COUNTS).between(days).get_result(conn)?,
            most_read: articles::table
                .inner_join(most_read)
                .order((most_read.total().desc(), articles::id))
                .select((articles::slug, articles::title, most_read.total()))
                .load(conn)?,
        })
    });
    spans.collect()
}

/// A title, the counts, and how the days are printed.
pub type Chart = (&'static str, Series, &'static str);

/// Reads the views of days, weeks, months and years.
pub fn charts(conn: &mut Conn) -> QueryResult<Vec<Chart>> {
    let charts = [
        ("Views a day", Period::Day, 29, "%-d %b"),
        // The counts of older weeks are kept by month.
        ("Views a week", Period::Week, 83, "week of %-d %b"),
        ("Views a month", Period::Month, 365, "%b %Y"),
        ("Views a year", Period::Year, 730, "%Y"),
    ];
    let charts = charts.into_iter().map(|(title, period, days, format)| {
        let first = period.start(today() - Days::new(days));
        let views = counter_series(article_counters::views).per(period);
        let views = views.between(first..=today()).load(conn)?;
        Ok((title, views, format))
    });
    charts.collect()
}
