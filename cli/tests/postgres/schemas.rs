//! Schemas with the same tables, one for each tenant.

use diesel_migrations::{FileBasedMigrations, MigrationHarness};

use crate::behaviour::triggers::number;
use crate::behaviour::{Execute, Ran};
use crate::{Conn, TestDatabase};

const TABLES: &str = "
    CREATE TABLE articles (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE article_counters (
        article_id BIGINT NOT NULL REFERENCES articles ON DELETE CASCADE,
        day DATE NOT NULL, slot SMALLINT NOT NULL, likes BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (article_id, day, slot)
    );
    CREATE TABLE likes (
        id BIGINT PRIMARY KEY, article_id BIGINT NOT NULL REFERENCES articles ON DELETE CASCADE
    );
    INSERT INTO articles VALUES (1), (2), (3)";

const FILE: &str = "
    [[trigger]]
    name = 'count_likes'
    rows = 'likes'
    count = ['article_id:articles.likes', 'article_id:article_counters.likes']
    ";

/// The same, which names a schema.
const OF_A: &str = "
    [[trigger]]
    name = 'count_likes'
    rows = 'a.likes'
    count = ['article_id:a.articles.likes', 'article_id:a.article_counters.likes']
    ";

/// Statements that move all counts of a schema, each by another trigger.
const WRITES: [&str; 5] = [
    "INSERT INTO {}.likes VALUES (11, 1), (12, 1), (13, 2), (14, 3)",
    "UPDATE {}.likes SET article_id = 2 WHERE id = 12",
    "DELETE FROM {}.likes WHERE id = 11",
    "DELETE FROM {}.articles WHERE id = 3",
    "TRUNCATE {}.likes",
];

/// A database with a schema for each tenant, in which each has the same tables.
struct Tenants {
    database: TestDatabase,
}

impl Tenants {
    fn new() -> Self {
        let database = TestDatabase::create();
        for schema in ["a", "b"] {
            database.execute(&format!(
                "CREATE SCHEMA {schema}; SET search_path = {schema}; {TABLES}"
            ));
        }
        Tenants { database }
    }

    /// Runs a command as the role does that has this search path.
    fn command(&self, path: &str, command: &str) -> Ran {
        let name = &self.database.name;
        let set = format!("ALTER DATABASE {name} SET search_path = {path}");
        self.database.execute(&set);
        self.database.command(command)
    }

    /// Writes the migration to these definitions, for the tables of this search path.
    #[track_caller]
    fn generate(&self, path: &str, toml: &str) {
        self.database.define(toml);
        self.command(path, "generate triggers step").works();
    }

    /// A session with this path, which another schema can have.
    fn session(&self, path: &str) -> Conn {
        let mut conn = self.database.connect();
        conn.run(&format!("SET search_path = {path}"));
        conn
    }

    /// Runs the migrations that this tenant has not run yet.
    #[track_caller]
    fn migrate(&self, path: &str) {
        let migrated = self.database.migrate_in(&mut self.session(path));
        migrated.unwrap();
    }

    /// Takes back the last migration that this tenant has run.
    #[track_caller]
    fn revert(&self, path: &str) {
        let folder = self.database.project().join("migrations");
        let migrations = FileBasedMigrations::from_path(folder).unwrap();
        let reverted = self.session(path).revert_last_migration(migrations);
        reverted.map(drop).unwrap();
    }

    /// Writes the migration to these definitions, runs it for this tenant, and asserts that it is
    /// whole.
    #[track_caller]
    fn count(&self, path: &str, toml: &str) {
        self.generate(path, toml);
        self.migrate(path);
        self.command(path, "check").works();
    }

    /// Asserts that the counts of both tenants are those of their own rows.
    #[track_caller]
    fn assert_right(&self, when: &str) {
        for schema in ["a", "b"] {
            let wrong = "SELECT COUNT(*) FROM articles WHERE likes <> (
                    SELECT COUNT(*) FROM likes WHERE article_id = articles.id
                ) OR likes <> (
                    SELECT COALESCE(SUM(c.likes), 0) FROM article_counters c WHERE article_id = articles.id
                )";
            let wrong = number(wrong, &mut self.session(schema));
            assert_eq!(wrong, 0, "the counts of {schema} are wrong after {when}");
        }
    }

    /// Writes rows of a tenant, and asserts that they are counted.
    #[track_caller]
    fn write(&self, schema: &str, conn: &mut Conn) {
        for statement in WRITES {
            let statement = statement.replace("{}", schema);
            conn.run(&statement);
            self.assert_right(&statement);
        }
        let article = format!("INSERT INTO {schema}.articles VALUES (3)");
        conn.run(&article);
    }

    #[track_caller]
    fn counts(&self, schemas: &[&str]) {
        for schema in schemas {
            self.write(schema, &mut self.session(schema));
        }
    }
}

