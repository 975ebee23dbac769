//! `generate migration`.

use crate::behaviour::words;
use chrono::NaiveDateTime;
use diesel::connection::SimpleConnection;
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

fn generate(words: &str) -> TempDir {
    let folder = tempdir().unwrap();
    let into = format!(
        "--backend {BACKEND} --migration-dir {}",
        folder.path().display()
    );
    let all = format!("generate migration {words} {into}");
    run(&super::words(&all)).works();
    folder
}

/// The SQL of its only migration.
fn up(folder: &TempDir) -> String {
    let migration = std::fs::read_dir(folder.path()).unwrap().next().unwrap();
    std::fs::read_to_string(migration.unwrap().path().join("up.sql")).unwrap()
}

/// A database after the migration, of which `check` finds nothing wrong.
fn migrated(words: &str) -> (TestDatabase, Conn) {
    let folder = generate(words);
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
    let (database, mut conn) = migrated(
        "create_article_counters --counters views,likes --entity article_id:bigint:articles.id",
    );
    let expected = not_null([
        ("article_id", "bigint"),
        ("day", "date"),
        ("slot", "smallint"),
        ("views", "bigint"),
        ("likes", "bigint"),
    ]);
    assert_eq!(columns("article_counters", &mut conn), expected);

    let article = Article { id: 1 };
    let both = (article_counters::views, article_counters::likes);
    article.incr_counter(both.0, &mut conn).unwrap();
    assert_eq!(article.counter_value(both, &mut conn), Ok((1, 0)));
    let shown = database.command("show article_counters 1 --json").json();
    assert_eq!(shown["counters"][0]["total"], 1);
    if BACKEND == "sqlite" {
        conn.batch_execute("PRAGMA foreign_keys = ON").unwrap();
    }
    conn.batch_execute("DELETE FROM articles").unwrap();
    let rows = article_counters::table.count().get_result(&mut conn);
    assert_eq!(rows, Ok(0_i64), "the counts go with their article");
}

/// PostgreSQL has no REPLACE.
#[test]
fn a_cascade_comes_with_a_word_on_replace_into() {
    let entity = |entity| {
        up(&generate(&format!(
            "create_counters --counters views --entity {entity}"
        )))
    };
    for up in [&entity("article_id:bigint:articles.id"), REFERENCE] {
        let says = ["REPLACE INTO articles", "on_conflict().do_update()"].map(|w| up.contains(w));
        assert_eq!(says, [BACKEND != "postgres"; 2], "{up}");
    }
    let up = entity("article_id:bigint");
    assert!(!up.contains("REPLACE"), "{up}");
}

#[test]
fn a_table_of_text_keys_tells_foo_from_what_looks_like_it() {
    let words = "add_pages --table page_counters --counters order --entity path:text";
    let (database, mut conn) = migrated(words);
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
    let top = database.command("top page_counters order --json").json();
    assert_eq!(
        top["top"],
        serde_json::json!([{"entity": "foo", "total": 1}])
    );
}

/// Of MySQL, only columns of one collation can refer to each other.
#[test]
fn a_text_key_can_refer_to_a_column_of_the_default_collation() {
    let words = "create_page_counters --counters order --entity path:text:pages.path";
    let folder = generate(words);
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
    let (database, mut conn) = migrated("create_site_counters --counters hits");
    let expected = not_null([("day", "date"), ("slot", "smallint"), ("hits", "bigint")]);
    assert_eq!(columns("site_counters", &mut conn), expected);

    Site.incr_counter_by(site_counters::hits, 3, &mut conn)
        .unwrap();
    assert_eq!(Site.counter_value(site_counters::hits, &mut conn), Ok(3));
    let shown = database.command("show site_counters --json").json();
    assert_eq!(shown["counters"][0]["total"], 3);
    let top = database.command("top site_counters hits");
    top.fails("has no entity");
}

#[test]
fn every_type_of_key_makes_a_good_table() {
    for key_type in ["smallint", "integer", "bigint", "text", "binary", "uuid"] {
        let entity = format!("the-key:{key_type}");
        let (_database, _conn) = migrated(&format!(
            "create_counters --counters Views --entity {entity}"
        ));
    }
}

#[test]
fn its_name_and_its_words_are_those_of_diesel() {
    let folder = generate("create_page_counters --counters views --entity path:text");
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
    let create_hits = "generate migration create_hits --counters hits --stdout";
    let up = TestDatabase::create().command(create_hits).stdout;
    assert_eq!(up.contains("ON DUPLICATE KEY"), BACKEND == "mysql", "{up}");
    assert_eq!(up.contains("CHECK"), BACKEND == "sqlite", "{up}");
    run(&words(create_hits)).fails("Give --backend");
}

#[test]
fn a_name_cannot_end_the_comment_that_it_is_in() {
    for (entity, counters) in [
        ("id\nDROP TABLE articles; --:bigint", "views"),
        ("id:bigint:articles\n.id", "views"),
        ("id:bigint", "vie\nws"),
    ] {
        let generate = ["generate", "migration", "create_counters", "--stdout"];
        let of = [
            "--backend",
            BACKEND,
            "--entity",
            entity,
            "--counters",
            counters,
        ];
        run(&[&generate[..], &of].concat()).fails("control character");
    }
}
