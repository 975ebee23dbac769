//! The pages that only read, and the pages of errors.

use std::collections::HashSet;
use std::sync::Arc;

use axum::http::{Method, StatusCode, header};
use blog::sample;
use blog::schema::{article_counters, articles};
use chrono::Days;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::prelude::*;
use tokio::task::JoinSet;

use crate::support::{Blog, PATH, lock, today};

/// The titles of a list, in its order.
fn titles(page: &str) -> Vec<&str> {
    let links = page.split("<h3><a href=\"/articles/").skip(1);
    links
        .map(|link| link.split(['>', '<']).nth(1).unwrap())
        .collect()
}

#[tokio::test]
async fn a_list_is_sorted_by_the_counts_of_some_days() {
    let blog = Blog::new();
    let conn = &mut blog.pool.get().unwrap();
    for number in 1..=25 {
        let article = blog.article(&format!("Article {number:02}"));
        // The older articles have more views, and the newer ones have more today.
        for (ago, views) in [(40, 10_000 - 10 * number), (0, number)] {
            let views = increment(article_counters::views).of(article.id).by(views);
            views.on(today() - Days::new(ago)).execute(conn).unwrap();
        }
    }
    for (path, first, last) in [
        ("/", "Article 25", "Article 06"),
        ("/?days=7", "Article 25", "Article 06"),
        ("/?days=1", "Article 25", "Article 06"),
        ("/?days=65535", "Article 01", "Article 20"),
    ] {
        let page = blog.get(path, &[]).await.body;
        let titles = titles(&page);
        assert_eq!((titles[0], titles[19]), (first, last), "{path}");
        assert_eq!(titles.len(), 20);
    }
    let page = blog.get("/?days=65535", &[]).await.body;
    assert!(page.contains("<b>9,991</b> views"), "{page}");
    assert!(page.contains("Ann · <time datetime"), "{page}");
    // A list of some days has the number that it is sorted by.
    let page = blog.get("/?days=7", &[]).await.body;
    assert!(
        page.contains("<b>25</b> views in the last 7 days"),
        "{page}"
    );
}

