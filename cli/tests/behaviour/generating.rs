//! `generate migration`.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_migrations::{FileBasedMigrations, MigrationHarness};

use super::project::trigger;
use super::{Ran, check_of, run};
use crate::{BACKEND, Conn, REFERENCE, TestDatabase};

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

fn hits(path: &str, conn: &mut Conn) -> i64 {
    let value = counter_value(page_counters::orders).of(path);
    value.get_result(conn).unwrap()
}

/// The migration that `generate migration` prints.
fn generate(words: &str) -> Ran {
    let all = format!("generate migration {words} --backend {BACKEND} --json");
    let ran = run(&super::words(&all));
    ran.works();
    ran
}

fn up(ran: &Ran) -> String {
    ran.json()["up"].as_str().unwrap().to_owned()
}

/// A database after the migration, of which `check` finds nothing wrong.
fn migrated(words: &str) -> (TestDatabase, Conn) {
    let folder = generate(words).migration();
    let database = TestDatabase::create();
    database.execute("CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY)");
    database.execute("INSERT INTO articles VALUES (1)");
    let mut conn = database.connect();
    let migrations = FileBasedMigrations::from_path(folder.path()).unwrap();
    conn.run_pending_migrations(migrations.clone()).unwrap();
    conn.revert_last_migration(migrations.clone()).unwrap();
    conn.run_pending_migrations(migrations).unwrap();
    let (table, _) = words.split_once(' ').unwrap();
    database.command("check").is_good(table);
    (database, conn)
}

#[test]
fn a_table_of_bigint_keys_can_be_counted_in() {
    let (_database, mut conn) =
        migrated("article_counters --counters views,likes --entity article_id:bigint:articles.id");
    let both = (article_counters::views, article_counters::likes);
    let count = increment(both.0).of(1_i64).execute(&mut conn);
    let value = counter_value(both).of(1_i64).get_result(&mut conn);
    assert_eq!((count, value), (Ok(1), Ok((1_i64, 0_i64))));
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
    let counters = "counters --counters views --entity";
    let entity = |entity| up(&generate(&format!("{counters} {entity}")));
    for up in [&entity("article_id:bigint:articles.id"), REFERENCE] {
        let says = ["REPLACE INTO", "on_conflict().do_update()"].map(|w| up.contains(w));
        assert_eq!(says, [BACKEND != "postgres"; 2], "{up}");
    }
    let up = entity("article_id:bigint");
    assert!(!up.contains("REPLACE"), "{up}");
}

#[test]
fn a_table_of_text_keys_tells_foo_from_what_looks_like_it() {
    let words = "page_counters --counters order --entity path:text";
    let (_database, mut conn) = migrated(words);
    for (path, count) in [("foo", 1), ("Foo", 0), ("foo ", 0)] {
        let page = increment(page_counters::orders).of(path).by(count);
        page.execute(&mut conn).unwrap();
        assert_eq!(hits(path, &mut conn), count, "{path:?}");
    }
}

/// Of MySQL, only columns of one collation can refer to each other.
#[test]
fn a_text_key_can_refer_to_a_column_of_the_default_collation() {
    let words = "page_counters --counters order --entity path:text:pages.path";
    let generated = generate(words);
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE pages (path VARCHAR(255) NOT NULL PRIMARY KEY);
         INSERT INTO pages VALUES ('foo')",
    );
    database.execute(&up(&generated));
    database.command("check").is_good("page_counters");
    let conn = &mut database.connect();
    let page = increment(page_counters::orders).of("foo");
    page.execute(conn).unwrap();
    assert_eq!(hits("foo", conn), 1);
}

#[test]
fn a_table_of_no_entity_can_be_counted_in() {
    let (_database, mut conn) = migrated("site_counters --counters hits");
    let count = increment(site_counters::hits).by(3).execute(&mut conn);
    let value = counter_value(site_counters::hits).get_result(&mut conn);
    assert_eq!((count, value), (Ok(1), Ok(3_i64)));
}

