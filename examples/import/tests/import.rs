//! What the example promises about files that are imported again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn import(database: &Path, file: &Path) -> String {
    try_import(database, file).unwrap()
}

/// Returns what the import prints, or its error.
fn try_import(database: &Path, file: &Path) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_import_example"))
        .args([database, file])
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    match output.status.success() {
        true => Ok(text(output.stdout)),
        false => Err(text(output.stderr)),
    }
}

/// A file that is not there yet.
fn new_file(name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&file);
    file
}

#[test]
fn each_line_of_a_log_is_counted_once() {
    let (database, log) = (new_file("log.sqlite"), new_file("log.csv"));
    let excerpt = include_str!("../data/access-excerpt.csv");
    let half = excerpt.len() / 2;
    let half = half + excerpt[half..].find('\n').unwrap() + 1;
    fs::write(&log, &excerpt[..half]).unwrap();
    let first = import(&database, &log);
    fs::write(&log, excerpt).unwrap();
    let second = import(&database, &log);
    let third = import(&database, &log);
    assert!(first.contains(" 0 were counted before"), "{first}");
    assert!(third.starts_with("0 lines counted"), "{third}");
    let most_read = |printed: &str| printed.split_once('\n').unwrap().1.to_owned();
    assert_eq!(most_read(&second), most_read(&third));
    assert_eq!(
        most_read(&import(&new_file("all.sqlite"), &log)),
        most_read(&third)
    );
}

#[test]
fn counts_by_day_are_set_so_that_a_file_can_be_imported_again() {
    let (database, file) = (new_file("days.sqlite"), new_file("days.csv"));
    fs::write(
        &file,
        "path,day,count\n/a,2026-11-01,5\n/a,2026-11-02,2\n/b,2026-11-01,3\n",
    )
    .unwrap();
    import(&database, &file);
    assert!(import(&database, &file).ends_with("      7 /a\n      3 /b\n"));
}

#[test]
fn a_last_line_without_a_newline_is_left_for_the_next_import() {
    let (database, log) = (new_file("growing.sqlite"), new_file("growing.csv"));
    let whole = "time,method,path,status\n\
                 2026-11-01T10:00:00Z,GET,/a,200\n\
                 2026-11-01T10:00:01Z,GET,/about,200\n";
    for end in 0..=whole.len() {
        // At each import, the log is one byte longer.
        fs::write(&log, &whole[..end]).unwrap();
        let _ = try_import(&database, &log);
    }
    let printed = import(&database, &log);
    assert!(printed.starts_with("0 lines counted, 2 were"), "{printed}");
    assert!(
        printed.ends_with("      1 /a\n      1 /about\n"),
        "{printed}"
    );
}

#[test]
fn a_line_that_cannot_be_read_is_an_error_that_names_it() {
    let header = b"time,method,path,status\n";
    let good = b"2026-11-01T10:00:00Z,GET,/a,200\n";
    let (database, log) = (new_file("wrong.sqlite"), new_file("wrong.csv"));
    for (lines, named) in [
        (
            [&b"2026-11-01T10:00:00Z,GET,/\xff,200\n"[..], good],
            "line 2",
        ),
        ([good, b"2026-11-01T10:00:00Z,GET,/\xff,200\n"], "line 3"),
        ([b"2026-11-01T10:00:00Z,GET\n", good], "line: 2"),
        ([good, b"today,GET,/a,200\n"], "line 3"),
        (
            [
                b"\n\n2026-11-01T10:00:00Z,GET,/a,200\n",
                b"today,GET,/a,200\n",
            ],
            "line 5",
        ),
    ] {
        fs::write(&log, [header, &lines.concat()[..]].concat()).unwrap();
        let error = try_import(&database, &log).unwrap_err();
        assert!(error.contains(named), "{named}: {error}");
    }
}

const HEADER: &str = "time,method,path,status\n";
const FIRST: &str = "2026-11-01T10:00:00Z,GET,/a,200\n";
const SECOND: &str = "2026-11-01T10:00:01Z,GET,/b,200\n";
const THIRD: &str = "2026-11-01T10:00:01Z,GET,/c,200\n";

/// A log with these lines.
fn log(name: &str, lines: &[&str]) -> PathBuf {
    let log = new_file(name);
    fs::write(&log, [HEADER, &lines.concat()].concat()).unwrap();
    log
}

#[test]
fn two_logs_with_the_same_first_line_are_both_counted() {
    let database = new_file("two.sqlite");
    let one = log("one.csv", &[FIRST, SECOND]);
    let other = log("other.csv", &[FIRST, THIRD]);
    import(&database, &one);
    let printed = import(&database, &other);
    assert!(printed.starts_with("2 lines counted, 0 were"), "{printed}");
    // Both grow.
    log("one.csv", &[FIRST, SECOND, THIRD]);
    log("other.csv", &[FIRST, THIRD, SECOND, SECOND]);
    for (log, counted) in [(&one, 1), (&other, 2)] {
        let printed = import(&database, log);
        let expected = format!("{counted} lines counted, 2 were");
        assert!(printed.starts_with(&expected), "{printed}");
    }
    let printed = import(&database, &one);
    assert!(
        printed.ends_with("      3 /b\n      2 /a\n      2 /c\n"),
        "{printed}"
    );
}

#[test]
fn a_log_that_was_rotated_is_the_same_log() {
    let database = new_file("rotated.sqlite");
    import(&database, &log("access.csv", &[FIRST, SECOND]));
    let rotated = log("access.1.csv", &[FIRST, SECOND, THIRD]);
    let printed = import(&database, &rotated);
    assert!(printed.starts_with("1 lines counted, 2 were"), "{printed}");
    // The next log is in a file of the same name.
    let printed = import(&database, &log("access.csv", &[SECOND]));
    assert!(printed.starts_with("1 lines counted, 0 were"), "{printed}");
}

#[test]
fn a_file_that_could_be_an_older_copy_is_refused() {
    let database = new_file("older.sqlite");
    import(&database, &log("whole.csv", &[FIRST, SECOND, THIRD]));
    let error = try_import(&database, &log("older.csv", &[FIRST, SECOND])).unwrap_err();
    assert!(error.contains("could be an older copy"), "{error}");
}
