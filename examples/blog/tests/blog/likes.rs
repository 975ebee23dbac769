use std::fs;
use std::path::Path;

use blog::db::AnyConnection;
use blog::models::Article;
use blog::schema::{article_counters, article_likes};
use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use crate::database::TestDatabase;

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
