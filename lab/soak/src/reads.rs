//! Reads of every kind, and what they show.

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;

use super::Conn;
use crate::history::Read;
use crate::record::{Cell, Kind, Recorded, Seen, Value, now};
use crate::tables::article_counters::dsl::{comments, likes, views};
use crate::tables::{ARTICLES, Article, DAYS, FOLDED, articles, day, number_of, today};

/// All articles, in the order of their ids.
fn all() -> Vec<Article> {
    (1..=ARTICLES).map(|id| Article { id }).collect()
}

/// Runs a read. Returns the values that are checked.
pub fn read_values(read: Read, conn: &mut Conn) -> QueryResult<Vec<Value>> {
    let views_of = |article, value| Value::sum(Cell::of(article, Kind::Views), value);
    Ok(match read {
        Read::Total { article } => {
            let of = Article { id: article };
            let (viewed, commented): (i64, i64) = of.counter_value((views, comments), conn)?;
            let of_comments = Value::sum(Cell::of(article, Kind::Comments), commented);
            vec![views_of(article, viewed), of_comments]
        }
        Read::Day { article, day: on } => {
            let read = counter_value(views).of(article).on(day(on));
            let value = on_day(article, day(on), read.get_result(conn)?);
            value.into_iter().collect()
        }
        Read::Series { article } => {
            let series =
                Article { id: article }.daily_counts(views, day(DAYS - 1)..=today(), conn)?;
            series
                .into_iter()
                .filter_map(|(on, value)| on_day(article, on, value))
                .collect()
        }
        Read::Page => {
            let page = Article::counter_values(&all(), views, conn)?;
            (1..)
                .zip(page)
                .map(|(id, value)| views_of(id, value))
                .collect()
        }
        Read::Top { limit } => {
            let top = ranking(views).limit(limit.into()).load(conn)?;
            top.into_iter()
                .map(|(id, value)| views_of(id, value))
                .collect()
        }
        Read::Expression => {
            let rows: Vec<(i64, i64, i64)> = articles::table
                .select((articles::id, total(views), total(likes)))
                .load(conn)?;
            let values = rows.into_iter().flat_map(|(id, viewed, liked)| {
                let of_likes = Value::sum(Cell::of(id, Kind::Likes), liked);
                [views_of(id, viewed), of_likes]
            });
            values.collect()
        }
    })
}

/// The views of a day, or `None` for a day that can be folded: its views can have moved to another
/// day. These days are checked in the totals.
fn on_day(article: i64, on: NaiveDate, value: i64) -> Option<Value> {
    let cell = Cell::new(article, Kind::Views, number_of(on));
    (number_of(on) < FOLDED).then(|| Value::sum([cell], value))
}

/// Copies the totals into a column, and reads the column.
pub fn materialized(conn: &mut Conn, recorded: &mut Recorded) -> QueryResult<()> {
    let from = now();
    Article::materialize(views, articles::total_views).execute(conn)?;
    let rows = articles::table.select((articles::id, articles::total_views));
    let rows: Vec<(i64, i64)> = rows.load(conn)?;
    recorded
        .seen
        .extend(rows.into_iter().map(|(article, value)| {
            let value = Value::sum(Cell::of(article, Kind::Views), value);
            Seen::since(from, vec![value])
        }));
    Ok(())
}
