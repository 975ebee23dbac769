//! The command's arguments.

use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::triggers::{Count, Definition, File, Snapshot};
use crate::{check, connection, doctor, generate, merge, options, recount};

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
    Check(check::CheckArgs),
    Compact(merge::CompactArgs),
    Doctor(doctor::Doctor),
    Fold(merge::FoldArgs),
    Generate(generate::Generate),
    Recount(recount::RecountArgs),
}

pub struct Arguments;

impl Arguments {
    /// Arguments are read or refused.
    pub fn check_any(&self, arguments: &[&str]) {
        let all = ["diesel-counters"].into_iter();
        let _ = Cli::try_parse_from(all.chain(arguments.iter().copied()));
    }

    /// A file is read or refused.
    pub fn check_file(&self, text: &str) {
        for definition in File::parse(text).into_iter().flatten() {
            self.check_definition(&serde_json::to_value(definition).unwrap());
        }
    }

    /// A definition is the same when it is read again from where a migration stores it.
    pub fn check_definition(&self, keys: &serde_json::Value) {
        let Ok(definition) = serde_json::from_value::<Definition>(keys.clone()) else {
            return;
        };
        for count in &definition.counts {
            assert_eq!(Count::try_from(count.to_string()).as_ref(), Ok(count));
        }
        let snapshot = Snapshot {
            triggers: vec![definition],
            ..Snapshot::default()
        };
        let toml = snapshot.toml().unwrap();
        assert_eq!(toml::from_str::<Snapshot>(&toml).unwrap(), snapshot);
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
