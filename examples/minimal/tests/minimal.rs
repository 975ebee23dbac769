//! The program counts exactly what it has acknowledged, and refuses what it cannot count.
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

/// A program with a database of its own.
fn start(name: &str) -> (clients::Program, String) {
    let file = format!("{}/{name}_{}", env!("CARGO_TARGET_TMPDIR"), process::id());
    let program = clients::Program::start(env!("CARGO_BIN_EXE_minimal"), &file);
    (program, file)
}

#[test]
fn an_article_that_does_not_exist_is_not_found() {
    let (program, file) = start("unknown");
    for (head, body) in [
        ("GET /articles/99 HTTP/1.1\r\n", ""),
        ("POST /articles/99/likes HTTP/1.1\r\n", ""),
        (
            "POST /articles/99/comments HTTP/1.1\r\nContent-Length: 5\r\n",
            "Nice!",
        ),
    ] {
        let answer = clients::request(&program.address, head, body).unwrap();
        assert!(answer.starts_with("HTTP/1.1 404"), "{head}{answer}");
    }
    fs::remove_file(file).unwrap();
}

#[test]
fn the_most_read_articles_have_names_for_their_numbers() {
    let (program, file) = start("most_read");
    let answer = clients::request(&program.address, "GET / HTTP/1.1\r\n", "").unwrap();
    for named in [
        r#""title":"Bread on Sundays""#,
        r#""views":0"#,
        r#""likes":0"#,
    ] {
        assert!(answer.contains(named), "{named}: {answer}");
    }
    fs::remove_file(file).unwrap();
}

#[test]
fn a_request_of_another_site_is_refused() {
    let (program, file) = start("other_site");
    let status = |headers: &str| {
        let head = format!("POST /articles/1/likes HTTP/1.1\r\n{headers}");
        let answer = clients::request(&program.address, &head, "").unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status("Sec-Fetch-Site: cross-site\r\n"), "403");
    assert_eq!(status("Origin: http://evil.example\r\n"), "403");
    let own = format!("Origin: http://{}\r\n", program.address);
    assert_eq!(status(&own), "200");
    // A program sends neither.
    assert_eq!(status(""), "200");
    fs::remove_file(file).unwrap();
}
