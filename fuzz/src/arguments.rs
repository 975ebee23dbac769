//! The command's arguments.

use std::time::Duration;

use clap::{Parser, Subcommand};
use diesel::connection::Connection;
use diesel::sql_types::Text;
use diesel::{RunQueryDsl, SqliteConnection};

use crate::triggers::{Count, Definition, File, InFile, written};
use crate::{check, connection, database, doctor, generate, merge, options, recount, show};

/// As in the command's `lib.rs`.
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    options: options::Options,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Check),
    Compact(merge::CompactArgs),
    Doctor(doctor::Doctor),
    Fold(merge::FoldArgs),
    Generate(generate::Generate),
    Recount(recount::Recount),
    Show(show::Show),
}

pub struct Arguments {
    conn: SqliteConnection,
}

impl Arguments {
    pub fn new() -> Self {
        let conn = SqliteConnection::establish(":memory:").unwrap();
        Arguments { conn }
    }

    /// Arguments are read or refused.
    pub fn check_any(&self, arguments: &[&str]) {
        let all = ["diesel-counters"].into_iter();
        let _ = Cli::try_parse_from(all.chain(arguments.iter().copied()));
    }

    /// A file is read or refused.
    pub fn check_file(&mut self, text: &str) {
        for definition in File::parse(text).into_iter().flatten() {
            self.check_definition(&serde_json::to_value(definition).unwrap());
        }
    }

    /// A definition is the same when it is read again from a file, and from where a migration stores it.
    pub fn check_definition(&mut self, keys: &serde_json::Value) {
        let Ok(in_file) = serde_json::from_value::<InFile>(keys.clone()) else {
            return;
        };
        let definition = Definition::from(in_file.clone());
        if definition.counts.is_empty() {
            return;
        }
        let toml = written(std::slice::from_ref(&in_file)).unwrap();
        assert_eq!(File::parse(&toml), Ok(vec![in_file]));
        for count in &definition.counts {
            assert_eq!(Count::try_from(count.to_string()).as_ref(), Ok(count));
        }
        let json = serde_json::to_string(&definition).unwrap();
        // `generate triggers` refuses these.
        if definition
            .texts()
            .any(|text| text.contains(char::is_control))
        {
            return;
        }
        let literal = database::SQLITE.literal(&json);
        let stored = diesel::dsl::sql::<Text>("SELECT ").sql(&literal);
        let stored: String = stored.get_result(&mut self.conn).unwrap();
        let read: Definition = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, definition);
    }

    /// The error of a wrong URL does not show what may be a password.
    pub fn check_url(&self, url: &str) {
        if std::path::Path::new(url.strip_prefix("sqlite://").unwrap_or(url)).is_file() {
            return;
        }
        let Err(error) = connection::connect(url, Duration::from_secs(1)) else {
            panic!("{url} is no database");
        };
        let error = error.to_string();
        let secret = url.rsplit(['=', ':', '/']).next().unwrap_or_default();
        let is_secret = url.contains('@') || url.contains('=');
        if is_secret && secret.len() > 8 {
            assert!(!error.contains(secret), "{error}");
        }
    }
}
