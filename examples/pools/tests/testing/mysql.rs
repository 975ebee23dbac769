#[path = "deadpool.rs"]
mod deadpool;
#[path = "r2d2.rs"]
mod r2d2;

use deadpool_diesel::mysql as deadpools;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;

type Conn = MysqlConnection;

server!("MYSQL_URL", "../../src/mysql.sql", "");

/// How many counts a buffer of its own connection commits, of an article that was there.
const COMMITTED: usize = 1;

/// How many it refuses, of an article that the test has inserted. The others wait.
const REFUSED: usize = 0;
