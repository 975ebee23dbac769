//! A database of each test's own on a server, and the folder of its project.

use std::ops::Deref;
use std::path::Path;

use tempfile::TempDir;

use crate::behaviour::project;
use crate::server;

pub struct TestDatabase {
    server: server::TestDatabase,
    folder: TempDir,
}

impl TestDatabase {
    pub fn create_on(variable: &str, create: &str) -> Self {
        TestDatabase {
            server: server::TestDatabase::create_on(variable, create),
            folder: project::folder(),
        }
    }

    /// The folder with `counters.toml` and `migrations`.
    pub fn project(&self) -> &Path {
        self.folder.path()
    }
}

impl Deref for TestDatabase {
    type Target = server::TestDatabase;

    fn deref(&self) -> &Self::Target {
        &self.server
    }
}
