//! One type of connection for all databases.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use diesel::connection::SimpleConnection;
use diesel::{Connection, ConnectionError};

use crate::database::{Database, Joined, MYSQL, POSTGRES, SQLITE};

/// A connection to one of the databases that this command was built for.
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

diesel_counters::counter_backend!(MultiBackend {
    #[cfg(feature = "sqlite")]
    Sqlite: Sqlite,
    #[cfg(feature = "postgres")]
    Postgres: PostgreSql,
    #[cfg(feature = "mysql")]
    Mysql: MySql,
});

impl AnyConnection {
    pub(crate) fn database(&self) -> Database {
        match self {
            #[cfg(feature = "sqlite")]
            AnyConnection::Sqlite(_) => SQLITE,
            #[cfg(feature = "postgres")]
            AnyConnection::Postgres(_) => POSTGRES,
            #[cfg(feature = "mysql")]
            AnyConnection::Mysql(_) => MYSQL,
        }
    }
}

/// Connects to `postgres://…`, `mysql://…`, or an SQLite file. Fails if that takes longer than
/// `timeout`.
pub fn connect(url: &str, timeout: Duration) -> Result<AnyConnection> {
    let (sender, receiver) = mpsc::channel();
    let url = url.to_owned();
    // Diesel has no connect timeout for MySQL. If this thread hangs, it ends with the program.
    thread::spawn(move || sender.send(open_any(&url)));
    receiver.recv_timeout(timeout).unwrap_or_else(|_| {
        bail!(
            "cannot open the database: the server did not respond within {} s. Does the database \
             URL have the host and the port of a database server? --connect-timeout sets another \
             time",
            timeout.as_secs()
        )
    })
}

/// Connects to the database that the URL is for.
fn open_any(url: &str) -> Result<AnyConnection> {
    let database = database_of(url)?;
    refuse_unencoded(url, database)?;
    match database {
        #[cfg(feature = "postgres")]
        POSTGRES => {
            refuse_pooler(url)?;
            Ok(AnyConnection::Postgres(open(url, POSTGRES_SESSION)?))
        }
        #[cfg(feature = "mysql")]
        MYSQL => Ok(AnyConnection::Mysql(open_mysql(url)?)),
        #[cfg(feature = "sqlite")]
        SQLITE => Ok(AnyConnection::Sqlite(open_sqlite(url)?)),
        #[allow(unreachable_patterns)]
        database => bail!(
            "this diesel-counters was built without {0}: build it with \
             `cargo install diesel_counters_cli --features {0}`",
            backend_name(database)
        ),
    }
}

#[cfg(feature = "mysql")]
fn open_mysql(url: &str) -> Result<diesel::MysqlConnection> {
    // The client library knows only this scheme.
    let mysql_url = url.replacen("mariadb://", "mysql://", 1);
    let behind_scheme = mysql_url.trim_start_matches("mysql://");
    let (_server, path) = behind_scheme.split_once('/').unwrap_or_default();
    if path.is_empty() || path.starts_with('?') {
        bail!("which database on the server? Name it in the URL: mysql://…/DATABASE");
    }
    let session = format!(
        "SET lock_wait_timeout = 2, innodb_lock_wait_timeout = 2, sql_mode = '{}'",
        crate::database::SQL_MODE
    );
    open(&mysql_url, &session)
}

#[cfg(feature = "sqlite")]
fn open_sqlite(url: &str) -> Result<diesel::SqliteConnection> {
    let file = url.strip_prefix("sqlite://").unwrap_or(url);
    // SQLite would create the file.
    if !std::path::Path::new(file).is_file() {
        // It may be a connection string with a password in it, such as a URL without its
        // beginning, or libpq's `host=… password=…`.
        let is_secret = file.contains(['@', '=', ':']);
        let shown = if is_secret { "" } else { &*format!(" {file}") };
        bail!(
            "there is no file{shown}: give the path of an SQLite database, \
             or a URL that begins with postgres:// or mysql://"
        );
    }
    let session = "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON";
    open(file, session)
}

/// Sets timeouts, and looks tables up as a migration does: in the schemas of the user's search
/// path, never among temporary tables. A row-level policy that would hide rows is an error. JIT is
/// off, because compiling a catalogue query takes longer than running it.
#[cfg(feature = "postgres")]
const POSTGRES_SESSION: &str = "\
    SET lock_timeout = '2s'; SET row_security = off; SET jit = off; \
    SELECT set_config('search_path', concat_ws(', ', (SELECT string_agg(quote_ident(name), ', ') \
        FROM unnest(current_schemas(false)) AS name), 'pg_temp'), false)";

/// Connects, and sets up the session with these statements.
fn open<C: Connection>(url: &str, session: &str) -> Result<C> {
    let mut conn = C::establish(url).map_err(cannot_open)?;
    conn.batch_execute(session)?;
    Ok(conn)
}

