//! One connection for all databases.

use anyhow::{Result, anyhow, bail};
use diesel::{Connection, ConnectionError};
use diesel_counters::{CounterBackend, Dialect, ListedRows};

use crate::database;

/// A connection to one of the databases that this command is built for.
#[derive(diesel::MultiConnection)]
pub enum AnyConnection {
    /// SQLite.
    #[cfg(feature = "sqlite")]
    Sqlite(diesel::SqliteConnection),
    /// PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(diesel::PgConnection),
    /// MySQL or MariaDB.
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
    /// The SQL dialect of the database.
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
        #[cfg(feature = "postgres")]
        Dialect::PostgreSql => {
            refuse_pooler(url)?;
            let timeouts = "SET lock_timeout = '2s'";
            Ok(AnyConnection::Postgres(open(url, timeouts)?))
        }
        #[cfg(feature = "mysql")]
        Dialect::MySql => {
            // The client library knows no other scheme.
            let url = url.replacen("mariadb://", "mysql://", 1);
            if !names_database(&url) {
                bail!("which database of the server? Name it in the URL: mysql://…/DATABASE");
            }
            let timeouts = "SET SESSION lock_wait_timeout = 2, innodb_lock_wait_timeout = 2";
            Ok(AnyConnection::Mysql(open(&url, timeouts)?))
        }
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => {
            let file = url.strip_prefix("sqlite://").unwrap_or(url);
            // SQLite would create it.
            if !std::path::Path::new(file).is_file() {
                // It may be another way to connect, with a password: a URL that has lost its
                // beginning, or libpq's `host=… password=…`.
                let file = match file.contains(['@', '=']) {
                    true => String::new(),
                    false => format!(" {file}"),
                };
                bail!(
                    "there is no file{file}: give the path of an SQLite database, \
                     or a URL that begins with postgres:// or mysql://"
                );
            }
            let timeouts = "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON";
            Ok(AnyConnection::Sqlite(open(file, timeouts)?))
        }
        #[allow(unreachable_patterns)]
        dialect => bail!(
            "this diesel-counters was built without {0}: build it with \
             `cargo install diesel_counters_cli --features {0}`",
            database::of(dialect).facts().option
        ),
    }
}

/// Opens a connection and sets its timeouts.
fn open<C: Connection>(url: &str, timeouts: &str) -> Result<C> {
    let mut conn = C::establish(url).map_err(|e| unreachable(url, e))?;
    conn.batch_execute(timeouts)?;
    Ok(conn)
}

/// Fails if two connections are one session of the server: PgBouncer in transaction mode gives each
/// transaction any session. This command's timeouts would stay there, for other programs.
#[cfg(feature = "postgres")]
fn refuse_pooler(url: &str) -> Result<()> {
    use diesel::RunQueryDsl;

    // Both are open at the same time.
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let mut conn = diesel::PgConnection::establish(url).map_err(|e| unreachable(url, e))?;
        let session = diesel::dsl::sql::<diesel::sql_types::Integer>("pg_backend_pid()");
        let session: i32 = diesel::select(session).get_result(&mut conn)?;
        sessions.push((session, conn));
    }
    if sessions[0].0 == sessions[1].0 {
        bail!(
            "this is a pooler that shares sessions between clients, as PgBouncer in transaction mode \
             does, and would keep this command's timeouts and locks for others: give the URL of the \
             server itself"
        );
    }
    Ok(())
}

/// The SQL dialect of the database at a URL. Anything but a URL is a file of SQLite.
pub fn dialect_of(url: &str) -> Result<Dialect> {
    const KNOWN: &str = "known are postgres://…, mysql://…, and the file of an SQLite database";
    match url.split_once("://") {
        None | Some(("sqlite", _)) => Ok(Dialect::Sqlite),
        Some(("postgres" | "postgresql", _)) => Ok(Dialect::PostgreSql),
        Some(("mysql" | "mariadb", _)) => Ok(Dialect::MySql),
        // Anything else may hold a password.
        Some((scheme, _)) if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
            bail!("the database URL begins with {scheme}://; {KNOWN}")
        }
        Some(_) => bail!("the database URL begins with an unknown scheme; {KNOWN}"),
    }
}

#[cfg(feature = "mysql")]
fn names_database(url: &str) -> bool {
    let path = url
        .split_once("://")
        .and_then(|(_, rest)| rest.split_once('/'));
    path.is_some_and(|(_, path)| !path.split('?').next().unwrap_or_default().is_empty())
}

/// What to do about a lock wait that timed out.
pub fn who_locks(error: &anyhow::Error) -> &'static str {
    const WAITED: [&str; 3] = [
        "due to lock timeout",
        "Lock wait timeout exceeded",
        "database is locked",
    ];
    let text = format!("{error:#}");
    match WAITED.iter().any(|waited| text.contains(waited)) {
        true => ": another session has locked it. Try again, or see `diesel-counters doctor TABLE`",
        false => "",
    }
}

fn unreachable(url: &str, error: ConnectionError) -> anyhow::Error {
    // libpq's reasons have several lines.
    let reason = error.to_string();
    let mut reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    // A client library may quote what it could not read.
    for password in passwords(url) {
        reason = reason.replace(password, "***");
    }
    anyhow!("cannot open the database: {reason}")
}

/// That of `user:password@host`, and those of `?password=…&sslpassword=…`.
fn passwords(url: &str) -> impl Iterator<Item = &str> {
    let user = url
        .split_once("://")
        .and_then(|(_, rest)| rest.rsplit_once('@'));
    let of_user = user.and_then(|(user, _host)| Some(user.split_once(':')?.1));
    let parameters = url
        .split(['?', '&'])
        .filter_map(|part| part.split_once('='));
    let secret = parameters.filter(|(name, _)| name.ends_with("password"));
    let all = of_user.into_iter().chain(secret.map(|(_, value)| value));
    all.filter(|password| !password.is_empty())
}
