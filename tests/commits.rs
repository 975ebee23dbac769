//! Batches whose COMMIT is not answered, or is answered with an error. A proxy between the buffer and the
//! server cuts the connection at the COMMIT or before it, or changes the server's answer.

use std::io::{Read, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use diesel::prelude::*;
use diesel_counters::buffer::Write;
use diesel_counters::prelude::*;
use diesel_counters::{CounterBuffer, is_retryable, retry, retry_if};
use diesel_counters_tests::answer::{Answer, is_commit, rollback};
use diesel_counters_tests::schema::article_counters::views;

use crate::behaviour::wait_until;
use crate::{Conn, TestDatabase};

/// What happens to the next COMMIT. The client's connection is closed, unless the COMMIT is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The statement before it is lost, and so is the connection.
    Before,
    /// The server does not get it, and its connection is closed.
    Lost,
    /// The server executes it, and the answer is lost.
    Unanswered,
    /// The server waits for it, until [`Proxy::end`].
    Late,
    /// The server executes it, or a ROLLBACK in its place, and the client gets this error.
    Answered(Answer, Server),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    Commits,
    RollsBack,
}

#[derive(Default)]
struct State {
    fate: Option<Fate>,
    /// The server's connection, and the message that it waits for.
    late: Option<(TcpStream, Vec<u8>)>,
    /// What the client gets in place of the server's next answer.
    answer: Option<Vec<u8>>,
}

struct Proxy {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&server).unwrap();
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(client, server, &state));
            }
        });
        Proxy { port, state }
    }

    fn cut(&self, fate: Fate) {
        self.state.lock().unwrap().fate = Some(fate);
    }

    /// Gives the server the COMMIT that it waits for, and nothing after that, or ends its connection.
    fn end(&self, delivers: bool) {
        let late = self.state.lock().unwrap().late.take();
        let (mut server, message) = late.unwrap();
        if delivers {
            server.write_all(&message).unwrap();
        }
        let how = if delivers {
            Shutdown::Write
        } else {
            Shutdown::Both
        };
        let _ = server.shutdown(how);
    }
}

