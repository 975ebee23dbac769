//! The program counts exactly what it has acknowledged, and refuses what it cannot count.
#![cfg(unix)]

#[path = "../../pools/tests/clients/mod.rs"]
mod clients;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::BigInt;

#[test]
fn it_counts_what_it_has_acknowledged() {
    let file = clients::File::new(env!("CARGO_TARGET_TMPDIR"), "minimal");
    let told = clients::ask(env!("CARGO_BIN_EXE_minimal"), &file.0);
    let conn = &mut SqliteConnection::establish(&file.0).unwrap();
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
}

/// A program with a database of its own, whose files are removed after the program has ended.
fn start(name: &str) -> (clients::File, clients::Program) {
    let file = clients::File::new(env!("CARGO_TARGET_TMPDIR"), name);
    let program = clients::Program::start(env!("CARGO_BIN_EXE_minimal"), &file.0);
    (file, program)
}

#[test]
fn an_article_that_does_not_exist_is_not_found() {
    let (_file, program) = start("unknown");
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
}

#[test]
fn an_error_of_the_database_is_not_sent_to_the_client() {
    let (file, program) = start("error");
    let conn = &mut SqliteConnection::establish(&file.0).unwrap();
    conn.batch_execute("DROP TABLE comments").unwrap();
    let head = "POST /articles/1/comments HTTP/1.1\r\nContent-Length: 5\r\n";
    let answer = clients::request(&program.address, head, "Nice!").unwrap();
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    assert!(!answer.contains("comments"), "{answer}");
}

#[test]
fn the_most_read_articles_have_names_for_their_numbers() {
    let (_file, program) = start("most_read");
    let answer = clients::request(&program.address, "GET / HTTP/1.1\r\n", "").unwrap();
    for named in [
        r#""title":"Bread on Sundays""#,
        r#""views":0"#,
        r#""likes":0"#,
    ] {
        assert!(answer.contains(named), "{named}: {answer}");
    }
}

#[test]
fn a_request_of_another_site_is_refused() {
    let (_file, program) = start("other_site");
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
}
