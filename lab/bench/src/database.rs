//! The databases, and what differs between them.

use anyhow::Result;
use clap::ValueEnum;
use diesel::prelude::*;
use diesel::r2d2::R2D2Connection;
use diesel::result::Error::QueryBuilderError;

#[cfg(feature = "postgres")]
use {
    crate::schema::{BODY, bench_article_counters::views, bench_comments},
    diesel_counters::dsl::increment,
    diesel_counters::prelude::CountingDsl,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    Postgres,
    Mariadb,
    Mysql,
    Sqlite,
}

impl Engine {
    pub fn name(self) -> &'static str {
        match self {
            Engine::Postgres => "PostgreSQL",
            Engine::Mariadb => "MariaDB",
            Engine::Mysql => "MySQL",
            Engine::Sqlite => "SQLite",
        }
    }

    /// Whether the program was built with the feature of this database.
    pub fn is_compiled_in(self) -> bool {
        match self {
            Engine::Postgres => cfg!(feature = "postgres"),
            Engine::Mariadb | Engine::Mysql => cfg!(feature = "mysql"),
            Engine::Sqlite => cfg!(feature = "sqlite"),
        }
    }

    /// Whether counts can go to several slots. SQLite has one writer at a time, and one slot.
    pub fn has_slots(self) -> bool {
        self != Engine::Sqlite
    }

    /// The name of the database in the arguments of this program and of `scripts/test`.
    pub fn id(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// A connection to one of the databases. Each has its own type: the work of a `MultiConnection`
/// would be measured too.
pub trait Database: R2D2Connection + Send + 'static {
    /// Statements that [`connect`](Database::connect) runs.
    const SETTINGS: &'static str = "";
    /// The type of a primary key that numbers its rows.
    const AUTO_ID: &'static str;
    /// Statements that leave `bench_articles` and `bench_article_counters`, after they were loaded,
    /// as they are on a server that has run for a while.
    const AFTER_LOADING: &'static str;
    /// An expression of the name and the version.
    const VERSION: &'static str;
    /// A query for the settings that have an effect on the results.
    const SHOW_SETTINGS: &'static str;

    /// A query for the number of sessions that use this database, without the own one.
    const OTHER_SESSIONS: &'static str;
    /// A statement that runs before [`READS`](Database::READS).
    const BEFORE_READS: &'static str = "";
    /// A query for numbers of rows and of blocks that the server has read so far, with their names.
    /// It is empty if the database does not tell. See [`is_of_blocks`].
    const READS: &'static str = "";
    /// The type of a BIGINT in `CAST`.
    const INTEGER: &'static str = "BIGINT";
    /// Follows the columns of a counter table.
    const TABLE_OPTIONS: &'static str = "";
    /// A statement that drops the functions of triggers whose tables are gone, if it has any.
    const DROP_FUNCTIONS: &'static str = "";
    /// A statement that says that `{table}` counts without days.
    const WITHOUT_DAYS: &'static str;

    /// What Diesel's `on_conflict` takes for the counter table's primary key.
    type ConflictTarget;
    const CONFLICT_TARGET: Self::ConflictTarget;

    /// Connects, with the settings that are measured.
    fn connect(url: &str) -> Result<Self, diesel::r2d2::Error> {
        let mut conn = Self::establish(url)?;
        if !Self::SETTINGS.is_empty() {
            conn.batch_execute(Self::SETTINGS)?;
        }
        Ok(conn)
    }

    /// Inserts a comment and counts a view of its article, in one statement.
    fn insert_and_count(&mut self, _article_id: i64) -> QueryResult<()> {
        let reason = "only PostgreSQL counts in the statement that inserts";
        Err(QueryBuilderError(reason.into()))
    }

    /// Runs a transaction that writes.
    fn write<T>(&mut self, statements: impl FnOnce(&mut Self) -> QueryResult<T>) -> QueryResult<T> {
        self.transaction(statements)
    }
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod conflict {
    use crate::schema::bench_article_counters::{article_id, day, slot};

    pub type PrimaryKey = (article_id, day, slot);
    pub const PRIMARY_KEY: PrimaryKey = (article_id, day, slot);
}

#[cfg(feature = "postgres")]
impl Database for PgConnection {
    const AUTO_ID: &'static str = "BIGSERIAL PRIMARY KEY";
    const DROP_FUNCTIONS: &'static str = "DO $$ DECLARE name text; BEGIN
            FOR name IN SELECT oid::regprocedure FROM pg_proc WHERE proname LIKE 'bench\\_%' LOOP
                EXECUTE 'DROP FUNCTION ' || name;
            END LOOP;
        END $$";
    const WITHOUT_DAYS: &'static str =
        "COMMENT ON COLUMN {table}.day IS 'diesel_counters: period = total'";
    // Without this vacuum, autovacuum could begin one during the measurement.
    const AFTER_LOADING: &'static str = "VACUUM (ANALYZE) bench_articles, bench_article_counters";
    const VERSION: &'static str = "'PostgreSQL ' || current_setting('server_version')";
    const SHOW_SETTINGS: &'static str =
        "SELECT name AS \"Variable_name\", current_setting(name) AS \"Value\" FROM pg_settings
         WHERE name IN ('synchronous_commit', 'fsync', 'shared_buffers',
             'default_transaction_isolation', 'deadlock_timeout')";

    const OTHER_SESSIONS: &'static str = "SELECT COUNT(*) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend'
        AND pid <> pg_backend_pid()";

    // A session adds its reads to the statistics at the end of a transaction, and by default about
    // once a second. PostgreSQL has this function since version 15.
    const BEFORE_READS: &'static str = "SELECT pg_stat_force_next_flush()";
    const READS: &'static str = "SELECT 'rows' AS \"Variable_name\",
             CAST(SUM(seq_tup_read + COALESCE(idx_tup_fetch, 0)) AS TEXT) AS \"Value\"
             FROM pg_stat_user_tables
         UNION ALL SELECT 'blocks', CAST(SUM(heap_blks_read + heap_blks_hit
             + COALESCE(idx_blks_read + idx_blks_hit, 0)) AS TEXT) FROM pg_statio_user_tables";

    type ConflictTarget = conflict::PrimaryKey;
    const CONFLICT_TARGET: Self::ConflictTarget = conflict::PRIMARY_KEY;

    fn insert_and_count(&mut self, article_id: i64) -> QueryResult<()> {
        use bench_comments::{article_id as of, body, table};
        diesel::insert_into(table)
            .values((of.eq(article_id), body.eq(BODY)))
            .counting(increment(views).of(article_id))
            .execute(self)
            .map(drop)
    }
}

#[cfg(feature = "mysql")]
impl Database for MysqlConnection {
    const AUTO_ID: &'static str = "BIGINT AUTO_INCREMENT PRIMARY KEY";
    const WITHOUT_DAYS: &'static str = "ALTER TABLE {table} MODIFY day DATE NOT NULL
        COMMENT 'diesel_counters: period = total'";
    const AFTER_LOADING: &'static str = "ANALYZE TABLE bench_articles, bench_article_counters";
    const VERSION: &'static str =
        "concat(if(version() LIKE '%MariaDB%', 'MariaDB ', 'MySQL '), version())";
    const SHOW_SETTINGS: &'static str = "SHOW VARIABLES WHERE Variable_name IN
         ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'innodb_buffer_pool_size',
          'transaction_isolation', 'tx_isolation')";

    const OTHER_SESSIONS: &'static str = "SELECT COUNT(*) FROM information_schema.processlist
        WHERE db = DATABASE() AND id <> CONNECTION_ID()";
    const READS: &'static str = "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Handler_read%'
         OR Variable_name = 'Innodb_buffer_pool_read_requests'";
    // `CAST` takes no BIGINT.
    const INTEGER: &'static str = "SIGNED";

    type ConflictTarget = diesel::dsl::DuplicatedKeys;
    const CONFLICT_TARGET: Self::ConflictTarget = diesel::dsl::DuplicatedKeys;
}

