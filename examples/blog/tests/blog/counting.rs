//! Views, likes and comments are each counted once.

use std::sync::Arc;

use axum::http::{Method, StatusCode, header};
use blog::article::Article;
use blog::schema::{article_counters, comments};
use chrono::Days;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_counters::dsl::recount;
use diesel_counters::prelude::*;
use diesel_counters::{Drift, Slot};
use tokio::task::JoinSet;

use crate::support::{BROWSER, Blog, PATH, today};

#[tokio::test]
async fn a_reader_counts_once_an_hour() {
    let blog = Blog::new();
    let article = blog.article("Title");
    for (agent, views) in [
        (BROWSER, 1),
        (BROWSER, 1),
        ("Mozilla/5.0 (Macintosh) Safari/605.1.15", 2),
    ] {
        let page = blog.get(PATH, &[("user-agent", agent)]).await.body;
        // Each page shows its own view.
        assert!(page.contains(&format!("views\">{views}</dd>")), "{page}");
    }
    assert_eq!(blog.counts(&article).views, 2);
}

#[tokio::test]
async fn what_nobody_reads_is_no_view() {
    let blog = Blog::new();
    let article = blog.article("Title");
    let reader = ("user-agent", BROWSER);
    let crawler = "Googlebot/2.1 (+http://www.google.com/bot.html)";
    let page = "https://blog.example/articles/title";
    for headers in [
        &[][..],
        &[("user-agent", crawler)],
        &[reader, ("sec-purpose", "prefetch;prerender")],
        &[reader, ("purpose", "prefetch")],
        // A form leads back to its page.
        &[reader, ("host", "blog.example"), ("referer", page)],
    ] {
        assert_eq!(blog.get(PATH, headers).await.status, StatusCode::OK);
    }
    blog.request(Method::HEAD, PATH, &[reader], "").await;
    blog.post(PATH, &[reader], "action=comment&body=Hello")
        .await;
    assert_eq!(blog.counts(&article).views, 0);

    let list = ("referer", "https://blog.example/");
    blog.get(PATH, &[reader, list]).await;
    assert_eq!(blog.counts(&article).views, 1);
}

async fn is_counted(blog: &Blog, article: &Article, agent: &str) -> bool {
    let before = blog.counts(article).views;
    blog.get(PATH, &[("user-agent", agent)]).await;
    blog.counts(article).views > before
}

#[tokio::test]
async fn a_program_is_no_reader() {
    let blog = Blog::new();
    let article = blog.article("Title");
    let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)";
    let mut counted = Vec::new();
    for agent in [
        "curl/8.5.0",
        "Wget/1.21.4",
        "python-requests/2.31.0",
        "python-httpx/0.27.0",
        "Go-http-client/2.0",
        "okhttp/4.12.0",
        "axios/1.6.0",
        "node",
        "undici",
        "reqwest/0.12.4",
        "Ruby",
        "HTTPie/3.2.2",
        "insomnia/8.4.0",
        "Dart/3.2 (dart:io)",
        "libcurl-agent/1.0",
        "WhatsApp/2.23.20.0",
        "TelegramBot (like TwitterBot)",
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
        &format!("{chrome} Chrome/141.0.0.0 Safari/537.36 (compatible; GoogleOther)"),
        &format!("{chrome} HeadlessChrome/141.0.0.0 Safari/537.36"),
        &format!("{chrome} Chrome/141.0.0.0 Safari/537.36 Chrome-Lighthouse"),
        &format!("{chrome} Chrome/141.0.0.0 Safari/537.36 Playwright/1.55"),
    ] {
        if is_counted(&blog, &article, agent).await {
            counted.push(agent.to_owned());
        }
    }
    assert_eq!(counted, [""; 0]);
    for agent in [
        BROWSER,
        &format!("{chrome} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0"),
        "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like \
         Gecko) Version/26.0 Mobile/15E148 Safari/604.1",
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) \
         SamsungBrowser/29.0 Chrome/136.0.0.0 Mobile Safari/537.36",
    ] {
        assert!(is_counted(&blog, &article, agent).await, "{agent}");
    }
}

