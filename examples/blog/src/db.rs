//! The database, its connections and its transactions.

use std::time::Duration;

use diesel::ConnectionError;
use diesel::connection::{Connection, TransactionManager};
use diesel::r2d2::{Builder, ManageConnection, R2D2Connection};
use diesel::result::{DatabaseErrorKind::UniqueViolation, Error, QueryResult};
use diesel_counters::{ClaimSlots, Retry, is_retryable, retry_if};

pub use crate::connection::AnyConnection;
use crate::migrations;

/// Runs `work` in a transaction that writes. If the transaction conflicts with another
/// one, runs all of it again.
pub fn write<T>(
    conn: &mut AnyConnection,
    mut work: impl FnMut(&mut AnyConnection) -> QueryResult<T>,
) -> QueryResult<T> {
    retry().run(conn, |conn| write_once(conn, &mut work))
}

/// Runs a transaction, or a statement outside of one, again if it conflicts with another one.
pub fn retry() -> Retry<'static, Error> {
    // A unique violation: another transaction has taken a path that was free.
    retry_if(|error| {
        is_retryable(error) || matches!(error, Error::DatabaseError(UniqueViolation, _))
    })
}

/// As `Connection::transaction`, except for how the transaction begins.
fn write_once<T>(
    conn: &mut AnyConnection,
    work: impl FnOnce(&mut AnyConnection) -> QueryResult<T>,
) -> QueryResult<T> {
    begin_writing(conn)?;
    match work(conn) {
        Ok(value) => {
            AnyConnection::commit_transaction(conn)?;
            Ok(value)
        }
        Err(error) => match AnyConnection::rollback_transaction(conn) {
            Ok(()) | Err(Error::BrokenTransactionManager) => Err(error),
            Err(rollback_error) => Err(rollback_error),
        },
    }
}

fn begin_writing(conn: &mut AnyConnection) -> QueryResult<()> {
    match conn {
        // If a transaction reads before it writes and another one writes meanwhile, SQLite
        // fails it at once. An immediate transaction waits before it reads.
        #[cfg(feature = "sqlite")]
        AnyConnection::Sqlite(conn) => {
            use diesel::connection::AnsiTransactionManager;
            AnsiTransactionManager::begin_transaction_sql(conn, "BEGIN IMMEDIATE")
        }
        #[cfg(any(feature = "postgres", feature = "mysql"))]
        conn => AnyConnection::begin_transaction(conn),
    }
}

/// A pool of connections.
pub type Pool = diesel::r2d2::Pool<Database>;

/// The maximum number of connections that pages are read on.
const READERS: u32 = 10;

/// The maximum number of connections that write. They are a pool of their own: while all of them
/// wait for a lock, pages are still shown.
const WRITERS: u32 = 5;

/// How long a request waits for a connection before it fails.
const PATIENCE: Duration = Duration::from_secs(2);

fn pool_of(connections: u32) -> Builder<Database> {
    Pool::builder()
        .max_size(connections)
        .min_idle(Some(1))
        .connection_timeout(PATIENCE)
}

/// The database that `DATABASE_URL` names.
// Does not implement Debug, which would show the password.
#[derive(Clone)]
pub struct Database {
    engine: Engine,
    /// For SQLite, the file.
    url: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Sqlite,
    Postgres,
    Mysql,
}

