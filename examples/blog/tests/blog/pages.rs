use std::sync::Arc;

use axum::http::{Method, StatusCode, header};
use blog::db::Database;
use blog::models::{Article, Counts};
use blog::schema::comments;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use tokio::task::JoinSet;

use crate::database::{PATIENCE, number_of_articles};
use crate::visit::{Blog, visitor};

#[tokio::test]
async fn a_view_is_counted_for_each_get_and_for_no_head() {
    let blog = Blog::new();
    let id = blog.article("Title");
    let path = format!("/articles/{id}");

    blog.get(&path).await;
    let page = blog.get(&path).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.shows_counts(2, 0, 0));

    let head = blog.request(Method::HEAD, &path, None, "").await;
    assert_eq!((head.status, head.body.as_str()), (StatusCode::OK, ""));
    assert_eq!(blog.counts(id).views, 2);
}

#[tokio::test]
async fn a_comment_is_shown_and_counted() {
    let blog = Blog::new();
    let id = blog.article("Title");

    let path = format!("/articles/{id}/comments");
    let answer = blog
        .post(&path, "author=Ann&body=First%21%0D%0ASecond.")
        .await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(answer.location(), format!("/articles/{id}#comments"));

    let page = blog.get(&format!("/articles/{id}")).await;
    assert!(page.body.contains("<b>Ann</b>"));
    assert!(page.body.contains("First!\nSecond."));
    assert!(page.shows_counts(1, 0, 1));
}

#[tokio::test]
async fn a_comment_that_cannot_be_counted_is_not_kept() {
    let blog = Blog::new();
    let id = blog.article("Title");
    let mut conn = blog.pool.get().unwrap();
    // A view of the triggers reads it, which PostgreSQL would not drop.
    let rename = "ALTER TABLE article_counters RENAME TO article_counters_old";
    conn.batch_execute(rename).unwrap();

    let answer = blog
        .post(&format!("/articles/{id}/comments"), "body=Hello")
        .await;

    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(answer.body.contains("<h1>Internal Server Error</h1>"));
    assert!(!answer.body.contains("article_counters"));
    let kept: i64 = comments::table.count().get_result(&mut *conn).unwrap();
    assert_eq!(kept, 0);
}

#[tokio::test]
async fn a_new_article_is_on_the_list() {
    let blog = Blog::new();
    assert!(
        blog.get("/")
            .await
            .body
            .contains("There are no articles yet.")
    );
    assert!(blog.get("/articles/new").await.body.contains("<form"));

    let answer = blog
        .post("/articles", "title=Hello%2C+World%21&body=Some+text")
        .await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);

    let article = blog.get(answer.location()).await;
    assert!(article.body.contains("<h1>Hello, World!</h1>"));
    assert!(article.body.contains("Some text"));
    let list = blog.get("/").await;
    assert!(list.body.contains(&format!(
        "<a href=\"{}\">Hello, World!</a>",
        answer.location()
    )));
    assert!(list.body.contains("/blog/hello-world"));
}

#[tokio::test]
async fn an_article_of_the_maximum_length_is_shown() {
    let blog = Blog::new();
    // A character of 4 bytes, each of which takes 3 in the form.
    let encoded = "%F0%9F%A6%80";
    let (title, body) = (encoded.repeat(200), encoded.repeat(20_000));
    let answer = blog
        .post("/articles", &format!("title={title}&body={body}"))
        .await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);

    let article = blog.get(answer.location()).await;
    assert!(article.body.contains(&"\u{1f980}".repeat(20_000)));
}

#[tokio::test]
async fn articles_of_one_title_are_different_articles() {
    let blog = Blog::new();
    let form = "title=Title&body=Text";
    let first = blog.post("/articles", form).await;
    let second = blog.post("/articles", form).await;

    assert_ne!(first.location(), second.location());
    let second = blog.get(second.location()).await;
    assert!(second.body.contains("/blog/title-2"));
}

#[tokio::test]
async fn articles_published_at_the_same_time_are_all_there() {
    let blog = Arc::new(Blog::new());
    let mut authors = JoinSet::new();
    for number in 1..=40 {
        let blog = Arc::clone(&blog);
        let form = format!("title=Article+{number}&body=Text");
        authors.spawn(async move { blog.post("/articles", &form).await.status });
    }
    let statuses = authors.join_all().await;
    assert_eq!(statuses, [StatusCode::SEE_OTHER; 40]);
    assert_eq!(number_of_articles(&mut blog.pool.get().unwrap()), 40);
}

#[tokio::test]
async fn an_article_shows_its_hundred_latest_comments() {
    let blog = Blog::new();
    let id = blog.article("Title");
    let mut conn = blog.pool.get().unwrap();
    let article = Article::find(id, &mut conn).unwrap();
    for number in 1..=101 {
        article
            .comment("Ann", &format!("Comment {number}."), &mut conn)
            .unwrap();
    }

    let page = blog.get(&format!("/articles/{id}")).await.body;
    let latest = page.find("Comment 101.").unwrap();
    assert!(latest < page.find("Comment 2.").unwrap());
    assert!(!page.contains("Comment 1."));
    assert!(page.contains("the latest 100 of 101"));
}

