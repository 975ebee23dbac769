//! `generate migration`.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_counters::prelude::*;
use diesel_migrations::{FileBasedMigrations, MigrationHarness};
use tempfile::{TempDir, tempdir};

use super::run;
use crate::{BACKEND, COLUMNS_OF, Conn, REFERENCE, TEXT, TestDatabase};

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
        likes -> BigInt,
    }
}
diesel_counters::counter_table!(article_counters);

diesel::table! {
    page_counters (path, day, slot) {
        path -> Text,
        day -> Date,
        slot -> SmallInt,
        #[sql_name = "order"]
        orders -> BigInt,
    }
}
diesel_counters::counter_table!(page_counters);

diesel::table! {
    site_counters (day, slot) {
        day -> Date,
        slot -> SmallInt,
        hits -> BigInt,
    }
}
diesel_counters::counter_table!(site_counters);

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
struct Article {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = page_counters)]
#[diesel(primary_key(path))]
struct Page {
    path: String,
}

#[derive(HasCounters)]
#[counters(table_name = site_counters)]
struct Site;

fn generate(args: &[&str]) -> TempDir {
    let folder = tempdir().unwrap();
    let mut all = vec!["generate", "migration"];
    all.extend_from_slice(args);
    all.extend([
        "--backend",
        BACKEND,
        "--migration-dir",
        folder.path().to_str().unwrap(),
    ]);
    let ran = run(&all);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    folder
}

/// The SQL of its only migration.
fn up(folder: &TempDir) -> String {
    let migration = std::fs::read_dir(folder.path()).unwrap().next().unwrap();
    std::fs::read_to_string(migration.unwrap().path().join("up.sql")).unwrap()
}

/// A database after the migration, of which `check` finds nothing wrong.
fn migrated(args: &[&str]) -> (TestDatabase, Conn) {
    let folder = generate(args);
    let database = TestDatabase::create();
    database.execute("CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY)");
    database.execute("INSERT INTO articles VALUES (1)");
    let mut conn = database.connect();
    let migrations = FileBasedMigrations::from_path(folder.path()).unwrap();
    conn.run_pending_migrations(migrations.clone()).unwrap();
    conn.revert_last_migration(migrations.clone()).unwrap();
    conn.run_pending_migrations(migrations).unwrap();
    let checked = database.run(&["check"]);
    assert!(checked.summary().ends_with(": good"), "{checked:?}");
    (database, conn)
}

/// A column's name, its type, and whether it may be NULL, of which `diesel print-schema`
/// makes a column of the `table!`.
fn columns(table: &str, conn: &mut Conn) -> Vec<[String; 3]> {
    #[derive(QueryableByName)]
    struct ColumnOf {
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = Text)]
        data_type: String,
        #[diesel(sql_type = Text)]
        is_nullable: String,
    }
    let columns: Vec<ColumnOf> = diesel::sql_query(COLUMNS_OF)
        .bind::<Text, _>(table)
        .load(conn)
        .unwrap();
    columns
        .into_iter()
        .map(|column| {
            let data_type = column.data_type.split('(').next().unwrap().to_owned();
            [column.name, data_type, column.is_nullable]
        })
        .collect()
}

fn not_null<const N: usize>(columns: [(&str, &str); N]) -> Vec<[String; 3]> {
    columns
        .map(|(name, sql_type)| [name, sql_type, "NO"].map(str::to_owned))
        .to_vec()
}

#[test]
fn a_table_of_bigint_keys_can_be_counted_in() {
    let args = [
        "create_article_counters",
        "--counters",
        "views,likes",
        "--entity",
        "article_id:bigint:articles.id",
    ];
    let (database, mut conn) = migrated(&args);
    let expected = not_null([
        ("article_id", "bigint"),
        ("day", "date"),
        ("slot", "smallint"),
        ("views", "bigint"),
        ("likes", "bigint"),
    ]);
    assert_eq!(columns("article_counters", &mut conn), expected);

    let article = Article { id: 1 };
    article
        .incr_counter(article_counters::views, &mut conn)
        .unwrap();
    let counts = article.counter_value(
        (article_counters::views, article_counters::likes),
        &mut conn,
    );
    assert_eq!(counts, Ok((1, 0)));
    let shown = database
        .run(&["show", "article_counters", "1", "--json"])
        .json();
    assert_eq!(shown["counters"][0]["total"], 1);
}

