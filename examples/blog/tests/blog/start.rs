use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::database::{TestDatabase, all_views, number_of_articles, wait_until};

#[test]
fn an_empty_database_starts_with_real_traffic() {
    let database = TestDatabase::new();
    let blog = Blog::start(&database);
    assert!(blog.get("/").contains("Page 1 of 10"));
    drop(blog);
    drop(Blog::start(&database));

    let conn = &mut database.connection();
    assert_eq!((number_of_articles(conn), all_views(conn)), (186, 467));
}

#[test]
fn blogs_that_start_at_once_on_an_empty_database_all_serve_it() {
    let database = TestDatabase::new();
    let started: Vec<_> = (0..4).map(|_| start(&database, &[])).collect();
    for blog in started.into_iter().map(Blog::started) {
        assert!(blog.get("/").starts_with("HTTP/1.1 200 OK"));
    }

    let conn = &mut database.connection();
    assert_eq!((number_of_articles(conn), all_views(conn)), (186, 467));
}

/// MySQL commits each part of a migration at once, so a start can be killed in the middle.
#[cfg(feature = "mysql")]
#[test]
fn on_mysql_a_migration_that_was_not_recorded_runs_again() {
    use diesel::connection::SimpleConnection;

    let database = TestDatabase::new();
    if !database.url.starts_with("mysql") {
        return;
    }
    let conn = &mut database.connection();
    conn.batch_execute("DELETE FROM __diesel_schema_migrations")
        .unwrap();
    drop(Blog::start(&database));

    assert_eq!((number_of_articles(conn), all_views(conn)), (186, 467));
}

#[cfg(unix)]
#[test]
fn a_blog_that_is_asked_to_stop_ends_well() {
    let database = TestDatabase::new();
    for signal in ["-INT", "-TERM"] {
        let mut blog = Blog::start(&database);
        // A browser keeps connections for later.
        let _idle = TcpStream::connect(&blog.address).unwrap();
        blog.get("/");
        blog.send(signal);
        assert!(blog.process.wait().unwrap().success());
    }
}

#[cfg(unix)]
#[test]
fn a_request_that_is_never_finished_does_not_keep_a_blog_from_stopping() {
    let database = TestDatabase::new();
    let mut blog = Blog::start(&database);
    let mut request = TcpStream::connect(&blog.address).unwrap();
    write!(
        request,
        "POST /articles HTTP/1.1\r\nHost: {}\r\nContent-Length: 100\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue\r\n\r\n",
        blog.address
    )
    .unwrap();
    // The blog reads the body now.
    let mut answer = [0; "HTTP/1.1 100 Continue".len()];
    request.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue");

    blog.send("-TERM");
    let mut ended = None;
    wait_until("the blog does not stop", || {
        ended = blog.process.try_wait().unwrap();
        ended.is_some()
    });
    assert!(ended.unwrap().success());
}

#[test]
fn a_port_in_use_is_said_in_one_line() {
    let database = TestDatabase::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let error = failure(&database.url, &["serve", "--listen", &address]);
    assert!(error.starts_with(&format!("blog: cannot serve on {address}; ")));
}

#[test]
fn a_database_that_cannot_be_opened_is_said_in_one_line_without_its_password() {
    for (url, reason) in [
        ("no/such/folder/blog.sqlite", ""),
        ("", "names no file"),
        (":memory:", "names no file"),
        (
            "oracle://blog:secret@127.0.0.1/blog",
            "begins with oracle://",
        ),
        ("postgres://blog:secret@127.0.0.1:1/blog", ""),
        ("postgres://blog:secret%zz@127.0.0.1:1/blog", ""),
        ("mysql://blog:secret@127.0.0.1:1/blog", ""),
    ] {
        let error = failure(url, &[]);
        assert!(
            error.starts_with("blog: ") && error.contains(reason),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
    }
}

#[cfg(feature = "sqlite")]
#[test]
fn a_database_that_cannot_be_opened_is_said_with_the_reason() {
    let error = failure("no/such/folder/blog.sqlite", &[]);
    assert!(
        error.ends_with("DATABASE_URL: unable to open database file\n"),
        "{error}"
    );
}

#[cfg(not(feature = "mysql"))]
#[test]
fn a_database_that_is_not_built_in_is_said_with_the_way_to_build_it_in() {
    let error = failure("mysql://blog@127.0.0.1/blog", &[]);
    assert!(
        error.contains("`cargo run -p blog --features mysql`"),
        "{error}"
    );
}

/// The one line that a blog which cannot start says.
fn failure(database_url: &str, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_blog"))
        .env("DATABASE_URL", database_url)
        .env("RUST_LOG", "warn")
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

/// A running blog.
pub struct Blog {
    process: Child,
    pub address: String,
}

fn start(database: &TestDatabase, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_blog"))
        .env("DATABASE_URL", &database.url)
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

impl Blog {
    fn start(database: &TestDatabase) -> Self {
        Blog::start_with(database, &[])
    }

    pub fn start_with(database: &TestDatabase, arguments: &[&str]) -> Self {
        Blog::started(start(database, arguments))
    }

    fn started(mut process: Child) -> Self {
        let mut line = String::new();
        let stdout = process.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line
            .trim()
            .strip_prefix("blog: http://")
            .unwrap()
            .to_owned();
        Blog { process, address }
    }

    #[cfg(unix)]
    fn send(&self, signal: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Blog {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
