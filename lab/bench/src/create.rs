//! Creates the tables.

use anyhow::Result;
use diesel::QueryResult;

use crate::database::Database;
use crate::triggers;

const DROP: &str = "DROP TABLE IF EXISTS bench_article_counters;
     DROP TABLE IF EXISTS bench_articles;
     DROP TABLE IF EXISTS bench_comments;
     DROP TABLE IF EXISTS bench_counted_comments;
     DROP TABLE IF EXISTS bench_hot_comments;
     DROP TABLE IF EXISTS bench_hot_articles;
     DROP TABLE IF EXISTS bench_hits;
     DROP TABLE IF EXISTS bench_tickets;
     DROP TABLE IF EXISTS bench_slotted_counters;";

/// Adds the foreign key of the reference migrations, on servers, and the articles that are counted:
/// the ids from 0 to 15,875.
pub const FOREIGN_KEY: &str = "INSERT INTO bench_articles
         WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 125)
         SELECT 126 * hundreds.n + numbers.n, '', 0 FROM numbers, numbers AS hundreds;
     ALTER TABLE bench_article_counters
         ADD FOREIGN KEY (article_id) REFERENCES bench_articles (id) ON DELETE CASCADE";

const CREATE: &str = "CREATE TABLE bench_articles (
         id BIGINT NOT NULL PRIMARY KEY, title TEXT NOT NULL, total_views BIGINT NOT NULL
     );
     CREATE TABLE bench_comments (id AUTO_ID, article_id BIGINT NOT NULL, body TEXT NOT NULL);
     CREATE TABLE bench_counted_comments (
         id AUTO_ID, article_id BIGINT NOT NULL, body TEXT NOT NULL
     );
     CREATE TABLE bench_hot_comments (id AUTO_ID, article_id BIGINT NOT NULL, body TEXT NOT NULL);
     CREATE TABLE bench_article_counters (
         article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
         views BIGINT NOT NULL DEFAULT 0, likes BIGINT NOT NULL DEFAULT 0,
         comments BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (article_id, day, slot)
     )TABLE_OPTIONS;
     CREATE TABLE bench_tickets (
         article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
         remaining BIGINT NOT NULL DEFAULT 0 CHECK (remaining >= 0),
         PRIMARY KEY (article_id, day, slot)
     )TABLE_OPTIONS;
     CREATE TABLE bench_hot_articles (
         id BIGINT NOT NULL PRIMARY KEY, comments BIGINT NOT NULL DEFAULT 0
     );
     INSERT INTO bench_hot_articles (id) VALUES (1), (2), (3), (4), (5);
     CREATE TABLE bench_hits (article_id BIGINT NOT NULL PRIMARY KEY, views BIGINT NOT NULL);
     INSERT INTO bench_hits (article_id, views) VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0);
     CREATE TABLE bench_slotted_counters (
         id AUTO_ID, record_id BIGINT NOT NULL, slot INTEGER NOT NULL, count BIGINT NOT NULL,
         UNIQUE (record_id, slot)
     );";

/// Drops the tables and creates them again, with the triggers of `counters.toml`.
pub fn create_tables<C: Database>(conn: &mut C, url: &str) -> Result<()> {
    drop_tables(conn)?;
    create_without_triggers(conn)?;
    triggers::create(conn, url, "counters.toml")
}

/// Creates the tables again, after their triggers were dropped.
pub fn create_without_triggers<C: Database>(conn: &mut C) -> QueryResult<()> {
    conn.batch_execute(DROP)?;
    let create = CREATE.replace("AUTO_ID", C::AUTO_ID);
    conn.batch_execute(&create.replace("TABLE_OPTIONS", C::TABLE_OPTIONS))
}

pub fn drop_tables<C: Database>(conn: &mut C) -> QueryResult<()> {
    conn.batch_execute(DROP)?;
    drop_functions(conn)
}

/// Drops the functions of the triggers of dropped tables.
pub fn drop_functions<C: Database>(conn: &mut C) -> QueryResult<()> {
    if C::DROP_FUNCTIONS.is_empty() {
        return Ok(());
    }
    conn.batch_execute(C::DROP_FUNCTIONS)
}