#[test]
fn the_rows_go_with_the_row_that_they_refer_to() {
    let args = [
        "create_article_counters",
        "--counters",
        "views,likes",
        "--entity",
        "article_id:bigint:articles.id",
    ];
    let (_database, mut conn) = migrated(&args);
    if BACKEND == "sqlite" {
        diesel::sql_query("PRAGMA foreign_keys = ON")
            .execute(&mut conn)
            .unwrap();
    }
    Article { id: 1 }
        .incr_counter(article_counters::views, &mut conn)
        .unwrap();
    diesel::sql_query("DELETE FROM articles")
        .execute(&mut conn)
        .unwrap();
    let rows = article_counters::table.count().get_result(&mut conn);
    assert_eq!(rows, Ok(0_i64));
}

/// PostgreSQL has no REPLACE.
#[test]
fn a_cascade_comes_with_a_word_on_replace_into() {
    let of = ["create_counters", "--counters", "views", "--entity"];
    let entity = |entity| up(&generate(&[&of[..], &[entity]].concat()));
    for up in [&entity("article_id:bigint:articles.id"), REFERENCE] {
        let says = ["REPLACE INTO articles", "on_conflict().do_update()"].map(|w| up.contains(w));
        assert_eq!(says, [BACKEND != "postgres"; 2], "{up}");
    }
    let up = entity("article_id:bigint");
    assert!(!up.contains("REPLACE"), "{up}");
}

#[test]
fn a_table_of_text_keys_tells_foo_from_what_looks_like_it() {
    let args = [
        "add_pages",
        "--table",
        "page_counters",
        "--counters",
        "order",
        "--entity",
        "path:text",
    ];
    let (database, mut conn) = migrated(&args);
    let expected = not_null([
        ("path", TEXT),
        ("day", "date"),
        ("slot", "smallint"),
        ("order", "bigint"),
    ]);
    assert_eq!(columns("page_counters", &mut conn), expected);

    for (path, count) in [("foo", 1), ("Foo", 0), ("foo ", 0)] {
        let page = Page {
            path: path.to_owned(),
        };
        page.incr_counter_by(page_counters::orders, count, &mut conn)
            .unwrap();
        let counted = page.counter_value(page_counters::orders, &mut conn);
        assert_eq!(counted, Ok(count), "{path:?}");
    }
    let top = database
        .run(&["top", "page_counters", "order", "--json"])
        .json();
    assert_eq!(
        top["top"],
        serde_json::json!([{"entity": "foo", "total": 1}])
    );
}

/// Of MySQL, only columns of one collation can refer to each other.
#[test]
fn a_text_key_can_refer_to_a_column_of_the_default_collation() {
    let folder = generate(&[
        "create_page_counters",
        "--counters",
        "order",
        "--entity",
        "path:text:pages.path",
    ]);
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE pages (path VARCHAR(255) NOT NULL PRIMARY KEY);
         INSERT INTO pages VALUES ('foo')",
    );
    database.execute(&up(&folder));
    let checked = database.run(&["check"]);
    assert_eq!(checked.summary(), "page_counters: good", "{checked:?}");
    let page = Page {
        path: "foo".to_owned(),
    };
    let conn = &mut database.connect();
    page.incr_counter(page_counters::orders, conn).unwrap();
    assert_eq!(page.counter_value(page_counters::orders, conn), Ok(1));
}

#[test]
fn a_table_of_no_entity_can_be_counted_in() {
    let (database, mut conn) =
        migrated(&["create_site_counters", "--counters", "hits", "--no-entity"]);
    let expected = not_null([("day", "date"), ("slot", "smallint"), ("hits", "bigint")]);
    assert_eq!(columns("site_counters", &mut conn), expected);

    Site.incr_counter_by(site_counters::hits, 3, &mut conn)
        .unwrap();
    assert_eq!(Site.counter_value(site_counters::hits, &mut conn), Ok(3));
    let shown = database.run(&["show", "site_counters", "--json"]).json();
    assert_eq!(
        (&shown["counters"][0]["total"], &shown["entities"]),
        (&3.into(), &serde_json::Value::Null)
    );
    let top = database.run(&["top", "site_counters", "hits"]);
    assert!(top.stderr.contains("has no entity"), "{}", top.stderr);
}

#[test]
fn every_type_of_key_makes_a_good_table() {
    for key_type in ["smallint", "integer", "bigint", "text", "binary", "uuid"] {
        let (_database, _conn) = migrated(&[
            "create_counters",
            "--counters",
            "Views",
            "--entity",
            &format!("the key:{key_type}"),
        ]);
    }
}

