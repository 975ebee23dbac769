//! Counts the page views of an access log, each line once.
//!
//! Each transaction that counts lines also stores the position in the log. An import that
//! was killed therefore continues at that position, and counts no line twice.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufRead};
use std::iter;

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_counters::prelude::*;
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};

use crate::access_log::{Line, Lines, View};
use crate::db::{self, AnyConnection};
use crate::models::NewArticle;
use crate::schema::{article_counters, articles, imports};

/// What an import did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The lines of the log, without its header.
    pub lines: i64,
    /// The number of lines that an earlier import counted.
    pub counted_before: i64,
    /// The number of malformed lines among the others.
    pub skipped: i64,
    /// The number of views that were counted.
    pub views: i64,
    /// The number of pages that had no article yet.
    pub new_articles: i64,
}

/// The error of an import. The batches before the error stay counted.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum ImportError {
    #[error("not an access log: the first line is not `time,method,path,status`")]
    NoHeader,
    #[error(
        "the first {lines} lines were counted before and have changed since; \
         nothing was counted"
    )]
    Changed { lines: i64 },
    #[error(
        "the log has {lines} lines, but {counted} lines of a log with the same first line \
         were counted before; nothing was counted"
    )]
    Shorter { lines: i64, counted: i64 },
    #[error("another import of this log is running")]
    AnotherIsRunning,
    #[error("reading the log failed")]
    Read(#[from] io::Error),
    #[error("the database returned an error")]
    Database(#[from] Error),
}

/// Counts the lines of a log that were not counted before, `batch` lines in a transaction.
/// Calls `on_skip` with the number of each malformed line and what is wrong with it.
pub fn import_log(
    log: impl BufRead,
    batch: usize,
    conn: &mut AnyConnection,
    mut on_skip: impl FnMut(i64, &str),
) -> Result<Summary, ImportError> {
    let mut summary = Summary::default();
    let mut lines = Lines::after_header(log)?.ok_or(ImportError::NoHeader)?;
    let Some(first) = lines.next().transpose()? else {
        return Ok(summary);
    };
    let mut position = Position::start(&first);
    let mut lines = iter::once(Ok(first)).chain(lines);

    if let Some((counted, digest)) = position.stored(conn)? {
        for line in lines.by_ref().take(counted as usize) {
            position.pass(&line?);
        }
        summary.lines = position.lines;
        summary.counted_before = position.lines;
        if position.lines < counted {
            return Err(ImportError::Shorter {
                lines: position.lines,
                counted,
            });
        }
        if position.digest() != digest {
            return Err(ImportError::Changed { lines: counted });
        }
    }

    loop {
        let old_lines = position.lines;
        let mut views = ViewsByDay::new();
        for line in lines.by_ref().take(batch) {
            let line = line?;
            match line.view() {
                Ok(Some(View { day, path })) => {
                    *views.entry(day).or_default().entry(path).or_default() += 1;
                }
                Ok(None) => {}
                Err(reason) => {
                    on_skip(line.number, &reason);
                    summary.skipped += 1;
                    if !line.ended {
                        // The line may still be incomplete: the next import reads it again.
                        summary.lines += 1;
                        break;
                    }
                }
            }
            position.pass(&line);
        }
        if position.lines == old_lines {
            return Ok(summary);
        }
        summary.new_articles += count(&views, &position, old_lines, conn)?;
        summary.views += views.values().flat_map(BTreeMap::values).sum::<i64>();
        summary.lines += position.lines - old_lines;
    }
}

/// The start of the log of a real blog; see data/README.md.
const EXCERPT: &[u8] = include_bytes!("../data/access-excerpt.csv");

/// Counts the excerpt that comes with the blog, if there is no article yet.
pub fn import_excerpt(conn: &mut AnyConnection) -> Result<Option<Summary>, ImportError> {
    let articles: i64 = articles::table.count().get_result(conn)?;
    if articles > 0 {
        return Ok(None);
    }
    // All lines in one transaction, because the next start would not continue the import.
    match import_log(EXCERPT, EXCERPT.len(), conn, |_, _| {}) {
        // A log that begins with the excerpt was counted, and its articles were deleted.
        Err(ImportError::Shorter { .. }) => Ok(None),
        Err(ImportError::AnotherIsRunning) => Ok(None),
        result => result.map(Some),
    }
}

type ViewsByDay = BTreeMap<NaiveDate, BTreeMap<String, i64>>;

/// Counts a batch and stores `position`. Returns the number of new articles.
fn count(
    days: &ViewsByDay,
    position: &Position,
    old_lines: i64,
    conn: &mut AnyConnection,
) -> Result<i64, ImportError> {
    db::write(conn, |conn| {
        position.store(old_lines, conn)?;
        let paths = days.values().flat_map(BTreeMap::keys);
        let paths: BTreeSet<&str> = paths.map(String::as_str).collect();
        let mut ids = ids_by_path(&paths, conn)?;
        let new: BTreeSet<&str> = paths
            .into_iter()
            .filter(|path| !ids.contains_key(*path))
            .collect();
        if !new.is_empty() {
            create_articles(&new, conn)?;
            ids.extend(ids_by_path(&new, conn)?);
        }
        for (day, views) in days {
            let counts = views.iter().map(|(path, views)| (ids[path], *views));
            increment(article_counters::views)
                .on(*day)
                .of_many(counts)
                .execute(conn)?;
        }
        Ok(new.len() as i64)
    })
    .map_err(|error| match error {
        Error::RollbackTransaction => ImportError::AnotherIsRunning,
        error => ImportError::Database(error),
    })
}

fn ids_by_path(
    paths: &BTreeSet<&str>,
    conn: &mut AnyConnection,
) -> QueryResult<HashMap<String, i64>> {
    let ids = articles::table
        .filter(articles::path.eq_any(paths))
        .select((articles::path, articles::id))
        .load(conn)?;
    Ok(ids.into_iter().collect())
}

fn create_articles(paths: &BTreeSet<&str>, conn: &mut AnyConnection) -> QueryResult<()> {
    for path in paths {
        diesel::insert_into(articles::table)
            .values(NewArticle::new(path, &title_of(path), ""))
            .execute(conn)?;
    }
    Ok(())
}

/// `/blog/ssl-latency.html` as `Ssl latency`.
fn title_of(path: &str) -> String {
    let name = path.rsplit('/').find(|name| !name.is_empty());
    let name = name.unwrap_or("Home");
    let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let words: String = percent_decode_str(name)
        .decode_utf8_lossy()
        .chars()
        .map(|c| {
            if matches!(c, '-' | '_' | '+') || c.is_control() {
                ' '
            } else {
                c
            }
        })
        .collect();
    let mut letters = words.trim().chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => path.to_owned(),
    }
}

