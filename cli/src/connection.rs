//! One connection for all databases.

#[cfg(feature = "sqlite")]
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use diesel::{Connection, ConnectionError};
use diesel_counters::{CounterBackend, Dialect, ListedRows};

/// A connection to any of the databases that this was built for.
#[derive(diesel::MultiConnection)]
pub enum AnyConnection {
    #[cfg(feature = "sqlite")]
    Sqlite(diesel::SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(diesel::PgConnection),
    #[cfg(feature = "mysql")]
    Mysql(diesel::MysqlConnection),
}

impl CounterBackend for MultiBackend {
    type ManyRows = ListedRows;

    fn dialect(&self) -> Dialect {
        match self {
            #[cfg(feature = "sqlite")]
            MultiBackend::Sqlite(_) => Dialect::Sqlite,
            #[cfg(feature = "postgres")]
            MultiBackend::Postgres(_) => Dialect::PostgreSql,
            #[cfg(feature = "mysql")]
            MultiBackend::Mysql(_) => Dialect::MySql,
        }
    }
}

impl AnyConnection {
    /// Whose SQL the database speaks.
    pub fn dialect(&self) -> Dialect {
        match self {
            #[cfg(feature = "sqlite")]
            AnyConnection::Sqlite(_) => Dialect::Sqlite,
            #[cfg(feature = "postgres")]
            AnyConnection::Postgres(_) => Dialect::PostgreSql,
            #[cfg(feature = "mysql")]
            AnyConnection::Mysql(_) => Dialect::MySql,
        }
    }
}

/// Connects to `postgres://…`, `mysql://…`, or the file of an SQLite database.
pub fn connect(url: &str) -> Result<AnyConnection> {
    match dialect_of(url)? {
        Dialect::PostgreSql => postgres(url),
        // The client library knows no other scheme.
        Dialect::MySql => mysql(&url.replacen("mariadb://", "mysql://", 1)),
        Dialect::Sqlite => sqlite(url.strip_prefix("sqlite://").unwrap_or(url)),
    }
}

/// Whose SQL the database of this URL speaks. What is no URL is a file of SQLite.
pub fn dialect_of(url: &str) -> Result<Dialect> {
    match url.split_once("://") {
        None | Some(("sqlite", _)) => Ok(Dialect::Sqlite),
        Some(("postgres" | "postgresql", _)) => Ok(Dialect::PostgreSql),
        Some(("mysql" | "mariadb", _)) => Ok(Dialect::MySql),
        // What stands there may be a password.
        Some((scheme, _)) if !scheme.chars().all(|c| c.is_ascii_alphanumeric()) => bail!(
            "the database URL does not begin as one of those that are known: postgres://…, \
             mysql://…, and the file of an SQLite database"
        ),
        Some((scheme, _)) => bail!(
            "the database URL begins with {scheme}://; \
             known are postgres://…, mysql://…, and the file of an SQLite database"
        ),
    }
}

#[cfg(feature = "sqlite")]
fn sqlite(file: &str) -> Result<AnyConnection> {
    use diesel::connection::SimpleConnection;

    // SQLite would make it.
    if !Path::new(file).is_file() {
        // It may be a URL with a password that has lost its beginning.
        let file = match file.contains('@') {
            true => String::new(),
            false => format!(" {file}"),
        };
        bail!(
            "there is no file{file}: give the path of an SQLite database, \
             or a URL that begins with postgres:// or mysql://"
        );
    }
    let mut conn = diesel::SqliteConnection::establish(file).map_err(|e| unreachable(file, e))?;
    conn.batch_execute("PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON")?;
    Ok(AnyConnection::Sqlite(conn))
}

#[cfg(feature = "postgres")]
fn postgres(url: &str) -> Result<AnyConnection> {
    use diesel::connection::SimpleConnection;

    let mut conn = diesel::PgConnection::establish(url).map_err(|e| unreachable(url, e))?;
    conn.batch_execute("SET lock_timeout = '2s'")?;
    Ok(AnyConnection::Postgres(conn))
}

#[cfg(feature = "mysql")]
fn mysql(url: &str) -> Result<AnyConnection> {
    use diesel::connection::SimpleConnection;

    if !names_database(url) {
        bail!("which database of the server? Name it in the URL: mysql://…/DATABASE");
    }
    let mut conn = diesel::MysqlConnection::establish(url).map_err(|e| unreachable(url, e))?;
    conn.batch_execute("SET SESSION lock_wait_timeout = 2, innodb_lock_wait_timeout = 2")?;
    Ok(AnyConnection::Mysql(conn))
}

#[cfg(feature = "mysql")]
fn names_database(url: &str) -> bool {
    let path = url
        .split_once("://")
        .and_then(|(_, rest)| rest.split_once('/'));
    path.is_some_and(|(_, path)| !path.split('?').next().unwrap_or_default().is_empty())
}

#[cfg(not(feature = "sqlite"))]
fn sqlite(_file: &str) -> Result<AnyConnection> {
    bail!(not_built_in("SQLite", "sqlite"))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_url: &str) -> Result<AnyConnection> {
    bail!(not_built_in("PostgreSQL", "postgres"))
}

#[cfg(not(feature = "mysql"))]
fn mysql(_url: &str) -> Result<AnyConnection> {
    bail!(not_built_in("MySQL and MariaDB", "mysql"))
}

#[cfg(not(all(feature = "sqlite", feature = "postgres", feature = "mysql")))]
fn not_built_in(name: &str, feature: &str) -> String {
    format!(
        "this diesel-counters was built without {name}: \
         build it with `cargo install --path cli --features {feature}`"
    )
}

/// What to do about an error of a lock wait that timed out.
pub fn who_locks(error: &anyhow::Error) -> &'static str {
    const WAITED: [&str; 3] = [
        "due to lock timeout",
        "Lock wait timeout exceeded",
        "database is locked",
    ];
    let said = format!("{error:#}");
    match WAITED.iter().any(|waited| said.contains(waited)) {
        true => ": another session has locked it. Try again, or see `diesel-counters doctor TABLE`",
        false => "",
    }
}

fn unreachable(url: &str, error: ConnectionError) -> anyhow::Error {
    // libpq's reasons have several lines.
    let reason = error.to_string();
    let mut reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    // A client library may quote what it could not read.
    if let Some(password) = password(url) {
        reason = reason.replace(password, "***");
    }
    anyhow!("cannot open the database: {reason}")
}

fn password(url: &str) -> Option<&str> {
    let (_, authority) = url.split_once("://")?;
    let (user, _host) = authority.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    Some(password).filter(|password| !password.is_empty())
}
