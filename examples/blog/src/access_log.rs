//! Reads an access log: a CSV of `time,method,path,status`, with a line for each request.

use std::io::{self, BufRead};

use chrono::{DateTime, Datelike, NaiveDate, Utc};

const HEADER: &[u8] = b"time,method,path,status";

/// The maximum length of a path, in characters. MySQL cannot index longer paths.
const LONGEST_PATH: usize = 512;

/// The lines of a log after its header.
pub struct Lines<R> {
    log: R,
    /// The line that was read last. The header is line 1, as in an editor.
    number: i64,
    /// Whether the line that was read last has no line end. No line follows it: what is
    /// written to the log meanwhile belongs to that line.
    at_end: bool,
}

pub struct Line {
    pub number: i64,
    pub text: Vec<u8>,
    /// Whether the line has a line end. If the log is still being written, the last line
    /// may lack its line end and some of its text.
    pub ended: bool,
}

/// A page that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct View {
    pub day: NaiveDate,
    pub path: String,
}

impl<R: BufRead> Lines<R> {
    /// Reads the header. Returns `None` if it is another one.
    pub fn after_header(log: R) -> io::Result<Option<Self>> {
        let mut lines = Lines {
            log,
            number: 0,
            at_end: false,
        };
        let header = lines.next().transpose()?;
        Ok(header
            .is_some_and(|header| header.text == HEADER)
            .then_some(lines))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<io::Result<Line>> {
        if self.at_end {
            return None;
        }
        let mut text = Vec::new();
        match self.log.read_until(b'\n', &mut text) {
            Ok(0) => return None,
            Ok(_) => self.number += 1,
            Err(error) => return Some(Err(error)),
        }
        let ended = text.pop_if(|byte| *byte == b'\n').is_some();
        self.at_end = !ended;
        text.pop_if(|byte| *byte == b'\r');
        Some(Ok(Line {
            number: self.number,
            text,
            ended,
        }))
    }
}

impl Line {
    /// Returns the view in this line, if it has one, or what is wrong with the line.
    pub fn view(&self) -> Result<Option<View>, String> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            // By default, a CR ends a record too, and the rest of the line would not be read.
            .terminator(csv::Terminator::Any(b'\n'))
            .from_reader(&self.text[..]);
        let mut record = csv::StringRecord::new();
        reader
            .read_record(&mut record)
            .map_err(|_| "it is not UTF-8")?;
        let fields: Vec<_> = record.iter().collect();
        let [time, method, path, status] = fields[..] else {
            return Err(format!(
                "it has {} fields, not the 4 of time,method,path,status",
                fields.len()
            ));
        };

        let day = day(time)
            .ok_or_else(|| format!("the time is {time:?}, not like 2015-05-17T10:05:03Z"))?;
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return Err(format!("the method is {method:?}, not like GET"));
        }
        if status.len() != 3 || !status.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("the status is {status:?}, not like 200"));
        }
        if path.is_empty() || path.trim() != path || path.contains(char::is_control) {
            return Err(format!("the path is {path:?}, not like /blog/tags/puppet"));
        }
        if method != "GET" || status != "200" || !is_page(path) {
            return Ok(None);
        }
        if path.chars().count() > LONGEST_PATH {
            return Err(format!("the path is longer than {LONGEST_PATH} characters"));
        }
        Ok(Some(View {
            day,
            path: path.to_owned(),
        }))
    }
}

/// The day in UTC, or `None` if not every database can store it.
fn day(time: &str) -> Option<NaiveDate> {
    let day = DateTime::parse_from_rfc3339(time)
        .ok()?
        .with_timezone(&Utc)
        .date_naive();
    (1000..=9999).contains(&day.year()).then_some(day)
}

/// Whether a path is that of a page. Images (icons included), stylesheets, scripts, fonts
/// and feeds are not pages.
fn is_page(path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    let Some((_, extension)) = file.rsplit_once('.') else {
        return true;
    };
    !matches!(
        extension.to_ascii_lowercase().as_str(),
        "apng" | "avif" | "bmp" | "cur" | "gif" | "ico" | "jpeg" | "jpg" | "png" | "svg" | "tif"
            | "tiff" | "webp" // images
            | "css" | "less" | "scss" | "xsl" | "xslt" // stylesheets
            | "js" | "map" | "mjs" // scripts
            | "eot" | "otf" | "ttf" | "woff" | "woff2" // fonts
            | "atom" | "rdf" | "rss" | "xml" // feeds
    )
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn a_line_without_a_line_end_is_the_last_one_even_if_the_log_grows() {
        let first = "2015-05-17T10:05:03Z,GET,/,200\n";
        for last in ["2015-05-17T10:05:04Z,GET,/,200", "2015-05-17T10:05:04Z,GE"] {
            let log = format!("time,method,path,status\n{first}{last}");
            let mut lines = Lines::after_header(Cursor::new(log.into_bytes()))
                .unwrap()
                .unwrap();
            assert!(lines.next().unwrap().unwrap().ended);
            assert!(!lines.next().unwrap().unwrap().ended);

            lines.log.get_mut().extend(b"T,/,200\n");
            assert!(lines.next().is_none());
        }
    }

    #[test]
    fn a_page_is_what_is_no_image_stylesheet_script_font_or_feed() {
        for path in [
            "/",
            "/blog/tags/puppet",
            "/projects/xdotool/",
            "/a.html",
            "/a.xhtml",
            "/v1.2/a",
        ] {
            assert!(is_page(path), "{path}");
        }
        for path in [
            "/favicon.ico",
            "/a/b.PNG",
            "/style2.css",
            "/lib/a.min.js",
            "/a.woff",
            "/index.xml",
        ] {
            assert!(!is_page(path), "{path}");
        }
    }

    fn line(text: &str) -> Line {
        Line {
            number: 2,
            text: text.into(),
            ended: true,
        }
    }

    #[test]
    fn the_whole_line_is_read() {
        for text in [
            "\r2015-05-17T10:05:03Z,GET,/,200",
            "2015-05-17T10:05:03Z,GET,/,200\r",
            "2015-05-17T10:05:03Z,GET,/,200\r0",
        ] {
            assert!(line(text).view().is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_day_of_a_view_is_the_one_in_utc() {
        let view = line("2015-05-17T23:30:00-02:00,GET,\"/a,b\",200").view();
        let day = NaiveDate::from_ymd_opt(2015, 5, 18).unwrap();
        let path = "/a,b".to_owned();
        assert_eq!(view, Ok(Some(View { day, path })));
    }
}
