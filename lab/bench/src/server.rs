//! The server of a database: a given one, or a temporary one of `scripts/test`.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use tempfile::TempDir;

use crate::database::{Engine, describe, with_connection};

/// Measures on each of the `engines`, one after another. Fails if one of them cannot be measured.
///
/// If there are none, measures on each database, and skips those that cannot be measured.
pub fn on_each(engines: &[Engine], measure: impl FnMut(Engine, &str) -> Result<()>) -> Result<()> {
    on_each_if(|_| Ok(()), engines, measure)
}

/// The same for what several slots make faster, which SQLite does not have.
pub fn on_each_with_slots(
    engines: &[Engine],
    measure: impl FnMut(Engine, &str) -> Result<()>,
) -> Result<()> {
    let has_slots = |engine: Engine| {
        ensure!(engine.has_slots(), "it has one writer at a time");
        Ok(())
    };
    on_each_if(has_slots, engines, measure)
}

fn on_each_if(
    is_possible: impl Fn(Engine) -> Result<()>,
    engines: &[Engine],
    mut measure: impl FnMut(Engine, &str) -> Result<()>,
) -> Result<()> {
    let is_named = !engines.is_empty();
    let engines = if is_named {
        engines
    } else {
        Engine::value_variants()
    };
    for &engine in engines {
        let start = || {
            is_possible(engine)?;
            let server = Server::start(engine)?;
            let heading = with_connection!(engine, describe(&server.url))?;
            anyhow::Ok((server, heading))
        };
        match start() {
            Ok((server, heading)) => {
                println!("{heading}");
                measure(engine, &server.url)?;
            }
            Err(error) if is_named => return Err(error.context(engine.name())),
            Err(error) => eprintln!("{} is skipped: {error:#}", engine.name()),
        }
    }
    Ok(())
}

/// A database to measure. If it is a temporary one, it is removed when this is dropped.
pub struct Server {
    pub url: String,
    /// `scripts/test`, which runs the server.
    child: Option<Child>,
    /// The folder of SQLite's file.
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
        // Before a server is started, and perhaps installed.
        ensure!(
            engine.is_compiled_in(),
            "this was built without its feature"
        );
        if engine == Engine::Sqlite {
            let folder = tempfile::tempdir()?;
            let file = folder.path().join("bench.sqlite").display().to_string();
            return Ok(Server::new(file, None, Some(folder)));
        }
        let variable = format!("{}_URL", engine.id().to_uppercase());
        match env::var(&variable) {
            Ok(url) if !url.is_empty() => Ok(Server::new(url, None, None)),
            _ => temporary(engine).with_context(|| {
                format!("scripts/test could not start a server, and {variable} is not set")
            }),
        }
    }
}

fn temporary(engine: Engine) -> Result<Server> {
    let mut child = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/test"))
        .args(["--serve", &engine.id()])
        // The place of SQLite's file. By default, the script takes a folder in memory, where
        // durable commits cost nothing.
        .env("TMPDIR", env::temp_dir())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    let server = Server::new(line.trim().to_owned(), Some(child), None);
    if server.url.is_empty() {
        bail!("the script printed no URL");
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The engines on which it measures.
    fn measured(engines: &[Engine]) -> (Vec<Engine>, Result<()>) {
        let mut measured = Vec::new();
        let result = on_each_if(
            |engine| {
                ensure!(engine == Engine::Sqlite, "it cannot be started");
                Ok(())
            },
            engines,
            |engine, _| {
                measured.push(engine);
                Ok(())
            },
        );
        (measured, result)
    }

    #[test]
    fn a_database_that_cannot_be_measured_is_skipped_unless_it_is_named() {
        let (of_all, result) = measured(&[]);
        assert_eq!(of_all, [Engine::Sqlite]);
        result.unwrap();
        let (named, result) = measured(&[Engine::Mysql, Engine::Sqlite]);
        assert!(named.is_empty());
        let error = format!("{:#}", result.unwrap_err());
        assert_eq!(error, "MySQL: it cannot be started");
    }

    #[test]
    fn a_database_that_was_not_compiled_in_is_not_started() {
        for &engine in Engine::value_variants() {
            if !engine.is_compiled_in() {
                let error = Server::start(engine).err().unwrap();
                assert_eq!(error.to_string(), "this was built without its feature");
            }
        }
    }

    #[test]
    fn a_database_without_slots_is_not_measured_with_them() {
        let measure = |_: Engine, _: &str| panic!("it was measured");
        let error = on_each_with_slots(&[Engine::Sqlite], measure).unwrap_err();
        assert_eq!(format!("{error:#}"), "SQLite: it has one writer at a time");
    }
}