#[tokio::test]
async fn a_proxy_on_this_machine_says_who_reads() {
    let blog = Blog::new();
    let article = blog.article("Title");
    for (peer, forwarded, views) in [
        ("127.0.0.1:1", "198.51.100.1", 1),
        ("127.0.0.1:2", "198.51.100.2", 2),
        // A reader can invent all addresses but the last one.
        ("127.0.0.1:3", "198.51.100.3, 198.51.100.2", 2),
        ("[::ffff:127.0.0.1]:4", "198.51.100.4", 3),
        // No proxy of this machine.
        ("203.0.113.7:5", "198.51.100.5", 4),
        ("203.0.113.7:6", "198.51.100.6", 4),
    ] {
        let headers = [("user-agent", BROWSER), ("x-forwarded-for", forwarded)];
        blog.from(peer, Method::GET, PATH, &headers, "").await;
        assert_eq!(blog.counts(&article).views, views, "{peer} {forwarded}");
    }
}

#[tokio::test]
async fn a_visitor_likes_an_article_once_and_can_take_it_back() {
    let blog = Blog::new();
    let article = blog.article("Title");
    let [ann, bob] = [blog.visitor(&article).await, blog.visitor(&article).await];
    for (visitor, like, likes) in [
        (&ann, "unlike", 0),
        (&ann, "like", 1),
        (&ann, "like", 1),
        (&bob, "like", 2),
        (&ann, "unlike", 1),
        (&ann, "unlike", 1),
        (&ann, "like", 2),
    ] {
        let cookie = [("cookie", &**visitor)];
        let answer = blog.post(PATH, &cookie, &format!("action={like}")).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        assert_eq!(answer.headers[header::LOCATION], "#like");
        assert_eq!(blog.counts(&article).likes, likes);
    }
}

#[tokio::test]
async fn an_invented_cookie_is_no_visitor() {
    let blog = Blog::new();
    let article = blog.article("Title");
    let cookie = blog.visitor(&article).await;
    let (signature, _) = cookie.split_at(cookie.len() - 32);
    for cookie in [
        "",
        "visitor=00000000000000000000000000000001",
        &format!("{signature}{:032x}", 1),
    ] {
        let answer = blog.post(PATH, &[("cookie", cookie)], "action=like").await;
        assert!(answer.status.is_client_error());
        assert!(answer.body.contains("A like needs a cookie"));
    }
    assert_eq!(blog.counts(&article).likes, 0);
    // No other request is said to need one.
    let answer = blog.get("/?page=abc", &[]).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(!answer.body.contains("cookie"), "{}", answer.body);
}

#[tokio::test]
async fn likes_and_comments_at_the_same_time_are_all_counted() {
    let blog = Arc::new(Blog::new());
    let article = blog.article("Title");
    let mut visitors = JoinSet::new();
    for _ in 0..30 {
        let cookie = blog.visitor(&article).await;
        let blog = Arc::clone(&blog);
        visitors.spawn(async move {
            let cookie = [("cookie", &*cookie)];
            for form in ["action=like", "action=like", "action=comment&body=Hello"] {
                // On a slow machine, the blog is busy, and has stored nothing.
                while let answer = blog.post(PATH, &cookie, form).await
                    && answer.status != StatusCode::SEE_OTHER
                {
                    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
                }
            }
        });
    }
    visitors.join_all().await;
    let counts = blog.counts(&article);
    assert_eq!((counts.likes, counts.comments), (30, 30));
}

