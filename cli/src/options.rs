//! The options that every command has.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, value_parser};
use serde::Serialize;

use crate::connection::{self, AnyConnection};
use crate::output::steers;

const HEADING: &str = "Options for every command";

#[derive(Args)]
pub struct Options {
    /// The database: postgres://…, mysql://…, or the path of an SQLite file.
    // Hide the value: --help would show the password in it.
    #[arg(long, env, hide_env_values = true, global = true, value_name = "URL")]
    #[arg(help_heading = HEADING)]
    database_url: Option<String>,
    /// How many seconds to wait for the server to accept a connection.
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 10,
          value_parser = value_parser!(u64).range(1..), help_heading = HEADING)]
    connect_timeout: u64,
    /// Print the result as one JSON document.
    #[arg(long, global = true, help_heading = HEADING)]
    pub json: bool,
}

/// Parses a name on the command line. Refuses an empty one, which a script passes if its variable
/// isn't set.
pub fn name(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("it is empty"),
        _ => Ok(text.to_owned()),
    }
}

/// Parses the path of a file. Like a name, it can't be empty.
pub fn file(text: &str) -> Result<PathBuf, &'static str> {
    name(text).map(PathBuf::from)
}

/// Escapes the characters that could steer a terminal. `anstream` would drop them, even from a
/// file.
fn json_escaped(json: &str) -> String {
    let mut escaped = String::new();
    for c in json.chars() {
        if steers(c) && c != '\n' {
            escaped += &format!("\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

impl Options {
    /// Connects to the database that `--database-url` or `DATABASE_URL` names.
    pub fn connect(&self) -> Result<AnyConnection> {
        let given = self.database_url.as_deref().filter(|url| !url.is_empty());
        let url = given.context(
            "which database? Set DATABASE_URL, or give --database-url: \
             postgres://…, mysql://…, or the file of an SQLite database",
        )?;
        connection::connect(url, Duration::from_secs(self.connect_timeout))
    }

    /// Prints `value` as JSON with `--json`, and its `text` otherwise.
    pub fn print<T: Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> Result<()> {
        let printed = if self.json {
            json_escaped(&serde_json::to_string_pretty(value)?) + "\n"
        } else {
            text()
        };
        match anstream::stdout().write_all(printed.as_bytes()) {
            // The reader has closed the pipe, as `head` does.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            result => result.context("cannot print"),
        }
    }
}
