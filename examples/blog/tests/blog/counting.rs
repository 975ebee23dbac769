//! Views, likes and comments are each counted once.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode, header};
use blog::article::Article;
use blog::db::{Conn, HAS_SLOTS};
use blog::schema::{article_counters, comments};
use chrono::Days;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_counters::Drift;
use diesel_counters::dsl::recount;
use diesel_counters::prelude::*;
use tokio::task::JoinSet;

use crate::support::{BROWSER, Blog, PATH, today};

#[tokio::test]
async fn each_page_that_a_person_opens_is_a_view() {
    let blog = Blog::new();
    let article = blog.article("Title");
    for views in 1..=3 {
        let page = blog.get(PATH, &[("user-agent", BROWSER)]).await.body;
        // Each page shows its own view.
        let shown = format!("<dd id=\"views\">{views}</dd>");
        assert!(page.contains(&shown), "{page}");
    }
    assert_eq!(blog.counts(&article).views, 3);
}

/// The buffer writes exactly before each of the first two queries of the page.
#[tokio::test]
async fn a_page_that_is_read_while_the_buffer_writes_shows_no_view_twice() {
    let mut blog = Blog::new();
    let article = blog.article("Title");
    let buffer = blog.app.views.clone();
    let queries = AtomicI64::new(0);
    blog.before_each_read(move |sql| {
        if !sql.contains("article_counters") {
            return;
        }
        match queries.fetch_add(1, SeqCst) {
            0 => drop(buffer.flush()),
            1 => {
                let more = increment(article_counters::views).of(article.id).by(10);
                buffer.count(more).unwrap();
                buffer.flush();
            }
            _ => {}
        }
    });
    let page = blog.get(PATH, &[("user-agent", BROWSER)]).await.body;
    assert!(page.contains("<dd id=\"views\">11</dd>"), "{page}");
}

#[tokio::test]
async fn what_nobody_reads_is_no_view() {
    let blog = Blog::new();
    let article = blog.article("Title");
    let reader = ("user-agent", BROWSER);
    let crawler = "Googlebot/2.1 (+http://www.google.com/bot.html)";
    let page = "https://blog.example/articles/title";
    let queried = format!("{page}?from=a-list");
    for headers in [
        &[][..],
        &[("user-agent", crawler)],
        &[reader, ("sec-purpose", "prefetch;prerender")],
        &[reader, ("purpose", "prefetch")],
        // A form leads back to its page, also to one that was opened with a query.
        &[reader, ("host", "blog.example"), ("referer", page)],
        &[reader, ("host", "blog.example"), ("referer", &queried)],
        // The script that keeps a page up to date, in a browser that sends no referer.
        &[reader, ("x-live", "1")],
    ] {
        assert_eq!(blog.get(PATH, headers).await.status, StatusCode::OK);
    }
    blog.request(Method::HEAD, PATH, &[reader], "").await;
    blog.post(PATH, &[reader], "action=comment&author=&body=Hello")
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
        assert_eq!(answer.headers[header::LOCATION], PATH);
        assert_eq!(blog.counts(&article).likes, likes);
    }
}

