//! Clients that keep a connection and send or read little.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use crate::database::{PATIENCE, TestDatabase, number_of_articles};
use crate::start::Blog;

const FORM: &str = "POST /articles HTTP/1.1\r\nHost: blog\r\nContent-Length: 100\r\n\
                    Content-Type: application/x-www-form-urlencoded\r\n\r\ntitle=Title";

fn connect(blog: &Blog) -> TcpStream {
    let stream = TcpStream::connect(&blog.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Returns what the blog sends before it closes the connection.
fn read_to_end(mut stream: TcpStream) -> io::Result<String> {
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn is_closed(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// Asks for a small file, and reads the answer. The connection stays open.
fn ask(stream: &mut TcpStream) {
    write!(stream, "HEAD /style.css HTTP/1.1\r\nHost: blog\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.extend(byte);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 OK"));
}

#[test]
fn a_connection_without_a_whole_header_is_closed() {
    let database = TestDatabase::new();
    let blog = Blog::start_with(&database, &["--header-timeout", "1"]);
    for sent in [
        "",
        "GET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nHost: bl",
        // Another request could follow.
        "HEAD / HTTP/1.1\r\nHost: blog\r\n\r\n",
    ] {
        let mut client = connect(&blog);
        // On a busy machine, the blog may have closed it already.
        let closed = client.write_all(sent.as_bytes());
        match closed.and_then(|()| read_to_end(client)) {
            Ok(_) => {}
            Err(error) => assert!(is_closed(error.kind()), "{sent:?}: {error}"),
        }
    }
}

#[test]
fn a_form_that_does_not_arrive_is_refused() {
    let database = TestDatabase::new();
    let blog = Blog::start_with(
        &database,
        &["--transfer-timeout", "1", "--header-timeout", "300"],
    );
    let conn = &mut database.connection();
    let articles = number_of_articles(conn);

    let mut client = connect(&blog);
    client.write_all(FORM.as_bytes()).unwrap();
    let answer = read_to_end(client).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 Request Timeout"));
    assert!(answer.contains("The form took too long to arrive"));
    assert_eq!(number_of_articles(conn), articles);
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let database = TestDatabase::new();
    let blog = Blog::start_with(&database, &["--transfer-timeout", "1"]);
    let mut client = connect(&blog);
    let error = loop {
        let asked = write!(client, "GET /style.css HTTP/1.1\r\nHost: blog\r\n\r\n");
        if let Err(error) = asked {
            break error.kind();
        }
    };
    assert!(is_closed(error), "{error}");
}

#[test]
fn at_the_limit_of_connections_the_next_client_waits_for_one_to_be_closed() {
    let database = TestDatabase::new();
    let blog = Blog::start_with(
        &database,
        &["--connections", "2", "--header-timeout", "300"],
    );
    let mut first = connect(&blog);
    let mut second = connect(&blog);
    ask(&mut first);
    ask(&mut second);

    let mut third = connect(&blog);
    write!(third, "GET / HTTP/1.0\r\n\r\n").unwrap();
    third.set_nonblocking(true).unwrap();
    for _ in 0..500 {
        ask(&mut second);
        let answer = third.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(answer, Err(ErrorKind::WouldBlock));
    }

    drop(first);
    third.set_nonblocking(false).unwrap();
    assert!(read_to_end(third).unwrap().starts_with("HTTP/1.0 200 OK"));
}
