//! The program counts exactly what it has acknowledged.
#![cfg(unix)]

#[path = "../../pools/tests/clients/mod.rs"]
mod clients;

use std::{fs, process};

use diesel::prelude::*;
use diesel::sql_types::BigInt;

#[test]
fn it_counts_what_it_has_acknowledged() {
    let file = format!("{}/minimal_{}", env!("CARGO_TARGET_TMPDIR"), process::id());
    let told = clients::ask(env!("CARGO_BIN_EXE_minimal"), &file);
    let conn = &mut SqliteConnection::establish(&file).unwrap();
    let mut sum = |sql| {
        diesel::select(diesel::dsl::sql::<BigInt>(sql))
            .get_result(conn)
            .unwrap()
    };
    let stored = clients::Counts {
        comments: sum("(SELECT SUM(comments) FROM article_counters)"),
        views: sum("(SELECT SUM(views) FROM article_counters)"),
    };
    assert_eq!(stored, told);
    assert_eq!(sum("(SELECT COUNT(*) FROM comments)"), told.comments);
    fs::remove_file(file).unwrap();
}
