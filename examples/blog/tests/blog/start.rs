//! The command line, and how the blog starts and stops.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use blog::article::Article;
use blog::db::Conn;
use blog::schema::article_counters;
use diesel::prelude::*;
use diesel_counters::prelude::*;

use crate::support::{BROWSER, Blog, TestDatabase, lock};

const FORM: &str = "action=comment&author=&body=Hello";

struct Started {
    process: Child,
    /// Kept open, because the blog writes more lines.
    _output: BufReader<ChildStdout>,
    address: String,
}

impl Started {
    fn new(database: &TestDatabase) -> Self {
        let mut process = command(&database.url)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("http://") {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0);
        }
        let address = line.trim_start_matches("http://").trim().to_owned();
        Started {
            process,
            _output: output,
            address,
        }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let address = &self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: {BROWSER}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Begins to send a comment. The blog waits for the form.
    fn comment(&self) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (address, length) = (&self.address, FORM.len());
        write!(stream, "POST /articles/bread-on-sundays HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
            Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n").unwrap();
        let go_on = &mut [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
        stream.read_exact(go_on).unwrap();
        stream
    }

    #[cfg(unix)]
    fn terminate(&self) {
        let pid = self.process.id().to_string();
        let kill = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(kill.unwrap().success());
    }

    #[cfg(unix)]
    fn stop(mut self) {
        self.terminate();
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command(url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blog"));
    command
        .env("DATABASE_URL", url)
        .env("LISTEN", "127.0.0.1:0")
        .env("RUST_BACKTRACE", "0");
    command
}

fn failure(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_connection_with_half_a_request_is_closed() {
    let database = TestDatabase::new();
    let blog = Started::new(&database);
    let half = format!("GET / HTTP/1.1\r\nHost: {}\r\n", blog.address);
    // Nothing, the beginning of an HTTP/2 request, half a request, and one after a whole one.
    let begun = ["", "PRI * ", &half, &format!("{half}\r\n{half}")].map(|sent| {
        let mut stream = TcpStream::connect(&blog.address).unwrap();
        let only_what_hangs = Duration::from_secs(120);
        stream.set_read_timeout(Some(only_what_hangs)).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        stream
    });
    for mut stream in begun {
        let closed = stream.read_to_end(&mut Vec::new());
        assert!(closed.is_ok(), "{closed:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_blog_that_is_asked_to_stop_writes_its_views_and_ends_idle_connections() {
    let database = TestDatabase::new();
    let blog = Started::new(&database);
    let before = views(&database);
    // A browser keeps its connection.
    let mut idle = TcpStream::connect(&blog.address).unwrap();
    write!(
        idle,
        "GET /style.css HTTP/1.1\r\nHost: {}\r\n\r\n",
        blog.address
    )
    .unwrap();
    let mut first = [0; 12];
    idle.read_exact(&mut first).unwrap();
    assert_eq!(first, *b"HTTP/1.1 200");
    blog.get("/articles/bread-on-sundays");
    blog.stop();
    let mut rest = String::new();
    idle.read_to_string(&mut rest).unwrap();
    assert_eq!(views(&database), before + 1);
}

#[cfg(unix)]
#[test]
fn a_blog_that_is_asked_to_stop_ends_requests_that_wait_for_a_lock_and_writes_its_views() {
    let database = TestDatabase::new();
    let mut blog = Started::new(&database);
    let before = views(&database);
    // It serves, and needs to write nothing more. On the front page, simulated readers would come.
    blog.get("/stats");
    let locked = lock(&database.url);
    blog.get("/articles/bread-on-sundays");
    let mut last = blog.comment();
    let mut comments: Vec<_> = (0..40).map(|_| blog.comment()).collect();
    for comment in &mut comments {
        comment.write_all(FORM.as_bytes()).unwrap();
    }
    blog.terminate();
    for comment in comments {
        assert_eq!(status(comment), "HTTP/1.1 503 Service Unavailable");
    }
    drop(locked);
    last.write_all(FORM.as_bytes()).unwrap();
    assert_eq!(status(last), "HTTP/1.1 303 See Other");
    assert!(blog.process.wait().unwrap().success());
    assert_eq!(views(&database), before + 1);
}

/// Reads an answer. Returns its first line, or nothing if there is none.
fn status(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer.lines().next().unwrap_or_default().to_owned()
}

fn views(database: &TestDatabase) -> i64 {
    let conn = &mut Conn::establish(&database.url).unwrap();
    let article = Article::find("bread-on-sundays", conn).unwrap();
    article
        .counter_value(article_counters::views, conn)
        .unwrap()
}

#[test]
fn a_blog_with_other_articles_has_no_sample_and_no_simulated_readers() {
    let blog = Blog::new();
    blog.article("Title");
    let front = Started::new(&blog.database).get("/");
    assert!(!front.contains("One row is a queue"), "{front}");
    assert!(front.contains("Only real visitors are counted"), "{front}");

    let database = TestDatabase::new();
    let front = Started::new(&database).get("/");
    assert!(front.contains("One row is a queue"), "{front}");
    assert!(front.contains("Simulated readers add"), "{front}");
}

#[test]
fn a_port_in_use_is_said_with_what_to_do() {
    let database = TestDatabase::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let error = failure(command(&database.url).env("LISTEN", &address));
    let said = format!("cannot listen on {address}: set LISTEN");
    assert!(error.contains(&said), "{error}");
}

#[test]
fn a_database_that_cannot_be_opened_is_named_without_its_password() {
    let urls = match cfg!(any(feature = "postgres", feature = "mysql")) {
        true => &[
            "mysql://blog:secret@127.0.0.1:1/blog",
            "mysql://blog:secret/secret@127.0.0.1:1/blog",
            "mysql://blog:secret@secret@127.0.0.1:1/blog",
            "mysql://blog:%secret%zz@127.0.0.1:1/blog?secret",
        ][..],
        false => &["no/such/folder/blog.sqlite"],
    };
    for url in urls {
        for url in [url.to_string(), url.replace("mysql", "postgres")] {
            let error = failure(&mut command(&url));
            let name = url.rsplit('@').next().unwrap().trim_end_matches("?secret");
            let named = error.contains(&format!("cannot open the database {name}: "));
            assert!(named && !error.contains("secret"), "{url}: {error}");
        }
    }
}

#[test]
fn an_empty_database_is_refused() {
    let error = failure(&mut command(""));
    assert!(error.contains("DATABASE_URL is empty"), "{error}");
}