#[test]
fn every_type_of_key_makes_a_good_table() {
    for key_type in [
        "smallint",
        "integer",
        "bigint",
        "text",
        "binary",
        "uuid",
        "date",
        "timestamp",
    ] {
        let entity = format!("the-key:{key_type}");
        let (_database, _conn) = migrated(&format!("counters --counters Views --entity {entity}"));
    }
}

#[test]
fn the_reference_migration_is_what_it_writes_but_for_comments() {
    let sql = |text: &str| {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.starts_with("--"));
        let words: Vec<_> = lines.flat_map(str::split_whitespace).collect();
        words.join(" ").replace(['"', '`'], "")
    };
    let words =
        "article_counters --counters views,likes,comments --entity article_id:bigint:articles.id";
    assert_eq!(sql(REFERENCE), sql(&up(&generate(words))));
}

#[test]
fn what_it_prints_is_a_migration() {
    let words = "page_counters --counters views --entity path:text --entity a:integer \
                 --entity b:bigint --entity c:binary --entity d:uuid";
    let generated = generate(words);
    super::assert_snapshot("up", &up(&generated));
    for (part, option) in [("up", ""), ("down", "--down")] {
        let all = format!("generate migration {words} --backend {BACKEND} {option}");
        assert_eq!(run(&super::words(&all)).stdout, generated.json()[part]);
    }
    let down = generated.json()["down"].clone();
    let down = down.as_str().unwrap().replace(['`', '"'], "");
    assert_eq!(down, "DROP TABLE page_counters;\n");
}

const TICKETS: &str =
    "tickets --entity event_id:bigint --counters remaining,sold --stock remaining --period total";

#[test]
fn a_stock_has_a_check_that_check_asks_for() {
    super::assert_snapshot("stock", &up(&generate(TICKETS)));
    let (database, mut conn) = migrated(TICKETS);
    let key = "INSERT INTO tickets (event_id, day, slot, remaining) VALUES (1, '1970-01-01',";
    database.execute(&format!("{key} 1, 5); {key} 2, 7)"));
    assert!(conn.batch_execute(&format!("{key} 3, -1)")).is_err());
    database.command("compact tickets").works();
    assert_eq!(database.rows_and_sum("tickets", "remaining"), (1, 12));
    let no_check = format!("BIGINT NOT NULL DEFAULT 0 {}", check_of("remaining"));
    database.execute("ALTER TABLE tickets DROP COLUMN remaining");
    database.execute(&format!("ALTER TABLE tickets ADD remaining {no_check}"));
    let checked = database.command("check tickets --json");
    checked.finds("stock");
    let faults = checked.faults();
    faults.iter().for_each(|fault| database.mend(fault));
    let is_good = database.command("check tickets").code == 0;
    assert_eq!(is_good, BACKEND != "sqlite");
}

#[test]
fn triggers_count_in_no_stock() {
    let (database, _conn) = migrated(TICKETS);
    database.execute("CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, event_id BIGINT)");
    let count_in = |counter: &str| {
        let keys = format!("count = [\"event_id:tickets.{counter}\"]");
        database.printed(&trigger("sell", "orders", &keys))
    };
    count_in("remaining").fails("tickets.remaining is a stock");
    count_in("sold").works();
}

#[test]
fn check_compares_the_comment_with_the_checks() {
    for (from, to, expected) in [
        ("# >= 0", "1 = 1 AND (0) <= #", ""),
        ("# >= 0", "# > -1", ""),
        ("# >= 0", "# BETWEEN 0 AND 9", ""),
        ("# >= 0", "# >= -5", "stock"),
        ("# >= 0", "# >= 05", "stock"),
        ("# >= 0", "(# >= 0 OR 1 = 1)", "stock"),
        (", stock = (remaining)", "", "stock"),
        ("stock = (remaining)", "stock = (gone)", "stock"),
    ] {
        let [from, to] = [from, to].map(|text| text.replace('#', "remaining"));
        let database = TestDatabase::create();
        database.execute(&up(&generate(TICKETS)).replace(&from, &to));
        let faults = database.command("check tickets --json").faults();
        let names = faults.iter().map(|fault| fault["fault"].as_str().unwrap());
        assert!(names.eq(expected.split_whitespace()), "{to}: {faults:?}");
    }
}

