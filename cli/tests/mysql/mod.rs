//! What only MySQL and MariaDB have or do.

mod accounts;
mod dumps;
mod errors;
mod faults;
mod modes;
mod order;
mod parents;

use diesel_migrations::{FileBasedMigrations, MigrationHarness};

use crate::{Conn, TestDatabase};

/// Another like of an article.
const INSERT: &str = "INSERT INTO article_likes (id, article_id) SELECT COALESCE(MAX(id), 0) + 1, 1 FROM article_likes";

impl TestDatabase {
    /// Runs the migrations that have not run yet, in this session.
    #[track_caller]
    fn migrate_in(&self, conn: &mut Conn) {
        let migrations = FileBasedMigrations::from_path(self.project().join("migrations")).unwrap();
        let ran = conn.run_pending_migrations(migrations);
        ran.map(drop).unwrap();
    }
}
