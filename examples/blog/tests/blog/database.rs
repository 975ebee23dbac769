use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use blog::db::{AnyConnection, Database};
use blog::models::{Article, Counts};
use blog::schema::{article_counters, articles, imports};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::ManageConnection;

/// Much longer than anything takes, on a busy machine too. It only ends what hangs.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A database that ends with its test.
pub struct TestDatabase {
    pub url: String,
    pub name: String,
    /// The server that it is on; none for SQLite.
    server: Option<String>,
}

impl TestDatabase {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("blog_test_{}_{number}", process::id());

        let server = env::var("TEST_DATABASE_URL").ok();
        let url = match &server {
            Some(server) => {
                on_server(server, &format!("DROP DATABASE IF EXISTS {name}"));
                on_server(server, &format!("CREATE DATABASE {name}"));
                let (address, _) = server.rsplit_once('/').unwrap();
                format!("{address}/{name}")
            }
            None => {
                let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
                folder.join(&name).display().to_string()
            }
        };
        TestDatabase { url, name, server }
    }

    pub fn database(&self) -> Database {
        Database::from_url(&self.url).unwrap()
    }

    /// A connection, with all tables there.
    pub fn connection(&self) -> AnyConnection {
        self.database().migrated().unwrap()
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        match &self.server {
            Some(server) if server.starts_with("postgres") => {
                on_server(server, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
            }
            Some(server) => on_server(server, &format!("DROP DATABASE {}", self.name)),
            None => {
                for end in ["", "-shm", "-wal"] {
                    let _ = fs::remove_file(format!("{}{end}", self.url));
                }
            }
        }
    }
}

fn on_server(url: &str, sql: &str) {
    let mut conn = Database::from_url(url).unwrap().connect().unwrap();
    conn.batch_execute(sql).unwrap();
}

pub fn counts_at(path: &str, conn: &mut AnyConnection) -> Counts {
    let article = articles::table
        .filter(articles::path.eq(path))
        .select(Article::as_select())
        .first(conn)
        .unwrap();
    article.counts(conn).unwrap()
}

/// All views of all articles.
pub fn all_views(conn: &mut AnyConnection) -> i64 {
    let views: Vec<i64> = article_counters::table
        .select(article_counters::views)
        .load(conn)
        .unwrap();
    views.iter().sum()
}

pub fn number_of_articles(conn: &mut AnyConnection) -> i64 {
    articles::table.count().get_result(conn).unwrap()
}

pub fn wait_until(or_else: &str, mut it_is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !it_is_so() {
        assert!(begun.elapsed() < PATIENCE, "{or_else}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// How many lines of logs are counted.
pub fn counted_lines(conn: &mut AnyConnection) -> i64 {
    let lines: Vec<i64> = imports::table.select(imports::lines).load(conn).unwrap();
    lines.iter().sum()
}
