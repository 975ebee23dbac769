//! One connection type for all databases, so that one program runs on each of them.

/// A connection to any of the databases that the blog was built for.
#[derive(diesel::MultiConnection)]
pub enum AnyConnection {
    /// SQLite.
    #[cfg(feature = "sqlite")]
    Sqlite(diesel::SqliteConnection),
    /// PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(diesel::PgConnection),
    /// MySQL and MariaDB.
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
