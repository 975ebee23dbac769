//! The database: its connections and migrations.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, CustomizeConnection, Error};
use diesel_counters::{ClaimSlots, Retry, is_retryable, retry_if};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

#[cfg(feature = "postgres")]
mod database {
    pub type Conn = diesel::PgConnection;
    pub const MIGRATIONS: super::EmbeddedMigrations =
        super::embed_migrations!("migrations/postgres");
    pub const SETTINGS: &str = "SET lock_timeout = '1s'";
}
#[cfg(all(feature = "mysql", not(feature = "postgres")))]
mod database {
    pub type Conn = diesel::MysqlConnection;
    pub const MIGRATIONS: super::EmbeddedMigrations = super::embed_migrations!("migrations/mysql");
    pub const SETTINGS: &str =
        "SET time_zone = '+00:00', innodb_lock_wait_timeout = 1, lock_wait_timeout = 1";
}
#[cfg(not(any(feature = "postgres", feature = "mysql")))]
mod database {
    pub type Conn = diesel::SqliteConnection;
    pub const MIGRATIONS: super::EmbeddedMigrations = super::embed_migrations!("migrations/sqlite");
    // The triggers that count likes require the last one.
    pub const SETTINGS: &str = "PRAGMA busy_timeout = 1000; PRAGMA journal_mode = WAL; \
         PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON";
}

pub use database::Conn;

pub type Pool = diesel::r2d2::Pool<ConnectionManager<Conn>>;
pub type Pooled = diesel::r2d2::PooledConnection<ConnectionManager<Conn>>;

/// Connects, and creates the tables.
pub fn open(url: &str) -> anyhow::Result<Pool> {
    // The pool would try again for 5 seconds. This fails at once.
    let mut conn = Conn::establish(url).map_err(|error| cannot_open(url, &error.to_string()))?;
    conn.batch_execute(database::SETTINGS)?;
    conn.run_pending_migrations(database::MIGRATIONS)
        .map_err(|error| anyhow!("cannot create the tables of the database: {error}"))?;
    Ok(Pool::builder()
        .max_size(16)
        .min_idle(Some(1))
        // Then the page says that the blog is busy.
        .connection_timeout(Duration::from_secs(2))
        .connection_customizer(Box::new(Settings))
        .build_unchecked(ConnectionManager::new(url)))
}

/// Retries conflicts, but no attempt that has waited for a lock: somebody waits for the page.
pub fn retry() -> Retry<'static, diesel::result::Error> {
    let begun = Instant::now();
    retry_if(move |error| is_retryable(error) && begun.elapsed() < Duration::from_millis(500))
}

/// The error without the password, of which a client library prints a part if it misreads the URL.
fn cannot_open(url: &str, error: &str) -> anyhow::Error {
    let (login, name) = url.rsplit_once('@').unwrap_or(("", url));
    let name = name.split('?').next().unwrap_or_default();
    let password = login.splitn(3, ':').nth(2).unwrap_or_default();
    let parts = password.split(|c: char| !c.is_alphanumeric());
    let error = parts
        .filter(|part| !part.is_empty())
        .fold(error.replace(url, name), |error, part| {
            error.replace(part, "…")
        });
    anyhow!("cannot open the database {name}: {error}")
}

/// What each connection of the pool runs first. It claims a slot of its own, so that transactions on
/// different connections never wait for each other's counts.
#[derive(Debug)]
struct Settings;

impl CustomizeConnection<Conn, Error> for Settings {
    fn on_acquire(&self, conn: &mut Conn) -> Result<(), Error> {
        conn.batch_execute(database::SETTINGS)
            .map_err(Error::QueryError)?;
        ClaimSlots.on_acquire(conn)
    }
}
