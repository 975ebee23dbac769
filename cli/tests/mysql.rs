//! The command on MySQL or MariaDB, at MYSQL_URL.

mod behaviour;
mod server;

use server::TestDatabase;

type Conn = diesel::MysqlConnection;

const BACKEND: &str = "mysql";
const HAS_SLOTS: bool = true;

const REFERENCE: &str =
    include_str!("../../migrations/mysql/00000000000001_create_article_counters/up.sql");
const BAD: &str = include_str!("bad/mysql.sql");

/// What keys of bytes and of UUIDs are here.
const BYTES: [&str; 2] = ["VARBINARY(255)", "x'00ff'"];
const UUID: [&str; 2] = ["BINARY(16)", "x'67e5504410b1426f9247bb680e5fe0c8'"];

const COLUMNS_OF: &str =
    "SELECT CAST(column_name AS CHAR) AS name, CAST(data_type AS CHAR) AS data_type,
            CAST(is_nullable AS CHAR) AS is_nullable
     FROM information_schema.columns
     WHERE table_name = ? AND table_schema = DATABASE() ORDER BY ordinal_position";

const TEXT: &str = "varchar";

impl TestDatabase {
    pub fn create() -> Self {
        Self::create_on("MYSQL_URL", "CHARACTER SET utf8mb4")
    }
}

#[test]
fn a_url_may_say_mariadb() {
    let database = TestDatabase::with_article_counters();
    let url = database.url().replace("mysql://", "mariadb://");
    let checked = behaviour::run(&["check", "--database-url", &url]);
    assert_eq!(
        checked.stdout, "article_counters: good\n",
        "{}",
        checked.stderr
    );
}
