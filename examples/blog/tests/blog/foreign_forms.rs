//! Forms that another site's page sends.

use axum::http::StatusCode;

use crate::database::number_of_articles;
use crate::visit::{Blog, visitor};

const HOST: (&str, &str) = ("Host", "blog.example");

/// What a browser sends with a form of another site.
const FOREIGN: [&[(&str, &str)]; 6] = [
    &[
        HOST,
        ("Origin", "https://evil.example"),
        ("Sec-Fetch-Site", "cross-site"),
    ],
    &[HOST, ("Sec-Fetch-Site", "cross-site")],
    // Another port or subdomain.
    &[HOST, ("Sec-Fetch-Site", "same-site")],
    // Without TLS, a browser does not send `Sec-Fetch-Site`.
    &[HOST, ("Origin", "http://evil.example")],
    &[HOST, ("Origin", "http://blog.example:8080")],
    // The page hides where it is from.
    &[HOST, ("Origin", "null")],
];

#[tokio::test]
async fn forms_of_another_site_are_refused_and_nothing_is_stored() {
    let blog = Blog::new();
    let id = blog.article("Title");
    let article = format!("/articles/{id}");
    blog.add_likes(id, 1);
    let cookie = format!("visitor={}", visitor(0));
    for headers in FOREIGN {
        for path in [
            "/articles".to_owned(),
            format!("{article}/comments"),
            format!("{article}/likes"),
            format!("{article}/likes/delete"),
        ] {
            let headers = [headers, &[("Cookie", &cookie)]].concat();
            let page = blog
                .post_with(&headers, &path, "title=Title&body=Text")
                .await;
            assert_eq!(page.status, StatusCode::FORBIDDEN, "{headers:?} {path}");
            assert!(page.body.contains("Counting blog"));
            assert!(page.body.contains("Open the page on this site"));
            assert!(page.headers.contains_key("content-security-policy"));
        }
    }
    let counts = blog.counts(id);
    assert_eq!((counts.likes, counts.comments), (1, 0));
    assert_eq!(number_of_articles(&mut blog.pool.get().unwrap()), 1);
}

#[tokio::test]
async fn forms_of_the_blog_itself_are_stored() {
    let blog = Blog::new();
    let path = format!("/articles/{}/comments", blog.article("Title"));
    for headers in [
        &[
            HOST,
            ("Origin", "https://blog.example"),
            ("Sec-Fetch-Site", "same-origin"),
        ][..],
        // Without TLS.
        &[HOST, ("Origin", "http://blog.example")],
        // Behind a proxy that does not forward `Host`.
        &[
            ("Host", "127.0.0.1:3000"),
            ("Origin", "https://blog.example"),
            ("Sec-Fetch-Site", "same-origin"),
        ],
        // Not a browser.
        &[HOST],
        &[],
    ] {
        let answer = blog.post_with(headers, &path, "body=Hello").await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{headers:?}");
    }
}

/// Anybody can send `X-Forwarded-Host`. A proxy has to forward `Host` itself.
#[tokio::test]
async fn only_host_says_which_site_it_is() {
    let blog = Blog::new();
    let path = format!("/articles/{}/comments", blog.article("Title"));
    let headers = [
        ("Host", "127.0.0.1:3000"),
        ("X-Forwarded-Host", "blog.example"),
        ("Origin", "http://blog.example"),
    ];
    let answer = blog.post_with(&headers, &path, "body=Hello").await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn links_of_another_site_open_pages() {
    let blog = Blog::new();
    let article = format!("/articles/{}", blog.article("Title"));
    for path in ["/", &article] {
        assert_eq!(blog.get_with(FOREIGN[0], path).await.status, StatusCode::OK);
    }
}
