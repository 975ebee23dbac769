use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use blog::db::AnyConnection;
use blog::models::{Article, Counts};
use blog::schema::{article_counters, articles};
use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::HasCounters;

use crate::database::{
    TestDatabase, all_views, counted_lines, counts_at, number_of_articles, wait_until,
};

/// A log of 999 requests. The numbers below are a Python script's.
const LOG: &str = include_str!("../../data/access-excerpt.csv");
const LINES: i64 = 999;
const VIEWS: i64 = 467;
const PAGES: i64 = 186;
const VIEWS_OF_PUPPET: i64 = 45;

#[test]
fn every_page_that_was_read_is_counted() {
    let database = TestDatabase::new();
    let output = import(&database, LOG);
    assert!(output.status.success());
    assert_eq!(
        text(&output.stdout),
        "      999 lines\n\
         \u{20}       0 counted before\n\
         \u{20}       0 malformed, skipped\n\
         \u{20}     467 views counted\n\
         \u{20}     186 new articles\n"
    );
    assert_eq!(text(&output.stderr), "");

    let conn = &mut database.connection();
    assert_all_is_counted_once(conn);
    assert_eq!(counts_at("/projects/xdotool/", conn).views, 22);
    assert_eq!(counts_at("/", conn).views, 56);
}

#[test]
fn a_view_is_counted_on_the_logs_own_day() {
    let database = TestDatabase::new();
    import(
        &database,
        "time,method,path,status\n\
         2015-05-17T23:59:59Z,GET,/a,200\n\
         2015-05-18T00:00:00Z,GET,/a,200\n\
         2015-05-17T23:30:00-02:00,GET,/a,200\n",
    );

    let conn = &mut database.connection();
    let article = articles::table
        .select(Article::as_select())
        .first(conn)
        .unwrap();
    for (day, views) in [(17, 1), (18, 2)] {
        let day = NaiveDate::from_ymd_opt(2015, 5, day).unwrap();
        let counted = article.counter_value_on(article_counters::views, day, conn);
        assert_eq!(counted, Ok(views), "{day}");
    }
}

#[test]
fn only_pages_that_were_got_and_there_are_views() {
    let database = TestDatabase::new();
    import(
        &database,
        "time,method,path,status\n\
         2015-05-17T10:00:00Z,HEAD,/a,200\n\
         2015-05-17T10:00:00Z,POST,/a,200\n\
         2015-05-17T10:00:00Z,GET,/a,404\n\
         2015-05-17T10:00:00Z,GET,/a,206\n\
         2015-05-17T10:00:00Z,GET,/a.png,200\n\
         2015-05-17T10:00:00Z,GET,/favicon.ico,200\n\
         2015-05-17T10:00:00Z,GET,/A,200\n\
         2015-05-17T10:00:00Z,GET,/\u{e0},200\n\
         2015-05-17T10:00:00Z,GET,/a/,200\n\
         2015-05-17T10:00:00Z,GET,/a,200\n",
    );

    let conn = &mut database.connection();
    assert_eq!((number_of_articles(conn), all_views(conn)), (4, 4));
    for path in ["/A", "/\u{e0}", "/a/", "/a"] {
        let once = Counts {
            views: 1,
            likes: 0,
            comments: 0,
        };
        assert_eq!(counts_at(path, conn), once, "{path}");
    }
}

#[test]
fn a_log_is_counted_once_however_often_and_under_whatever_name() {
    let database = TestDatabase::new();
    import(&database, LOG);
    for _ in 0..2 {
        let output = import(&database, LOG);
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("      999 counted before\n"));
        assert!(text(&output.stdout).contains("        0 views counted\n"));
        assert!(text(&output.stdout).contains("All lines were counted before."));
    }
    assert_all_is_counted_once(&mut database.connection());
}

#[test]
fn a_log_that_has_grown_is_counted_from_where_it_ended() {
    let database = TestDatabase::new();
    import(&database, &first_lines(600));
    let output = import(&database, LOG);
    assert!(text(&output.stdout).contains("      600 counted before\n"));
    assert_all_is_counted_once(&mut database.connection());
}

#[test]
fn a_log_with_fewer_lines_than_were_counted_is_refused() {
    let database = TestDatabase::new();
    import(&database, LOG);
    let output = import(&database, &first_lines(600));

    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    let reason = "the log has 600 lines, but 999 lines of a log with the same first line \
                  were counted before";
    assert!(error.contains(reason), "{error}");
    assert_all_is_counted_once(&mut database.connection());
}

