//! Migrates the database when the blog starts. If several blogs start at the same time on
//! one database, they wait for each other.

use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};

use crate::db::AnyConnection;

type Result = std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>;

pub fn run(conn: &mut AnyConnection) -> Result {
    match conn {
        #[cfg(feature = "sqlite")]
        AnyConnection::Sqlite(conn) => run_on_sqlite(conn),
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(conn) => run_on_postgres(conn),
        #[cfg(feature = "mysql")]
        AnyConnection::Mysql(conn) => run_on_mysql(conn),
    }
}

#[cfg(feature = "sqlite")]
fn run_on_sqlite(conn: &mut diesel::SqliteConnection) -> Result {
    const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

    switch_to_wal(conn)?;
    conn.immediate_transaction(|conn| conn.run_pending_migrations(MIGRATIONS).map(drop))
}

/// Switches to the write-ahead log, so that readers and a writer do not wait for each other.
/// The mode is stored in the database file.
#[cfg(feature = "sqlite")]
fn switch_to_wal(conn: &mut diesel::SqliteConnection) -> diesel::QueryResult<()> {
    use diesel::connection::SimpleConnection;
    use std::time::Duration;

    // If two connections switch at the same time, SQLite can fail either, even with a busy timeout.
    let delay = Duration::from_millis(20);
    diesel_counters::retry()
        .delay(delay..=delay)
        .attempts(3000) // a minute
        .run(conn, |conn| conn.batch_execute("PRAGMA journal_mode = WAL"))
}

#[cfg(feature = "postgres")]
fn run_on_postgres(conn: &mut diesel::PgConnection) -> Result {
    use diesel::connection::{Connection, SimpleConnection};

    const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/postgres");

    conn.transaction(|conn| {
        // The number is "blog" in ASCII. Another blog can take longer than the `lock_timeout`.
        conn.batch_execute(
            "SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(x'626c6f67'::bigint)",
        )?;
        conn.run_pending_migrations(MIGRATIONS).map(drop)
    })
}

#[cfg(feature = "mysql")]
fn run_on_mysql(conn: &mut diesel::MysqlConnection) -> Result {
    use diesel::connection::SimpleConnection;
    use diesel::dsl::sql;
    use diesel::prelude::*;
    use diesel::sql_types::{BigInt, Nullable};

    const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/mysql");

    // A lock of the session, because MySQL commits the transaction at each CREATE TABLE.
    let lock = sql::<Nullable<BigInt>>("GET_LOCK('blog migrations', 60)");
    let locked: Option<i64> = diesel::select(lock).get_result(conn)?;
    if locked != Some(1) {
        let reason = "another blog has held the lock `blog migrations` of this server for a \
                      minute; start this blog again when the other one has started";
        return Err(reason.into());
    }
    let result = conn.run_pending_migrations(MIGRATIONS).map(drop);
    conn.batch_execute("DO RELEASE_LOCK('blog migrations')")?;
    result
}
