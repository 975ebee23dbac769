//! A database of each test's own, on a server.

use diesel::QueryResult;
use diesel::connection::{Connection, SimpleConnection};
use uuid::Uuid;

use crate::Conn;

/// An empty database, which goes when this is dropped.
pub struct TestDatabase {
    name: String,
    server: String,
}

impl TestDatabase {
    /// On the server that the environment variable names, as somebody who may
    /// create databases there.
    pub fn create_on(variable: &str, create: &str) -> Self {
        let server = std::env::var(variable)
            .unwrap_or_else(|_| panic!("set {variable}, or run scripts/test, which does"));
        let name = format!("counters_test_{}", Uuid::new_v4().simple());
        let database = TestDatabase { name, server };
        database
            .on_server(&format!("CREATE DATABASE {} {create}", database.name))
            .unwrap();
        database
    }

    pub fn url(&self) -> String {
        let (server, _database) = self.server.rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }

    pub fn connect(&self) -> Conn {
        Conn::establish(&self.url()).unwrap()
    }

    fn on_server(&self, sql: &str) -> QueryResult<()> {
        Conn::establish(&self.server).unwrap().batch_execute(sql)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE {}", self.name);
        let mut dropped = self.on_server(&sql);
        for _ in 0..60 {
            if has_sessions(&dropped) {
                dropped = self.on_server(&sql);
            }
        }
        // A second panic would hide the first one.
        assert!(dropped.is_ok() || std::thread::panicking(), "{dropped:?}");
    }
}

/// PostgreSQL waits five seconds for those whose clients have gone, which a busy machine
/// has not ended by then.
fn has_sessions(dropped: &QueryResult<()>) -> bool {
    let in_use = "being accessed by other users";
    dropped
        .as_ref()
        .is_err_and(|error| error.to_string().contains(in_use))
}
