//! The database: its settings, migrations and connections.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use axum::http::StatusCode;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{self, ConnectionManager, CustomizeConnection, PoolError};
use diesel_counters::{ClaimSlots, Retry, is_retryable, retry_if};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

#[cfg(feature = "postgres")]
mod database {
    pub type Conn = diesel::PgConnection;
    pub const DATABASE: &str = "PostgreSQL";
    pub const MIGRATIONS: super::EmbeddedMigrations =
        super::embed_migrations!("migrations/postgres");
    pub const SETTINGS: &str = "SET lock_timeout = '1s'";
}
#[cfg(all(feature = "mysql", not(feature = "postgres")))]
mod database {
    pub type Conn = diesel::MysqlConnection;
    pub const DATABASE: &str = "MySQL";
    pub const MIGRATIONS: super::EmbeddedMigrations = super::embed_migrations!("migrations/mysql");
    pub const SETTINGS: &str =
        "SET time_zone = '+00:00', innodb_lock_wait_timeout = 1, lock_wait_timeout = 1";
}
#[cfg(not(any(feature = "postgres", feature = "mysql")))]
mod database {
    pub type Conn = diesel::SqliteConnection;
    pub const DATABASE: &str = "SQLite";
    pub const MIGRATIONS: super::EmbeddedMigrations = super::embed_migrations!("migrations/sqlite");
    // The triggers that count likes need the last one.
    pub const SETTINGS: &str = "PRAGMA busy_timeout = 1000; PRAGMA synchronous = NORMAL; \
         PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON";
}

pub use database::{Conn, DATABASE};

/// SQLite has one writer at a time, which counts in slot 0. The other databases count in slots from
/// 1 on.
pub const HAS_SLOTS: bool = cfg!(any(feature = "postgres", feature = "mysql"));

pub type Pool = r2d2::Pool<ConnectionManager<Conn>>;
pub type Pooled = r2d2::PooledConnection<ConnectionManager<Conn>>;

/// Creates the tables.
pub fn migrate(url: &str) -> anyhow::Result<()> {
    let (login, name) = url.rsplit_once('@').unwrap_or(("", url));
    let mut conn = Conn::establish(url).map_err(|error| {
        let name = name.split('?').next().unwrap_or_default();
        // A client library prints a part of the password if it misreads the URL.
        let words = login.split(|c: char| !c.is_alphanumeric());
        let secrets = words.filter(|word| !word.is_empty()).skip(2);
        let error = secrets.fold(error.to_string(), |error, word| error.replace(word, "…"));
        anyhow!("cannot open the database {name}: {error}")
    })?;
    if !HAS_SLOTS {
        // The file remembers this, so it's set only once.
        conn.batch_execute("PRAGMA journal_mode = WAL")?;
    }
    let migrated = conn.run_pending_migrations(database::MIGRATIONS).map(drop);
    migrated.map_err(|error| anyhow!("cannot create the tables of the database: {error}"))
}

/// Sets up a connection. If it writes, it claims a number, which decides its slot. As long as no
/// more than 16 connections are open, their transactions don't wait for each other's counts. While
/// the pool renews its connections, there can be more, and then two share a slot.
#[derive(Debug)]
struct SetUp(bool);

impl CustomizeConnection<Conn, r2d2::Error> for SetUp {
    fn on_acquire(&self, conn: &mut Conn) -> Result<(), r2d2::Error> {
        let set = conn.batch_execute(database::SETTINGS);
        set.map_err(r2d2::Error::QueryError)?;
        let claim = || ClaimSlots.on_acquire(conn);
        self.0.then(claim).unwrap_or(Ok(()))
    }
}

pub fn pool(url: &str, writes: bool) -> Pool {
    Pool::builder()
        .min_idle(Some(1))
        .max_size(16)
        // After that, the page says that the blog is busy.
        .connection_timeout(Duration::from_secs(2))
        .connection_customizer(Box::new(SetUp(writes)))
        .build_unchecked(ConnectionManager::new(url))
}

/// Runs `work` with a connection of the pool, on a thread that may block.
pub async fn run<T: Send + 'static>(
    pool: &Pool,
    work: impl FnOnce(&mut Conn) -> anyhow::Result<T> + Send + 'static,
) -> Result<T, StatusCode> {
    let pool = pool.clone();
    let work = tokio::task::spawn_blocking(move || work(&mut *pool.get()?)).await;
    let done = work.unwrap_or_else(|panic| Err(panic.into()));
    done.map_err(|error| match error.downcast_ref() {
        Some(diesel::NotFound) => StatusCode::NOT_FOUND,
        Some(error) if is_retryable(error) => StatusCode::SERVICE_UNAVAILABLE,
        None if error.is::<PoolError>() => StatusCode::SERVICE_UNAVAILABLE,
        _ => *error.downcast_ref().unwrap_or_else(|| {
            tracing::error!("{error:#}");
            &StatusCode::INTERNAL_SERVER_ERROR
        }),
    })
}

/// Retries conflicts, but not after waiting for a lock, because somebody is waiting for the page.
pub fn retry() -> Retry<'static, diesel::result::Error> {
    let begun = Instant::now();
    retry_if(move |error| is_retryable(error) && begun.elapsed() < Duration::from_millis(500))
}
