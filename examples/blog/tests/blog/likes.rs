use std::fs;
use std::path::Path;
use std::sync::Arc;

use axum::http::{StatusCode, header};
use blog::db::AnyConnection;
use blog::models::Article;
use blog::schema::{article_counters, article_likes, articles};
use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use tokio::task::JoinSet;

use crate::database::TestDatabase;
use crate::visit::{Blog, visitor};

#[tokio::test]
async fn a_visitor_likes_an_article_once_and_can_take_it_back() {
    let blog = Blog::new();
    let id = blog.article("Title");
    let article = format!("/articles/{id}");
    let (like, unlike) = (
        format!("{article}/likes"),
        format!("{article}/likes/delete"),
    );
    let [ann, bob] = [1, 2].map(visitor);

    for (visitor, path, likes, ann_likes_it) in [
        (&ann, &unlike, 0, false),
        (&ann, &like, 1, true),
        (&ann, &like, 1, true),
        (&bob, &like, 2, true),
        (&ann, &unlike, 1, false),
        (&ann, &unlike, 1, false),
        (&ann, &like, 2, true),
    ] {
        let answer = blog.post_as(visitor, path).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        assert_eq!(answer.location(), article);
        assert_eq!(blog.counts(id).likes, likes);

        let page = blog.get_as(&ann, &article).await.body;
        let button = |path| page.contains(&format!("action=\"{path}\""));
        assert_eq!(
            (button(&like), button(&unlike)),
            (!ann_likes_it, ann_likes_it)
        );
    }
}

/// Sends the requests of these visitors at the same time.
async fn post_at_once(blog: &Arc<Blog>, requests: impl Iterator<Item = (i64, String)>) {
    let mut visitors = JoinSet::new();
    for (number, path) in requests {
        let blog = Arc::clone(blog);
        visitors.spawn(async move { blog.post_as(&visitor(number), &path).await.status });
    }
    for status in visitors.join_all().await {
        assert_eq!(status, StatusCode::SEE_OTHER);
    }
}

#[tokio::test]
async fn a_like_sent_a_hundred_times_at_once_counts_one() {
    let blog = Arc::new(Blog::with_connections(10));
    let id = blog.article("Title");
    let like = format!("/articles/{id}/likes");
    post_at_once(&blog, (0..100).map(|_| (1, like.clone()))).await;
    assert_eq!(blog.counts(id).likes, 1);
    post_at_once(&blog, (0..100).map(|_| (1, format!("{like}/delete")))).await;
    assert_eq!(blog.counts(id).likes, 0);
}

#[tokio::test]
async fn likes_of_visitors_at_the_same_time_are_all_counted() {
    let blog = Arc::new(Blog::with_connections(10));
    let id = blog.article("Title");
    let like = format!("/articles/{id}/likes");
    post_at_once(&blog, (0..60).map(|visitor| (visitor, like.clone()))).await;
    assert_eq!(blog.counts(id).likes, 60);
}

#[tokio::test]
async fn likes_and_unlikes_at_the_same_time_count_what_is_left() {
    let blog = Arc::new(Blog::with_connections(10));
    let id = blog.article("Title");
    let like = format!("/articles/{id}/likes");
    let requests = (0..300).map(|number| match number % 2 {
        0 => (number / 2 % 5, like.clone()),
        _ => (number / 3 % 5, format!("{like}/delete")),
    });
    post_at_once(&blog, requests).await;

    let rows = article_likes::table.count();
    let rows = rows.get_result(&mut blog.pool.get().unwrap());
    assert_eq!(rows, Ok(blog.counts(id).likes));
}

#[tokio::test]
async fn an_article_is_deleted_with_its_likes() {
    let blog = Blog::new();
    let [gone, stays] = ["Gone", "Stays"].map(|title| blog.article(title));
    blog.add_likes(gone, 3);
    blog.add_likes(stays, 2);

    let conn = &mut blog.pool.get().unwrap();
    let deleted = diesel::delete(articles::table.find(gone)).execute(conn);
    assert_eq!(deleted, Ok(1));
    assert_eq!(article_likes::table.count().get_result(conn), Ok(2_i64));
    assert_eq!(blog.counts(stays).likes, 2);
}

#[tokio::test]
async fn a_visitor_gets_one_cookie() {
    let blog = Blog::new();
    let article = format!("/articles/{}", blog.article("Title"));
    let first = blog.get(&article).await;
    let cookie = first.headers[header::SET_COOKIE].to_str().unwrap();
    let (id, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(
        attributes,
        "Max-Age=31536000; Path=/; HttpOnly; SameSite=Lax"
    );
    let id = id.strip_prefix("visitor=").unwrap();

    let again = blog.get_as(id, &article).await;
    assert!(!again.headers.contains_key(header::SET_COOKIE));
    // A cookie that the blog did not make.
    for cookie in ["", "anonymous-1"] {
        let answer = blog.get_as(cookie, &article).await;
        assert_ne!(
            answer.headers[header::SET_COOKIE],
            first.headers[header::SET_COOKIE]
        );
    }
}

#[tokio::test]
async fn a_like_without_a_cookie_is_refused() {
    let blog = Blog::new();
    let id = blog.article("Title");
    let answer = blog.post(&format!("/articles/{id}/likes"), "").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(answer.body.contains("A like requires a cookie."));
    assert!(!answer.headers.contains_key(header::SET_COOKIE));
    assert_eq!(blog.counts(id).likes, 0);
}

/// Goes back to the tables of a blog that counted likes without a row for each.
fn undo_likes(database: &TestDatabase, conn: &mut AnyConnection) {
    let kind = match database.url.split_once("://") {
        Some((scheme, _)) => scheme,
        None => "sqlite",
    };
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    for name in [
        "2026-11-22-080100_count_article_likes",
        "2026-11-22-080000_create_article_likes",
    ] {
        let down = migrations.join(kind).join(name).join("down.sql");
        conn.batch_execute(&fs::read_to_string(down).unwrap())
            .unwrap();
        let version: String = name.chars().filter(char::is_ascii_digit).collect();
        conn.batch_execute(&format!(
            "DELETE FROM __diesel_schema_migrations WHERE version = '{version}'"
        ))
        .unwrap();
    }
}

#[test]
fn likes_that_were_counted_without_rows_stay() {
    let database = TestDatabase::new();
    let conn = &mut database.connection();
    undo_likes(&database, conn);
    let [many, none] = ["Many", "None"].map(|title| Article::publish(title, "", conn).unwrap());
    for (day, slot, likes) in [(1, 0, 2_000), (1, 7, 30), (2, 7, 4)] {
        diesel::insert_into(article_counters::table)
            .values((
                article_counters::article_id.eq(many),
                article_counters::day.eq(NaiveDate::from_ymd_opt(2026, 3, day).unwrap()),
                article_counters::slot.eq(slot),
                article_counters::likes.eq(likes),
            ))
            .execute(conn)
            .unwrap();
    }

    let conn = &mut database.connection();
    for (article, likes) in [(many, 2_034), (none, 0)] {
        let article = Article::find(article, conn).unwrap();
        assert_eq!(article.counts(conn).unwrap().likes, likes);
        let rows = article_likes::table.filter(article_likes::article_id.eq(article.id));
        assert_eq!(rows.count().get_result(conn), Ok(likes));
    }
}
