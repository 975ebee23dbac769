//! The SQL of every operation's examples is a file of `tests/sql`, so that a changed statement is a
//! changed file. A file has the Rust expression that ran the statements, and each statement with its
//! bind values.
//!
//! With `UPDATE_EXPECT=1`, the test writes the files. MySQL and MariaDB have the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use diesel::connection::SimpleConnection;
use diesel_counters_tests::operations::Operation;
use diesel_counters_tests::watch::watch;
use expect_test::expect_file;
use sqlformat::{FormatOptions, Indent, QueryParams};

use super::materializing::{ADD_RECENT, ADD_TOTAL_LIKES};
use super::several_ranges::create_pages;
use super::stock::TICKETS;
use super::{insert_comment, key_columns};
use crate::{HAS_SLOTS, IS_MYSQL};

const FOLDER: &str = if IS_MYSQL {
    "sql/mysql"
} else if HAS_SLOTS {
    "sql/postgres"
} else {
    "sql/sqlite"
};

/// The counters before each example. There are rows to merge, also on SQLite.
const ROWS: &str = "
    DELETE FROM article_counters;
    INSERT INTO article_counters (article_id, day, slot, views)
    VALUES (1, '2026-03-02', 3, 1), (1, '2026-03-02', 5, 1), (2, '2026-03-08', 3, 5), (3, '2026-03-02', 3, 2);
    DELETE FROM page_counters;
    INSERT INTO page_counters (path, day, slot, hits) VALUES ('/a', '2026-03-02', 3, 1);
    DELETE FROM site_counters;
    INSERT INTO site_counters (day, slot, hits)
    VALUES ('2026-03-02', 3, 1), ('2026-03-02', 5, 1);
    DELETE FROM reaction_counters;
    INSERT INTO reaction_counters (article_id, emoji, day, slot, given)
    VALUES (1, '👍', '2026-03-02', 3, 1), (1, '👍', '2026-03-02', 5, 1);
    DELETE FROM version_counters;
    INSERT INTO version_counters (crate_id, number, day, slot, downloads)
    VALUES (1, '1.0', '2026-03-02', 3, 1);
    DELETE FROM tickets;
    INSERT INTO tickets (event_id, day, slot, remaining) VALUES (1, '1970-01-01', 3, 3);
    UPDATE articles
    SET total_views = 0, total_likes = NULL, recent_views = 0, recent_likes = NULL;
    UPDATE pages SET all_hits = NULL, hits_of_a_day = NULL";

#[test]
fn the_sql_of_every_statement_is_a_file() {
    let (conn, _database) = &mut key_columns::with_tables();
    conn.batch_execute(ADD_TOTAL_LIKES).unwrap();
    conn.batch_execute(ADD_RECENT).unwrap();
    create_pages(conn);
    conn.batch_execute(TICKETS).unwrap();
    for id in [1, 1, 2] {
        insert_comment(id, "Nice.", conn).unwrap();
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let mut left_over: BTreeSet<_> = files_in(&folder).collect();
    for example in Operation::examples() {
        conn.batch_execute(ROWS).unwrap();
        let statements = watch(conn, example.run).queries;
        let expression = example.expression.split_whitespace();
        let expression = expression.collect::<Vec<_>>().join(" ");
        let statements: String = statements.iter().map(|sql| lines(sql)).collect();
        let file = folder.join(example.name).with_extension("sql");
        expect_file![&file].assert_eq(&format!("-- {expression}\n\n{statements}"));
        left_over.remove(&file);
    }
    assert_eq!(left_over, BTreeSet::new(), "no statement has these files");
}

fn files_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let files = fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().path())
}

/// A statement as one would lay it out, and a line for its bind values.
fn lines(statement: &str) -> String {
    let (sql, binds) = statement
        .split_once(" -- binds: ")
        .unwrap_or((statement, "[]"));
    let options = FormatOptions {
        indent: Indent::Spaces(4),
        uppercase: None,
        max_inline_block: 90,
        max_inline_arguments: Some(100),
        max_inline_top_level: Some(100),
        joins_as_top_level: true,
        ..FormatOptions::default()
    };
    let format = |sql: &str| sqlformat::format(sql, &QueryParams::None, &options);
    // The formatter takes MySQL's UPDATE for a statement.
    let end = " ON DUPLICATE KEY UPDATE ";
    let sql = match sql.split_once(end) {
        Some((insert, added)) => format!("{}\n{}{added}", format(insert), end.trim_start()),
        None => format(sql),
    };
    let binds = match binds {
        "[]" => String::new(),
        binds => format!("-- {binds}\n"),
    };
    format!("{sql};\n{binds}\n")
}
