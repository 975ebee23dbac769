//! Schemas with the same tables.

use diesel::connection::SimpleConnection;

use crate::TestDatabase;
use crate::behaviour::triggers::file_of;
use crate::behaviour::{Execute, Ran};

const TABLES: &str = "
    CREATE TABLE articles (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE likes (id BIGINT PRIMARY KEY, article_id BIGINT NOT NULL)";

const FILE: &str = "
    [[trigger]]
    name = 'count_likes'
    rows = 'likes'
    count = ['article_id:articles.likes']
    ";

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

    fn set_path(&self, path: &str) {
        let name = &self.database.name;
        let set = format!("ALTER DATABASE {name} SET search_path = {path}");
        self.database.execute(&set);
    }

    fn show(&self, path: &str) -> Ran {
        self.set_path(path);
        self.database.command("show")
    }

    /// Runs a command as the role does that has this search path.
    fn run(&self, path: &str, command: &str, toml: &str) -> Ran {
        self.set_path(path);
        let (_folder, file) = file_of(toml);
        self.database.command(&format!("{command} {file}"))
    }

    /// Runs the migration of a tenant, and asserts that it is whole.
    #[track_caller]
    fn migrate(&self, path: &str, toml: &str) -> Ran {
        let generated = self.run(path, "generate triggers", toml);
        generated.works();
        self.database.execute(&generated.stdout);
        let again = self.run(path, "generate triggers", toml);
        assert!(again.stderr.contains("the database has what"), "{again:?}");
        let checked = self.run(path, "check", toml);
        assert!(!checked.stdout.contains("count_likes"), "{checked:?}");
        generated
    }

    #[track_caller]
    fn counts(&self, schemas: &[&str]) {
        for schema in schemas {
            let conn = &mut self.database.connect();
            conn.run(&format!(
                "SET search_path = {schema}; INSERT INTO articles VALUES (1);
                 INSERT INTO likes VALUES (1, 1), (2, 1)"
            ));
            let check = "DO $$ BEGIN ASSERT (SELECT likes FROM articles) = 2; END $$";
            let counted = conn.batch_execute(check);
            conn.run("DELETE FROM likes; DELETE FROM articles");
            assert!(counted.is_ok(), "{schema}: {counted:?}");
        }
    }
}

#[test]
fn each_schema_has_its_own_definitions() {
    let tenants = Tenants::new();
    tenants.migrate("a", FILE);
    let of_b = tenants.migrate("b", FILE);
    assert!(
        of_b.stderr
            .contains("this creates the triggers count_likes"),
        "{of_b:?}"
    );
    assert!(
        of_b.stderr.contains("stay as they are: count_likes of a"),
        "{of_b:?}"
    );
    tenants.counts(&["a", "b"]);
    let changed = FILE.replace(
        "likes'\n    count",
        "likes'\n    when = 'id > 0'\n    count",
    );
    assert_ne!(changed, FILE);
    tenants.migrate("b", &changed);
    tenants.counts(&["a", "b"]);
    let none = tenants.run("b", "generate triggers", "");
    tenants.database.execute(&none.stdout);
    tenants.counts(&["a"]);
    tenants
        .run("b, a", "generate triggers", "")
        .prints("DROP FUNCTION");
}

/// A file can name the schemas of all.
#[test]
fn a_file_has_the_definitions_of_the_schemas_that_it_names() {
    let tenants = Tenants::new();
    tenants.migrate("a", FILE);
    let named = FILE
        .replace("'likes'", "'a.likes'")
        .replace("articles.likes", "a.articles.likes");
    let replaced = tenants.run("public", "generate triggers", &named);
    assert!(
        replaced.stderr.contains("the database has what"),
        "{replaced:?}"
    );
    let when = format!("{named}when = 'id > 0'\n");
    tenants.migrate("public", &when);
    tenants.counts(&["a"]);
    let dropped = tenants.run("public", "generate triggers", "");
    dropped.prints("DROP FUNCTION");
}

/// A file has each name once.
#[test]
fn show_prints_the_file_of_the_search_path() {
    let tenants = Tenants::new();
    tenants.migrate("a", FILE);
    tenants.migrate("b", FILE);
    for (path, left_out) in [
        (
            "a",
            "of the schema b are left out: it is not in the search_path",
        ),
        (
            "b",
            "of the schema a are left out: it is not in the search_path",
        ),
        (
            "b, a",
            "of the schema a are left out: a file has each name once",
        ),
    ] {
        let shown = tenants.show(path);
        shown.prints(left_out);
        let again = tenants.run(path, "check", &shown.stdout);
        assert!(!again.stderr.contains("two [[trigger]]"), "{again:?}");
        assert_eq!(shown.stdout.matches("[[trigger]]").count(), 1, "{shown:?}");
    }
}

/// A migration drops what is in the schemas of the path and not in the file.
#[test]
fn check_finds_the_triggers_of_another_schema_of_the_path() {
    let tenants = Tenants::new();
    tenants.migrate("a", FILE);
    tenants.migrate("b", FILE);
    let path = "b, a";
    tenants
        .run(path, "check", FILE)
        .finds("The triggers count_likes of the schema a are not in");
    let generated = tenants.run(path, "generate triggers", FILE);
    generated.prints(r#"DROP FUNCTION IF EXISTS "a"."count_likes_insert"()"#);
    tenants.database.execute(&generated.stdout);
    tenants.counts(&["b"]);
    let checked = tenants.run(path, "check", FILE);
    assert!(!checked.stdout.contains("count_likes"), "{checked:?}");
}

#[test]
fn a_counter_has_the_rows_of_one_schema() {
    let tenants = Tenants::new();
    tenants.database.execute(
        "CREATE TABLE public.sites (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0)",
    );
    let shared = FILE.replace("article_id:articles.likes", "article_id:public.sites.likes");
    tenants.migrate("a", &shared);
    tenants
        .run("b", "generate triggers", &shared)
        .fails("the triggers count_likes count in public.sites.likes already");
}
