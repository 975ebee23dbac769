//! PgBouncer in transaction mode, which gives each transaction another session, and in statement mode.
//! These tests do nothing if it is not installed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;

use diesel::connection::CacheSize;
use diesel::dsl::count;
use diesel::prelude::*;
use diesel_counters::dsl::{compact, set_counter};
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, comments, likes, slot, views};
use tempfile::TempDir;

use crate::behaviour::{article, day, wait_until};
use crate::{Conn, TestDatabase};

/// A PgBouncer, which ends when this is dropped.
struct Pooler {
    process: Child,
    folder: TempDir,
    /// Whether a statement that a client has prepared is there in each session: since 1.21.
    keeps_prepared: bool,
}

impl Pooler {
    /// Shares so many sessions of a database between all clients.
    fn start(mode: &str, database: &TestDatabase, sessions: usize) -> Option<Self> {
        let version = Command::new("pgbouncer").arg("--version").output().ok()?;
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let minor = version.split('.').nth(1)?.parse::<u32>().ok()?;
        let keeps_prepared = minor >= 21;

        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let [file, users] = ["pgbouncer.ini", "users.txt"].map(|name| folder.path().join(name));
        let prepared = ["", "max_prepared_statements = 100"][usize::from(keeps_prepared)];
        let settings = format!(
            "[databases]\n{}\n\
             [pgbouncer]\npool_mode = {mode}\ndefault_pool_size = {sessions}\n\
             auth_type = trust\nauth_file = {}\nlisten_port = 6432\nunix_socket_dir = {}\n{prepared}\n",
            parameters(&database.url()),
            users.display(),
            folder.path().display()
        );
        fs::write(&users, "\"any\" \"\"\n").unwrap();
        fs::write(&file, settings).unwrap();
        let mut command = Command::new("pgbouncer");
        if folder.path().metadata().unwrap().uid() == 0 {
            command.args(["-u", "nobody"]);
        }
        let process = command.arg("-q").arg(&file).stderr(Stdio::null()).spawn();
        let pooler = Pooler {
            process: process.unwrap(),
            folder,
            keeps_prepared,
        };
        let socket = pooler.folder.path().join(".s.PGSQL.6432");
        // The file is there before PgBouncer listens.
        let listens = || UnixStream::connect(&socket).is_ok();
        assert!(wait_until(listens), "PgBouncer did not start");
        Some(pooler)
    }

    fn connect(&self, database: &TestDatabase) -> Conn {
        let folder = self.folder.path().display();
        let url = database.url();
        let (_server, name) = url.rsplit_once('/').unwrap();
        let url = format!("host={folder} port=6432 user=any dbname={name}");
        let mut conn = Conn::establish(&url).unwrap();
        if !self.keeps_prepared {
            conn.set_prepared_statement_cache_size(CacheSize::Disabled);
        }
        conn
    }
}

/// `postgres://user:password@host:port/database` as PgBouncer writes it.
fn parameters(url: &str) -> String {
    let (_scheme, url) = url.split_once("://").unwrap();
    let (user, server) = url.split_once('@').unwrap();
    let (user, password) = user.split_once(':').unwrap_or((user, "none"));
    let (server, database) = server.split_once('/').unwrap();
    let (host, port) = server.split_once(':').unwrap_or((server, "5432"));
    format!("{database} = host={host} port={port} user={user} password={password}")
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn each_session_of_a_pooler_has_a_slot_and_nothing_is_lost() {
    const THREADS: i64 = 16;
    const SESSIONS: usize = 4;

    let database = TestDatabase::with_tables();
    let Some(pooler) = Pooler::start("transaction", &database, SESSIONS) else {
        return;
    };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (pooler, database) = (&pooler, &database);
            scope.spawn(move || {
                let conn = &mut pooler.connect(database);
                for i in 0..50 {
                    conn.transaction(|conn| {
                        // In another order on each thread.
                        for step in 0..3 {
                            let id = (thread + i + step * (thread % 4 + 1)) % 5 + 1;
                            article(id).incr_counter(views, conn)?;
                        }
                        QueryResult::Ok(())
                    })
                    .unwrap();
                    article(1).incr_counter((likes, comments), conn).unwrap();
                    article(1).counter_value(views, conn).unwrap();
                }
            });
        }
    });
    let conn = &mut database.connect();
    let articles = [1, 2, 3, 4, 5].map(article);
    let values: Vec<(i64, i64)> = Article::counter_values(&articles, (views, likes), conn).unwrap();
    let (viewed, liked): (Vec<i64>, Vec<i64>) = values.into_iter().unzip();
    assert_eq!(viewed.iter().sum::<i64>(), THREADS * 50 * 3);
    assert_eq!(liked, [THREADS * 50, 0, 0, 0, 0]);
    let slots = article_counters::table.select(count(slot).aggregate_distinct());
    let slots: i64 = slots.get_result(conn).unwrap();
    assert!(slots <= SESSIONS as i64, "{slots}");
}

#[test]
fn a_merge_whose_lock_is_in_another_session_says_so() {
    let database = TestDatabase::with_tables();
    let Some(pooler) = Pooler::start("transaction", &database, 2) else {
        return;
    };
    let conn = &mut pooler.connect(&database);
    let view = |number| increment(views).of(1).on(day(2026, 1, number));
    for number in 1..=3 {
        view(number).execute(conn).unwrap();
    }
    // The session that the merge began in, which has the lock, is another client's by the end.
    let mut other = pooler.connect(&database);
    let mut is_taken = false;
    let merge = compact(article_counters::table).batch(1).on_progress(|_| {
        if !is_taken {
            is_taken = true;
            other.begin_test_transaction().unwrap();
            article(1).counter_value(views, &mut other).unwrap();
        }
    });
    let error = merge.execute(conn).unwrap_err().to_string();
    assert!(error.contains("merge over a direct connection"), "{error}");
    assert_eq!(article(1).counter_value(views, conn), Ok(3));
}

#[test]
fn in_statement_mode_only_single_statements_work() {
    let database = TestDatabase::with_tables();
    let Some(pooler) = Pooler::start("statement", &database, 2) else {
        return;
    };
    let conn = &mut pooler.connect(&database);
    article(1).incr_counter(views, conn).unwrap();
    assert_eq!(article(1).counter_value(views, conn), Ok(1));
    let counted = conn.transaction(|conn| article(1).incr_counter(views, conn));
    assert!(counted.is_err());
    // PgBouncer has closed the connection.
    let conn = &mut pooler.connect(&database);
    let set = set_counter(views).of(&article(1)).to(100).execute(conn);
    assert!(set.is_err(), "{set:?}");
    let value = article(1).counter_value(views, &mut database.connect());
    assert_eq!(value, Ok(1));
}