#[test]
fn a_stock_that_cannot_be_one_is_refused() {
    for (options, says) in [
        ("left --stock left --period day", "Give --period total"),
        ("a\nb --stock a\nb --period total", "in one line"),
    ] {
        let all = format!("generate migration t --backend {BACKEND} --counters {options}");
        run(&all.split(' ').collect::<Vec<_>>()).fails(says);
    }
}

/// The guide's command, on each database.
#[test]
fn the_guides_stock_is_generated() {
    const GUIDE: &str = include_str!("../../../docs/counting.md");
    let (_, command) = GUIDE.split_once("`diesel-counters generate").unwrap();
    let (command, _) = command.split_once('`').unwrap();
    let command = command.replace("--backend postgres", &format!("--backend {BACKEND}"));
    assert!(command.contains("--stock"), "{command}");
    let generated = run(&super::words(&format!("generate {command} --json")));
    generated.works();
    let database = TestDatabase::create();
    database.execute("CREATE TABLE events (id BIGINT NOT NULL PRIMARY KEY)");
    database.execute(&up(&generated));
    database.command("check tickets").is_good("tickets");
    // A counter that is no stock, and one that is both named and a stock.
    let more =
        "generate migration t --counters sold,remaining --stock remaining,reserved --backend";
    let more = run(&super::words(&format!("{more} {BACKEND}")));
    more.works();
    for name in ["sold", "remaining", "reserved"] {
        let lines = more.stdout.lines();
        let columns = lines.filter(|line| line.split_whitespace().next() == Some(name));
        assert_eq!(columns.count(), 1, "{name}: {more:?}");
    }
}

#[test]
fn a_list_of_counters_can_have_spaces() {
    let args = [
        "generate",
        "migration",
        "t",
        "--backend",
        BACKEND,
        "--counters",
    ];
    let spaced = run(&[&args[..], &["views, likes"]].concat());
    spaced.works();
    let plain = run(&[&args[..], &["views,likes"]].concat());
    assert_eq!(spaced.stdout, plain.stdout);
}

/// A key of InnoDB has up to 3072 bytes, and a text takes 1020 of them.
#[test]
fn a_key_that_is_too_long_is_not_printed() {
    let texts = "t --counters views --entity a:text --entity b:text --entity c:text";
    for (columns, is_too_long) in [
        ("", false),
        ("--entity d:integer", false),
        ("--entity d:bigint", true),
        ("--entity d:text", true),
    ] {
        let all = format!("generate migration {texts} {columns} --backend {BACKEND}");
        let generated = run(&super::words(&all));
        if is_too_long && BACKEND == "mysql" {
            generated.fails("bytes, and MySQL and MariaDB allow 3072");
        } else {
            generated.works();
            TestDatabase::create().execute(&generated.stdout);
        }
    }
}

#[test]
fn a_migration_that_the_database_would_refuse_is_not_printed() {
    let upper = ("t --counters views,Views", "two columns named Views");
    // PostgreSQL tells them apart.
    let upper = (BACKEND != "postgres").then_some(upper);
    for (options, says) in upper.into_iter().chain([
        ("t --counters views,views", "two columns named views"),
        ("t --counters views,day", "two columns named day"),
        (
            "t --counters views --entity slot:bigint",
            "two columns named slot",
        ),
        (
            "t --counters likes --entity likes:bigint",
            "two columns named likes",
        ),
        (".x --counters views", "the name of a table"),
        ("x. --counters views", "the name of a table"),
        ("a..x --counters views", "the name of a table"),
        (
            "t --counters views --entity id:bigint:.a.id",
            "the name of a table",
        ),
    ]) {
        let all = format!("generate migration {options} --backend {BACKEND}");
        run(&super::words(&all)).fails(says);
    }
}
