//! A database of its own for each test.

use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use crate::app::{self, Pool};

pub struct Blog {
    pub app: Pool,
    pub pool: Pool,
    name: String,
}

impl Blog {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tickets_test_{}_{number}", process::id());
        let url = match server() {
            Some(url) => {
                on_server(&url, &format!("CREATE DATABASE {name}"));
                let (address, _) = url.rsplit_once('/').unwrap();
                format!("{address}/{name}")
            }
            None => format!("{}/{name}", env!("CARGO_TARGET_TMPDIR")),
        };
        let pool = app::open(&url).unwrap();
        let app = pool.clone();
        Blog { app, pool, name }
    }
}

impl Drop for Blog {
    fn drop(&mut self) {
        match server() {
            Some(url) => on_server(&url, &format!("DROP DATABASE {} WITH (FORCE)", self.name)),
            None => {
                for end in ["", "-shm", "-wal"] {
                    let file = format!("{}/{}{end}", env!("CARGO_TARGET_TMPDIR"), self.name);
                    let _ = fs::remove_file(file);
                }
            }
        }
    }
}

fn server() -> Option<String> {
    let server = || env::var("TEST_DATABASE_URL").expect("TEST_DATABASE_URL names a server");
    cfg!(feature = "postgres").then(server)
}

fn on_server(url: &str, sql: &str) {
    let mut conn = app::Conn::establish(url).unwrap();
    conn.batch_execute(sql).unwrap();
}
