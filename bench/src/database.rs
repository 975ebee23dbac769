//! The databases, and what differs between them.

use anyhow::Result;
use clap::ValueEnum;
use diesel::prelude::*;
use diesel::r2d2::R2D2Connection;
use diesel_counters::Slot;

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

    /// Elsewhere than on SQLite, which has one writer, counts go to several slots.
    pub fn has_slots(self) -> bool {
        self != Engine::Sqlite
    }

    /// What `scripts/test` and the arguments call it.
    pub fn id(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// A connection to one of the databases. Each has its own type, not a `MultiConnection`, whose own
/// work would be measured too.
pub trait Database: R2D2Connection + Send + 'static {
    /// Run on each new connection.
    const SETTINGS: &'static str = "";
    /// The type of a primary key that numbers its rows.
    const AUTO_ID: &'static str;
    /// Leaves a table that was loaded as a server that has been up for a while has it.
    const AFTER_LOADING: &'static str;
    /// The name and the version.
    const VERSION: &'static str;
    /// The settings that a commit's cost depends on.
    const SHOW_SETTINGS: &'static str;

    /// A query for the number of sessions of this database but this one.
    const OTHER_SESSIONS: &'static str;
    /// Queries for the numbers of rows and of blocks that were read so far, named so. The first one
    /// is run before.
    const READS: [&'static str; 2] = ["", ""];
    /// The type of a sum.
    const INTEGER: &'static str = "BIGINT";
    /// Follows the columns of a counter table.
    const TABLE_OPTIONS: &'static str = "";
    /// The triggers of reference, and what drops them.
    const TRIGGERS: [&'static str; 2];
    /// Those that count in a column.
    const COLUMN_TRIGGERS: [&'static str; 2];

    /// What Diesel's `on_conflict` takes for the counter table's primary key.
    type ConflictTarget;
    const CONFLICT_TARGET: Self::ConflictTarget;

    fn connect(url: &str) -> Result<Self, diesel::r2d2::Error> {
        let mut conn = Self::establish(url)?;
        if !Self::SETTINGS.is_empty() {
            conn.batch_execute(Self::SETTINGS)?;
        }
        Ok(conn)
    }

    /// Inserts a comment and counts it in one statement.
    fn insert_and_count(&mut self, _article_id: i64, _slots: Slot) -> QueryResult<()> {
        let reason = "only PostgreSQL counts in the statement that inserts";
        Err(diesel::result::Error::QueryBuilderError(reason.into()))
    }

    /// A transaction that writes.
    fn write<T>(&mut self, statements: impl FnOnce(&mut Self) -> QueryResult<T>) -> QueryResult<T> {
        self.transaction(statements)
    }
}

/// The files of a migration, up and down.
macro_rules! migration {
    ($($folder:expr),*) => {
        [
            include_str!(concat!($($folder,)* "/up.sql")),
            include_str!(concat!($($folder,)* "/down.sql")),
        ]
    };
}
pub(crate) use migration;

/// What `diesel-counters generate triggers` writes for the reference tables.
macro_rules! reference_triggers {
    ($database:literal) => {
        migration!(
            "../../migrations/triggers/",
            $database,
            "/00000000000002_count_article_likes"
        )
    };
}

macro_rules! column_triggers {
    ($database:literal) => {
        migration!("../columns/", $database, "/bench_count_hot")
    };
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
    const TRIGGERS: [&'static str; 2] = reference_triggers!("postgres");
    const COLUMN_TRIGGERS: [&'static str; 2] = column_triggers!("postgres");
    // The vacuum is one that autovacuum would otherwise begin during the measurement.
    const AFTER_LOADING: &'static str = "VACUUM (ANALYZE) bench_articles, bench_article_counters";
    const VERSION: &'static str = "'PostgreSQL ' || current_setting('server_version')";
    const SHOW_SETTINGS: &'static str =
        "SELECT name AS \"Variable_name\", current_setting(name) AS \"Value\" FROM pg_settings
         WHERE name IN ('synchronous_commit', 'fsync', 'shared_buffers',
             'default_transaction_isolation', 'deadlock_timeout')";

    const OTHER_SESSIONS: &'static str = "SELECT COUNT(*) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend'
        AND pid <> pg_backend_pid()";

    const READS: [&'static str; 2] = [
        "SELECT pg_stat_force_next_flush()",
        "SELECT 'rows' AS \"Variable_name\",
             CAST(SUM(seq_tup_read + COALESCE(idx_tup_fetch, 0)) AS TEXT) AS \"Value\"
             FROM pg_stat_user_tables
         UNION ALL SELECT 'blocks', CAST(SUM(heap_blks_read + heap_blks_hit
             + COALESCE(idx_blks_read + idx_blks_hit, 0)) AS TEXT) FROM pg_statio_user_tables",
    ];

    type ConflictTarget = conflict::PrimaryKey;
    const CONFLICT_TARGET: Self::ConflictTarget = conflict::PRIMARY_KEY;

    fn insert_and_count(&mut self, article_id: i64, slots: Slot) -> QueryResult<()> {
        use bench_comments::{article_id as of, body, table};
        diesel::insert_into(table)
            .values((of.eq(article_id), body.eq(BODY)))
            .counting(increment(views).slot(slots).of(article_id))
            .execute(self)
            .map(drop)
    }
}

#[cfg(feature = "mysql")]
impl Database for MysqlConnection {
    const AUTO_ID: &'static str = "BIGINT AUTO_INCREMENT PRIMARY KEY";
    const TRIGGERS: [&'static str; 2] = reference_triggers!("mysql");
    const COLUMN_TRIGGERS: [&'static str; 2] = column_triggers!("mysql");
    const AFTER_LOADING: &'static str = "ANALYZE TABLE bench_articles, bench_article_counters";
    const VERSION: &'static str =
        "concat(if(version() LIKE '%MariaDB%', 'MariaDB ', 'MySQL '), version())";
    const SHOW_SETTINGS: &'static str = "SHOW VARIABLES WHERE Variable_name IN
         ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'innodb_buffer_pool_size',
          'transaction_isolation', 'tx_isolation')";

    const OTHER_SESSIONS: &'static str = "SELECT COUNT(*) FROM information_schema.processlist
        WHERE db = DATABASE() AND id <> CONNECTION_ID()";
    const READS: [&'static str; 2] = [
        "",
        "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Handler_read%'
         OR Variable_name = 'Innodb_buffer_pool_read_requests'",
    ];
    const INTEGER: &'static str = "SIGNED";

    type ConflictTarget = diesel::dsl::DuplicatedKeys;
    const CONFLICT_TARGET: Self::ConflictTarget = diesel::dsl::DuplicatedKeys;
}

#[cfg(feature = "sqlite")]
impl Database for SqliteConnection {
    // A commit reaches the disk before it returns, as on the servers.
    const SETTINGS: &'static str =
        "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
    const AUTO_ID: &'static str = "INTEGER PRIMARY KEY";
    const TABLE_OPTIONS: &'static str = " WITHOUT ROWID";
    const TRIGGERS: [&'static str; 2] = reference_triggers!("sqlite");
    const COLUMN_TRIGGERS: [&'static str; 2] = column_triggers!("sqlite");
    // After this, the SQLite that libsqlite3-sys bundles plans each read of a total again, as it
    // does any statement whose best plan could depend on a value that was bound
    // (SQLITE_ENABLE_STAT4).
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
    /// The rows and the blocks that were read so far, by all connections.
    fn reads(&mut self) -> QueryResult<Option<[i64; 2]>>;
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

        fn reads(&mut self) -> QueryResult<Option<[i64; 2]>> {
            let [before, query] = Self::READS;
            if query.is_empty() {
                return Ok(None);
            }
            if !before.is_empty() {
                diesel::connection::SimpleConnection::batch_execute(self, before)?;
            }
            let values: Vec<Setting> = diesel::sql_query(query).load(self)?;
            let mut reads = [0, 0];
            for Setting { name, value } in values {
                let is_block = name == "blocks" || name.starts_with("Innodb");
                reads[usize::from(is_block)] += value.parse().unwrap_or(0);
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

/// Calls a function that is generic over the connection, with the engine's.
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
