#[path = "deadpool.rs"]
mod deadpool;
#[path = "r2d2.rs"]
mod r2d2;

use deadpool_diesel::sqlite as deadpools;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use crate::clients::File;

type Conn = SqliteConnection;

struct Database(File);

impl Database {
    fn create(name: &str) -> Self {
        let database = Database(File::new(env!("CARGO_TARGET_TMPDIR"), name));
        let conn = &mut database.connect();
        conn.batch_execute("PRAGMA journal_mode = WAL").unwrap();
        let tables = include_str!("../../src/sqlite.sql");
        conn.batch_execute(tables).unwrap();
        database
    }

    fn url(&self) -> String {
        self.0.0.clone()
    }

    /// A dropped pool closes its connection in the background, and locks the file for a moment.
    fn connect(&self) -> Conn {
        let mut conn = Conn::establish(&self.url()).unwrap();
        conn.batch_execute("PRAGMA busy_timeout = 300000").unwrap();
        conn
    }
}

/// How many counts a buffer of its own connection commits, of an article that was there.
const COMMITTED: usize = 0;

/// How many it refuses, of an article that the test has inserted. The others wait.
const REFUSED: usize = 0;
