//! What forms refuse.

use axum::http::{StatusCode, header};
use blog::schema::comments;
use diesel::prelude::*;

use crate::support::{Blog, PATH};

#[tokio::test]
async fn a_comment_without_text_or_too_long_is_refused() {
    let blog = Blog::new();
    let article = blog.article("Title");
    let long = format!("author=Ann&body={}", "x".repeat(20_001));
    let name = format!("author={}&body=Hello", "x".repeat(401));
    for form in [
        "author=&body=",
        "author=Ann&body=+%0D%0A%00",
        "author=Ann&body=%00+%00",
        &long,
        &name,
    ] {
        let form = format!("action=comment&{form}");
        let answer = blog.post(PATH, &[], &form).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{form}");
        let why =
            "A comment has 1 to 4,000 characters, and a name has up to 80. Nothing was stored.";
        assert!(answer.body.contains(why), "{form}");
    }
    let conn = &mut blog.pool.get().unwrap();
    assert_eq!(comments::table.count().get_result(conn), Ok(0_i64));
    assert_eq!(blog.counts(&article).comments, 0);
}

#[tokio::test]
async fn a_form_of_another_site_is_refused() {
    let blog = Blog::new();
    let article = blog.article("Title");
    for (headers, status) in [
        (
            &[("sec-fetch-site", "cross-site")][..],
            StatusCode::FORBIDDEN,
        ),
        (
            &[("origin", "https://evil.example"), ("host", "blog.example")],
            StatusCode::FORBIDDEN,
        ),
        (&[("sec-fetch-site", "same-origin")], StatusCode::SEE_OTHER),
        (
            &[("origin", "https://blog.example"), ("host", "blog.example")],
            StatusCode::SEE_OTHER,
        ),
    ] {
        let form = "action=comment&author=&body=Hello";
        let answer = blog.post(PATH, headers, form).await;
        assert_eq!(answer.status, status, "{headers:?}");
    }
    assert_eq!(blog.counts(&article).comments, 2);
}

#[tokio::test]
async fn what_is_typed_is_shown_as_text() {
    let blog = Blog::new();
    blog.article("<b>1&<script>");
    let path = "/articles/%3Cb%3E1&%3Cscript%3E";
    let comment = "action=comment&author=%22&body=%3Ci%3E";
    let answer = blog.post(path, &[], comment).await;
    assert_eq!(answer.headers[header::LOCATION], path);
    for path in [path, "/"] {
        let page = blog.get(path, &[]).await.body;
        assert!(page.contains("&#60;b&#62;1&#38;&#60;script&#62;"), "{page}");
        assert_eq!(page.contains("&#60;i&#62;"), path != "/");
        assert!(!page.contains("<b>1&") && !page.contains("<script>") && !page.contains("<i>"));
    }
    let front = blog.get("/", &[]).await.body;
    assert!(
        front.contains("href=\"/articles/%3Cb%3E1%26%3Cscript%3E\""),
        "{front}"
    );
}