#[tokio::test]
async fn a_merge_changes_rows_and_no_count() {
    let blog = Blog::with_password(Some("secret"));
    let article = blog.article("Title");
    let conn = &mut blog.pool.get().unwrap();
    for ago in 0..200 {
        let slot = Slot::Random;
        let view = increment(article_counters::views).of(article.id).slot(slot);
        view.on(today() - Days::new(ago)).execute(conn).unwrap();
    }
    let rows = |conn: &mut _| {
        let rows = article_counters::table.count();
        rows.get_result::<i64>(conn).unwrap()
    };
    assert_eq!(rows(conn), 200);

    // admin:secret
    let password = [("authorization", "Basic YWRtaW46c2VjcmV0")];
    let answer = blog.post(PATH, &password, "action=merge").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);

    // The month that begins before 90 days ago stays too.
    assert!((90..=127).contains(&rows(conn)), "{}", rows(conn));
    assert_eq!(blog.counts(&article).views, 200);
    let page = blog.get(PATH, &password).await.body;
    assert!(page.contains("rows merged, 0 left"), "{page}");
}

#[tokio::test]
async fn with_a_password_everybody_sees_the_button_and_a_click_asks_for_it() {
    let blog = Blog::with_password(Some("secret"));
    blog.article("Title");
    let page = blog.get(PATH, &[]).await.body;
    assert!(page.contains("Merge old rows"), "{page}");
    // admin:secrets
    let wrong = [("authorization", "Basic YWRtaW46c2VjcmV0cw==")];
    for headers in [&[][..], &wrong] {
        let answer = blog.post(PATH, headers, "action=merge").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        let challenge = &answer.headers[header::WWW_AUTHENTICATE];
        assert_eq!(challenge, "Basic realm=\"blog\"");
    }
}

#[tokio::test]
async fn without_a_password_only_clients_on_this_machine_may_merge() {
    let blog = Blog::new();
    blog.article("Title");
    let proxied = [("host", "localhost"), ("x-forwarded-for", "127.0.0.1")];
    let here = ("host", "localhost:3000");
    for (peer, headers, may) in [
        ("127.0.0.1:1", &[here][..], true),
        ("[::1]:1", &[("host", "[::1]:3000")], true),
        ("[::ffff:127.0.0.1]:1", &[("host", "127.0.0.1")], true),
        // A site whose name leads to this machine: the browser takes its pages and these for one site.
        ("127.0.0.1:1", &[("host", "evil.test")], false),
        (
            "127.0.0.1:1",
            &[("host", "localhost.evil.test:3000")],
            false,
        ),
        ("127.0.0.1:1", &[("host", "127.0.0.1.evil.test")], false),
        ("127.0.0.1:1", &[], false),
        ("203.0.113.7:1", &[here], false),
        ("203.0.113.7:1", &proxied, false),
        ("127.0.0.1:1", &proxied, false),
        (
            "127.0.0.1:1",
            &[here, ("x-forwarded-for", "ÿ, 127.0.0.1")],
            false,
        ),
    ] {
        let page = blog.from(peer, Method::GET, PATH, headers, "").await.body;
        assert_eq!(page.contains("Merge old rows"), may, "{peer} {headers:?}");
        let merge = "action=merge";
        let answer = blog.from(peer, Method::POST, PATH, headers, merge).await;
        let status = match may {
            true => StatusCode::SEE_OTHER,
            false => StatusCode::FORBIDDEN,
        };
        assert_eq!(answer.status, status, "{peer} {headers:?}");
        assert!(!answer.headers.contains_key(header::WWW_AUTHENTICATE));
    }
}

#[tokio::test]
async fn the_lock_of_a_recount_is_not_shown() {
    let blog = Blog::new();
    let article = blog.article("Title");
    blog.post(PATH, &[], "action=comment&body=Hello").await;
    let conn = &mut blog.pool.get().unwrap();
    diesel::update(article_counters::table)
        .set(article_counters::comments.eq(7))
        .execute(conn)
        .unwrap();
    assert_eq!(blog.counts(&article).comments, 7);
    let rows = comments::table
        .group_by(comments::article_id)
        .select((comments::article_id, count_star()));
    let corrected = recount(article_counters::comments, rows).of(&article);
    let corrected: Vec<Drift<i64>> = corrected.execute(conn).unwrap();
    assert_eq!((corrected[0].stored, corrected[0].actual), (7, 1));
    let page = blog.get(PATH, &[]).await.body;
    assert!(page.contains("0 likes, 1 comments</title>"), "{page}");
    assert!(!page.contains("1970"), "{page}");
}
