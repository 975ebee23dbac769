//! An import of an access log counts what a naive reader of the log counts, and counts no line
//! twice.

#![no_main]

use std::cell::RefCell;
use std::collections::BTreeMap;

use blog::db::{AnyConnection, Database};
use blog::import::{ImportError, Summary, import_log};
use blog::schema::{article_counters, articles, imports};
use chrono::{DateTime, Datelike, NaiveDate, Utc};
use diesel::prelude::*;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

type Views = BTreeMap<(NaiveDate, String), i64>;

const HEADER: &str = "time,method,path,status\n";

thread_local! {
    static CONN: RefCell<AnyConnection> = RefCell::new(empty_database());
}

fn empty_database() -> AnyConnection {
    let file = std::env::temp_dir().join(format!("fuzz-import-{}.sqlite", std::process::id()));
    let database = Database::from_url(file.to_str().unwrap()).unwrap();
    database.migrated().unwrap()
}

/// Most random texts are no lines of a log.
#[derive(Debug, Arbitrary)]
enum Line<'a> {
    Any(&'a str),
    View {
        minute: i32,
        path: u8,
    },
    Path {
        quoted: bool,
        path: &'a str,
    },
    Request {
        time: &'a str,
        method: &'a str,
        path: &'a str,
        status: &'a str,
    },
}

impl Line<'_> {
    fn write(&self, log: &mut String) {
        *log += &match self {
            Line::Any(text) => (*text).to_owned(),
            Line::View { minute, path } => {
                let time = DateTime::from_timestamp(i64::from(*minute) * 60, 0).unwrap();
                format!("{},GET,/{},200\n", time.to_rfc3339(), path % 8)
            }
            Line::Path {
                quoted: false,
                path,
            } => format!("2026-01-31T23:59:60Z,GET,{path},200\r\n"),
            Line::Path { quoted: true, path } => {
                format!("2026-01-31T00:00:00+23:59,GET,\"{path}\",200\n")
            }
            Line::Request {
                time,
                method,
                path,
                status,
            } => {
                format!("{time},{method},{path},{status}\n")
            }
        };
    }
}

fuzz_target!(|input: (u8, Vec<Line>)| {
    let (batch, input) = input;
    let mut lines = String::new();
    input.iter().for_each(|line| line.write(&mut lines));
    let log = format!("{HEADER}{lines}");
    CONN.with_borrow_mut(|conn| {
        let batch = usize::from(batch) + 1;
        let first = import(&log, batch, conn).unwrap();
        let counted = counted(conn);
        assert_eq!(first.views, counted.values().sum::<i64>());
        assert_eq!(first.new_articles, articles(conn));
        // A naive reader knows no quotes.
        if !log.contains('"') {
            assert_eq!(counted, naive(&lines));
        }

        // The line that the next import reads again is the last one, if it is malformed.
        let again = import(&log, 1, conn).unwrap();
        assert_eq!((again.views, again.lines), (0, first.lines));
        assert!(again.counted_before + 1 >= first.lines);
        forget(conn);

        // In two parts, as of a log that grows.
        let half = log.floor_char_boundary(log.len() / 2).max(HEADER.len());
        import(&log[..half], batch, conn).unwrap();
        // The first line, which must be whole, identifies the log.
        if log[HEADER.len()..half].contains('\n') {
            import(&log, batch, conn).unwrap();
            assert_eq!(self::counted(conn), counted);
        }
        forget(conn);
    });
});

fn import(log: &str, batch: usize, conn: &mut AnyConnection) -> Result<Summary, ImportError> {
    import_log(log.as_bytes(), batch, conn, |_, _| {})
}

fn naive(lines: &str) -> Views {
    let mut views = Views::new();
    for line in lines.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let [time, "GET", path, "200"] = line.split(',').collect::<Vec<_>>()[..] else {
            continue;
        };
        let Ok(time) = DateTime::parse_from_rfc3339(time) else {
            continue;
        };
        let day = time.with_timezone(&Utc).date_naive();
        let file = path.split('/').next_back().unwrap();
        let is_page = !file.contains('.')
            || !NO_PAGES.contains(&&*file.split('.').next_back().unwrap().to_ascii_lowercase());
        let is_path = !path.is_empty()
            && path.trim() == path
            && !path.contains(char::is_control)
            && path.chars().count() <= 512;
        if (1000..10_000).contains(&day.year()) && is_page && is_path {
            *views.entry((day, path.to_owned())).or_default() += 1;
        }
    }
    views
}

const NO_PAGES: &[&str] = &[
    "apng", "atom", "avif", "bmp", "css", "cur", "eot", "gif", "ico", "jpeg", "jpg", "js", "less",
    "map", "mjs", "otf", "png", "rdf", "rss", "scss", "svg", "tif", "tiff", "ttf", "webp", "woff",
    "woff2", "xml", "xsl", "xslt",
];

fn counted(conn: &mut AnyConnection) -> Views {
    let views: Vec<((NaiveDate, String), i64)> = article_counters::table
        .inner_join(articles::table)
        .select((
            (article_counters::day, articles::path),
            article_counters::views,
        ))
        .load(conn)
        .unwrap();
    views.into_iter().collect()
}

fn articles(conn: &mut AnyConnection) -> i64 {
    articles::table.count().get_result(conn).unwrap()
}

fn forget(conn: &mut AnyConnection) {
    diesel::delete(articles::table).execute(conn).unwrap();
    diesel::delete(imports::table).execute(conn).unwrap();
}
