//! A proxy between the processes and a server. It cuts connections at a COMMIT, or answers the
//! COMMIT with an error.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::answer::{Answer, is_commit, rollback};

pub struct Proxy {
    address: SocketAddr,
    /// Whether it interferes with COMMITs.
    pub cuts: AtomicBool,
    pub commits_cut: AtomicU64,
    pub commits_with_errors: AtomicU64,
    is_mysql: bool,
}

/// One in this number of COMMITs is cut, or answered with an error.
const ONE_IN: u32 = 10;

/// What a client gets in place of the server's next answer.
#[derive(Default)]
struct Instead(Mutex<Option<Vec<u8>>>);

impl Instead {
    fn set(&self, answer: Vec<u8>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    fn take(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Proxy {
    /// Accepts connections, and connects each to the server of the URL.
    pub fn start(url: &str) -> Result<Arc<Self>> {
        let (_, host, _) = parts(url)?;
        let is_mysql = url.starts_with("mysql");
        let port = if is_mysql { 3306 } else { 5432 };
        let server = if host.contains(':') {
            host.to_owned()
        } else {
            format!("{host}:{port}")
        };
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let proxy = Arc::new(Proxy {
            address: listener.local_addr()?,
            cuts: AtomicBool::new(true),
            commits_cut: AtomicU64::new(0),
            commits_with_errors: AtomicU64::new(0),
            is_mysql,
        });
        let accepts = Arc::clone(&proxy);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // It is closed if the server is away.
                if let Ok(server) = TcpStream::connect(&server) {
                    accepts.connect(client, server);
                }
            }
        });
        Ok(proxy)
    }

    /// Returns the URL that connects through the proxy, without encryption.
    pub fn url(&self, url: &str) -> Result<String> {
        let (before, _, database) = parts(url)?;
        let plain = if url.starts_with("mysql") {
            "ssl_mode=disabled"
        } else {
            "sslmode=disable"
        };
        Ok(format!("{before}@{}/{database}?{plain}", self.address))
    }

    /// Starts two threads, which forward what the client sends, and what the server answers.
    fn connect(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let _ = client.set_nodelay(true).and(server.set_nodelay(true));
        let streams = client
            .try_clone()
            .and_then(|from| Ok((from, server.try_clone()?)));
        let Ok((mut from_client, mut to_server)) = streams else {
            return;
        };
        let proxy = Arc::clone(self);
        let instead = Arc::<Instead>::default();
        let answers = Arc::clone(&instead);
        thread::spawn(move || {
            let _ = proxy.forward(&mut from_client, &mut to_server, &instead);
            close(&from_client, &to_server);
        });
        thread::spawn(move || {
            let _ = forward_answers(&server, &client, &answers);
            close(&client, &server);
        });
    }

    /// Sends what the client sends, until it closes the connection or a COMMIT is cut.
    fn forward(
        &self,
        client: &mut TcpStream,
        server: &mut TcpStream,
        instead: &Instead,
    ) -> std::io::Result<()> {
        let mut buffer = [0; 1 << 16];
        loop {
            let sent = match client.read(&mut buffer)? {
                0 => return Ok(()),
                length => &buffer[..length],
            };
            if !is_commit(sent) || !self.cuts.load(Relaxed) || !rand::random_ratio(1, ONE_IN) {
                server.write_all(sent)?;
                continue;
            }
            if rand::random() {
                let all = Answer::all(self.is_mysql);
                let answer = all[rand::random_range(0..all.len())];
                self.commits_with_errors.fetch_add(1, Relaxed);
                instead.set(answer.to_message(self.is_mysql));
                if answer.is_rollback || rand::random() {
                    server.write_all(&rollback(self.is_mysql))?;
                } else {
                    server.write_all(sent)?;
                }
                continue;
            }
            self.commits_cut.fetch_add(1, Relaxed);
            return match rand::random_range(0..3) {
                // It does not arrive.
                0 => Ok(()),
                // Its answer does not arrive.
                1 => server.write_all(sent),
                // It arrives after the client has lost the connection, perhaps while the client
                // asks whether it has committed.
                _ => {
                    client.shutdown(Shutdown::Both)?;
                    thread::sleep(Duration::from_millis(rand::random_range(0..100)));
                    server.write_all(sent)
                }
            };
        }
    }
}

/// Sends what the server sends, or what the client gets instead.
fn forward_answers(
    mut server: &TcpStream,
    mut client: &TcpStream,
    instead: &Instead,
) -> std::io::Result<()> {
    let mut buffer = [0; 1 << 16];
    loop {
        let length = server.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        // The answer to a COMMIT is so short that it comes at once.
        match instead.take() {
            Some(answer) => client.write_all(&answer)?,
            None => client.write_all(&buffer[..length])?,
        }
    }
}

/// Closes both connections.
fn close(client: &TcpStream, server: &TcpStream) {
    // The other direction may have done it.
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

/// Returns what is before the host of a URL, the host with its port, and the database.
fn parts(url: &str) -> Result<(&str, &str, &str)> {
    let (before, rest) = url.rsplit_once('@').context("the URL has no user")?;
    let (host, database) = rest.split_once('/').context("the URL has no database")?;
    Ok((before, host, database))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_before_the_database() {
        let url = "mysql://root:a@b@127.0.0.1:3306/test";
        let (before, host, database) = parts(url).unwrap();
        assert_eq!(before, "mysql://root:a@b");
        assert_eq!(host, "127.0.0.1:3306");
        assert_eq!(database, "test");
        assert!(parts("postgres://localhost/x").is_err());
    }
}
