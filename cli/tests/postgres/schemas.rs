//! Schemas with the same tables, one for each tenant.

use crate::behaviour::triggers::{file_of, number};
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

    /// The same, of a file.
    fn run(&self, path: &str, command: &str, toml: &str) -> Ran {
        let (_folder, file) = file_of(toml);
        self.command(path, &format!("{command} {file}"))
    }

    fn show(&self, path: &str) -> String {
        self.command(path, "show").stdout
    }

    /// A session with this path, which another schema can have.
    fn session(&self, path: &str) -> Conn {
        let mut conn = self.database.connect();
        conn.run(&format!("SET search_path = {path}"));
        conn
    }

    /// Runs the migration of a tenant, and asserts that it is whole.
    #[track_caller]
    fn migrate(&self, path: &str, toml: &str) -> Ran {
        let generated = self.run(path, "generate triggers", toml);
        generated.works();
        self.session(path).run(&generated.stdout);
        let again = self.run(path, "generate triggers", toml);
        assert!(again.stderr.contains("the database has what"), "{again:?}");
        let checked = self.run(path, "check", toml);
        checked.works();
        generated
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
    let generated = tenants.run("a", "generate triggers", FILE);
    generated.works();
    for schema in ["a", "b"] {
        tenants.session(schema).run(&generated.stdout);
    }
    tenants.assert_right("the migrations");
    for path in ["a", "b", "b, a", "public", "pg_catalog", "''"] {
        for schema in ["a", "b"] {
            tenants.write(schema, &mut tenants.session(path));
        }
    }
    for path in ["a", "b"] {
        tenants.run(path, "check", FILE).works();
        tenants.command(path, "recount").prints("all counts agree");
    }
}

#[test]
fn a_temporary_table_takes_no_name() {
    let tenants = Tenants::new();
    tenants.migrate("a", FILE);
    tenants.migrate("b", FILE);
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

#[test]
fn each_schema_has_its_own_definitions() {
    let tenants = Tenants::new();
    tenants.migrate("a", FILE);
    let of_b = tenants.migrate("b", FILE);
    let creates = of_b
        .stderr
        .contains("this creates the triggers count_likes");
    assert!(creates, "{of_b:?}");
    tenants.counts(&["a", "b"]);
    let changed = format!("{FILE}when = 'id > 0'");
    tenants.migrate("b", &changed);
    tenants.counts(&["a", "b"]);
    let none = tenants.run("b", "generate triggers", "");
    none.prints("DROP FUNCTION");
    tenants.session("b").run(&none.stdout);
    tenants.counts(&["a"]);
    tenants.run("a", "check", FILE).works();
    tenants
        .run("b", "check --json", FILE)
        .finds("has the triggers count_likes, and the database does not");
}

#[test]
fn a_file_can_name_the_schema_of_a_tenant() {
    let tenants = Tenants::new();
    tenants.migrate("public", OF_A);
    tenants.counts(&["a"]);
    tenants.migrate("public", &format!("{OF_A}when = 'id > 0'"));
    tenants.counts(&["a"]);
    // Each path has it.
    for path in ["a", "b", "b, a"] {
        assert!(tenants.show(path).contains("rows = \"a.likes\""), "{path}");
    }
    let dropped = tenants.run("public", "generate triggers", "");
    dropped.prints("DROP FUNCTION");
    tenants.session("public").run(&dropped.stdout);
    assert_eq!(tenants.show("a"), "");
}

#[test]
fn definitions_of_schemas_that_are_not_in_the_path_are_ignored() {
    let tenants = Tenants::new();
    tenants.migrate("a", FILE);
    for path in ["b", "public"] {
        assert_eq!(tenants.show(path), "", "{path}");
        let generated = tenants.run(path, "generate triggers", "");
        assert_eq!(generated.stdout, "", "{path}: {generated:?}");
        let checked = tenants.run(path, "check", "");
        assert!(
            !checked.stdout.contains("count_likes"),
            "{path}: {checked:?}"
        );
        let recounted = tenants.command(path, "recount");
        recounted.fails("this database has no triggers that count rows");
    }
    assert_eq!(tenants.show("a").matches("[[trigger]]").count(), 1);
    tenants.counts(&["a"]);
}

/// As a query finds its tables.
#[test]
fn the_first_schema_of_the_path_has_the_definition() {
    let tenants = Tenants::new();
    tenants.migrate("a", FILE);
    tenants.migrate("b", &format!("{FILE}when = 'id > 0'"));
    for (path, has_condition) in [("a, b", false), ("b, a", true)] {
        let shown = tenants.show(path);
        assert_eq!(shown.matches("[[trigger]]").count(), 1, "{shown}");
        assert_eq!(shown.contains("id > 0"), has_condition, "{shown}");
        let generated = tenants.run(path, "generate triggers", &shown);
        assert_eq!(generated.stdout, "", "{generated:?}");
        tenants.run(path, "check", &shown).works();
    }
    let dropped = tenants.run("b, a", "generate triggers", "");
    tenants.session("b, a").run(&dropped.stdout);
    tenants.counts(&["a"]);
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
    tenants.migrate("a", &file);
    let conn = &mut tenants.session("''");
    conn.run(
        "INSERT INTO a.likes VALUES (11, 1), (12, 2), (13, 2); DELETE FROM a.likes WHERE id = 11",
    );
    let sum = "SELECT CAST(SUM(likes) AS BIGINT) FROM ";
    for table in ["shared.sites", "a.article_counters"] {
        assert_eq!(number(&format!("{sum}{table}"), conn), 2, "{table}");
    }
}