/// The position up to which a log is counted.
struct Position {
    /// The digest of the first line, which identifies the log even if its file is renamed.
    id: String,
    lines: i64,
    /// The digest of all lines up to this position.
    digest: Sha256,
}

impl Position {
    fn start(first: &Line) -> Self {
        Position {
            id: hex(Sha256::digest(&first.text)),
            lines: 0,
            digest: Sha256::new(),
        }
    }

    fn pass(&mut self, line: &Line) {
        self.lines += 1;
        self.digest.update(&line.text);
        self.digest.update("\n");
    }

    fn digest(&self) -> String {
        hex(self.digest.clone().finalize())
    }

    /// Returns the stored position: the number of lines and their digest.
    fn stored(&self, conn: &mut AnyConnection) -> QueryResult<Option<(i64, String)>> {
        imports::table
            .find(&self.id)
            .select((imports::lines, imports::digest))
            .first(conn)
            .optional()
    }

    /// Moves the stored position from `old_lines` to this one. Fails if the stored position
    /// is not at `old_lines`, because another import has counted these lines.
    fn store(&self, old_lines: i64, conn: &mut AnyConnection) -> QueryResult<()> {
        let here = (
            imports::lines.eq(self.lines),
            imports::digest.eq(self.digest()),
        );
        let moved = if old_lines == 0 {
            diesel::insert_into(imports::table)
                .values((imports::id.eq(&self.id), here))
                .execute(conn)
        } else {
            diesel::update(imports::table.find(&self.id))
                .filter(imports::lines.eq(old_lines))
                .set(here)
                .execute(conn)
        };
        match moved {
            Ok(0) | Err(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)) => {
                Err(Error::RollbackTransaction)
            }
            result => result.map(drop),
        }
    }
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::title_of;

    #[test]
    fn a_title_is_made_of_the_end_of_the_path() {
        for (path, title) in [
            ("/", "Home"),
            ("/blog/tags/puppet", "Puppet"),
            ("/projects/xdotool/", "Xdotool"),
            ("/blog/geekery/ssl-latency.html", "Ssl latency"),
            ("/blog/tags/open%20source%00", "Open source"),
            ("/a/.-", "/a/.-"),
        ] {
            assert_eq!(title_of(path), title);
        }
    }
}
