//! `import`.

use crate::TestDatabase;

use super::Ran;

fn import(database: &TestDatabase, arguments: &[&str], lines: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.csv");
    std::fs::write(&path, lines).unwrap();
    let path = path.to_str().unwrap();
    let import = ["import", "article_counters", "views", path];
    database.run(&[&import, arguments].concat())
}

#[test]
fn a_file_is_imported_and_a_second_time_nothing_changes() {
    let database = TestDatabase::with_article_counters();
    database.execute("INSERT INTO article_counters VALUES (1, '2026-01-01', 7, 100, 1, 0)");
    let log = "article_id,day,views\n2,2026-01-01,5\n1,2026-01-01,40\n1, 2026-01-02 ,2\n";

    let dry = import(&database, &["--dry-run"], log);
    assert_eq!(
        dry.stdout, "article_counters.views: 3 counts would be set, 0 equal\n",
        "{dry:?}"
    );
    let done = import(&database, &[], log);
    let said = "article_counters.views: 3 counts set, 0 equal, 0 refused\n";
    assert_eq!((done.code, &*done.stdout), (0, said), "{done:?}");
    let again = import(&database, &["--json"], log).json();
    assert_eq!(
        (&again["lines"], &again["counts_set"]),
        (&3.into(), &0.into())
    );

    let shown = database.command("show article_counters --json").json();
    assert_eq!(shown["counters"][0]["total"], 47);
    assert_eq!(shown["counters"][1]["total"], 1);
}

/// As docs/coming-from.md says, for counts that have no day.
#[test]
fn counts_without_a_day_are_imported_and_a_second_time_nothing_changes() {
    let database = TestDatabase::with_article_counters();
    database.execute("INSERT INTO article_counters VALUES (1, '2026-01-01', 7, 100, 1, 0)");
    let keys = "1,1970-01-01,40\n2,1970-01-01,5\n";
    for counts_set in [2, 0] {
        let ran = import(&database, &["--json"], keys);
        assert_eq!(ran.json()["counts_set"], counts_set, "{ran:?}");
        let shown = database.command("show article_counters --json").json();
        assert_eq!(shown["counters"][0]["total"], 145);
    }
}

#[test]
fn a_wrong_line_is_named_and_nothing_is_imported() {
    let database = TestDatabase::with_article_counters();
    for (log, why) in [
        (
            "1,2026-01-01,5\n1,2026-01-01,6\n",
            "lines 1 and 2 have the same key and day",
        ),
        ("1,2026-01-01,5\n1,soon,5\n", "line 2: soon is not a date"),
        (
            "1,2026-01-01\n",
            "line 1 has 2 columns in place of 3: article_id, day, the count",
        ),
        ("1,2026-01-01,x\n", "line 1: the count is not an integer"),
        (
            "a,b,c\n1,2026-01-01,1\nx,2026-01-01,1\n",
            "line 3: x is not a key: it is not a BigInt",
        ),
    ] {
        let ran = import(&database, &[], log);
        ran.fails(why);
    }
    let shown = database.command("show article_counters --json").json();
    assert_eq!(shown["rows"], 0);
}

#[test]
fn lines_that_the_database_refuses_are_named_and_the_others_are_imported() {
    let database = TestDatabase::with_article_counters();
    let lines = (1..=30).map(|day| format!("1,2026-06-{day:02},1\n"));
    let log = lines.collect::<String>() + "77,2026-06-01,1\n3,2026-06-01,1\n78,2026-06-01,1\n";
    let ran = import(&database, &[], &log);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stdout.contains("31 counts set, 0 equal, 2 refused"),
        "{ran:?}"
    );
    for line in ["\nline 31: ", "\nline 33: "] {
        ran.prints(line);
    }
    ran.fails("2 lines were refused");
    let shown = database.command("show article_counters --json").json();
    assert_eq!(shown["counters"][0]["total"], 31);
}