/// The error of connecting to the database, or of migrating it.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The URL's scheme is unknown.
    #[error(
        "DATABASE_URL begins with {0}://; use postgres://…, mysql://… or the file of an SQLite database"
    )]
    UnknownScheme(String),
    /// The URL names no file that connections could share.
    #[error("DATABASE_URL names no file: each connection would have an SQLite database of its own")]
    NotAFile,
    /// The blog was built without this database.
    #[error(
        "this blog was built without {name}: run it with `cargo run -p blog --features {feature}`"
    )]
    NotBuiltIn {
        /// The database's name.
        name: &'static str,
        /// The feature that builds it in.
        feature: &'static str,
    },
    /// The connection failed.
    #[error("cannot open the database of DATABASE_URL: {0}")]
    Unreachable(String),
    /// The database returned an error.
    #[error("the database of DATABASE_URL returned an error")]
    Failed(#[from] Error),
    /// The migrations failed.
    #[error("cannot migrate the database of DATABASE_URL")]
    Migration(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Database {
    /// Parses a `DATABASE_URL`. Text that is not a URL names the file of an SQLite database.
    pub fn from_url(url: &str) -> Result<Self, DatabaseError> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("sqlite", url));
        let (engine, url) = match scheme {
            "sqlite" if rest.is_empty() || rest == ":memory:" => {
                return Err(DatabaseError::NotAFile);
            }
            "sqlite" => (Engine::Sqlite, rest),
            "postgres" | "postgresql" => (Engine::Postgres, url),
            "mysql" => (Engine::Mysql, url),
            _ => return Err(DatabaseError::UnknownScheme(scheme.to_owned())),
        };
        Ok(Database {
            engine,
            url: url.to_owned(),
        })
    }

    /// Connects, and runs the pending migrations.
    pub fn migrated(&self) -> Result<AnyConnection, DatabaseError> {
        let mut conn = self.connect()?;
        migrations::run(&mut conn).map_err(DatabaseError::Migration)?;
        Ok(conn)
    }

    /// Returns a pool for pages, which count nothing. It does not connect yet.
    pub fn readers(self) -> Pool {
        pool_of(READERS).build_unchecked(self)
    }

    /// Returns a pool of connections that each claim a slot. It does not connect yet.
    pub fn writers(self) -> Pool {
        pool_of(WRITERS)
            .connection_customizer(Box::new(ClaimSlots))
            .build_unchecked(self)
    }

    fn unreachable(&self, error: ConnectionError) -> DatabaseError {
        // A message of libpq has several lines.
        let reason = error.to_string();
        let mut reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        // A client library may quote a URL that it could not parse.
        if let Some(password) = self.password() {
            reason = reason.replace(password, "***");
        }
        DatabaseError::Unreachable(reason)
    }

    fn password(&self) -> Option<&str> {
        let (_, authority) = self.url.split_once("://")?;
        let (user, _host) = authority.rsplit_once('@')?;
        let (_, password) = user.split_once(':')?;
        Some(password).filter(|password| !password.is_empty())
    }
}

/// Diesel's own `ConnectionManager` would try one kind of connection after another, and
/// its error would only say that none worked.
impl ManageConnection for Database {
    type Connection = AnyConnection;
    type Error = DatabaseError;

    fn connect(&self) -> Result<AnyConnection, DatabaseError> {
        match self.engine {
            #[cfg(feature = "sqlite")]
            Engine::Sqlite => {
                use diesel::connection::SimpleConnection;

                let mut conn = diesel::SqliteConnection::establish(&self.url)
                    .map_err(|error| self.unreachable(error))?;
                // The last one: the triggers that count likes require it for an INSERT that
                // meets an existing row.
                conn.batch_execute(
                    "PRAGMA busy_timeout = 5000;
                     PRAGMA synchronous = NORMAL;
                     PRAGMA foreign_keys = ON;
                     PRAGMA recursive_triggers = ON;",
                )?;
                Ok(AnyConnection::Sqlite(conn))
            }
            #[cfg(feature = "postgres")]
            Engine::Postgres => {
                use diesel::connection::SimpleConnection;

                let mut conn = diesel::PgConnection::establish(&self.url)
                    .map_err(|error| self.unreachable(error))?;
                // By default, a statement waits for a lock without end.
                conn.batch_execute("SET lock_timeout = '5s'")?;
                Ok(AnyConnection::Postgres(conn))
            }
            #[cfg(feature = "mysql")]
            Engine::Mysql => {
                use diesel::connection::SimpleConnection;

                let mut conn = diesel::MysqlConnection::establish(&self.url)
                    .map_err(|error| self.unreachable(error))?;
                // MySQL converts a TIMESTAMP from and to the session's time zone. The blog's
                // times are in UTC. By default, a statement waits 50 seconds for a lock.
                conn.batch_execute("SET time_zone = '+00:00', innodb_lock_wait_timeout = 5")?;
                Ok(AnyConnection::Mysql(conn))
            }
            #[cfg(not(all(feature = "sqlite", feature = "postgres", feature = "mysql")))]
            engine => Err(engine.not_built_in()),
        }
    }

    fn is_valid(&self, conn: &mut AnyConnection) -> Result<(), DatabaseError> {
        Ok(conn.ping()?)
    }

    fn has_broken(&self, conn: &mut AnyConnection) -> bool {
        std::thread::panicking() || conn.is_broken()
    }
}

#[cfg(not(all(feature = "sqlite", feature = "postgres", feature = "mysql")))]
impl Engine {
    fn not_built_in(self) -> DatabaseError {
        let (name, feature) = match self {
            Engine::Sqlite => ("SQLite", "sqlite"),
            Engine::Postgres => ("PostgreSQL", "postgres"),
            Engine::Mysql => ("MySQL", "mysql"),
        };
        DatabaseError::NotBuiltIn { name, feature }
    }
}
