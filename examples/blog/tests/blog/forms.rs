//! What forms refuse, and where they say so.

use axum::http::{StatusCode, header};
use blog::schema::{articles, comments};
use diesel::prelude::*;

use crate::support::{Blog, PATH};

#[tokio::test]
async fn an_article_is_published_and_shown() {
    let blog = Blog::new();
    for (form, path, shown) in [
        (
            "title=Hello%2C+World!&body=One%0D%0ATwo",
            "/articles/hello-world",
            ["<h1>Hello, World!</h1>", "One\nTwo"],
        ),
        (
            "title=New&body=Text",
            "/articles/new",
            ["<h1>New</h1>", "Text"],
        ),
    ] {
        let answer = blog.post("/articles", &[], form).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        assert_eq!(answer.headers[header::LOCATION], path);
        let page = blog.get(path, &[]).await.body;
        assert!(shown.iter().all(|text| page.contains(text)), "{page}");
    }
}

#[tokio::test]
async fn a_wrong_field_is_said_at_the_field_and_keeps_what_was_typed() {
    let blog = Blog::new();
    blog.article("Title");
    let long = format!("title={}&body=Text", "x".repeat(201));
    for (form, wrong) in [
        ("title=&body=Text", "Write something here."),
        ("title=!!&body=Text", "A title needs a letter or a digit."),
        (
            "title=a%00b&body=Text",
            "This has characters that cannot be shown.",
        ),
        (
            "title=a%0Ab&body=Text",
            "This has characters that cannot be shown.",
        ),
        ("title=TITLE&body=Text", "Another article has this title."),
        (&long, "This is longer than 200 characters."),
    ] {
        let answer = blog.post("/articles", &[], form).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{form}");
        let wrong = format!("id=\"title-wrong\">{wrong}<");
        assert!(answer.body.contains(&wrong), "{form}: {}", answer.body);
        assert!(answer.body.contains(">Text</textarea>"), "{form}");
    }
    let form = "action=comment&author=Ann&body=+";
    let answer = blog.post(PATH, &[], form).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    for text in ["id=\"body-wrong\">Write something here.<", "value=\"Ann\""] {
        assert!(answer.body.contains(text), "{}", answer.body);
    }

    let conn = &mut blog.pool.get().unwrap();
    assert_eq!(articles::table.count().get_result(conn), Ok(1_i64));
    assert_eq!(comments::table.count().get_result(conn), Ok(0_i64));
}

#[tokio::test]
async fn an_invisible_title_is_refused() {
    let blog = Blog::new();
    for title in [
        "\u{3164}",
        "\u{115f}",
        "\u{1160}",
        "\u{ffa0}",
        "\u{200b}",
        "\u{2800}",
        "\u{ad}",
        "\u{34f}",
        "\u{fe0f}",
        "\u{202e}",
        "\u{3164} \u{200d}\u{ffa0}",
    ] {
        let title: String = title.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let form = format!("title={title}&body=Text");
        let answer = blog.post("/articles", &[], &form).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{title}");
        assert!(answer.body.contains("Write something here."), "{title}");
    }
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
        let form = "action=comment&body=Hello";
        let answer = blog.post(PATH, headers, form).await;
        assert_eq!(answer.status, status, "{headers:?}");
    }
    assert_eq!(blog.counts(&article).comments, 2);
}

#[tokio::test]
async fn what_is_typed_is_shown_as_text() {
    let blog = Blog::new();
    blog.post("/articles", &[], "title=%3Cb%3E1%26&body=%3Cscript%3E")
        .await;
    let comment = "action=comment&author=%22&body=%3Ci%3E";
    blog.post("/articles/b-1", &[], comment).await;
    let page = blog.get("/articles/b-1", &[]).await.body;
    assert!(page.contains("&#60;i&#62;"), "{page}");
    assert!(!page.contains("<b>1") && !page.contains("<script>") && !page.contains("<i>"));
}