#[test]
fn one_migration_serves_every_tenant_whatever_the_path_of_the_writer_is() {
    let tenants = Tenants::new();
    tenants
        .database
        .execute("INSERT INTO a.likes VALUES (1, 1); INSERT INTO b.likes VALUES (1, 2), (2, 2)");
    tenants.generate("a", FILE);
    for schema in ["a", "b"] {
        tenants.migrate(schema);
    }
    tenants.assert_right("the migrations");
    for path in ["a", "b", "b, a", "public", "pg_catalog", "''"] {
        for schema in ["a", "b"] {
            tenants.write(schema, &mut tenants.session(path));
        }
    }
    for path in ["a", "b"] {
        tenants.command(path, "check").works();
        tenants.command(path, "recount").prints("all counts agree");
    }
}

#[test]
fn a_temporary_table_takes_no_name() {
    let tenants = Tenants::new();
    tenants.count("a", FILE);
    tenants.migrate("b");
    for path in ["a", "b", "pg_temp, a", "''"] {
        let conn = &mut tenants.session(path);
        for table in ["articles", "article_counters", "likes"] {
            conn.run(&format!(
                "CREATE TEMPORARY TABLE {table} (LIKE a.{table} INCLUDING ALL)"
            ));
        }
        conn.run("CREATE TEMPORARY TABLE new_rows (); CREATE TEMPORARY TABLE old_rows ()");
        for schema in ["a", "b"] {
            tenants.write(schema, conn);
        }
        for table in ["articles", "article_counters"] {
            let rows = format!("SELECT COUNT(*) FROM pg_temp.{table}");
            assert_eq!(number(&rows, conn), 0, "{path}: {table}");
        }
    }
}

/// As while the migrations of a release run for one tenant after the other.
#[test]
fn each_schema_has_its_own_triggers() {
    let tenants = Tenants::new();
    tenants.count("a", FILE);
    tenants.migrate("b");
    tenants.counts(&["a", "b"]);
    tenants.count("b", &format!("{FILE}when = 'id > 0'"));
    tenants.counts(&["a", "b"]);
    let checked = tenants.command("a", "check --json");
    checked.finds("trigger_changed");
    let recounted = tenants.command("a", "recount");
    recounted.fails("are not those of");
    for _ in 0..2 {
        tenants.revert("b");
    }
    tenants.counts(&["a"]);
    let checked = tenants.command("b", "check --json");
    checked.finds("likes has no trigger count_likes_insert");
    tenants.migrate("a");
    tenants.counts(&["a"]);
    tenants.command("a", "check").works();
}

#[test]
fn a_file_can_name_the_schema_of_a_tenant() {
    let tenants = Tenants::new();
    tenants.count("public", OF_A);
    tenants.counts(&["a"]);
    tenants.count("public", &format!("{OF_A}when = 'id > 0'"));
    tenants.counts(&["a"]);
    tenants.command("public", "check").works();
    tenants
        .command("public", "recount")
        .prints("all counts agree");
    tenants.count("public", "");
    let left = "SELECT COUNT(*) FROM pg_trigger WHERE NOT tgisinternal";
    assert_eq!(number(left, &mut tenants.session("a")), 0);
}

#[test]
fn triggers_of_schemas_that_are_not_in_the_path_are_ignored() {
    let tenants = Tenants::new();
    tenants.count("a", FILE);
    for (path, fault) in [("b", "trigger_missing"), ("public", "definition")] {
        let checked = tenants.command(path, "check --json");
        checked.finds(fault);
        let recounted = tenants.command(path, "recount");
        assert_eq!(recounted.code, 1, "{path}: {recounted:?}");
    }
    tenants.command("a", "check").works();
    tenants.counts(&["a"]);
}

/// As a query finds its tables.
#[test]
fn the_first_schema_of_the_path_has_the_triggers() {
    let tenants = Tenants::new();
    tenants.count("a", FILE);
    tenants.count("b", &format!("{FILE}when = 'id > 0'"));
    tenants.command("b, a", "check").works();
    let checked = tenants.command("a, b", "check --json");
    checked.finds("trigger_changed");
    for _ in 0..2 {
        tenants.revert("b, a");
    }
    tenants.counts(&["a"]);
    let checked = tenants.command("b, a", "check --json");
    checked.finds("trigger_missing");
}

/// A table of all tenants, which is not in the path.
#[test]
fn a_function_names_the_schema_of_a_table_that_is_not_in_the_path() {
    let tenants = Tenants::new();
    tenants.database.execute(
        "CREATE SCHEMA shared; CREATE TABLE shared.sites (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
         INSERT INTO shared.sites VALUES (1), (2)",
    );
    let file = FILE.replace(
        "article_id:articles.likes",
        "article_id:shared.sites(id).likes",
    );
    tenants.count("a", &file);
    let conn = &mut tenants.session("''");
    conn.run(
        "INSERT INTO a.likes VALUES (11, 1), (12, 2), (13, 2); DELETE FROM a.likes WHERE id = 11",
    );
    let sum = "SELECT CAST(SUM(likes) AS BIGINT) FROM ";
    for table in ["shared.sites", "a.article_counters"] {
        assert_eq!(number(&format!("{sum}{table}"), conn), 2, "{table}");
    }
}