#[tokio::test]
async fn a_like_without_a_cookie_is_that_of_a_new_visitor() {
    let blog = Blog::new();
    let article = blog.article("Title");
    for (cookie, likes) in [("", 1), ("visitor=ann", 2), ("visitor=%00", 3)] {
        let answer = blog.post(PATH, &[("cookie", cookie)], "action=like").await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
        assert_eq!(blog.counts(&article).likes, likes);
        let given = answer.headers[header::SET_COOKIE].to_str().unwrap();
        assert!(given.contains("HttpOnly"), "{given}");
        let given = given.split(';').next().unwrap();
        blog.post(PATH, &[("cookie", given)], "action=like").await;
        assert_eq!(blog.counts(&article).likes, likes);
    }
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
            for form in [
                "action=like",
                "action=like",
                "action=comment&author=&body=Hello",
            ] {
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

async fn waits_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "not yet: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn merges_change_rows_and_no_count() {
    let blog = Blog::new();
    let article = blog.article("Title");
    let conn = &mut blog.pool.get().unwrap();
    for ago in 0..200 {
        let view = increment(article_counters::views).of(article.id);
        view.on(today() - Days::new(ago)).execute(conn).unwrap();
    }
    let rows = |conn: &mut _| {
        let rows = article_counters::table.count();
        rows.get_result::<i64>(conn).unwrap()
    };
    assert_eq!(rows(conn), 200);

    let compactor = blog.app.keep_small().unwrap();
    // 90 days, up to 6 days of the week before, and up to 17 weeks, of which up to 4 span two months
    // and become two rows.
    waits_until("old days are weeks", || rows(conn) <= 90 + 6 + 17 + 4).await;
    compactor.stop();
    assert!(rows(conn) >= 90 + 15, "{}", rows(conn));
    let slots = article_counters::table
        .filter(article_counters::day.lt(today() - Days::new(1)))
        .filter(article_counters::slot.ne(0));
    assert_eq!(slots.count().get_result(conn), Ok(0_i64));
    assert_eq!(blog.counts(&article).views, 200);
}

#[tokio::test]
async fn a_hundred_readers_are_counted_and_merged() {
    let blog = Blog::new();
    let article = blog.article("Title");
    let (here, host) = ("127.0.0.1:1", [("host", "localhost:3000")]);
    // The second press finds the first hundred on their way.
    for _ in 0..2 {
        let answer = blog.from(here, Method::POST, PATH, &host, "action=readers");
        assert_eq!(answer.await.status, StatusCode::SEE_OTHER);
    }
    let past = today() - Days::new(2);
    // The readers leave one connection of the pool.
    let conn = &mut Conn::establish(&blog.database.url).unwrap();
    let slots = |day, conn: &mut _| {
        let rows = article_counters::table.filter(article_counters::day.eq(day));
        let slots = rows.select(article_counters::slot);
        slots.load::<i16>(conn).unwrap()
    };
    waits_until("100 views", || blog.counts(&article).views == 100).await;
    // SQLite has one writer, and so one row a day.
    let one_or_fifteen = if HAS_SLOTS { 15 } else { 1 };
    assert_eq!(slots(today(), conn).len(), one_or_fifteen);
    assert_eq!(slots(past, conn).len(), one_or_fifteen);
    waits_until("the merge", || slots(past, conn) == [0]).await;
    assert_eq!(slots(today(), conn).len(), one_or_fifteen);
    let counts = blog.counts(&article);
    assert_eq!((counts.views, counts.likes), (100, 20));
    let of_past = article.counter_value_between(article_counters::views, past..=past, conn);
    assert_eq!(of_past, Ok(50));
}

#[tokio::test]
async fn only_clients_on_this_machine_can_start_something() {
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
        ("127.0.0.1:1", &[("host", "localhostevil")], false),
        ("127.0.0.1:1", &[("host", "localhostevil:3000")], false),
        ("127.0.0.1:1", &[("host", "localhost:evil")], false),
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
        let shown = page.contains("value=\"readers\"");
        assert_eq!(shown, may, "{peer} {headers:?}");
        let front = blog.from(peer, Method::GET, "/", headers, "").await.body;
        for button in ["id=\"start\"", "name=\"on\""] {
            assert_eq!(front.contains(button), may, "{button} {peer} {headers:?}");
        }
        if !may {
            for (path, form) in [
                (PATH, "action=readers"),
                ("/race", ""),
                ("/readers", "on=true"),
            ] {
                let answer = blog.from(peer, Method::POST, path, headers, form).await;
                assert_eq!(
                    answer.status,
                    StatusCode::FORBIDDEN,
                    "{path} {peer} {headers:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_lock_of_a_recount_is_not_shown() {
    let blog = Blog::new();
    let article = blog.article("Title");
    blog.post(PATH, &[], "action=comment&author=&body=Hello")
        .await;
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
    assert!(page.contains("<dd id=\"count\">1</dd>"), "{page}");
    assert!(!page.contains("1970"), "{page}");
}
