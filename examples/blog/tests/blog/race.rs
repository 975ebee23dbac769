//! The race of the front page, and the readers of the sample.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode, header};
use blog::db::HAS_SLOTS;
use blog::race::{CONNECTIONS, Lane, Outcome, Race};
use blog::readers;
use blog::schema::{article_counters, race_comments, race_counters};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::prelude::*;

use crate::support::{Answer, Blog};

const HERE: &str = "127.0.0.1:1";
const HOST: (&str, &str) = ("host", "localhost:3000");

async fn start(blog: &Blog) -> Answer {
    blog.from(HERE, Method::POST, "/race", &[HOST], "").await
}

async fn end(race: &Race) -> &Result<Outcome, String> {
    let begun = Instant::now();
    loop {
        if let Some(outcome) = race.outcome() {
            return outcome;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "it runs");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn what_a_race_commits_is_counted_in_one_row_and_in_slots() {
    let blog = Blog::new();
    let page = blog.get("/", &[]).await.body;
    assert!(page.contains("<b>?</b> times"), "{page}");
    // The second one begins with what the first one has left.
    for _ in 0..2 {
        let answer = start(&blog).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        assert_eq!(answer.headers[header::LOCATION], "/");
        let race = blog.app.races.latest().unwrap();
        // One at a time.
        start(&blog).await;
        assert!(Arc::ptr_eq(&race, &blog.app.races.latest().unwrap()));
        let page = blog.get("/race", &[]).await.body;
        assert!(
            page.contains(" of 2: sixteen connections count in"),
            "{page}"
        );

        let outcome = *end(&race).await.as_ref().unwrap();
        assert_eq!(outcome.counted, outcome.committed);
        let commits = [Lane::OneRow, Lane::Slots].map(|lane| race.lane(lane).commits());
        assert_eq!(outcome.committed, commits);
        assert!(commits[0] > 0 && commits[1] > 0);
        let conn = &mut *blog.pool.get().unwrap();
        let comments = race_comments::table.count().get_result(conn);
        assert_eq!(comments, Ok(commits[0] + commits[1]));
        // A race at midnight has rows of two days.
        let slots = race_counters::table.select(race_counters::slot).distinct();
        let slots: Vec<i16> = slots.load(conn).unwrap();
        assert_eq!(slots.len(), if HAS_SLOTS { CONNECTIONS } else { 1 });

        for path in ["/", "/race"] {
            let page = blog.get(path, &[]).await.body;
            assert!(page.contains(" comments committed, "), "{page}");
            assert!(!page.contains("failed"), "{page}");
        }
    }
}

#[tokio::test]
async fn a_race_that_fails_says_why() {
    let blog = Blog::new();
    let conn = &mut *blog.pool.get().unwrap();
    conn.batch_execute("DROP TABLE race_comments").unwrap();
    start(&blog).await;
    let race = blog.app.races.latest().unwrap();
    assert!(end(&race).await.is_err());
    let page = blog.get("/race", &[]).await.body;
    assert!(
        page.contains("class=\"failed\">The race failed: "),
        "{page}"
    );
    assert!(page.contains("race_comments"), "{page}");
}

#[tokio::test]
async fn a_lane_that_fails_has_ended() {
    let blog = Blog::new();
    let conn = &mut *blog.pool.get().unwrap();
    conn.batch_execute("ALTER TABLE race_comments RENAME COLUMN body TO words")
        .unwrap();
    start(&blog).await;
    let race = blog.app.races.latest().unwrap();
    assert!(end(&race).await.is_err());
    assert!(race.lane(Lane::OneRow).has_ended());
    // Another one can start.
    start(&blog).await;
    let next = blog.app.races.latest().unwrap();
    assert!(!Arc::ptr_eq(&race, &next));
    assert!(end(&next).await.is_err());
}

#[tokio::test]
async fn readers_of_the_sample_come_while_the_owner_looks_and_can_be_sent_away() {
    let blog = Blog::new();
    let conn = &mut *blog.pool.get().unwrap();
    blog.article("Title");
    let switch = async |on: &str| {
        let form = format!("on={on}");
        let answer = blog.from(HERE, Method::POST, "/readers", &[HOST], &form);
        assert_eq!(answer.await.status, StatusCode::SEE_OTHER);
        blog.from(HERE, Method::GET, "/", &[HOST], "").await.body
    };
    let mut views = || {
        blog.app.views.flush();
        let views = counter_value(article_counters::views);
        views.get_result::<i64>(conn).unwrap()
    };
    // Others look, to whom the page says nothing of simulated readers.
    blog.app.sample.switch(true);
    let page = blog.get("/", &[]).await.body;
    assert!(!page.contains("readers"), "{page}");
    assert!(!readers::one_comes(&blog.app).unwrap());
    assert_eq!(views(), 0);

    let begun = Instant::now();
    while !readers::one_comes(&blog.app).unwrap() {
        assert!(begun.elapsed() < Duration::from_secs(120), "nobody comes");
        let page = switch("true").await;
        assert!(page.contains("Simulated readers add"), "{page}");
    }
    assert_eq!(views(), 1);

    let page = switch("false").await;
    assert!(page.contains("Only real visitors are counted"), "{page}");
    assert!(!readers::one_comes(&blog.app).unwrap());
    assert_eq!(views(), 1);
}