#[cfg(feature = "sqlite")]
impl Database for SqliteConnection {
    // A commit is durable before it returns, as by the servers' default settings.
    const SETTINGS: &'static str =
        "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
    const AUTO_ID: &'static str = "INTEGER PRIMARY KEY";
    // As in the reference migrations: the rows of an entity are next to each other.
    const TABLE_OPTIONS: &'static str = " WITHOUT ROWID";
    // It has one slot, so nobody measures triggers that count without days.
    const WITHOUT_DAYS: &'static str = "";
    // ANALYZE has a cost here: the SQLite that libsqlite3-sys bundles then plans each read of a
    // total again. With SQLITE_ENABLE_STAT4, it does so for any statement whose best plan could
    // depend on a bound value.
    const AFTER_LOADING: &'static str =
        "ANALYZE bench_articles; ANALYZE bench_article_counters; PRAGMA wal_checkpoint(TRUNCATE)";
    const VERSION: &'static str = "'SQLite ' || sqlite_version()";
    const SHOW_SETTINGS: &'static str =
        "SELECT 'journal_mode' AS \"Variable_name\", journal_mode AS \"Value\"
             FROM pragma_journal_mode
         UNION ALL SELECT 'synchronous', CAST(synchronous AS TEXT) FROM pragma_synchronous";

    const OTHER_SESSIONS: &'static str = "SELECT 0";