#[tokio::test]
async fn one_view_is_in_the_singular() {
    let blog = Blog::new();
    let article = blog.article("Title");
    let view = increment(article_counters::views).of(article.id);
    view.execute(&mut *blog.pool.get().unwrap()).unwrap();
    let page = blog.get("/?days=7", &[]).await.body;
    for text in [
        "<b>1</b> view in the last 7 days",
        "<b>1</b> view</span>",
        "<b>0</b> likes",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[tokio::test]
async fn a_blog_with_an_article_is_not_filled() {
    let blog = Blog::new();
    blog.article("Title");
    let conn = &mut blog.pool.get().unwrap();
    assert_eq!(sample::fill(conn), Ok(0));
    assert_eq!(articles::table.count().get_result(conn), Ok(1_i64));
    assert_eq!(sample::is_in(conn), Ok(false));
}

#[tokio::test]
async fn two_years_of_sample_data_are_shown() {
    let blog = Blog::new();
    let conn = &mut blog.pool.get().unwrap();
    assert_eq!(sample::fill(conn), Ok(20));
    assert_eq!(sample::fill(conn), Ok(0));
    assert_eq!(sample::is_in(conn), Ok(true));
    assert_eq!(articles::table.count().get_result(conn), Ok(20_i64));

    let mut names = HashSet::new();
    for path in ["/", "/race", "/stats", "/articles/the-viral-day"] {
        let page = blog.get(path, &[]).await.body;
        let (name, _) = page.split_once("</title>").unwrap();
        assert!(names.insert(name.to_owned()), "{path}: {name}");
    }
    for path in ["/", "/stats", "/?days=1", "/articles/the-viral-day"] {
        let page = blog.get(path, &[]).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        let cache = page.headers[header::CACHE_CONTROL].to_str().unwrap();
        assert!(cache.contains("private"), "{cache}");
    }
}

#[tokio::test]
async fn the_statistics_are_those_of_all_articles() {
    let blog = Blog::new();
    let conn = &mut blog.pool.get().unwrap();
    let year = Period::Week.start(today() - Days::new(363));
    for (title, day, views) in [
        ("One", today(), 1),
        ("Two", today() - Days::new(3), 20),
        ("Three", today() - Days::new(20), 300),
        ("Four", year, 4000),
        ("Five", year - Days::new(1), 50_000),
    ] {
        let article = blog.article(title);
        let views = increment(article_counters::views).of(article.id).by(views);
        views.on(day).execute(conn).unwrap();
        let like = article.like(title, day, conn);
        assert_eq!(like, Ok(1));
    }
    for (path, bars, views, change, likes) in [
        ("/stats?days=1", 1, "1", "–", "1"),
        ("/stats?days=7", 7, "21", "–", "2"),
        ("/stats", 30, "321", "–", "3"),
        ("/stats?days=15", 15, "21", "-93%", "2"),
        ("/stats?days=364", 52, "4,321", "-91%", "4"),
        // No more than a year.
        ("/stats?days=65535", 52, "4,321", "-91%", "4"),
    ] {
        let page = blog.get(path, &[]).await.body;
        for number in [
            format!("<dt>Views</dt><dd>{views}</dd><dd class=\"change\">{change}</dd>"),
            format!("<dt>Likes</dt><dd>{likes}</dd>"),
        ] {
            assert!(page.contains(&number), "{path}: {number}: {page}");
        }
        let shown = page.matches("<rect ").count();
        // A year is not always of 52 weeks: a week that began before it is shown too.
        assert!(
            (bars..=bars + shown / 52).contains(&shown),
            "{path}: {shown}"
        );
    }
}

#[tokio::test]
async fn counts_of_any_size_have_a_chart() {
    let blog = Blog::new();
    let conn = &mut blog.pool.get().unwrap();
    let article = blog.article("Title");
    for (add, top) in [
        (1, "2"),
        (2, "4"),
        (8, "12"),
        (500, "520"),
        (i64::MAX - 511, "9,200,000,000,000,000,000"),
    ] {
        let views = increment(article_counters::views).of(article.id);
        views.by(add).execute(conn).unwrap();
        for path in ["/", PATH] {
            assert_eq!(blog.get(path, &[]).await.status, StatusCode::OK);
        }
        let page = blog.get("/stats", &[]).await.body;
        let axis = format!("aria-hidden=\"true\"><span>{top}</span>");
        assert!(page.contains(&axis), "{page}");
    }
}

#[tokio::test]
async fn each_error_has_a_page_of_the_site() {
    let blog = Blog::new();
    blog.article("Title");
    let get = |path| (Method::GET, path, "");
    for ((method, path, form), status) in [
        (get("/nothing"), StatusCode::NOT_FOUND),
        (get("/articles/nothing"), StatusCode::NOT_FOUND),
        (get("/articles/title%00"), StatusCode::NOT_FOUND),
        (get("/articles/ti%FFtle"), StatusCode::BAD_REQUEST),
        (get("/?days=nothing"), StatusCode::BAD_REQUEST),
        (get("/stats?days=-1"), StatusCode::BAD_REQUEST),
        (
            (Method::POST, PATH, "action=nothing"),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (
            (Method::POST, PATH, "action=readers"),
            StatusCode::FORBIDDEN,
        ),
        ((Method::PUT, PATH, ""), StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let answer = blog.request(method, path, &[], form).await;
        assert_eq!(answer.status, status, "{path} {form}");
        assert!(answer.body.contains("Back to the articles"), "{path}");
        let is_read = !answer.body.contains("Nothing was stored.");
        assert_eq!(is_read, status == StatusCode::NOT_FOUND, "{path}");
        let html = &answer.headers[header::CONTENT_TYPE];
        assert_eq!(html, "text/html; charset=utf-8");
    }
    let answer = blog.request(Method::PUT, PATH, &[], "").await;
    assert_eq!(answer.headers[header::ALLOW], "GET,HEAD,POST");
    for path in ["/style.css", "/live.js", "/favicon.svg"] {
        assert_eq!(blog.get(path, &[]).await.status, StatusCode::OK);
    }
}

/// Its COMMIT could have failed after the database had committed.
#[tokio::test]
async fn an_unexpected_error_does_not_say_that_nothing_was_stored() {
    let blog = Blog::new();
    blog.article("Title");
    let conn = &mut *blog.pool.get().unwrap();
    conn.batch_execute("DROP TABLE comments").unwrap();
    let comment = "action=comment&author=&body=Hello";
    let answer = blog.post(PATH, &[], comment).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    let said = "look whether it was stored before you send it again";
    assert!(answer.body.contains(said), "{}", answer.body);
    assert!(!answer.body.contains("Nothing was stored"));
}

#[tokio::test]
async fn a_blog_without_a_free_connection_is_busy() {
    let blog = Blog::new();
    let taken: Vec<_> = (0..blog.app.reads.max_size())
        .map(|_| blog.app.reads.get().unwrap())
        .collect();
    let answer = blog.get("/", &[]).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.body.contains("The blog is busy"));
    drop(taken);
    assert_eq!(blog.get("/", &[]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn pages_are_shown_while_comments_wait_for_a_lock() {
    let blog = Arc::new(Blog::new());
    let article = blog.article("Title");
    let locked = lock(&blog.database.url);
    let mut comments = JoinSet::new();
    for _ in 0..40 {
        let blog = Arc::clone(&blog);
        comments.spawn(async move {
            blog.post(PATH, &[], "action=comment&author=&body=Hello")
                .await
        });
    }
    while !comments.is_empty() {
        assert_eq!(blog.get(PATH, &[]).await.status, StatusCode::OK);
        while let Some(answer) = comments.try_join_next() {
            assert_eq!(answer.unwrap().status, StatusCode::SERVICE_UNAVAILABLE);
        }
    }
    drop(locked);
    assert_eq!(blog.counts(&article).comments, 0);
}
