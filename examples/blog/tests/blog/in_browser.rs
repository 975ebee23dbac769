//! The blog in headless Chromium. `scripts/test sqlite` installs what is needed, and runs these tests too:
//!
//! ```text
//! AXE=…/axe.min.js cargo test -p blog --test blog in_browser -- --ignored
//! ```
//!
//! They need `chromedriver` on the PATH, and the last one in `AXE` the accessibility checker axe-core.

use std::time::Duration;

use axum::http::StatusCode;
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
    page.type_into("input[name=q]", "bread").await;
    page.click("form.search button").await;
    page.see("th a", "Bread on Sundays").await;
    page.click("th a").await;
    page.see("h1", "Bread on Sundays").await;
    let views = page.number("[data-count$=views]").await;
    // A reader counts once an hour.
    page.reload().await;
    assert_eq!(page.number("[data-count$=views]").await, views);

    // The chart has a bar for each day, and the same as a table.
    assert_eq!(page.count(".chart .bar").await, 30);
    page.click("summary").await;
    assert_eq!(page.count(".chart tbody tr").await, 30);
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn lists_are_sorted_and_paged() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/").await;
    let most_read = page.text("th a").await;
    page.click("a[rel=next]").await;
    page.see("a[rel=prev]", "Previous").await;
    assert_ne!(page.text("th a").await, most_read);
    page.click(".sorts a:last-child").await;
    page.see("th a", "A letter to the next maintainer").await;
    page.open("/stats").await;
    assert_eq!(page.count(".chart").await, 4);
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_comment_is_posted_and_a_wrong_one_is_said_at_its_field() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/articles/rain-in-november").await;
    let comments = page.number("[data-count$=comments]").await;
    page.type_into("input[name=author]", "Ann").await;
    page.click("#comments button").await;
    page.see("#body-wrong", "Write something here.").await;
    // The cursor is where something is missing, and what was typed is still there.
    assert_eq!(page.focused().await, "body");
    assert_eq!(page.value("input[name=author]").await, "Ann");
    page.type_into("textarea", "It rained here too.").await;
    page.click("#comments button").await;
    page.see(".comment .text", "It rained here too.").await;
    page.see_number("[data-count$=comments]", comments + 1)
        .await;
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_wrong_comment_is_said_at_its_field_after_a_like_too() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/articles/rain-in-november").await;
    page.click("#like").await;
    page.see("#like[aria-pressed=true]", "♥ Like").await;
    page.click("#comments button").await;
    page.see("#body-wrong", "Write something here.").await;
    assert_eq!(page.focused().await, "body");
    let from_top = "return document.querySelector('#body-wrong').getBoundingClientRect().top";
    let from_top = page.run(from_top, vec![]).await.as_f64().unwrap();
    assert!((0.0..900.0).contains(&from_top), "{from_top} px down");
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn an_article_is_published() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/new").await;
    page.type_into("input[name=title]", "Rain in November")
        .await;
    page.type_into("textarea", "Again.").await;
    page.click("main button").await;
    page.see("#title-wrong", "Another article has this title.")
        .await;
    page.type_into("input[name=title]", "Ü ").await;
    page.click("main button").await;
    page.see("h1", "Ü Rain in November").await;
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_like_is_one_however_often_it_is_sent_and_is_taken_back() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/articles/undo-is-a-feature").await;
    let likes = page.number("[data-count$=likes]").await;
    page.click("#like").await;
    page.see("#like[aria-pressed=true]", "♥ Like").await;
    // The button keeps the focus.
    assert_eq!(page.focused().await, "like");
    page.see_number("[data-count$=likes]", likes + 1).await;
    // As another tab would, which does not know of it yet.
    site.like_again(&page, "undo-is-a-feature").await;
    page.reload().await;
    page.see_number("[data-count$=likes]", likes + 1).await;
    page.click("#like").await;
    page.see("#like[aria-pressed=false]", "♡ Like").await;
    page.see_number("[data-count$=likes]", likes).await;
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_second_visitor_moves_the_numbers_of_an_open_page() {
    let site = Site::new().await;
    let [mut first, mut second] = [site.browser(1100).await, site.browser(390).await];
    first.open("/articles/a-bicycle-counted").await;
    let views = first.number("[data-count$=views]").await;
    let likes = first.number("[data-count$=likes]").await;
    second.open("/articles/a-bicycle-counted").await;
    second.click("#like").await;
    first.see_number("[data-count$=views]", views + 1).await;
    first.see_number("[data-count$=likes]", likes + 1).await;
    first.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_hidden_page_needs_no_connection() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/articles/a-bicycle-counted").await;
    let views = page.number("[data-count$=views]").await;
    site.has_watchers(1).await;
    page.hide(true).await;
    site.has_watchers(0).await;
    page.hide(false).await;
    site.has_watchers(1).await;
    let mut other = site.browser(390).await;
    other.open("/articles/a-bicycle-counted").await;
    page.see_number("[data-count$=views]", views + 1).await;
    page.has_no_errors().await;
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn rows_are_merged_by_a_button() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/articles/one-row-is-a-queue").await;
    let (views, rows) = (
        page.number("[data-count$=views]").await,
        page.count(".rows rect").await,
    );
    page.click(".merge button").await;
    page.contains("#rows", "rows merged, 0 left").await;
    assert!(page.count(".rows rect").await < rows);
    assert_eq!(page.number("[data-count$=views]").await, views);
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
         <input name=action value=comment><input name=body value=spam><button>Free gift</button></form>",
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
                "/?q=nothing",
                "/stats",
                "/new",
                "/articles/the-viral-day",
                "/nothing",
            ] {
                page.open(path).await;
                page.is_accessible(path).await;
            }
            page.open("/new").await;
            page.click("main button").await;
            page.see("#title-wrong", "Write something here.").await;
            page.is_accessible("a wrong form").await;
            // Nothing is wider than the screen.
            let wider = page
                .run(
                    "return document.documentElement.scrollWidth > innerWidth",
                    vec![],
                )
                .await;
            assert_eq!(wider, json!(false));
        }
    }
}

impl Site {
    fn comments(&self) -> i64 {
        let conn = &mut self.blog.pool.get().unwrap();
        comments::table.count().get_result(conn).unwrap()
    }

    /// Waits until so many pages are open and watch their numbers.
    async fn has_watchers(&self, number: usize) {
        while self.blog.app.live.receiver_count() != number {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
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
