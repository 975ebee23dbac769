//! Each program counts exactly what it has acknowledged. The servers are those of `POSTGRES_URL` and
//! `MYSQL_URL`.
#![cfg(unix)]

mod clients;
mod testing;

use clients::Counts;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use pools::schema::{article_counters, comments};

/// Compares what the clients were told with what is stored.
macro_rules! check {
    ($program:literal, $url:expr, $Connection:ty) => {{
        let program = clients::Program::start(env!(concat!("CARGO_BIN_EXE_", $program)), $url);
        let head = "POST /articles/99/comments HTTP/1.1\r\nContent-Length: 5\r\n";
        let answer = clients::request(&program.address, head, "Nice!").unwrap();
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        drop(program);

        let told = clients::ask(env!(concat!("CARGO_BIN_EXE_", $program)), $url);
        let conn = &mut <$Connection>::establish($url).unwrap();
        let counters = (article_counters::comments, article_counters::views);
        let counted = counter_value(counters).of(1_i64).get_result(conn);
        let (comments, views) = counted.unwrap();
        assert_eq!(Counts { comments, views }, told);
        assert_eq!(comments::table.count().get_result(conn), Ok(comments));
    }};
}

#[test]
fn actix() {
    let file = clients::File::new(env!("CARGO_TARGET_TMPDIR"), "pools");
    check!("actix", &file.0, SqliteConnection);
}

/// Is called at the end of the test, also if it fails.
#[cfg(any(feature = "postgres", feature = "mysql"))]
struct AtEnd<F: Fn()>(F);

#[cfg(any(feature = "postgres", feature = "mysql"))]
impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// In a database of its own.
#[cfg(any(feature = "postgres", feature = "mysql"))]
macro_rules! check_on_server {
    ($program:literal, $server:literal, $Connection:ty, $force:literal) => {{
        let server =
            std::env::var($server).expect(concat!("set ", $server, ", or run scripts/test"));
        let run = |sql: &str| {
            let mut conn = <$Connection>::establish(&server).unwrap();
            diesel::connection::SimpleConnection::batch_execute(&mut conn, sql).unwrap();
        };
        let name = format!("pools_test_{}", std::process::id());
        run(&format!("CREATE DATABASE {name}"));
        let _at_end = AtEnd(|| run(&format!("DROP DATABASE {name} {}", $force)));
        let (address, _) = server.rsplit_once('/').unwrap();
        check!($program, &format!("{address}/{name}"), $Connection);
    }};
}

#[cfg(feature = "postgres")]
#[test]
fn rocket() {
    check_on_server!("rocket", "POSTGRES_URL", PgConnection, "WITH (FORCE)");
}

#[cfg(feature = "mysql")]
#[test]
fn axum() {
    check_on_server!("axum", "MYSQL_URL", MysqlConnection, "");
}
