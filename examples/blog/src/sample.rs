//! Two years of sample data: articles, comments, likes and views.

use chrono::{Days, NaiveTime, TimeDelta};
use diesel::dsl::exists;
use diesel::prelude::*;
use diesel_counters::{CountingTransaction, counting_transaction, prelude::*, retry};

use crate::article::{Article, today, unless_present};
use crate::db::Conn;
use crate::schema::{article_counters::views, articles};

/// The slug of the first article.
const FIRST: &str = "one-row-is-a-queue";

/// Fills an empty blog. Returns the number of articles that were inserted.
pub fn fill(conn: &mut Conn) -> QueryResult<usize> {
    if diesel::select(exists(articles::table.select(articles::id))).get_result(conn)? {
        return Ok(0);
    }
    // The transaction gathers the increments, and writes them in a few statements before it
    // commits. If another process fills the blog at the same time, the first article is already
    // there.
    unless_present(retry().run(conn, |conn| counting_transaction(conn, fill_empty)))
}

/// Whether the blog has the sample's articles.
pub fn is_in(conn: &mut Conn) -> QueryResult<bool> {
    diesel::select(exists(articles::table.filter(articles::slug.eq(FIRST)))).get_result(conn)
}

fn fill_empty(tx: &mut CountingTransaction<'_, Conn>) -> QueryResult<usize> {
    let comments = include_str!("../sample/comments.txt").lines();
    let mut comments = comments.filter_map(|line| line.split_once(": ")).cycle();
    let texts = include_str!("../sample/articles.md").split("# ");
    let texts = texts.filter_map(|text| text.split_once('\n'));
    let texts = texts.filter_map(|(head, body)| Some((head.split_once(": ")?, body.trim())));
    for (number, ((author, title), body)) in (1..).zip(texts) {
        let age = 740 - 36 * number;
        let day = |ago| (today() - Days::new(ago)).and_time(NaiveTime::MIN);
        let slug = title.to_lowercase().replace(',', "").replace(' ', "-");
        let article = (
            articles::slug.eq(&slug),
            articles::title.eq(title),
            articles::author.eq(author),
            articles::body.eq(body),
            articles::created_at.eq(day(age)),
        );
        article.insert_into(articles::table).execute(tx.conn())?;
        let article = Article::find(&slug, tx.conn())?;
        for ago in 0..=age {
            // Waves, and a day with many readers, which differ for every article.
            let (t, n) = (ago as f64, number as f64);
            let waves = 1.5 + (t / (2.0 + n % 5.0) + n).sin() + 0.3 * (t * 2.1 + n).sin();
            let peak = (-(t - 3.0 * (n % 9.0)).powi(2) / 4.0).exp() * 2.0 * (n % 4.0);
            let read = (5.0 + n * 17.0 % 40.0) * (waves + peak);
            let read = increment(views).of(&article).by(read as i64);
            tx.count(read.on(day(ago).date()));
        }
        for visitor in 0..number * 37 % 150 + 10 {
            let (visitor, on) = (format!("sample-{visitor}"), day(visitor * 97 % age));
            article.like(&visitor, on.date(), tx.conn())?;
        }
        for part in (1..=number * 5 % 6).rev() {
            let (author, body) = comments.next().unwrap_or_default();
            let at = day(age * part / 7) + TimeDelta::minutes(417 * part as i64);
            article.comment(author, body, at, tx.conn())?;
        }
    }
    Ok(20)
}