/// Passes on what the client and the server send, until a COMMIT meets its fate.
fn serve(mut client: TcpStream, mut server: TcpStream, state: &Arc<Mutex<State>>) {
    let [mut to_client, mut from_server] = [&client, &server].map(|one| one.try_clone().unwrap());
    let shared = Arc::clone(state);
    let answers = thread::spawn(move || {
        let mut buffer = [0; 100_000];
        while let Ok(length @ 1..) = from_server.read(&mut buffer) {
            // That of a COMMIT is so short that it comes at once.
            let other = shared.lock().unwrap().answer.take();
            let answer = other.as_deref().unwrap_or(&buffer[..length]);
            if to_client.write_all(answer).is_err() {
                break;
            }
        }
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let mut buffer = [0; 100_000];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let message = &buffer[..length];
        let is_insert = message.windows(6).any(|text| text == b"INSERT");
        let is_cut = |fate: &mut Fate| match fate {
            Fate::Before => is_insert,
            _ => is_commit(message),
        };
        let fate = state.lock().unwrap().fate.take_if(is_cut);
        if fate == Some(Fate::Late) {
            // Before the client can know that its connection is closed.
            let late = (server.try_clone().unwrap(), message.to_vec());
            state.lock().unwrap().late = Some(late);
        }
        if let Some(Fate::Answered(answer, executes)) = fate {
            state.lock().unwrap().answer = Some(answer.to_message(crate::IS_MYSQL));
            let sent = match executes {
                Server::Commits => message,
                Server::RollsBack => &rollback(crate::IS_MYSQL),
            };
            server.write_all(sent).unwrap();
            continue;
        }
        if fate.is_some() {
            // No answer can reach the client from here on.
            client.shutdown(Shutdown::Both).unwrap();
        }
        match fate {
            None if server.write_all(message).is_ok() => continue,
            None | Some(Fate::Before | Fate::Lost) => {}
            Some(Fate::Unanswered) => {
                server.write_all(message).unwrap();
                // The server closes it once it has done what was sent.
                server.shutdown(Shutdown::Write).unwrap();
                let _ = answers.join();
                return;
            }
            Some(Fate::Late | Fate::Answered(..)) => return,
        }
        break;
    }
    let _ = server.shutdown(Shutdown::Both);
}

struct Test {
    conn: Conn,
    proxy: Proxy,
    database: TestDatabase,
}

impl Test {
    fn new() -> Self {
        let database = TestDatabase::with_tables();
        let url = database.url();
        let proxy = Proxy::start(address(&url));
        let conn = database.connect();
        Test {
            conn,
            proxy,
            database,
        }
    }

    /// The URL of the database behind the proxy.
    fn url(&self) -> String {
        let url = self.database.url();
        let at_proxy = format!("127.0.0.1:{}", self.proxy.port);
        // Neither client library may encrypt what the proxy reads.
        let options = match url.starts_with("mysql") {
            true => "?ssl_mode=disabled",
            false => "?sslmode=disable",
        };
        url.replacen(&address(&url), &at_proxy, 1) + options
    }

    fn buffer(&self) -> CounterBuffer<Conn> {
        let url = self.url();
        let builder = CounterBuffer::builder(move || Conn::establish(&url));
        let never = Duration::from_secs(1_000_000);
        builder.every(never).start().unwrap()
    }

    fn views(&mut self) -> i64 {
        let value = counter_value(views).of(1_i64);
        value.get_result(&mut self.conn).unwrap()
    }
}

/// The host and the port of a database.
fn address(url: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap();
    let (server, _) = rest.split_once('/').unwrap();
    let (_, address) = server.rsplit_once('@').unwrap_or(("", server));
    match address.contains(':') {
        true => address.to_owned(),
        false if url.starts_with("mysql") => format!("{address}:3306"),
        false => format!("{address}:5432"),
    }
}

fn count(buffer: &CounterBuffer<Conn>) {
    buffer.count(increment(views).of(1_i64)).unwrap();
}

/// What a page shows: what is written and what is pending.
fn shown(test: &mut Test, buffer: &CounterBuffer<Conn>) -> i64 {
    let shown = buffer.read(|pending| {
        let written: i64 = counter_value(views).of(1_i64).get_result(&mut test.conn)?;
        QueryResult::Ok(written + pending.of(views, &1_i64))
    });
    shown.unwrap()
}

/// Returns the amounts of article 1 whose COMMIT was not answered.
fn unknown(write: &Write) -> Vec<i128> {
    let unknown = write.unknown.iter();
    unknown
        .map(|row| {
            assert_eq!((row.table, row.key.as_str()), ("article_counters", "1"));
            row.amounts.iter().map(|(_, amount)| amount).sum()
        })
        .collect()
}

#[test]
fn a_batch_whose_commit_is_not_answered_is_reported_and_not_written_again() {
    for (fate, stored) in [(Fate::Lost, 0), (Fate::Unanswered, 2)] {
        let mut test = Test::new();
        let buffer = test.buffer();
        count(&buffer);
        assert_eq!(buffer.flush().written, 1);
        count(&buffer);
        count(&buffer);
        test.proxy.cut(fate);
        let write = buffer.flush();
        assert!(write.error.is_some(), "{fate:?}: {write}");
        assert_eq!((write.written, write.pending), (0, 0), "{write}");
        assert_eq!(unknown(&write), [2], "{write}");
        assert!(write.refused.is_empty());
        assert!(write.to_string().contains("written or lost"), "{write}");
        assert_eq!(buffer.pending_of(views, &1_i64), 0);
        // The server may still be executing it.
        assert!([1, 1 + stored].contains(&shown(&mut test, &buffer)));
        // What is counted later is written.
        count(&buffer);
        assert!([2, 2 + stored].contains(&shown(&mut test, &buffer)));
        let write = flush(&buffer);
        assert!(write.unknown.is_empty(), "{write}");
        // The server may still be executing it.
        assert!(wait_until(|| test.views() == 2 + stored), "{fate:?}");
    }
}

/// The server executes the COMMIT when the buffer has gone on already.
#[test]
fn a_commit_that_comes_late_counts_once() {
    for comes in [true, false] {
        let mut test = Test::new();
        let buffer = test.buffer();
        count(&buffer);
        test.proxy.cut(Fate::Late);
        assert_eq!(unknown(&buffer.flush()), [1]);
        count(&buffer);
        flush_or_wait(&buffer);
        test.proxy.end(comes);
        flush(&buffer);
        let stored = 1 + i64::from(comes);
        assert!(wait_until(|| test.views() == stored), "comes: {comes}");
    }
}

/// The connection lives, and an error says nothing of the COMMIT unless the database defines it as a
/// rollback.
#[test]
fn a_commit_that_is_answered_with_an_error_counts_once() {
    let mut test = Test::new();
    let buffer = test.buffer();
    let mut stored = 0;
    for answer in Answer::all(crate::IS_MYSQL) {
        for server in [Server::Commits, Server::RollsBack] {
            if answer.is_rollback && server == Server::Commits {
                continue; // The database does not do it.
            }
            count(&buffer);
            test.proxy.cut(Fate::Answered(*answer, server));
            let write = buffer.flush();
            assert_eq!(write.written, 0, "{answer:?}: {write}");
            assert!(write.error.is_some(), "{answer:?}: {write}");
            let is_stored = answer.is_rollback || server == Server::Commits;
            let now = stored + i64::from(is_stored);
            assert_eq!(shown(&mut test, &buffer), now, "{answer:?}: {write}");
            if answer.is_rollback {
                assert!(write.unknown.is_empty(), "{answer:?}: {write}");
                assert_eq!(flush(&buffer).written, 1, "{answer:?}");
                stored += 1;
            } else {
                assert_eq!(unknown(&write), [1], "{answer:?}: {write}");
                assert_eq!(flush(&buffer).written, 0, "{answer:?}");
                stored += i64::from(server == Server::Commits);
            }
            assert_eq!(test.views(), stored, "{answer:?}, which {server:?}");
        }
    }
}

#[test]
fn a_transaction_is_run_again_only_if_its_commit_was_rolled_back() {
    let mut test = Test::new();
    let conn = &mut Conn::establish(&test.url()).unwrap();
    let mut stored = 0;
    for answer in Answer::all(crate::IS_MYSQL) {
        let server = match answer.is_rollback {
            true => Server::RollsBack,
            false => Server::Commits,
        };
        let count = |conn: &mut Conn| increment(views).of(1_i64).execute(conn).map(drop);
        let mut runs = 0;
        test.proxy.cut(Fate::Answered(*answer, server));
        // Whatever the program takes for retryable.
        let result = retry_if(|_| true).transaction(conn, |conn| {
            runs += 1;
            count(conn)
        });
        stored += 1;
        assert_eq!(result.is_ok(), answer.is_rollback, "{answer:?}");
        assert_eq!(runs, 1 + i32::from(answer.is_rollback), "{answer:?}");
        assert_eq!(test.views(), stored, "{answer:?}");

        if answer.is_rollback {
            test.proxy.cut(Fate::Answered(*answer, server));
            match retry().transaction(conn, count) {
                Ok(()) => stored += 1,
                // A server that is set to read-only stays so for a while.
                Err(error) => assert!(!is_retryable(&error), "{answer:?}"),
            }
            assert_eq!(test.views(), stored, "{answer:?}");
        }
    }
}

/// The new connection may have the same slot, whose row is still locked, or another one.
fn flush_or_wait(buffer: &CounterBuffer<Conn>) {
    let write = buffer.flush();
    assert!(write.unknown.is_empty(), "{write}");
    assert_eq!(write.written + write.pending, 1, "{write}");
}

#[test]
fn a_connection_that_breaks_before_the_commit_loses_nothing() {
    let mut test = Test::new();
    let buffer = test.buffer();
    count(&buffer);
    test.proxy.cut(Fate::Before);
    let write = buffer.flush();
    assert!(write.error.is_some(), "{write}");
    assert_eq!((write.written, write.pending), (0, 1), "{write}");
    assert!(write.unknown.is_empty(), "{write}");
    flush(&buffer);
    assert_eq!(test.views(), 1);
}

/// Flushes until nothing is pending: the server may not have noticed yet that a client has gone.
fn flush(buffer: &CounterBuffer<Conn>) -> Write {
    let mut last = None;
    let is_written = wait_until(|| {
        let write = buffer.flush();
        let is_written = write.pending == 0;
        last = Some(write);
        is_written
    });
    let write = last.unwrap();
    assert!(is_written, "{write}");
    write
}
