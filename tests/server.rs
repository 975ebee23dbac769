//! A database of each test's own, on a server.

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::Text;
use uuid::Uuid;

use crate::Conn;

/// Names the keyspace of Vitess that is the database of each test, one at a time.
const KEYSPACE: &str = "VITESS_KEYSPACE";

/// An empty database, which goes when this is dropped.
pub struct TestDatabase {
    pub name: String,
    server: String,
}

impl TestDatabase {
    /// On the server that the environment variable names, as somebody who may
    /// create databases there.
    pub fn create_on(variable: &str, create: &str) -> Self {
        let server = std::env::var(variable)
            .unwrap_or_else(|_| panic!("set {variable}, or run scripts/test, which does"));
        if let Ok(name) = std::env::var(KEYSPACE) {
            let database = TestDatabase { name, server };
            database.empty();
            return database;
        }
        let name = format!("counters_test_{}", Uuid::new_v4().simple());
        let database = TestDatabase { name, server };
        database
            .on_server(&format!("CREATE DATABASE {} {create}", database.name))
            .unwrap();
        database
    }

    /// Drops the views and the tables of a keyspace.
    fn empty(&self) {
        let drops = sql::<Text>(
            "CONCAT('DROP ', IF(table_type = 'VIEW', 'VIEW', 'TABLE'), ' `', REPLACE(table_name, '`', '``'), '`')
             FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_type DESC",
        );
        let conn = &mut self.connect();
        for drop in diesel::select(drops).load::<String>(conn).unwrap() {
            let drop = format!("SET foreign_key_checks = 0; {drop}");
            conn.batch_execute(&drop).unwrap();
        }
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
        if std::env::var(KEYSPACE).is_ok() {
            return;
        }
        let sql = format!("DROP DATABASE {}", self.name);
        let mut dropped = self.on_server(&sql);
        // PostgreSQL waits five seconds for those whose clients have gone, which a busy machine has
        // not ended by then.
        let has_sessions =
            |error: &Error| error.to_string().contains("being accessed by other users");
        for _ in 0..60 {
            if dropped.as_ref().is_err_and(has_sessions) {
                dropped = self.on_server(&sql);
            }
        }
        // A second panic would hide the first one.
        assert!(dropped.is_ok() || std::thread::panicking(), "{dropped:?}");
    }
}
