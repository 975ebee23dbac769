//! Reads of every kind, and what they show.

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::Period;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;

use super::{Conn, IS_MYSQL, IS_SQLITE};
use crate::history::Read;
use crate::record::{Cell, Change, Kind, Seen, Value, now};
use crate::tables::article_counters::dsl::{comments, likes, views};
use crate::tables::{ARTICLES, Article, DAYS, FOLDED, articles, day, number_of, today};

/// Why a read or a correction failed.
pub enum Failed {
    Database(Error),
    Wrong(String),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Failed::Database(error)
    }
}

/// Reads in every way in one snapshot, and compares the results.
pub fn snapshot(conn: &mut Conn) -> Result<Seen, Failed> {
    let set = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
    if IS_MYSQL {
        conn.batch_execute(set)?;
    }
    let from = now();
    conn.transaction(|conn| {
        if !IS_MYSQL && !IS_SQLITE {
            conn.batch_execute(set)?;
        }
        Ok(Seen {
            from,
            values: everything(conn)?,
            to: now(),
            own: Vec::new(),
            by: String::new(),
        })
    })
}

fn all() -> Vec<Article> {
    (1..=ARTICLES).map(|id| Article { id }).collect()
}

pub fn read_values(read: Read, conn: &mut Conn) -> Result<Vec<Value>, Error> {
    let views_of = |article, value| Value::sum(Cell::of(article, Kind::Views), value);
    Ok(match read {
        Read::Total { article } => {
            let of = Article { id: article };
            let (v, c): (i64, i64) = of.counter_value((views, comments), conn)?;
            let c = Value::sum(Cell::of(article, Kind::Comments), c);
            vec![views_of(article, v), c]
        }
        Read::Day { article, day: on } => {
            let value = Article { id: article }.counter_value_on(views, day(on), conn)?;
            on_day(article, day(on), value).into_iter().collect()
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
            let top = Article::top(views, limit.into(), .., conn)?;
            top.into_iter()
                .map(|(id, value)| views_of(id, value))
                .collect()
        }
        Read::Expression => {
            let rows: Vec<(i64, i64, i64)> = articles::table
                .select((articles::id, total(views), total(likes)))
                .load(conn)?;
            rows.into_iter()
                .flat_map(|(id, v, l)| [views_of(id, v), Value::sum(Cell::of(id, Kind::Likes), l)])
                .collect()
        }
    })
}

/// A day that can be folded is checked in the totals alone.
fn on_day(article: i64, on: NaiveDate, value: i64) -> Option<Value> {
    let cell = Cell::new(article, Kind::Views, number_of(on));
    (number_of(on) < FOLDED).then(|| Value::sum([cell], value))
}

fn everything(conn: &mut Conn) -> Result<Vec<Value>, Failed> {
    let same = |what: &str, a: i64, article: i64, b: i64| {
        if a == b {
            return Ok(());
        }
        let text =
            format!("in one snapshot, {what} of article {article} is {a}, and its total is {b}");
        Err(Failed::Wrong(text))
    };
    let page: Vec<(i64, i64)> = Article::counter_values(&all(), (views, comments), conn)?;
    let mut values = Vec::new();
    for (article, &(v, c)) in (1..).zip(&page) {
        let of = Article { id: article };
        same("counter_value", of.counter_value(views, conn)?, article, v)?;
        // The folds have moved the counts of the first day to the beginning of its year.
        let days = Period::Year.start(day(DAYS - 1))..=today();
        let series = of.daily_counts(views, days, conn)?;
        let undated = NaiveDate::default();
        let undated = of.counter_value_on(views, undated, conn)?;
        let sum = series.iter().map(|(_, value)| value).sum::<i64>() + undated;
        same("the sum of the series", sum, article, v)?;
        values.push(Value::sum(Cell::of(article, Kind::Views), v));
        values.push(Value::sum(Cell::of(article, Kind::Comments), c));
        values.extend(
            series
                .into_iter()
                .filter_map(|(on, value)| on_day(article, on, value)),
        );
    }
    let top = Article::top(views, 100, .., conn)?;
    if !top.is_sorted_by_key(|&(id, value)| (-value, id)) {
        return Err(Failed::Wrong(format!("the top is not sorted: {top:?}")));
    }
    for (article, &(v, _)) in (1..).zip(&page) {
        let ranked = top.iter().find(|(id, _)| *id == article);
        same("the top's count", ranked.map_or(0, |top| top.1), article, v)?;
    }
    let rows = articles::table.select((articles::id, total(views)));
    for (article, value) in rows.load::<(i64, i64)>(conn)? {
        same("total()", value, article, page[article as usize - 1].0)?;
    }
    Ok(values)
}

/// Copies the totals into a column, and reads the column.
pub fn materialized(
    conn: &mut Conn,
    _: &mut Vec<Change>,
    seen: &mut Vec<Seen>,
) -> Result<(), Failed> {
    let from = now();
    Article::materialize(views, articles::total_views).execute(conn)?;
    let rows = articles::table.select((articles::id, articles::total_views));
    let rows: Vec<(i64, i64)> = rows.load(conn)?;
    seen.extend(rows.into_iter().map(|(article, value)| Seen {
        from,
        to: now(),
        own: Vec::new(),
        values: vec![Value::sum(Cell::of(article, Kind::Views), value)],
        by: String::new(),
    }));
    Ok(())
}