/// Fails if two connections share one server session. PgBouncer in transaction mode does that, and
/// the timeouts that this command sets would stay there for other programs.
#[cfg(feature = "postgres")]
fn refuse_pooler(url: &str) -> Result<()> {
    use diesel::RunQueryDsl;

    struct Session {
        number: i32,
        _conn: diesel::PgConnection,
    }

    let open_session = || -> Result<Session> {
        let mut conn = diesel::PgConnection::establish(url).map_err(cannot_open)?;
        let number = diesel::dsl::sql::<diesel::sql_types::Integer>("pg_backend_pid()");
        Ok(Session {
            number: diesel::select(number).get_result(&mut conn)?,
            _conn: conn,
        })
    };
    // Keep both connections open until here: the server could reuse a session that has ended.
    let one = open_session()?;
    let other = open_session()?;
    if one.number == other.number {
        bail!(
            "this is a pooler that shares sessions between clients, as PgBouncer in transaction \
             mode does. It would keep this command's timeouts and locks for other clients: give \
             the server's own URL"
        );
    }
    Ok(())
}

/// Returns `postgres`, `mysql` or `sqlite`: a database's cargo feature and `--backend` value, and
/// the directory of its templates.
pub fn backend_name(database: Database) -> &'static str {
    match database {
        POSTGRES => "postgres",
        MYSQL => "mysql",
        SQLITE => "sqlite",
    }
}

/// Returns the database that a URL is for. Anything that isn't a URL is an SQLite file.
pub fn database_of(url: &str) -> Result<Database> {
    const KNOWN: &str = "known are postgres://…, mysql://…, and the file of an SQLite database";
    match url.split_once("://") {
        None | Some(("sqlite", _)) => Ok(SQLITE),
        Some(("postgres" | "postgresql", _)) => Ok(POSTGRES),
        Some(("mysql" | "mariadb", _)) => Ok(MYSQL),
        // Anything else may contain a password.
        Some((scheme, _)) if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
            bail!("the database URL begins with {scheme}://; {KNOWN}")
        }
        Some(_) => bail!("the database URL begins with an unknown scheme; {KNOWN}"),
    }
}

/// Returns the end of an error message, `: another session has locked it. …`, if a lock wait has
/// timed out.
pub fn lock_advice(error: &anyhow::Error) -> &'static str {
    let text = format!("{error:#}");
    // From PostgreSQL, from MySQL and MariaDB, and from SQLite.
    let timeouts = ["lock timeout", "Lock wait timeout", "database is locked"];
    if timeouts.iter().any(|timeout| text.contains(timeout)) {
        ": another session has locked it. Try again, or see `diesel-counters doctor TABLE`"
    } else {
        ""
    }
}

/// Makes an error without a password in it.
fn cannot_open(error: ConnectionError) -> anyhow::Error {
    // libpq's reasons can have several lines.
    let mut reason = error.to_string().split_whitespace().joined(" ");
    // libpq quotes the part of the URL that it can't read, and that can be part of a password. For
    // example, it reads `password` as the port in `me:password/blog`. Errors from a server start
    // with its address and don't quote passwords.
    let cannot_read = [" URI", "percent-encoded"];
    let is_unread = reason.starts_with("invalid ");
    if is_unread || cannot_read.iter().any(|text| reason.contains(text)) {
        let before = reason.split('"').next().unwrap_or_default();
        reason = format!("{before}\"***\" in the database URL");
    }
    anyhow!("cannot open the database: {reason}")
}

/// Fails if a `/` or `@` in the password could be read as its end. The client library would take
/// the rest for another part of the URL, such as the port, and print it in an error.
fn refuse_unencoded(url: &str, database: Database) -> Result<()> {
    // The characters that end the server's part of the URL, and whether it can have several `@`.
    let (ends, can_repeat): (&[char], bool) = match database {
        POSTGRES => (&['/'], false),
        // Here the last `@` ends the password.
        MYSQL => (&['/', '?', '#'], true),
        SQLITE => return Ok(()),
    };
    let (_scheme, rest) = url.split_once("://").unwrap_or_default();
    let (server, path) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
    let is_repeated = !can_repeat && server.matches('@').count() > 1;
    if path.contains('@') || is_repeated {
        bail!(
            "the database URL cannot be read: in its user and its password, write / as %2F, ? as \
             %3F, # as %23, @ as %40 and % as %25; after them, write @ as %40"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_that_would_end_early_is_refused() {
        let is_refused = |url: &str| refuse_unencoded(url, database_of(url).unwrap()).is_err();
        for good in [
            "postgres://me:a%2Fb@host:5432/blog?host=/tmp",
            "postgres:///blog",
            "mysql://me:a@b@host/blog",
            "a@b/c@d.sqlite",
        ] {
            assert!(!is_refused(good), "{good}");
        }
        for wrong in [
            "postgres://me:a/b@host/blog",
            "postgres://me:a@b@host/blog",
            "mysql://me:a/b@host/blog",
            "mysql://me:a?b@host/blog",
            "mariadb://me:a#b@host/blog",
        ] {
            assert!(is_refused(wrong), "{wrong}");
        }
    }
}
