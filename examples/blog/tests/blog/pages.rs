//! The pages that only read, and the pages of errors.

use std::sync::Arc;

use axum::http::{Method, StatusCode, header};
use blog::sample;
use blog::schema::{article_counters, articles};
use chrono::{Days, Months};
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::prelude::*;
use tokio::task::JoinSet;

use crate::support::{Blog, PATH, lock, today};

/// The titles of a list, in its order.
fn titles(page: &str) -> Vec<&str> {
    let links = page.split("<th scope=\"row\"><a href=\"/articles/").skip(1);
    links
        .map(|link| link.split(['>', '<']).nth(1).unwrap())
        .collect()
}

#[tokio::test]
async fn a_list_is_searched_sorted_and_paged() {
    let blog = Blog::new();
    let conn = &mut blog.pool.get().unwrap();
    for number in 1..=12 {
        let article = blog.article(&format!("Article {number:02}"));
        // The older articles have more views, and the newer ones have more today.
        for (ago, views) in [(40, 10_000 - 10 * number), (0, number)] {
            let views = increment(article_counters::views).of(article.id).by(views);
            views.on(today() - Days::new(ago)).execute(conn).unwrap();
        }
    }
    let page = blog.get("/", &[]).await.body;
    assert_eq!(titles(&page).len(), 10);
    assert!(page.contains("views\">9,991</td>"), "{page}");
    for (path, first) in [
        ("/?sort=newest", "Article 12"),
        ("/?sort=week", "Article 12"),
        ("/?sort=today&page=2", "Article 02"),
        ("/?q=article+0&sort=newest", "Article 09"),
        ("/?q=ARTICLE+11", "Article 11"),
    ] {
        assert_eq!(titles(&blog.get(path, &[]).await.body)[0], first, "{path}");
    }
    // `_` and `%` are no wildcards that match all.
    let page = blog.get(&format!("/?q={}", "%25".repeat(12)), &[]).await;
    assert!(titles(&page.body).is_empty());
    let page = blog.get("/?q=nothing", &[]).await.body;
    assert!(page.contains("No article has “nothing”."));
}

#[tokio::test]
async fn a_page_leads_to_the_next_one_if_there_is_one() {
    let blog = Blog::new();
    for (number, has_next) in [(10, false), (11, true)] {
        while articles::table
            .count()
            .get_result(&mut blog.pool.get().unwrap())
            != Ok(number)
        {
            blog.article(&rand::random::<u32>().to_string());
        }
        let page = blog.get("/", &[]).await.body;
        assert_eq!(titles(&page).len(), 10);
        assert_eq!(page.contains("rel=\"next\""), has_next, "{number}");
        assert_eq!(page.contains("aria-label=\"Pages\""), has_next, "{number}");
    }
    let page = blog.get("/?page=2", &[]).await.body;
    assert_eq!(titles(&page).len(), 1);
    assert!(page.contains("rel=\"prev\"") && !page.contains("rel=\"next\""));
}

#[tokio::test]
async fn any_text_can_be_searched() {
    let blog = Blog::new();
    blog.article("ÜBER ALLES");
    let same = blog.get("/?q=%C3%9CBER+alles", &[]).await.body;
    assert_eq!(titles(&same), ["ÜBER ALLES"]);
    assert_eq!(titles(&blog.get("/?q=al%00les", &[]).await.body).len(), 1);
    let long = "ü".repeat(100);
    let query: String = long.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let page = blog.get(&format!("/?q={query}x"), &[]).await.body;
    assert!(
        page.contains(&format!("No article has “{long}”.")),
        "{page}"
    );
}

#[tokio::test]
async fn a_year_of_sample_data_is_shown() {
    let blog = Blog::new();
    let conn = &mut blog.pool.get().unwrap();
    assert_eq!(sample::fill(conn), Ok(true));
    assert_eq!(sample::fill(conn), Ok(false));
    assert_eq!(articles::table.count().get_result(conn), Ok(20_i64));

    for path in ["/", "/stats", "/?sort=today", "/articles/the-viral-day"] {
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
    let year = Period::Month.start(today() - Months::new(11));
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
    }
    let page = blog.get("/stats", &[]).await.body;
    let views = page.split("data-label=\"Views\">").skip(1);
    let views: Vec<_> = views
        .map(|views| views.split('<').next().unwrap())
        .collect();
    assert_eq!(views, ["1", "21", "321", "4,321", "54,321"]);
}

#[tokio::test]
async fn counts_of_any_size_have_a_chart() {
    let blog = Blog::new();
    let conn = &mut blog.pool.get().unwrap();
    let article = blog.article("Title");
    for (add, top) in [
        (1, "2"),
        (2, "4"),
        (8, "20"),
        (500, "600"),
        (i64::MAX - 511, "9,000,000,000,000,000,000"),
    ] {
        let views = increment(article_counters::views).of(article.id);
        views.by(add).execute(conn).unwrap();
        let page = blog.get(PATH, &[]).await.body;
        let axis = format!("<div class=\"axis\"><span>{top}</span>");
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
        (get("/articles"), StatusCode::METHOD_NOT_ALLOWED),
        (get("/?sort=nothing"), StatusCode::BAD_REQUEST),
        (get("/?page=-1"), StatusCode::BAD_REQUEST),
        (get("/live"), StatusCode::BAD_REQUEST),
        (
            (Method::POST, "/articles", "title=Title"),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (
            (Method::POST, PATH, "action=nothing"),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        ((Method::POST, PATH, "action=merge"), StatusCode::FORBIDDEN),
        ((Method::PUT, PATH, ""), StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let answer = blog.request(method, path, &[], form).await;
        assert_eq!(answer.status, status, "{path} {form}");
        assert!(answer.body.contains("Back to the articles"), "{path}");
        let html = &answer.headers[header::CONTENT_TYPE];
        assert_eq!(html, "text/html; charset=utf-8");
    }
    for path in ["/style.css", "/live.js", "/favicon.svg"] {
        assert_eq!(blog.get(path, &[]).await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_blog_without_a_free_connection_is_busy() {
    let blog = Blog::new();
    let taken: Vec<_> = (0..blog.pool.max_size())
        .map(|_| blog.pool.get().unwrap())
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
        comments.spawn(async move { blog.post(PATH, &[], "action=comment&body=Hello").await });
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
