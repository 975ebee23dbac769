//! Triggers that every dump restores.

use std::process::{Command, Stdio};

use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::TestDatabase;
use crate::behaviour::triggers::{OF_ARTICLES, count_likes, number, open, tables};
use crate::behaviour::words;

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

/// What is counted: each in triggers of other statements.
const COUNTS: [&str; 3] = [
    OF_ARTICLES,
    "count = ['user_id:user_counters.stars=stars', 'site_counters.likes']",
    "count = ['article_id:articles.likes']",
];

fn counted_tables(counts: &str) -> TestDatabase {
    let database = tables(true);
    database.execute("ALTER TABLE articles ADD COLUMN likes BIGINT NOT NULL DEFAULT 0");
    database.count(&count_likes(counts));
    database
}

/// Of a single statement, MySQL stores the semicolon, too, which `mysqldump` then writes into a
/// comment that it must not end.
#[test]
fn no_trigger_is_a_single_statement() {
    for counts in COUNTS {
        let single: Vec<Name> = diesel::sql_query(
            "SELECT CAST(trigger_name AS CHAR) AS name FROM information_schema.triggers
             WHERE trigger_schema = DATABASE() AND action_statement NOT REGEXP '^BEGIN'",
        )
        .load(&mut open(&counted_tables(counts)))
        .unwrap();
        let single: Vec<_> = single.into_iter().map(|trigger| trigger.name).collect();
        assert_eq!(single, Vec::<String>::new());
    }
}

/// The client programs of the server that this machine has.
fn client(names: [&'static str; 2]) -> Option<&'static str> {
    names.into_iter().find(|name| {
        let mut command = Command::new(name);
        let ran = command.arg("--version").stdout(Stdio::null()).status();
        ran.is_ok_and(|status| status.success())
    })
}

#[test]
fn a_dump_restores() {
    let (Some(dump), Some(client)) = (
        client(["mariadb-dump", "mysqldump"]),
        client(["mariadb", "mysql"]),
    ) else {
        return; // The test before this one has its reason.
    };
    for counts in COUNTS {
        let database = counted_tables(counts);
        let insert =
            "INSERT INTO article_likes (id, article_id, user_id) VALUES (1, 1, 1), (2, 1, 2)";
        database.execute(insert);
        let restored = TestDatabase::create();
        let url = database.url();
        let (_, rest) = url.split_once("//").unwrap();
        let (user, rest) = rest.split_once('@').unwrap();
        let (host, _) = rest.split_once('/').unwrap();
        let (host, port) = host.split_once(':').unwrap_or((host, "3306"));
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        let server = format!("--no-defaults --protocol=TCP -h {host} -P {port} -u {user}");
        let run = |client, more: &[&str], stdin: Stdio| {
            let mut command = Command::new(client);
            let command = command.args(words(&server)).args(more).stdin(stdin);
            let ran = command.env("MYSQL_PWD", password).output().unwrap();
            let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert!(ran.status.success(), "{counts:?}: {errors}");
            ran.stdout
        };
        let what = ["--routines", "--triggers", &database.name];
        let dumped = run(dump, &what, Stdio::null());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("dump.sql");
        std::fs::write(&file, dumped).unwrap();
        let file = std::fs::File::open(&file).unwrap();
        run(client, &[&restored.name], file.into());
        let triggers =
            "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()";
        let [before, after] = [&database, &restored].map(|one| number(triggers, &mut open(one)));
        assert_eq!(before, after);
        restored.execute("INSERT INTO article_likes (id, article_id, user_id) VALUES (3, 2, 2)");
        // The project is the same one.
        let of_restored = |args: &[&str]| database.run_as(&restored.url(), args);
        let recounted = of_restored(&["recount", "--dry-run"]);
        recounted.prints("all counts agree");
        let checked = of_restored(&["check", "--json"]);
        assert!(!checked.stdout.contains("trigger_"), "{checked:?}");
    }
}
