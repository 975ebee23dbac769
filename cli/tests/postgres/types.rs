//! Keys of texts, and of types that are not the system's, whose operators are in another schema.

use crate::behaviour::project::{key, trigger};
use crate::behaviour::triggers::number;
use crate::behaviour::{Execute, Ran};
use diesel::connection::SimpleConnection;

use super::roles::{COUNT_LIKES, Roles};

#[test]
fn keys_of_each_type_are_counted() {
    let mut wrong = Vec::new();
    for (sql_type, schema, a, also_a, b) in [
        ("text", "public", "'a'", "'a'", "'A'"),
        ("char(4)", "public", "'a'", "'a  '", "'b'"),
        ("citext", "public", "'a'", "'A'", "'b'"),
        ("citext", "extensions", "'a'", "'A'", "'b'"),
        ("ltree", "public", "'a.b'", "'a.b'", "'a.c'"),
        ("mood", "public", "'sad'", "'sad'", "'happy'"),
        ("code", "public", "'a'", "'a'", "'b'"),
        ("handle", "extensions", "'a'", "'A'", "'b'"),
        ("nickname", "extensions", "'a'", "'A'", "'b'"),
        (
            "uuid",
            "public",
            "'67e55044-10b1-426f-9247-bb680e5fe0c8'",
            "'67E55044-10B1-426F-9247-BB680E5FE0C8'",
            "'67e55044-10b1-426f-9247-bb680e5fe0c9'",
        ),
        ("bytea", "public", "'\\x61'", "'a'", "'b'"),
    ] {
        for in_column in [false, true] {
            let roles = Roles::create(true);
            let create = match sql_type {
                "citext" | "ltree" => format!(
                    "CREATE SCHEMA IF NOT EXISTS {schema}; CREATE EXTENSION {sql_type} SCHEMA {schema}"
                ),
                "mood" => "CREATE TYPE mood AS ENUM ('sad', 'happy')".to_owned(),
                "code" => "CREATE DOMAIN code AS VARCHAR(9)".to_owned(),
                "handle" | "nickname" => format!(
                    "CREATE SCHEMA {schema}; CREATE EXTENSION citext SCHEMA {schema};
                     CREATE DOMAIN handle AS {schema}.citext; CREATE DOMAIN nickname AS handle"
                ),
                _ => "SELECT 1".to_owned(),
            };
            let path = format!("SET search_path = public, {schema}");
            let name = &roles.database.name;
            roles.owner().run(&create);
            roles
                .owner()
                .batch_execute(&format!(
                    "ALTER ROLE {} IN DATABASE {name} {path}; {path};
                     CREATE TABLE things (id {sql_type} PRIMARY KEY, tags BIGINT NOT NULL DEFAULT 0);
                     CREATE TABLE tags (id BIGINT PRIMARY KEY, thing {sql_type} REFERENCES things ON DELETE CASCADE);
                     CREATE TABLE thing_counters (thing {sql_type} NOT NULL REFERENCES things ON DELETE CASCADE,
                         day DATE NOT NULL, slot SMALLINT NOT NULL, tags BIGINT NOT NULL DEFAULT 0,
                         PRIMARY KEY (thing, day, slot));
                     INSERT INTO things VALUES ({a}), ({b}); INSERT INTO tags VALUES (1, {also_a}), (2, {b})",
                    roles.owner
                ))
                .unwrap();
            let count = if in_column {
                "thing:things.tags"
            } else {
                "thing:thing_counters.tags"
            };
            let keys = format!("count = ['{count}']");
            let generated = roles.generate(&trigger("count_tags", "tags", &keys));
            if generated.code != 0 {
                wrong.push(format!("{sql_type} in {schema}: {}", generated.stderr));
                continue;
            }
            let conn = &mut roles.owner();
            if let Err(error) = roles.migrate_in(conn) {
                wrong.push(format!("{sql_type} in {schema}, {count}: {error}"));
                continue;
            }
            let of_a = match in_column {
                true => format!("SELECT tags FROM things WHERE id = {a}"),
                false => format!(
                    "SELECT COALESCE(SUM(tags), 0)::bigint FROM thing_counters WHERE thing = {a}"
                ),
            };
            for (statement, expected) in [
                ("SELECT 1".to_owned(), 1),
                (
                    format!("INSERT INTO tags VALUES (3, {also_a}), (4, {a})"),
                    3,
                ),
                (
                    format!("UPDATE tags SET thing = {also_a} WHERE id IN (2, 4)"),
                    4,
                ),
                (format!("UPDATE tags SET thing = {b} WHERE id = 1"), 3),
                ("DELETE FROM tags WHERE id = 3".to_owned(), 2),
                (format!("DELETE FROM things WHERE id = {b}"), 2),
            ] {
                let then = conn.batch_execute(&statement);
                let counted = number(&of_a, &mut roles.owner());
                if then.is_err() || counted != expected {
                    wrong.push(format!("{sql_type} in {schema}, {count}: {counted}, not {expected}, {then:?} after {statement:.90}"));
                    break;
                }
            }
            let ran = roles.run(&["recount"]);
            if !ran.stdout.contains("all counts agree") {
                wrong.push(format!("{sql_type} in {schema}, {count}: recount {ran:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Notes with labels of a type of an extension, and of a type of the application.
fn with_notes() -> Roles {
    let roles = Roles::create(true);
    roles.owner().run(
        "CREATE EXTENSION citext; CREATE TYPE mood AS ENUM ('new', 'old');
         CREATE FUNCTION is_new(citext) RETURNS boolean IMMUTABLE LANGUAGE sql AS
             $$ SELECT $1 = 'New' $$;
         -- PostgreSQL 17 and later run the function of an index without the path of the session.
         CREATE FUNCTION weight_of(citext) RETURNS integer IMMUTABLE LANGUAGE sql SET search_path = public AS
             'SELECT CASE WHEN is_new($1) THEN 1 ELSE 0 END';
         CREATE TABLE notes (
             id BIGINT PRIMARY KEY, post VARCHAR(20), label citext NOT NULL, feeling mood
         );
         INSERT INTO notes VALUES (1, 'a', 'new', 'new'), (2, 'a', 'old', 'old')",
    );
    roles
}

/// Generates triggers that count notes with this condition, or this number of each.
fn generate_notes(name: &str, expression: &str, roles: &Roles) -> Ran {
    let expression = key(name, expression);
    let keys = format!("count = ['post:posts.likes']\n{expression}");
    roles.generate(&trigger("count_notes", "notes", &keys))
}

/// Their operators and functions are found by the path of the migration, whatever that of the
/// writer is.
#[test]
fn conditions_of_a_type_of_an_extension_are_counted() {
    for (name, expression) in [
        ("when", "label = 'NEW'"),
        ("when", "label IN ('New', 'x')"),
        ("when", "label <> 'old'"),
        ("when", "is_new(label)"),
        ("when", "public.is_new(label)"),
        ("when", "CASE label WHEN 'NEW' THEN true ELSE false END"),
        ("by", "weight_of(label)"),
        ("by", "CASE WHEN label = 'NEW' THEN 1 ELSE 0 END"),
    ] {
        let roles = with_notes();
        generate_notes(name, expression, &roles).works();
        let owner = &mut roles.owner();
        roles.migrate_in(owner).unwrap();
        owner.run("SET search_path = ''");
        for (statement, expected) in [
            ("SELECT 1", 1),
            (
                "INSERT INTO public.notes VALUES (3, 'a', 'new'), (4, 'a', 'old')",
                2,
            ),
            ("UPDATE public.notes SET label = 'old' WHERE id = 1", 1),
            ("DELETE FROM public.notes WHERE id = 3", 0),
            ("UPDATE public.notes SET label = 'new' WHERE id = 2", 1),
        ] {
            owner.run(statement);
            let likes = roles.number("SELECT likes FROM posts WHERE code = 'a'");
            assert_eq!(likes, expected, "{expression}: {statement}");
        }
        roles.run(&["recount"]).prints("all counts agree");
    }
}

/// Another name of a label of the enum changes the value.
#[test]
fn a_condition_that_makes_an_enum_of_a_text_is_refused() {
    let refused = generate_notes("when", "(label::text)::mood = 'new'", &with_notes());
    refused.fails("functions in index expression must be marked IMMUTABLE");
}

#[test]
fn a_condition_of_an_enum_of_another_schema_is_counted() {
    let roles = with_notes();
    generate_notes("when", "feeling = 'new'", &roles).works();
    let conn = &mut roles.owner();
    roles.migrate_in(conn).unwrap();
    for (statement, expected) in [
        ("SELECT 1", 1),
        (
            "INSERT INTO notes VALUES (3, 'a', 'new', 'new'), (4, 'a', 'old', 'old')",
            2,
        ),
        (
            "UPDATE notes SET label = 'old', feeling = 'old' WHERE id = 1",
            1,
        ),
        ("DELETE FROM notes WHERE id = 3", 0),
        ("INSERT INTO notes VALUES (5, 'a', 'new', 'new')", 1),
    ] {
        conn.run(statement);
        let likes = roles.number("SELECT likes FROM posts WHERE code = 'a'");
        assert_eq!(likes, expected, "{statement}");
    }
    let ran = roles.run(&["recount", "--dry-run"]);
    ran.prints("all counts agree");
}

/// It runs inside of a trigger that counts, and so with the path of the migration. In a statement of
/// the application, it has the path of the application.
#[test]
fn a_trigger_of_a_counted_column_finds_its_tables_by_the_path_of_the_migration() {
    let roles = Roles::create(false);
    let owner = &mut roles.owner();
    owner.run(
        "CREATE SCHEMA \"Audit\"; CREATE TABLE \"Audit\".changes (post VARCHAR(20));
         CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN INSERT INTO changes VALUES (NEW.code); RETURN NEW; END';
         CREATE TRIGGER app_notes AFTER UPDATE ON posts FOR EACH ROW EXECUTE FUNCTION note_change()",
    );
    roles.generate(COUNT_LIKES).works();
    owner.run("SET search_path = public, \"Audit\"");
    roles.migrate_in(owner).unwrap();
    let changes = "SELECT COUNT(*) FROM \"Audit\".changes";
    // The migration has counted the likes of a and of b.
    assert_eq!(roles.number(changes), 2);
    owner.run("SET search_path = ''; INSERT INTO public.likes (id, post) VALUES (20, 'b')");
    assert_eq!(roles.number(changes), 3);
    owner
        .batch_execute("UPDATE public.posts SET likes = likes")
        .unwrap_err();
    roles.assert_right();
}

/// PostgreSQL changes only the case of ASCII, in UTF-8.
#[test]
fn a_name_without_quotes_is_found_as_the_server_finds_it() {
    let roles = Roles::create(false);
    let owner = &mut roles.owner();
    owner.run("ALTER TABLE likes ADD COLUMN ÄBc BIGINT NOT NULL DEFAULT 1; SELECT Äbc FROM likes");
    let keys = "count = ['post:posts.likes']\nwhen = 'ÄBC > 0'";
    roles
        .generate(&trigger("count_likes", "likes", keys))
        .works();
}
