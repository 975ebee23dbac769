//! Connections to a server that are cut at a COMMIT.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

pub struct Proxy {
    address: SocketAddr,
    pub cuts: AtomicBool,
    pub commits_cut: AtomicU64,
}

/// The connection is cut at one in this number of COMMITs.
const ONE_IN: u32 = 10;

impl Proxy {
    /// Accepts connections, and connects each to the server of the URL.
    pub fn start(url: &str) -> Result<Arc<Self>> {
        let (_, host, _) = parts(url)?;
        let port = if url.starts_with("mysql") { 3306 } else { 5432 };
        let server = match host.contains(':') {
            true => host.to_owned(),
            false => format!("{host}:{port}"),
        };
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let proxy = Arc::new(Proxy {
            address: listener.local_addr()?,
            cuts: AtomicBool::new(true),
            commits_cut: AtomicU64::new(0),
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

    fn connect(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let _ = client.set_nodelay(true).and(server.set_nodelay(true));
        let streams = client
            .try_clone()
            .and_then(|from| Ok((from, server.try_clone()?)));
        let Ok((mut from_client, mut to_server)) = streams else {
            return;
        };
        let proxy = Arc::clone(self);
        thread::spawn(move || {
            let _ = proxy.forward(&mut from_client, &mut to_server);
            close(&from_client, &to_server);
        });
        thread::spawn(move || {
            let _ = std::io::copy(&mut &server, &mut &client);
            close(&client, &server);
        });
    }

    /// Sends what the client sends, until it closes the connection or a COMMIT is cut.
    fn forward(&self, client: &mut TcpStream, server: &mut TcpStream) -> std::io::Result<()> {
        let mut buffer = [0; 1 << 16];
        loop {
            let sent = match client.read(&mut buffer)? {
                0 => return Ok(()),
                length => &buffer[..length],
            };
            let is_commit = sent.ends_with(b"COMMIT") || sent.ends_with(b"COMMIT\0");
            if !is_commit || !self.cuts.load(Relaxed) || !rand::random_ratio(1, ONE_IN) {
                server.write_all(sent)?;
                continue;
            }
            self.commits_cut.fetch_add(1, Relaxed);
            return match rand::random_range(0..3) {
                // It does not arrive.
                0 => Ok(()),
                // Its answer does not arrive.
                1 => server.write_all(sent),
                // It arrives after the client has lost the connection, and asks what became of it.
                _ => {
                    client.shutdown(Shutdown::Both)?;
                    thread::sleep(Duration::from_millis(rand::random_range(0..100)));
                    server.write_all(sent)
                }
            };
        }
    }
}

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
