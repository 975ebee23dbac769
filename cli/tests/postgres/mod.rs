//! What only PostgreSQL has or does.

mod changed;
mod counting;
mod doctor;
mod dumps;
mod faults;
mod foreign_keys;
mod kept;
mod migrations;
mod names;
mod overflow;
mod replaced;
mod rights;
mod roles;
mod row_security;
mod schemas;
mod subscriber;
mod types;

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_migrations::{FileBasedMigrations, MigrationHarness};

use crate::{Conn, TestDatabase};

impl TestDatabase {
    /// Creates a role that can log in. Its password is its name.
    fn create_role(&self, role: &str) {
        self.execute(&format!("CREATE ROLE {role} LOGIN PASSWORD '{role}'"));
        let conn = &mut Conn::establish(&self.url_as(role)).unwrap();
        let user = diesel::select(diesel::dsl::sql::<Text>("current_user::text"));
        assert_eq!(user.get_result(conn), Ok(role.to_owned()));
    }

    /// The URL of this database for a role, whoever the other tests are.
    fn url_as(&self, role: &str) -> String {
        let url = self.url();
        let (_user, server) = url.rsplit_once('@').unwrap();
        format!("postgres://{role}:{role}@{server}")
    }

    /// Runs the migrations that have not run yet, in this session.
    fn migrate_in(&self, conn: &mut Conn) -> Result<(), String> {
        let migrations = FileBasedMigrations::from_path(self.project().join("migrations")).unwrap();
        let ran = conn.run_pending_migrations(migrations);
        ran.map(drop).map_err(|error| error.to_string())
    }
}
