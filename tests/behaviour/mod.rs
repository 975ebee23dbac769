//! What counters do, whatever the database. Each database's own file is the
//! crate root, and says which it is.

mod against_a_map;
mod buffer_limits;
mod buffer_thread;
pub mod buffering;
pub mod collations;
mod compacting;
mod compactor;
mod counting_transaction;
mod deleting;
mod derive;
mod folding;
pub mod key_columns;
pub mod keys;
mod limits;
mod materializing;
mod migrations;
mod names;
mod plans;
mod prepared;
mod readme;
pub mod recipes;
mod recounting;
mod refusing;
mod retry;
mod setting;
mod several_ranges;
pub mod signatures;
mod site;
mod slots;
mod sql;
pub mod stock;
mod totals;
mod transactions;
mod vetoes;

use std::thread;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::Drift;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::{article_counters, articles, comments};
use diesel_migrations::MigrationHarness;

pub use diesel_counters_tests::examples::comments_by_article;

use crate::{Conn, REFERENCE, TEST_TABLES, TestDatabase};

/// A query is prepared once a connection; on MySQL and MariaDB each time, and not kept, as
/// MariaDB's client library could not execute it again once it has failed.
const KEPT: usize = if crate::IS_MYSQL { 0 } else { 1 };

/// The number of rows that the database reports for an increment of a row that exists.
const OF_AN_OLD_ROW: usize = if crate::IS_MYSQL { 2 } else { 1 };

/// Much longer than anything takes, on a busy machine too. It only ends what hangs.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A row of `article_counters`.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = article_counters)]
struct Row {
    day: chrono::NaiveDate,
    slot: i16,
    views: i64,
    likes: i64,
    comments: i64,
}

impl TestDatabase {
    /// With all tables, and articles 1 to 5.
    pub fn with_tables() -> Self {
        let database = Self::create();
        let conn = &mut database.connect();
        conn.run_pending_migrations(TEST_TABLES).unwrap();
        conn.run_pending_migrations(REFERENCE).unwrap();
        for id in 1..=5 {
            let insert = diesel::insert_into(articles::table).values(article(id));
            insert.execute(conn).unwrap();
        }
        database
    }

    /// For `&mut`, so that the connection is closed before the database is dropped.
    pub fn with_connection() -> (Conn, Self, Article) {
        let database = Self::with_tables();
        (database.connect(), database, article(1))
    }

    /// A connection to a database of its own, and article 1.
    fn with_article() -> (Self, Conn, Article) {
        let (conn, database, article) = Self::with_connection();
        (database, conn, article)
    }
}

pub fn article(id: i64) -> Article {
    Article {
        id,
        title: format!("Article {id}"),
    }
}

fn insert_articles(ids: impl Iterator<Item = i64>, conn: &mut Conn) {
    let rows: Vec<_> = ids.map(|id| format!("({id}, '')")).collect();
    for some in rows.chunks(5_000) {
        let insert = "INSERT INTO articles (id, title) VALUES ";
        conn.batch_execute(&(insert.to_owned() + &some.join(", ")))
            .unwrap();
    }
}

/// Adds to an article's views.
pub fn count_on(id: i64, on: chrono::NaiveDate, by: i64, conn: &mut Conn) {
    let count = increment(article_counters::views).of(id).on(on).by(by);
    count.execute(conn).unwrap();
}

/// Returns an article's views on a day.
pub fn views_on(id: i64, on: chrono::NaiveDate, conn: &mut Conn) -> QueryResult<i64> {
    let views = counter_value(article_counters::views);
    views.of(id).on(on).get_result(conn)
}

pub fn insert_comment(id: i64, body: &str, conn: &mut Conn) -> QueryResult<usize> {
    let row = (comments::article_id.eq(id), comments::body.eq(body));
    diesel::insert_into(comments::table)
        .values(row)
        .execute(conn)
}

/// The article's rows, by day and slot.
fn rows(of: &Article, conn: &mut Conn) -> Vec<Row> {
    let rows = article_counters::table.filter(article_counters::article_id.eq(of.id));
    let rows = rows.order((article_counters::day, article_counters::slot));
    rows.select(Row::as_select()).load(conn).unwrap()
}

/// What the recount of one entity added.
pub fn added<K>(corrected: QueryResult<Vec<Drift<K>>>) -> QueryResult<i64> {
    let added = |drift: &Drift<K>| drift.actual - drift.stored;
    Ok(corrected?.iter().map(added).sum())
}

pub fn day(year: i32, month: u32, day: u32) -> chrono::NaiveDate {
    chrono::NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

/// Waits until `condition` holds. Returns `false` after [`PATIENCE`].
pub fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !condition() {
        if begun.elapsed() > PATIENCE {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
    true
}

fn utc_today() -> chrono::NaiveDate {
    chrono::Utc::now().date_naive()
}
