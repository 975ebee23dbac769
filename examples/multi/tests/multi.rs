//! The example on SQLite, and on the server of `TEST_DATABASE_URL` if there is one.

use std::env;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use multi_example::{AnyConnection, Article, insert_article, read};

// MySQL does not read a temporary table twice in one query.
const TABLES: &str = "
    DROP TABLE IF EXISTS article_counters;
    DROP TABLE IF EXISTS articles;
    CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY, title TEXT NOT NULL);
    CREATE TABLE article_counters (
        article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (article_id, day, slot)
    )";

#[test]
fn the_same_queries_run_on_each_database() {
    let mut urls = vec![":memory:".to_owned()];
    if cfg!(any(feature = "postgres", feature = "mysql")) {
        urls.extend(env::var("TEST_DATABASE_URL"));
    }
    for url in urls {
        let conn = &mut AnyConnection::establish(&url).unwrap();
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
    }
}
