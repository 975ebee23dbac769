// The tables, the model and the connection of the examples in the docs.

use diesel::prelude::*;
#[allow(unused_imports, reason = "not every example uses it")]
use diesel_counters::HasCounters;

mod schema {
    diesel::table! {
        articles (id) {
            id -> BigInt,
            title -> Text,
            total_views -> BigInt,
            total_likes -> BigInt,
            recent_views -> BigInt,
        }
    }
    diesel::table! {
        comments (id) {
            id -> BigInt,
            article_id -> BigInt,
            body -> Text,
        }
    }
    diesel::table! {
        article_counters (article_id, day, slot) {
            article_id -> BigInt,
            day -> Date,
            slot -> SmallInt,
            views -> BigInt,
            likes -> BigInt,
            comments -> BigInt,
        }
    }
    diesel_counters::counter_table!(article_counters { parent = articles::id });
}
#[allow(unused_imports, reason = "not every example uses it")]
use schema::{article_counters, articles};

#[derive(Queryable, Selectable, HasCounters)]
#[diesel(table_name = articles)]
#[counters(table_name = article_counters)]
#[allow(dead_code, reason = "not every example uses it")]
struct Article {
    id: i64,
    title: String,
    total_views: i64,
    total_likes: i64,
    recent_views: i64,
}

#[allow(dead_code, reason = "not every example uses it")]
fn establish_connection() -> SqliteConnection {
    use diesel::connection::SimpleConnection;

    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.batch_execute(concat!(
        "CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT NOT NULL, total_views BIGINT NOT NULL DEFAULT 0, total_likes BIGINT NOT NULL DEFAULT 0, recent_views BIGINT NOT NULL DEFAULT 0);",
        "CREATE TABLE comments (id INTEGER PRIMARY KEY, article_id BIGINT NOT NULL, body TEXT NOT NULL);",
        include_str!("../migrations/sqlite/00000000000001_create_article_counters/up.sql"),
        "INSERT INTO articles (id, title) VALUES (1, 'One'), (2, 'Two');",
    ))
    .unwrap();
    conn
}
