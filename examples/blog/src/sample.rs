//! A year of sample data: articles, comments, likes, and views with weekdays and a viral day.

use chrono::{Datelike, Days, NaiveDate, NaiveTime, TimeDelta};
use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters::{CountingTransaction, counting_transaction, retry};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::article::{Article, Comment, slug, today};
use crate::db::Conn;
use crate::schema::{article_counters, articles};

const ARTICLES: &str = include_str!("../sample/articles.md");
const COMMENTS: &str = include_str!("../sample/comments.txt");

/// Fills an empty blog. Returns whether it was empty.
pub fn fill(conn: &mut Conn) -> QueryResult<bool> {
    // Before the transaction, which then begins with a write. On SQLite, a transaction that reads first
    // fails if another one writes.
    if articles::table.count().get_result::<i64>(conn)? > 0 {
        return Ok(false);
    }
    // It gathers the increments, and writes them in few statements before it commits.
    retry().run(conn, |conn| counting_transaction(conn, fill_empty))
}

fn fill_empty(tx: &mut CountingTransaction<'_, Conn>) -> QueryResult<bool> {
    let mut rng = StdRng::seed_from_u64(20);
    let texts = ARTICLES.split("# ");
    let texts = texts.filter_map(|text| text.split_once('\n'));
    let comments = COMMENTS.lines().filter_map(|line| line.split_once(": "));
    let comments: Vec<_> = comments.collect();
    let day = |ago| today() - Days::new(ago);
    for (number, (title, body)) in (0..).zip(texts) {
        let age = 365_u64.saturating_sub(18 * number);
        let published = day(age).and_time(NaiveTime::MIN);
        if Article::post(title, body.trim(), published, tx.conn())? == 0 {
            // Another process has filled it.
            return Ok(false);
        }
        let article = Article::find(&slug(title), tx.conn())?;
        let popular = rng.random_range(4.0..60.0);
        for ago in 0..=age {
            let views = views(title, day(ago), age - ago, ago, popular, &mut rng);
            let views = increment(article_counters::views).of(article.id).by(views);
            tx.count(views.on(day(ago)));
        }
        for visitor in 0..rng.random_range(3..25) {
            let on = day(rng.random_range(0..=age.min(80)));
            article.like(&format!("sample-{visitor}"), on, tx.conn())?;
        }
        for part in (1..rng.random_range(1..7)).rev() {
            let (author, text) = comments[rng.random_range(0..comments.len())];
            let hours = TimeDelta::hours(rng.random_range(7..23));
            let comment = Comment {
                author: author.to_owned(),
                body: text.to_owned(),
                created_at: day(age * part / 7).and_time(NaiveTime::MIN) + hours,
            };
            article.comment(&comment, tx.conn())?;
        }
    }
    Ok(true)
}

/// The views of an article on a day: many at first, fewer at weekends, and one day with very many.
fn views(title: &str, day: NaiveDate, age: u64, ago: u64, popular: f64, rng: &mut StdRng) -> i64 {
    let fresh = 1.0 + 8.0 * (-(age as f64) / 5.0).exp();
    let week = [1.0, 1.0, 1.0, 1.0, 1.0, 0.55, 0.55][day.weekday() as usize];
    let viral = match (title, ago) {
        ("The viral day", 0..=11) => 1.0 + 89.0 / ((12 - ago) * (12 - ago)) as f64,
        _ => 1.0,
    };
    (popular * fresh * week * viral * rng.random_range(0.7..1.3)) as i64
}
