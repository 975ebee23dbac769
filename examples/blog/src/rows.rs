//! The rows of an article's counters, and the button that merges them.

use chrono::{Days, NaiveDate};
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::dsl::{compact, fold};

use crate::article::{Article, today};
use crate::db::Conn;
use crate::schema::article_counters;

/// How long the counts of each day are kept. The older ones are kept by month.
pub const DAYS: u64 = 90;

/// The counts of one article, on one day, by one slot.
#[derive(Queryable, Selectable)]
#[diesel(table_name = article_counters)]
pub struct Row {
    pub day: NaiveDate,
    pub slot: i16,
    pub views: i64,
    pub likes: i64,
    pub comments: i64,
}

/// The rows of one article, by day and slot.
pub struct Rows(pub Vec<Row>);

impl Rows {
    pub fn of(article: &Article, conn: &mut Conn) -> QueryResult<Self> {
        let rows = article_counters::table
            .filter(article_counters::article_id.eq(article.id))
            // The row of 1970-01-01 is the lock of a recount, and has no counts.
            .filter(article_counters::day.gt(NaiveDate::default()))
            .order((article_counters::day, article_counters::slot))
            .select(Row::as_select());
        rows.load(conn).map(Rows)
    }

    /// The rows of each day or month.
    pub fn columns(&self) -> impl Iterator<Item = &[Row]> {
        self.0.chunk_by(|a, b| a.day == b.day)
    }

    /// The number of slots, with slot 0 of merged rows.
    pub fn slots(&self) -> i16 {
        self.0.iter().map(|row| row.slot + 1).max().unwrap_or(0)
    }
}

/// Merges the slots of the days before yesterday, and older days into months. No count changes, and
/// nobody waits.
pub fn merge(conn: &mut Conn) -> QueryResult<String> {
    let slots = compact(article_counters::table).execute(conn)?;
    let months = fold(article_counters::table).per(Period::Month);
    let months = months.before(today() - Days::new(DAYS)).execute(conn)?;
    Ok(format!(
        "slots of past days: {slots}; days before the last {DAYS}: {months}"
    ))
}
