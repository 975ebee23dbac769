//! The blog in headless Chromium. `scripts/test sqlite` installs what is needed, and runs these tests too:
//!
//! ```text
//! AXE=…/axe.min.js cargo test -p blog --test blog in_browser -- --ignored
//! ```
//!
//! They need `chromedriver` on the PATH, and the last one in `AXE` the accessibility checker axe-core.

use std::time::Instant;

use axum::http::StatusCode;
use blog::db::HAS_SLOTS;
use blog::schema::comments;
use diesel::prelude::*;
use serde_json::json;

use crate::browser::{Browser, Site};

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn an_article_is_found_and_read() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/").await;
    assert_eq!(page.count(".cards article").await, 20);
    // Each card has a date, an author, an excerpt, and a sparkline, which is another one on each.
    let facts = "const lines = document.querySelectorAll('polyline');
        return [new Set([...lines].map((line) => line.outerHTML)).size,
            document.querySelectorAll('time').length, document.querySelectorAll('.excerpt').length]";
    assert_eq!(page.run(facts, vec![]).await, json!([20, 20, 20]));
    page.click("a[href='/articles/bread-on-sundays']").await;
    page.see("h1", "Bread on Sundays").await;
    let views = page.number("#views").await;
    page.reload().await;
    page.see_number("#views", views + 1).await;
    assert_eq!(page.count(".rows .bar").await, 14);
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_page_with_a_query_stays_up_to_date_without_a_view_of_its_own() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/articles/bread-on-sundays?from=a-list").await;
    let views = page.number("#views").await;
    // It has asked for itself, and shows what it got.
    page.hide(false).await;
    page.asks_whether_it_is_hidden().await;
    page.click("#like").await;
    page.see("#like[aria-pressed=true]", "♥ Like").await;
    assert_eq!(page.number("#views").await, views);
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn lists_and_statistics_have_tabs() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/").await;
    page.see("h3", "A letter to the next maintainer").await;
    page.click(".tabs a:nth-child(2)").await;
    page.see(".tabs [aria-current]", "Most read").await;
    assert_ne!(page.text("h3").await, "A letter to the next maintainer");
    page.open("/stats").await;
    for (tab, label, bars) in [(1, "7 days", 7), (2, "30 days", 30), (3, "52 weeks", 52)] {
        page.click(&format!(".tabs a:nth-child({tab})")).await;
        page.see(".tabs [aria-current]", label).await;
        let shown = page.count(".chart .bar").await;
        assert!((bars..=bars + bars / 52).contains(&shown), "{shown}");
        // Dates are below some of the bars.
        let dates =
            "return [...document.querySelectorAll('.date')].filter((it) => it.textContent).length";
        let dates = page.run(dates, vec![]).await.as_u64().unwrap();
        assert!((4..=7).contains(&dates), "{dates}");
        assert_eq!(page.count(".numbers > div").await, 4);
    }
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_comment_is_posted_and_an_empty_one_is_said_at_its_field() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/articles/rain-in-november").await;
    // A like, whose page is no other one for the form.
    page.click("#like").await;
    page.see("#like[aria-pressed=true]", "♥ Like").await;
    let (before, comments) = (site.comments(), page.number("#count").await);
    page.type_into("input[name=author]", "Ann").await;
    page.click("#comments button").await;
    // The cursor is where something is missing, and what was typed is still there.
    page.see_focus("body").await;
    assert_eq!(page.count("textarea:invalid").await, 1);
    assert_eq!(page.value("input[name=author]").await, "Ann");
    assert_eq!(site.comments(), before);
    page.type_into("textarea", "It rained here too.").await;
    page.click("#comments button").await;
    page.see(".comment .body", "It rained here too.").await;
    page.see_number("#count", comments + 1).await;
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_like_is_one_however_often_it_is_sent_and_is_taken_back() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/articles/undo-is-a-feature").await;
    let likes = page.number("#likes").await;
    page.click("#like").await;
    page.see("#like[aria-pressed=true]", "♥ Like").await;
    // The button keeps the focus.
    assert_eq!(page.focused().await, "like");
    page.see_number("#likes", likes + 1).await;
    // As another tab would, which does not know of it yet.
    site.like_again(&page, "undo-is-a-feature").await;
    page.reload().await;
    page.see_number("#likes", likes + 1).await;
    page.click("#like").await;
    page.see("#like[aria-pressed=false]", "♡ Like").await;
    page.see_number("#likes", likes).await;
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_second_visitor_moves_the_numbers_and_charts_of_open_pages() {
    let site = Site::new().await;
    let [mut first, mut front, mut stats, mut second] = [
        site.browser(1100).await,
        site.browser(1100).await,
        site.browser(1100).await,
        site.browser(390).await,
    ];
    first.open("/articles/a-bicycle-counted").await;
    front.open("/").await;
    stats.open("/stats").await;
    let card = ".panel:has([href$=a-bicycle-counted]) b";
    let [views, likes] = [first.number("#views").await, first.number("#likes").await];
    // After the view of `first`, which is written within a second.
    front.see_number(card, views).await;
    stats.reload().await;
    let all = stats.number(".numbers dd").await;
    let (bars, bar) = (first.today(".rows").await, stats.today(".chart").await);
    second.open("/articles/a-bicycle-counted").await;
    second.type_into("textarea", "I saw it.").await;
    second.click("#comments button").await;
    second.see(".comment .body", "I saw it.").await;
    second.click("#like").await;
    first.see_number("#views", views + 1).await;
    first.see_number("#likes", likes + 1).await;
    first.see(".comment .body", "I saw it.").await;
    front.see_number(card, views + 1).await;
    stats.see_number(".numbers dd", all + 1).await;
    assert_eq!(first.today(".rows").await, bars + 1);
    assert_eq!(stats.today(".chart").await, bar + 1);
    // What is typed stays.
    first.type_into("textarea", "So did I").await;
    second.open("/articles/a-bicycle-counted").await;
    first.see_number("#views", views + 2).await;
    assert_eq!(first.value("textarea").await, "So did I");
    for page in [first, front, stats, second] {
        page.has_no_errors().await;
    }
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_hundred_readers_fill_the_slots_and_are_merged() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/articles/a-bicycle-counted").await;
    let views = page.number("#views").await;
    let today = page.today(".rows").await;
    let cells = |day| format!(".rows tbody td:nth-last-child({day}):not(:empty)");
    let pressed = Instant::now();
    page.click("#readers").await;
    let since = || pressed.elapsed().as_millis();
    page.sees(".rows", async |page| page.number("#views").await > views)
        .await;
    println!(
        "the number, the bar and the cells move after {} ms",
        since()
    );
    assert!(page.today(".rows").await > today);
    page.see_number("#views", views + 100).await;
    println!("100 readers are counted after {} ms", since());
    assert_eq!(page.focused().await, "readers");
    assert_eq!(page.today(".rows").await, today + 50);
    let many = if HAS_SLOTS { 15 } else { 1 };
    assert!(page.count(&cells(1)).await >= many);
    assert!(page.count(&cells(3)).await >= many);
    page.sees("a merge", async |page| page.count(&cells(3)).await == 1)
        .await;
    println!("merged after {} ms", since());
    assert!(page.count(&cells(1)).await >= many);
    assert_eq!(page.number("#views").await, views + 100);
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_race_moves_on_the_page_and_ends_with_a_ratio() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/").await;
    page.see(".times b", "?").await;
    page.click("#start").await;
    let width = "return +document.querySelector('.slots rect').getAttribute('width')";
    for (what, class) in [("one row", ".one"), ("slots", ".slots")] {
        page.sees(what, async |page| {
            let rate = page.text(&format!("{class} .rate")).await;
            rate.starts_with(|c: char| c.is_ascii_digit())
        })
        .await;
    }
    page.sees("the end", async |page| {
        page.text("#start").await == "Start again"
    })
    .await;
    let said = page.text("[role=status]").await;
    let (committed, counted) = said.split_once(" comments committed, ").unwrap();
    assert!(
        counted.starts_with(&format!("{committed} counted.")),
        "{said}"
    );
    assert!(page.text(".times b").await.parse::<f64>().unwrap() > 0.0);
    assert!(page.run(width, vec![]).await.as_i64() > Some(0));
    let rows = if HAS_SLOTS { 16 } else { 1 };
    assert_eq!(page.count(".slots .filled").await, rows);
    assert_eq!(page.count(".note").await, usize::from(!HAS_SLOTS));
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_hidden_page_asks_for_nothing() {
    let site = Site::new().await;
    let [mut page, mut other] = [site.browser(1100).await, site.browser(390).await];
    page.open("/articles/a-bicycle-counted").await;
    page.hide(true).await;
    page.asks_whether_it_is_hidden().await; // What it has asked for before has arrived.
    let views = page.number("#views").await;
    other.open("/articles/a-bicycle-counted").await;
    other.see_number("#views", views + 1).await;
    page.asks_whether_it_is_hidden().await;
    assert_eq!(page.number("#views").await, views);
    page.hide(false).await;
    page.see_number("#views", views + 1).await;
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_form_of_another_site_is_refused() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    let before = site.comments();
    page.go(&format!(
        "data:text/html,<form method=post action=\"{}/articles/rain-in-november\">\
         <input name=action value=comment><input name=author><input name=body value=spam><button>Free gift</button></form>",
        site.url
    ))
    .await;
    page.click("button").await;
    page.see("h1", StatusCode::FORBIDDEN.canonical_reason().unwrap())
        .await;
    assert_eq!(site.comments(), before);
}

#[tokio::test]
#[ignore = "needs chromedriver and axe-core: scripts/test sqlite"]
async fn axe_finds_nothing_in_light_and_dark_on_a_screen_and_a_phone() {
    let site = Site::new().await;
    for width in [1100, 390] {
        let mut page = site.browser(width).await;
        for dark in [false, true] {
            page.prefers(dark).await;
            for path in [
                "/",
                "/?days=7",
                "/stats",
                "/stats?days=7",
                "/stats?days=364",
                "/articles/the-viral-day",
                "/articles/small-tables-stay-fast",
                "/nothing",
            ] {
                page.open(path).await;
                page.is_accessible(path).await;
                // Nothing is wider than the screen.
                let wider = "return document.documentElement.scrollWidth > innerWidth";
                assert_eq!(page.run(wider, vec![]).await, json!(false), "{path}");
            }
            // A race, while it runs and at its end. On a slow machine it can end before it is seen.
            page.open("/").await;
            let has_ended = async |page: &Browser| page.text("#start").await == "Start again";
            let waits = async |page: &Browser| page.count(".connections .waits").await > 0;
            while !waits(&page).await {
                page.click("#start:enabled").await;
                page.sees("a race", async |page| {
                    waits(page).await || has_ended(page).await
                })
                .await;
            }
            page.is_accessible("a race").await;
            page.sees("its end", has_ended).await;
            page.is_accessible("the end of a race").await;
            // Cells of each shade, while they are filled.
            page.open("/articles/the-viral-day").await;
            page.click("#readers").await;
            page.sees("a reader", async |page| page.count(".shade1").await > 0)
                .await;
            page.is_accessible("a hundred readers").await;
            // A count can be read while its cell becomes darker.
            let darker = "for (const cell of document.querySelectorAll('tbody td:not(:empty)')) {
                cell.className = 'shade0';
                cell.getAnimations().forEach(animation => animation.finish());
                cell.className = 'shade3';
            }";
            page.run(darker, vec![]).await;
            page.is_accessible("cells that have become darker").await;
        }
    }
}

impl Browser {
    /// The count of the last bar.
    async fn today(&self, chart: &str) -> i64 {
        let script = "return +[...document.querySelectorAll(arguments[0] + ' rect')].pop().getAttribute('height')";
        self.run(script, vec![json!(chart)]).await.as_i64().unwrap()
    }

    async fn see_focus(&self, id: &str) {
        self.sees(id, async |page| page.focused().await == id).await;
    }
}

impl Site {
    fn comments(&self) -> i64 {
        let conn = &mut self.blog.pool.get().unwrap();
        comments::table.count().get_result(conn).unwrap()
    }

    /// Sends the like of this page's visitor once more.
    async fn like_again(&self, page: &Browser, slug: &str) {
        let cookie = page.cookie("visitor").await;
        let cookie = [("cookie", &*format!("visitor={cookie}"))];
        let path = format!("/articles/{slug}");
        let answer = self.blog.post(&path, &cookie, "action=like").await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER);
    }
}