#[tokio::test]
async fn what_visitors_write_is_escaped() {
    let blog = Blog::new();
    let script = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let form = format!("title={script}&body={script}");
    let article = blog.post("/articles", &form).await.location().to_owned();
    let form = format!("author={script}&body={script}");
    blog.post(&format!("{article}/comments"), &form).await;

    let page = blog.get(&article).await.body;
    assert!(!page.contains("<script"));
    // In the title, the heading, the text, and the comment's author and text.
    assert_eq!(page.matches("&#60;script&#62;alert(1)").count(), 5);
    assert!(!blog.get("/").await.body.contains("<script"));
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let blog = Blog::new();
    for path in [
        "/nothing",
        "/articles/1",
        "/articles/one",
        "/articles/9223372036854775808",
        "/?page=2",
        "/?page=0",
        "/?sort=most-read&page=2",
    ] {
        let page = blog.get(path).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        assert!(page.body.contains("<h1>Not Found</h1>") && page.body.contains("Counting blog"));
    }
    for path in ["/articles/1/comments", "/articles/1/likes"] {
        let visitor = visitor(1);
        let page = blog
            .request(Method::POST, path, Some(&visitor), "body=Hello")
            .await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn bad_input_is_refused_with_the_reason() {
    let blog = Blog::new();
    let id = blog.article("Title");
    let comments = format!("/articles/{id}/comments");
    let (title, comment) = ("x".repeat(201), "x".repeat(4_001));
    for (path, form, reason) in [
        ("/articles", "title=+&body=Text", "The title is empty."),
        ("/articles", "title=Title&body=", "The text is empty."),
        (
            "/articles",
            "title=Two%0Alines&body=Text",
            "The title has more than one line.",
        ),
        (
            "/articles",
            "title=Title&body=%00",
            "The text has characters that cannot be shown.",
        ),
        ("/articles", "title=Title", "missing field `body`"),
        (
            "/articles",
            &format!("title={title}&body=Text"),
            "The title is longer than 200 characters.",
        ),
        (&comments, "body=", "The comment is empty."),
        (
            &comments,
            &format!("body={comment}"),
            "The comment is longer than 4000 characters.",
        ),
        (&comments, "%", "missing field `body`"),
    ] {
        let page = blog.post(path, form).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{reason}");
        assert!(page.body.contains(reason), "{reason}");
        assert!(page.body.contains("Counting blog"));
    }
    for (path, reason) in [
        ("/?page=x", "page: invalid digit"),
        (
            "/?sort=oldest",
            "Unknown order of the list. Use one of: newest, most-read, most-read-this-week.",
        ),
        ("/?sort=", "Unknown order of the list"),
    ] {
        let page = blog.get(path).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{path}");
        assert!(page.body.contains(reason) && page.body.contains("Counting blog"));
    }
    assert_eq!(blog.counts(id).comments, 0);
}

#[tokio::test]
async fn longer_forms_than_256_kib_are_refused() {
    let blog = Blog::new();
    let id = blog.article("Title");
    for path in ["/articles".to_owned(), format!("/articles/{id}/comments")] {
        let page = blog
            .post(&path, &format!("title=x&body={}", "x".repeat(262_144)))
            .await;
        assert_eq!(page.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(page.body.contains("256 KiB"));
    }
}

#[tokio::test]
async fn nothing_changes_but_by_post() {
    let blog = Blog::new();
    let id = blog.article("Title");
    for path in [
        "/articles".to_owned(),
        format!("/articles/{id}/likes"),
        format!("/articles/{id}/likes/delete"),
        format!("/articles/{id}/comments"),
    ] {
        let page = blog.get(&path).await;
        assert_eq!(page.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
        assert!(page.body.contains("Counting blog"));
    }
    assert_eq!(
        blog.counts(id),
        Counts {
            views: 0,
            likes: 0,
            comments: 0
        }
    );
}

#[tokio::test]
async fn without_a_free_connection_a_visitor_is_asked_to_come_back() {
    let blog = Blog::with_pool(Database::readers);
    let held: Vec<_> = (0..blog.pool.max_size())
        .map(|_| blog.pool.get_timeout(PATIENCE).unwrap())
        .collect();

    let page = blog.get("/").await;
    assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(page.headers[header::RETRY_AFTER], "5");
    assert!(page.body.contains("Counting blog"));

    drop(held);
    assert_eq!(blog.get("/").await.status, StatusCode::OK);
}

#[tokio::test]
async fn every_answer_forbids_foreign_content() {
    let blog = Blog::new();
    for path in ["/", "/style.css", "/nothing"] {
        let headers = blog.get(path).await.headers;
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'self'"));
        assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    }
}