    type ConflictTarget = conflict::PrimaryKey;
    const CONFLICT_TARGET: Self::ConflictTarget = conflict::PRIMARY_KEY;

    fn write<T>(&mut self, statements: impl FnOnce(&mut Self) -> QueryResult<T>) -> QueryResult<T> {
        self.immediate_transaction(statements)
    }
}

#[derive(QueryableByName)]
pub struct Setting {
    #[diesel(sql_type = diesel::sql_types::Text, column_name = Variable_name)]
    pub name: String,
    #[diesel(sql_type = diesel::sql_types::Text, column_name = Value)]
    pub value: String,
}

/// What a database says of itself.
pub trait Describe: Database {
    fn version_and_settings(&mut self) -> QueryResult<(String, Vec<Setting>)>;
    /// What all connections have read so far.
    fn reads(&mut self) -> QueryResult<Option<Reads>>;
}

/// What a server has read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reads {
    pub rows: i64,
    pub blocks: i64,
}

/// Whether [`READS`](Database::READS) has a number of blocks under this name.
fn is_of_blocks(name: &str) -> bool {
    name == "blocks" || name.starts_with("Innodb")
}

/// Implements a trait for each connection type. A generic function would need a long list of bounds
/// for each query.
macro_rules! for_each_connection {
    (impl $Trait:ident { $($item:item)* }) => {
        $crate::database::for_each_connection!(@ "postgres" PgConnection $Trait { $($item)* });
        $crate::database::for_each_connection!(@ "mysql" MysqlConnection $Trait { $($item)* });
        $crate::database::for_each_connection!(@ "sqlite" SqliteConnection $Trait { $($item)* });
    };
    (@ $feature:literal $Connection:ident $Trait:ident { $($item:item)* }) => {
        #[cfg(feature = $feature)]
        impl $Trait for diesel::$Connection { $($item)* }
    };
}
pub(crate) use for_each_connection;

for_each_connection!(
    impl Describe {
        fn version_and_settings(&mut self) -> QueryResult<(String, Vec<Setting>)> {
            let version = diesel::dsl::sql::<diesel::sql_types::Text>(Self::VERSION);
            let version = diesel::select(version).get_result(self)?;
            Ok((version, diesel::sql_query(Self::SHOW_SETTINGS).load(self)?))
        }

        fn reads(&mut self) -> QueryResult<Option<Reads>> {
            if Self::READS.is_empty() {
                return Ok(None);
            }
            if !Self::BEFORE_READS.is_empty() {
                diesel::connection::SimpleConnection::batch_execute(self, Self::BEFORE_READS)?;
            }
            let values: Vec<Setting> = diesel::sql_query(Self::READS).load(self)?;
            let mut reads = Reads::default();
            for Setting { name, value } in values {
                let number = value.parse::<i64>();
                let number = number.map_err(|error| QueryBuilderError(error.into()))?;
                if is_of_blocks(&name) {
                    reads.blocks += number;
                } else {
                    reads.rows += number;
                }
            }
            Ok(Some(reads))
        }
    }
);

/// Returns a heading: the version, and the settings.
pub fn describe<C: Describe>(url: &str) -> Result<String> {
    let (version, settings) = C::connect(url)?.version_and_settings()?;
    let settings = settings
        .iter()
        .map(|one| format!("`{} = {}`", one.name, one.value));
    let settings: Vec<_> = settings.collect();
    Ok(format!("## {version}\n\n{}\n", settings.join(", ")))
}

/// Calls a function that is generic over the connection, with the connection type of the engine.
macro_rules! with_connection {
    ($engine:expr, $function:ident($($argument:expr),*)) => {
        match $engine {
            #[cfg(feature = "postgres")]
            $crate::database::Engine::Postgres => $function::<diesel::PgConnection>($($argument),*),
            #[cfg(feature = "mysql")]
            $crate::database::Engine::Mariadb | $crate::database::Engine::Mysql => {
                $function::<diesel::MysqlConnection>($($argument),*)
            }
            #[cfg(feature = "sqlite")]
            $crate::database::Engine::Sqlite => {
                $function::<diesel::SqliteConnection>($($argument),*)
            }
            #[cfg(not(all(feature = "postgres", feature = "mysql", feature = "sqlite")))]
            other => Err(anyhow::anyhow!("this was built without the feature of {}", other.name())),
        }
    };
}
pub(crate) use with_connection;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_from_blocks() {
        for name in ["blocks", "Innodb_buffer_pool_read_requests"] {
            assert!(is_of_blocks(name), "{name}");
        }
        for name in ["rows", "Handler_read_next"] {
            assert!(!is_of_blocks(name), "{name}");
        }
    }
}