#[test]
fn a_log_that_ends_in_the_middle_of_a_line_is_counted_up_to_there() {
    let database = TestDatabase::new();
    for bytes in [1_000, 20_000, 20_001, 20_002, 20_030, 56_506, LOG.len()] {
        assert!(import(&database, &LOG[..bytes]).status.success());
    }
    assert_all_is_counted_once(&mut database.connection());
}

#[test]
fn a_log_that_was_changed_is_refused() {
    let database = TestDatabase::new();
    import(&database, &first_lines(600));
    let output = import(
        &database,
        &LOG.replacen("/projects/xdotool/,", "/projects/xdotool,", 1),
    );

    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(error.contains("the first 600 lines were counted before and have changed since"));
    let conn = &mut database.connection();
    assert_eq!(counted_lines(conn), 600);
    import(&database, LOG);
    assert_all_is_counted_once(conn);
}

#[test]
fn malformed_lines_are_named_and_skipped() {
    let database = TestDatabase::new();
    let long = "x".repeat(512);
    let output = import(
        &database,
        &format!(
            "time,method,path,status\n\
             2015-05-17T10:00:00Z,GET,/a,200\r\n\
             2015-05-17T10:00:00Z,GET,/a\n\
             2015-05-17T10:00:00Z,GET,/a,200,1\n\
             \n\
             yesterday,GET,/a,200\n\
             0001-01-01T00:00:00Z,GET,/a,200\n\
             2015-05-17T10:00:00Z,,/a,200\n\
             2015-05-17T10:00:00Z,GET,,200\n\
             2015-05-17T10:00:00Z,GET,/a\0,200\n\
             2015-05-17T10:00:00Z,GET,/a ,200\n\
             2015-05-17T10:00:00Z,GET,/a,2oo\n\
             2015-05-17T10:00:00Z,GET,/{long},200\n\
             2015-05-17T10:00:00Z,GET,\"/a,200\n\
             2015-05-17T10:00:00Z,GET,/a,200\n"
        ),
    );

    assert!(output.status.success());
    let named: Vec<_> = text(&output.stderr)
        .lines()
        .map(|line| line.split(": ").next().unwrap().to_owned())
        .collect();
    let expected: Vec<_> = (3..=14).map(|number| format!("line {number}")).collect();
    assert_eq!(named, expected);
    assert!(text(&output.stdout).contains("       12 malformed, skipped\n"));
    assert_eq!(counts_at("/a", &mut database.connection()).views, 2);
}

#[test]
fn what_is_no_log_is_refused() {
    let database = TestDatabase::new();
    for log in ["", "\n", "path,status\n/a,200\n", "\u{1}\u{2}"] {
        let output = import(&database, log);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("not an access log"));
    }
    let output = blog(&database)
        .args(["import-log", "no-such-file"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("blog: cannot read no-such-file: "));
}

#[test]
fn an_import_that_was_killed_goes_on_where_it_was() {
    for lines in [0, 50, 500, 950] {
        let database = TestDatabase::new();
        let conn = &mut database.connection();
        // Fed through a pipe, it cannot go further than this, and some lines of the
        // next batch.
        let mut killed = import_from_pipe(&database);
        feed(&mut killed, &first_lines(lines + 30));
        wait_for_lines(lines, &mut killed, conn);
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert_eq!(counted_lines(conn), lines);

        assert!(import(&database, LOG).status.success());
        assert_all_is_counted_once(conn);
    }
}

#[test]
fn an_import_that_is_killed_again_and_again_counts_nothing_twice() {
    let database = TestDatabase::new();
    let conn = &mut database.connection();
    let log = LogFile::new(&database, LOG);
    let mut kill = 1;
    while kill <= 10 {
        let before = counted_lines(conn);
        let mut import = blog(&database)
            .args(["import-log", "--batch", "1"])
            .arg(&log.0)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // At any point after its first few transactions, which are one a line.
        let counted = counts_lines(LINES.min(before + kill), &mut import, conn);
        import.kill().unwrap();
        let output = import.wait_with_output().unwrap();
        assert!(counted || met_another(&output), "{output:?}");
        kill += i64::from(counted);
    }

    wait_until("a killed import goes on", || {
        let output = import(&database, LOG);
        assert!(
            output.status.success() || met_another(&output),
            "{output:?}"
        );
        output.status.success()
    });
    assert_all_is_counted_once(conn);
}

