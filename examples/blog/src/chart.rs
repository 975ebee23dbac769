//! A bar chart of an article's views in the last thirty days.

use chrono::{Days, NaiveDate, Utc};
use diesel::QueryResult;
use diesel_counters::prelude::*;

use crate::db::AnyConnection;
use crate::models::Article;
use crate::schema::article_counters;

const DAYS: u64 = 30;

pub struct Chart {
    pub bars: Vec<Bar>,
    pub first: NaiveDate,
    pub last: NaiveDate,
    pub total: i64,
    /// The views of the day with the most views.
    pub most: i64,
}

pub struct Bar {
    pub day: NaiveDate,
    pub views: i64,
    /// From 0 to 100. The day with the most views has 100.
    pub height: u8,
}

impl Chart {
    /// Reads the views of the last days. Adds the `pending` ones to today's.
    pub fn of(article: &Article, pending: i64, conn: &mut AnyConnection) -> QueryResult<Self> {
        let last = Utc::now().date_naive();
        let first = last - Days::new(DAYS - 1);
        let mut views = article.daily_counts(article_counters::views, first..=last, conn)?;
        if let Some((_, today)) = views.last_mut() {
            *today += pending;
        }

        let most = views.iter().map(|&(_, views)| views).max().unwrap_or(0);
        Ok(Chart {
            first,
            last,
            total: views.iter().map(|(_, views)| views).sum(),
            most,
            bars: views
                .into_iter()
                .map(|(day, views)| Bar {
                    day,
                    views,
                    height: height(views, most),
                })
                .collect(),
        })
    }

    /// Whether no day has views.
    pub fn is_empty(&self) -> bool {
        self.most <= 0
    }
}

/// Rounded up, so that even one view among thousands is visible.
fn height(views: i64, most: i64) -> u8 {
    if views <= 0 {
        return 0;
    }
    (views as f64 * 100.0 / most as f64).ceil() as u8
}

#[cfg(test)]
mod tests {
    use super::height;

    #[test]
    fn the_day_with_the_most_views_has_the_greatest_height() {
        for (views, most, of_hundred) in [
            (7, 7, 100),
            (1, 2, 50),
            (1, 1_000_000, 1),
            (i64::MAX, i64::MAX, 100),
            (0, 7, 0),
            // A counter can decrease.
            (-3, 7, 0),
            (0, 0, 0),
        ] {
            assert_eq!(height(views, most), of_hundred, "{views} of {most}");
        }
    }
}
