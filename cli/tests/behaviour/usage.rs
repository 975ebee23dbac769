//! The command line.

use super::project::trigger;
use super::triggers::{OF_ARTICLES, count_likes};
use super::{quote, run};
use crate::TestDatabase;

#[test]
fn without_a_database_it_says_what_to_set() {
    let checked = run(&["check"]);
    checked.fails("Set DATABASE_URL, or give --database-url");
    assert_eq!(checked.stdout, "");
}

#[test]
fn a_wrong_table_name_is_answered_with_the_right_ones() {
    let database = TestDatabase::with_article_counters();
    for words in [
        "compact artcle_counters",
        "check artcle_counters",
        "compact articles",
    ] {
        let ran = database.command(words);
        ran.fails("its counter tables are article_counters");
    }
}

#[test]
fn a_view_is_no_table() {
    let database = TestDatabase::with_article_counters();
    database.execute("CREATE VIEW v_counters AS SELECT * FROM article_counters");
    for command in ["check", "compact", "doctor"] {
        let ran = database.run(&[command, "v_counters"]);
        ran.fails("there is no ordinary table v_counters");
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    let wrong = run(&["compact", "article_counters", "--before", "yesterday"]);
    assert_eq!(wrong.code, 2);
}

/// A script whose variable is not set names nothing: `compact "$TABLE"`.
#[test]
fn an_empty_name_is_wrong_usage() {
    let database = TestDatabase::with_article_counters();
    database.execute(
        "INSERT INTO article_counters (article_id, day, slot, views) VALUES (1, '2025-01-01', 1, 1), (1, '2025-01-01', 2, 1)",
    );
    let backend = format!("--backend {}", crate::BACKEND);
    let migration = format!("generate migration # --counters likes {backend}");
    let counters = format!("generate migration like_counters --counters likes,# {backend}");
    for empty in ["", " "] {
        for words in [
            "compact #",
            "fold # --before 2026-01-01",
            "check #",
            "check article_counters #",
            "doctor #",
            "recount #",
            "generate triggers #",
            "generate triggers count_likes --file #",
            "generate triggers count_likes --migrations #",
            "generate triggers count_likes --repair #",
            "check --file #",
            "recount --file #",
            &migration,
            &counters,
        ] {
            let args = super::words(words).into_iter();
            let args: Vec<_> = args.map(|word| word.replace('#', empty)).collect();
            let args: Vec<_> = args.iter().map(|arg| &**arg).collect();
            let ran = database.run(&args);
            assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
            assert_eq!(ran.stdout, "", "{args:?}");
        }
    }
    assert_eq!(database.rows_and_sum("article_counters", "views"), (2, 2));
}

#[test]
fn an_empty_name_in_counters_toml_is_wrong_usage() {
    let database = TestDatabase::with_article_counters();
    for empty in ["", " "] {
        for toml in [
            trigger(empty, "article_likes", OF_ARTICLES),
            trigger("count_likes", empty, OF_ARTICLES),
            count_likes(&format!("count = ['article_id:{empty}.likes']")),
            count_likes(&format!("{OF_ARTICLES}day = '{empty}'")),
        ] {
            database.define(&toml);
            for words in ["generate triggers count_likes", "check", "recount"] {
                let ran = database.command(words);
                assert_eq!(ran.code, 2, "{words}: {toml}: {ran:?}");
                assert_eq!(ran.stdout, "", "{words}: {toml}");
            }
        }
    }
}

#[test]
fn help_shows_no_database_url() {
    let database = TestDatabase::create();
    let help = database.run(&["check", "--help"]);
    assert!(help.stdout.contains("DATABASE_URL") && !help.stdout.contains(&database.url()));
}

#[test]
fn no_part_of_a_password_is_taken_for_another_part_of_the_url() {
    for url in [
        "admin:hunter2@db.example/app",
        "://admin:hunter2@db.example/app",
        "admin:hunter2://@db.example/app",
        "host=db.example user=admin password=hunter2",
        "postgres://me:hunter2/tail@localhost/blog",
        "postgres://me:hunter2@tail@localhost/blog",
        "postgres://me:1234/tail@localhost/blog",
        "postgres://localhost/blog?password=hunter2&tail=1",
        "postgres://localhost/blog?password=hunter2&tail",
        "postgres://me:hunter2@[tail/blog",
        "postgres://me:hunter2/blog",
        "postgres://me:hunter2:tail/blog",
        "postgres://localhost:5432:hunter2/blog",
        "postgres://localhost/blog?port=hunter2",
        "postgres://localhost/blog?sslmode=hunter2",
        "postgres:/me:hunter2/blog",
        "me:hunter2/blog",
        "mysql://me:hunter2/blog",
        "mysql://localhost:3306:hunter2/blog",
        "mysql://me:hunter2/tail@localhost/blog",
        "mysql://me:1234/tail@localhost/blog",
        "mysql://me:1234#tail@localhost/blog",
        "mysql://me:1234?tail@localhost/blog",
    ] {
        let checked = run(&["check", "--database-url", url]);
        assert_eq!(checked.code, 1);
        for part in ["hunter2", "tail", "1234"] {
            assert!(!checked.stderr.contains(part), "{url}: {checked:?}");
        }
    }
}

/// Servers name the user, and never the password.
#[test]
fn a_user_whose_name_is_the_password_is_named() {
    if crate::BACKEND == "sqlite" {
        return;
    }
    let url = TestDatabase::create().url();
    let (scheme, server) = url.split_once("://").unwrap();
    let (_user, server) = server.split_once('@').unwrap();
    let url = format!("{scheme}://no_such_user:no_such_user@{server}");
    run(&["check", "--database-url", &url]).fails("no_such_user");
}

/// A firewall, or a server of something else.
#[test]
fn a_server_that_accepts_and_says_nothing_is_not_awaited_for_ever() {
    if crate::BACKEND == "sqlite" {
        return;
    }
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let url = format!("{}://me@{address}/blog", crate::BACKEND);
    let checked = run(&["check", "--database-url", &url, "--connect-timeout", "1"]);
    checked.fails("the host and the port");
}

#[test]
fn a_tables_name_has_no_power_over_the_terminal() {
    let database = TestDatabase::create();
    let table = "of_\u{200e}counters";
    database.create_counters(table, "id BIGINT");
    for args in [
        &["check", table][..],
        &["compact", table],
        &["doctor", table],
        &["compact", "of_\u{200f}counters"],
    ] {
        let ran = database.run(args);
        let printed = ran.stdout + &ran.stderr;
        assert!(printed.contains(r"of_\u{200e}counters"), "{printed}");
        assert!(!printed.contains(['\u{200e}', '\u{200f}']), "{printed}");
    }
}

/// A text that runs from right to left, in what the user writes.
#[test]
fn an_argument_has_no_power_over_the_terminal() {
    let wrong = run(&["compact", "article_counters", "--before", "\u{202e}2026"]);
    assert_eq!(wrong.code, 2);
    assert!(!wrong.stderr.contains('\u{202e}'), "{wrong:?}");
    assert!(wrong.stderr.contains(r"\u{202e}2026"), "{wrong:?}");
}

/// A migration is read before it is run.
#[test]
fn a_migration_that_reads_as_another_one_is_refused() {
    let words = "generate migration of_\u{202e}counters --counters views --backend";
    let args = [&super::words(words)[..], &[crate::BACKEND]].concat();
    run(&args).fails("U+202E");
}

/// A program that reads the JSON gets the name as it is.
#[test]
fn json_has_no_power_over_the_terminal_and_no_character_less() {
    let table = "of_\u{202e}\u{7f}\u{9b}counters";
    let database = TestDatabase::create();
    let q = quote();
    database.create_counters(&format!("{q}{table}{q}"), "id BIGINT");
    let checked = database.run(&["check", table, "--json"]);
    assert_eq!(checked.json()["tables"][0]["table"], table);
    let raw = ['\u{202e}', '\u{7f}', '\u{9b}'];
    assert!(!checked.stdout.contains(raw), "{checked:?}");
}