#[test]
fn of_two_imports_of_one_log_at_once_one_stops() {
    let database = TestDatabase::new();
    let conn = &mut database.connection();
    let mut slow = import_from_pipe(&database);
    feed(&mut slow, &first_lines(530));
    wait_for_lines(500, &mut slow, conn);

    assert!(import(&database, LOG).status.success());

    feed(&mut slow, &LOG[first_lines(530).len()..]);
    let slow = slow.wait_with_output().unwrap();
    assert_eq!(slow.status.code(), Some(1));
    assert!(met_another(&slow));
    assert_all_is_counted_once(conn);
}

#[test]
fn imports_of_one_log_that_start_together_count_it_once() {
    let database = TestDatabase::new();
    let conn = &mut database.connection();
    let mut imports: Vec<_> = (0..4).map(|_| import_from_pipe(&database)).collect();
    for import in &mut imports {
        feed(import, LOG);
    }
    let ended: Vec<_> = imports
        .into_iter()
        .map(|import| import.wait_with_output().unwrap())
        .collect();

    assert!(ended.iter().any(|output| output.status.success()));
    for output in ended.iter().filter(|output| !output.status.success()) {
        assert!(text(&output.stderr).contains("another import of this log is running"));
    }
    assert_all_is_counted_once(conn);
}

#[test]
fn imports_of_different_logs_of_the_same_pages_count_both() {
    let database = TestDatabase::new();
    let conn = &mut database.connection();
    let mut imports = [import_from_pipe(&database), import_from_pipe(&database)];
    feed(&mut imports[0], LOG);
    feed(&mut imports[1], &LOG.replace("2015-05-17", "2015-06-17"));
    for import in imports {
        let output = import.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    assert_eq!(
        (number_of_articles(conn), all_views(conn)),
        (PAGES, 2 * VIEWS)
    );
}

fn assert_all_is_counted_once(conn: &mut AnyConnection) {
    assert_eq!(counted_lines(conn), LINES);
    assert_eq!(number_of_articles(conn), PAGES);
    assert_eq!(all_views(conn), VIEWS);
    assert_eq!(counts_at("/blog/tags/puppet", conn).views, VIEWS_OF_PUPPET);
}

fn blog(database: &TestDatabase) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blog"));
    command.env("DATABASE_URL", &database.url);
    command
}

fn import(database: &TestDatabase, log: &str) -> Output {
    let log = LogFile::new(database, log);
    blog(database)
        .arg("import-log")
        .arg(&log.0)
        .output()
        .unwrap()
}

fn import_from_pipe(database: &TestDatabase) -> Child {
    blog(database)
        .args(["import-log", "--batch", "50", "/dev/stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn feed(import: &mut Child, log: &str) {
    // It may have ended for a good reason, which the test looks at.
    let _ = import.stdin.as_mut().unwrap().write_all(log.as_bytes());
}

fn wait_for_lines(lines: i64, import: &mut Child, conn: &mut AnyConnection) {
    assert!(
        counts_lines(lines, import, conn),
        "the import ended too early"
    );
}

/// Waits until so many lines are counted, or the import has ended without.
fn counts_lines(lines: i64, import: &mut Child, conn: &mut AnyConnection) -> bool {
    let (mut counted, mut ended) = (false, false);
    wait_until("the import hangs", || {
        let had_ended = ended;
        ended = import.try_wait().unwrap().is_some();
        counted = counted_lines(conn) >= lines;
        counted || had_ended
    });
    counted
}

/// A server may commit what an import did after that was killed: to the next one it is
/// another import.
fn met_another(output: &Output) -> bool {
    text(&output.stderr).contains("another import of this log is running")
}

/// The header and so many lines.
fn first_lines(lines: i64) -> String {
    LOG.split_inclusive('\n').take(1 + lines as usize).collect()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// A log in a file, of another name each time.
struct LogFile(PathBuf);

impl LogFile {
    fn new(database: &TestDatabase, log: &str) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NUMBER: AtomicU32 = AtomicU32::new(0);

        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}.csv", database.name);
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, log).unwrap();
        LogFile(path)
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
