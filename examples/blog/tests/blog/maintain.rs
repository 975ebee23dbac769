use std::process::Command;

use blog::db::AnyConnection;
use blog::maintain;
use blog::schema::article_counters;
use chrono::NaiveDate;
use diesel::prelude::*;

use crate::database::{TestDatabase, all_views, wait_until};
use crate::visit::Blog;

/// Ten views of an article in each of four slots of a day that is over.
fn add_old_views(article_id: i64, conn: &mut AnyConnection) {
    for slot in 1..=4 {
        diesel::insert_into(article_counters::table)
            .values((
                article_counters::article_id.eq(article_id),
                article_counters::day.eq(NaiveDate::from_ymd_opt(2026, 3, 1).unwrap()),
                article_counters::slot.eq(slot),
                article_counters::views.eq(10),
            ))
            .execute(conn)
            .unwrap();
    }
}

fn number_of_rows(conn: &mut AnyConnection) -> i64 {
    article_counters::table.count().get_result(conn).unwrap()
}

#[tokio::test]
async fn maintaining_merges_rows_and_tells_the_most_read_articles() {
    let blog = Blog::new();
    let [second, first, other] = ["Second", "First", "Other"].map(|title| blog.article(title));
    let conn = &mut blog.database.connection();
    add_old_views(second, conn);
    add_old_views(first, conn);
    blog.add_views(first, 1, NaiveDate::from_ymd_opt(2026, 3, 2).unwrap());
    let page = blog.get(&format!("/articles/{other}")).await.body;
    assert!(!page.contains("Most read"));
    blog.views.flush();

    let ran = Command::new(env!("CARGO_BIN_EXE_blog"))
        .env("DATABASE_URL", &blog.database.url)
        .arg("maintain")
        .output()
        .unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let (merged, totals) = printed.split_once('\n').unwrap();
    // The view of 2 March is in a slot too, except on SQLite.
    assert!(
        merged.starts_with("8 rows merged, 0 left") || merged.starts_with("9 rows merged, 0 left"),
        "{merged}"
    );
    // And the page that was read a moment ago.
    assert_eq!(totals, "new totals of views: 3\n");

    let page = blog.get(&format!("/articles/{other}")).await.body;
    let (_, most_read) = page.split_once("Most read").unwrap();
    let places = ["First", "Second", "Other"].map(|title| most_read.find(title).unwrap());
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn it_is_done_in_the_background_too() {
    let database = TestDatabase::new();
    let conn = &mut database.connection();
    let article = blog::models::Article::publish("Title", "Text.", conn).unwrap();
    add_old_views(article, conn);

    let _compactor = maintain::in_background(database.database().writers()).unwrap();
    wait_until("four rows are left", || number_of_rows(conn) == 1);
    assert_eq!(all_views(conn), 40);
}
