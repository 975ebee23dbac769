//! The server of a database: a given one, or a throwaway one of `scripts/test`.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use tempfile::TempDir;

use crate::database::{Engine, describe, with_connection};

/// Measures on each of the `engines`, or on each that is available where none is named. Only one
/// server runs at a time.
pub fn on_each(
    engines: &[Engine],
    mut measure: impl FnMut(Engine, &str) -> Result<()>,
) -> Result<()> {
    let engines = match engines {
        [] => Engine::value_variants(),
        engines => engines,
    };
    for &engine in engines {
        match Server::start(engine) {
            Ok(server) => {
                println!("{}", with_connection!(engine, describe(&server.url))?);
                measure(engine, &server.url)?;
            }
            Err(error) => eprintln!("{} is skipped: {error:#}", engine.name()),
        }
    }
    Ok(())
}

/// Runs until it is dropped.
pub struct Server {
    pub url: String,
    child: Option<Child>,
    _folder: Option<TempDir>,
}

impl Server {
    fn new(url: String, child: Option<Child>, _folder: Option<TempDir>) -> Self {
        Server {
            url,
            child,
            _folder,
        }
    }

    pub fn start(engine: Engine) -> Result<Self> {
        if engine == Engine::Sqlite {
            let folder = tempfile::tempdir()?;
            let file = folder.path().join("bench.sqlite").display().to_string();
            return Ok(Server::new(file, None, Some(folder)));
        }
        let variable = format!("{}_URL", engine.id().to_uppercase());
        match env::var(&variable) {
            Ok(url) if !url.is_empty() => Ok(Server::new(url, None, None)),
            _ => throwaway(engine).with_context(|| {
                format!("scripts/test could not start a server, and {variable} is not set")
            }),
        }
    }
}

fn throwaway(engine: Engine) -> Result<Server> {
    let mut child = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/test"))
        .args(["--serve", &engine.id()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    let server = Server::new(line.trim().to_owned(), Some(child), None);
    if server.url.is_empty() {
        bail!("it printed no URL");
    }
    Ok(server)
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // SIGTERM rather than `Child::kill`, so that the script can stop its server.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}
