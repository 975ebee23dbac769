//! One connection type for all databases, so that one program runs on each of them.

use diesel_counters::{CounterBackend, Dialect, ListedRows};

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
