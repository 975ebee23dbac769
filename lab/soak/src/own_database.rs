//! The database that a run creates for itself.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::{Conn, DROP_DATABASE, IS_SQLITE, SETTINGS};
use crate::run::PATIENCE;
use crate::server::Server;

/// Connects, and waits while the server starts.
pub fn connect(url: &str) -> Result<Conn> {
    connect_to(url, None)
}

/// Connects, and waits while the server starts. If `server` has ended, it is started again.
pub fn connect_to(url: &str, server: Option<&Server>) -> Result<Conn> {
    let began = Instant::now();
    let mut conn = loop {
        match Conn::establish(url) {
            Ok(conn) => break conn,
            Err(error) if began.elapsed() > PATIENCE => return Err(error.into()),
            Err(_) => {}
        }
        if let Some(server) = server {
            server.start_again()?;
        }
        thread::sleep(Duration::from_millis(50));
    };
    if !SETTINGS.is_empty() {
        conn.batch_execute(SETTINGS)?;
    }
    Ok(conn)
}

pub struct OwnDatabase {
    server: String,
    name: String,
    pub url: String,
}

impl OwnDatabase {
    /// Creates a database on the server of this URL. On SQLite, it is the file of the URL.
    pub fn create(server: &str) -> Result<Self> {
        let name = format!("soak_{}", rand::random::<u32>());
        let mut url = server.to_owned();
        if !IS_SQLITE {
            let (to, _) = server.rsplit_once('/').context("the URL has no database")?;
            url = format!("{to}/{name}");
            connect(server)?.batch_execute(&format!("CREATE DATABASE {name}"))?;
        }
        Ok(OwnDatabase {
            server: server.to_owned(),
            name,
            url,
        })
    }

    /// Drops the database. The file of SQLite stays.
    pub fn remove(self) -> Result<()> {
        if !IS_SQLITE {
            let drop = DROP_DATABASE.replace("{name}", &self.name);
            connect(&self.server)?.batch_execute(&drop)?;
        }
        Ok(())
    }
}
