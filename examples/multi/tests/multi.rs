//! The example on SQLite and, with the feature of another database, on the server that
//! `TEST_DATABASE_URL` names.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use multi_example::{AnyConnection, Article, insert_article, read};
use pages::page_counters;

const TABLES: &str = "
    CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY, title TEXT NOT NULL);
    CREATE TABLE article_counters (
        article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (article_id, day, slot)
    );
    CREATE TABLE page_counters (
        path VARCHAR(100) NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (path, day, slot)
    )";

mod pages {
    diesel::table! {
        page_counters (path, day, slot) {
            path -> Text,
            day -> Date,
            slot -> SmallInt,
            hits -> BigInt,
        }
    }

    diesel_counters::counter_table!(page_counters);
}

#[test]
fn queries_run_on_sqlite() {
    queries_run(":memory:");
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
#[test]
fn the_same_queries_run_on_a_server() {
    let database = server::Database::new();
    queries_run(&database.url);
}

/// On an empty database.
fn queries_run(url: &str) {
    let conn = &mut AnyConnection::establish(url).unwrap();
    conn.batch_execute(TABLES).unwrap();
    for (id, title) in [(1, "One"), (2, "Two"), (2, "Two")] {
        insert_article(id, title, conn).unwrap();
    }
    let [one, two] = [1, 2].map(|id| Article {
        id,
        title: String::new(),
    });
    read(&one, conn).unwrap();
    read(&two, conn).unwrap();
    let most_read = read(&two, conn).unwrap();
    let most_read: Vec<_> = most_read
        .iter()
        .map(|(article, views)| (&*article.title, *views))
        .collect();
    assert_eq!(most_read, [("Two", 2), ("One", 1)], "{url}");

    let pages = [("/a", 1), ("/b", 2), ("/c", 3)];
    let count = increment(page_counters::hits).of_many(pages);
    count.execute(conn).unwrap();
    let hits = counter_value(page_counters::hits).of_many(["/c", "/none", "/a"]);
    assert_eq!(hits.load(conn), Ok(vec![3, 0, 1]), "{url}");
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod server {
    use std::{env, process};

    use super::*;

    /// A database that ends with its test.
    pub struct Database {
        pub url: String,
        server: String,
        name: String,
    }

    impl Database {
        pub fn new() -> Self {
            let server = env::var("TEST_DATABASE_URL").expect("TEST_DATABASE_URL names a server");
            let name = format!("multi_test_{}", process::id());
            run(&server, &format!("CREATE DATABASE {name}"));
            let (address, _) = server.rsplit_once('/').unwrap();
            let url = format!("{address}/{name}");
            Database { url, server, name }
        }
    }

    impl Drop for Database {
        fn drop(&mut self) {
            run(&self.server, &format!("DROP DATABASE {}", self.name));
        }
    }

    fn run(server: &str, sql: &str) {
        let mut conn = AnyConnection::establish(server).unwrap();
        conn.batch_execute(sql).unwrap();
    }
}