#[test]
fn indexes_for_a_large_table_are_good() {
    let names = ["create_page_counters", "--counters", "views", "--indexes"];
    let entity = ["--entity", "site:bigint", "--entity", "the path:text"];
    let (database, _conn) = migrated(&[&names[..], &entity].concat());
    let merged = database.run(&["compact", "page_counters"]);
    assert!(merged.stdout.contains(" 0 rows before"), "{merged:?}");
    let (_of_a_site, _conn) = migrated(&names);
}

#[test]
fn its_name_and_its_words_are_those_of_diesel() {
    let folder = generate(&[
        "create_page_counters",
        "--counters",
        "views",
        "--entity",
        "path:text",
    ]);
    let migration = std::fs::read_dir(folder.path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let name = migration.file_name().into_string().unwrap();
    let (time, rest) = name.split_at("2026-01-31-235959".len());
    assert!(
        NaiveDateTime::parse_from_str(time, "%Y-%m-%d-%H%M%S").is_ok(),
        "{name}"
    );
    assert_eq!(rest, "-0000_create_page_counters");
    let [up, down] = ["up.sql", "down.sql"]
        .map(|file| std::fs::read_to_string(migration.path().join(file)).unwrap());
    super::assert_snapshot("up", &up);
    let down = down.replace(['`', '"'], "");
    assert_eq!(down, "DROP TABLE page_counters;\n");
}

#[test]
fn the_database_url_says_which_backend() {
    let folder = tempdir().unwrap();
    let database = TestDatabase::create();
    let args = [
        "generate",
        "migration",
        "create_hits",
        "--counters",
        "hits",
        "--json",
        "--migration-dir",
        folder.path().to_str().unwrap(),
    ];
    let written = database.run(&args).json();
    let up = std::fs::read_to_string(written["up"].as_str().unwrap()).unwrap();
    assert_eq!(up.contains("ON DUPLICATE KEY"), BACKEND == "mysql", "{up}");
    assert_eq!(up.contains("CHECK"), BACKEND == "sqlite", "{up}");

    let again = run(&[
        "generate",
        "migration",
        "create_hits2",
        "--counters",
        "hits",
    ]);
    assert!(again.stderr.contains("Give --backend"), "{}", again.stderr);
}

#[test]
fn nothing_is_overwritten() {
    let folder = generate(&["create_site_counters", "--counters", "hits"]);
    let args = [
        "generate",
        "migration",
        "create_site_counters",
        "--counters",
        "hits",
        "--backend",
        BACKEND,
        "--migration-dir",
        folder.path().to_str().unwrap(),
    ];
    let again = run(&args);
    assert_eq!(again.code, 1);
    assert!(
        again.stderr.contains("_create_site_counters already"),
        "{}",
        again.stderr
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_migration_of_no_table_asks_for_its_name() {
    let ran = run(&[
        "generate",
        "migration",
        "counters",
        "--counters",
        "hits",
        "--backend",
        BACKEND,
    ]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("create_TABLE"), "{}", ran.stderr);
}

#[test]
fn a_name_cannot_end_the_comment_that_it_is_in() {
    let folder = tempdir().unwrap();
    for (entity, counters) in [
        ("id\nDROP TABLE articles; --:bigint", "views"),
        ("id:bigint:articles\n.id", "views"),
        ("id:bigint", "vie\nws"),
    ] {
        let migrations = folder.path().to_str().unwrap();
        let ran = run(&[
            "generate",
            "migration",
            "create_counters",
            "--backend",
            BACKEND,
            "--entity",
            entity,
            "--counters",
            counters,
            "--migration-dir",
            migrations,
        ]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains("control character"), "{ran:?}");
    }
}

#[test]
fn it_says_which_model_has_such_counters() {
    for (entity, model) in [
        (
            "--entity=article_id:bigint",
            "the model that is counted for",
        ),
        ("--no-entity", "a unit struct"),
    ] {
        let folder = tempdir().unwrap();
        let migrations = folder.path().to_str().unwrap();
        let ran = run(&[
            "generate",
            "migration",
            "create_counters",
            "--backend",
            BACKEND,
            entity,
            "--counters",
            "views",
            "--migration-dir",
            migrations,
        ]);
        assert!(ran.stdout.contains(model), "{ran:?}");
    }
}
