//! The words that a name cannot be without quotes, on the server of the tests.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_counters_cli::keywords::{MYSQL, POSTGRES, SQLITE};

use crate::{BACKEND, Conn, TestDatabase};

#[derive(QueryableByName)]
struct Keyword {
    #[diesel(sql_type = Text)]
    word: String,
}

/// The words of a query.
fn words(query: &str, conn: &mut Conn) -> Vec<String> {
    let rows: Vec<Keyword> = diesel::sql_query(query).load(conn).unwrap();
    rows.into_iter().map(|row| row.word).collect()
}

/// Whether a statement fails with this name for a table and a column, without quotes.
fn is_refused(name: &str, conn: &mut Conn) -> bool {
    conn.batch_execute(&format!(
        "CREATE TEMPORARY TABLE {name} AS SELECT {name} FROM (SELECT 1 AS {name}) AS {name};
         INSERT INTO {name} ({name}) VALUES (2);
         UPDATE {name} SET {name} = {name} + 1 WHERE NOT {name} = 2;
         DROP TABLE {name}"
    ))
    .is_err()
}

/// A newer server can have more keywords.
#[test]
fn every_word_that_the_server_reserves_is_a_keyword() {
    let database = TestDatabase::create();
    let conn = &mut database.connect();
    let listed = match BACKEND {
        "postgres" => POSTGRES,
        "mysql" => MYSQL,
        _ => SQLITE,
    };
    let known = match BACKEND {
        "postgres" => words(
            "SELECT word FROM pg_get_keywords() WHERE catcode <> 'U'",
            conn,
        ),
        // MariaDB does not say which ones it reserves, and has operators among them.
        "mysql" => words(
            "SELECT CAST(LOWER(word) AS CHAR) AS word FROM information_schema.keywords
             WHERE word RLIKE '^[A-Za-z][A-Za-z0-9_]*$'",
            conn,
        ),
        // SQLite lists none in SQL: try those of the others.
        _ => [POSTGRES, MYSQL]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect(),
    };
    assert!(known.len() > 100);
    let missing = known.iter().filter(|word| !listed.contains(&word.as_str()));
    let missing: Vec<_> = missing
        .filter(|word| BACKEND == "postgres" || is_refused(word, conn))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
