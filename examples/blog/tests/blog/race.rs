//! The race of the front page, and the readers of the sample.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode, header};
use blog::db::SLOTS;
use blog::race::{CONNECTIONS, Lane, Outcome, Race};
use blog::schema::{article_counters, race_comments, race_counters};
use blog::{readers, sample};
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
        let conn = &mut *blog.pool.get().unwrap();
        let comments = race_comments::table.count();
        assert_eq!(comments.get_result(conn), Ok(outcome.committed));
        let slots = race_counters::table.select(race_counters::comments);
        let slots: Vec<i64> = slots.load(conn).unwrap();
        assert_eq!(slots.len(), if SLOTS == 0 { 1 } else { CONNECTIONS });
        let in_slots: i64 = slots.iter().sum();
        assert_eq!(in_slots, race.lane(Lane::Slots).commits());
        let in_one_row = race.lane(Lane::OneRow).commits();
        assert!(in_one_row > 0 && in_slots > 0);
        assert_eq!(in_one_row + in_slots, outcome.committed);

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
async fn readers_of_the_sample_come_while_somebody_looks_and_can_be_sent_away() {
    let blog = Blog::new();
    let conn = &mut *blog.pool.get().unwrap();
    sample::fill(conn).unwrap();
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
    let before = views();
    readers::come_while_watched(blog.app.clone());
    let page = switch("true").await;
    assert!(page.contains("Simulated readers add"), "{page}");
    let begun = Instant::now();
    while views() == before {
        assert!(begun.elapsed() < Duration::from_secs(120), "nobody comes");
        blog.get("/", &[]).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let page = switch("false").await;
    assert!(page.contains("Only real visitors are counted"), "{page}");
}
