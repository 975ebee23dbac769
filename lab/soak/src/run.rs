//! A run: its settings, what it has done so far, and what it has found.

use std::fmt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use chrono::NaiveDate;
use clap::Args;
use diesel::result::Error;
use indicatif::HumanCount;

use crate::fault::Fault;
use crate::interleave::case::name_of;
use crate::server::Server;
use crate::tables::today;

/// The exit code if all counts were right.
pub const RIGHT: u8 = 0;
/// The exit code if a count was wrong.
pub const WRONG: u8 = 1;
/// The exit code if the check could not be run to its end.
pub const FAILED: u8 = 2;

/// The scheme of a URL. A path is that of an SQLite file.
pub fn scheme_of(url: &str) -> &str {
    url.split_once("://").map_or("sqlite", |(scheme, _)| scheme)
}

/// Says why no database is compiled in for a scheme.
pub fn why_no_database(scheme: &str) -> String {
    let feature = match scheme {
        "postgres" | "postgresql" => "postgres",
        "mysql" | "sqlite" => scheme,
        _ => {
            return format!(
                "a URL cannot begin with {scheme}://: give postgres://…, or mysql://… for MySQL \
                 and MariaDB, or the path of an SQLite file"
            );
        }
    };
    format!("this was built without {feature}: build with --features {feature}")
}

/// How long a server may be away.
pub const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug, Args)]
pub struct Settings {
    /// The URL of a server, or the path of an SQLite file to create
    ///
    /// On a server, a database is created for the run, and removed if all counts were right.
    pub url: String,
    /// The database's name in the output [default: the scheme of the URL]
    #[arg(long)]
    pub name: Option<String>,
    /// How long rounds are run
    #[arg(long, default_value_t = 20.0)]
    pub seconds: f64,
    /// After the rounds, how long processes are run and killed
    #[arg(long, default_value_t = 0.0)]
    pub client_seconds: f64,
    #[arg(long, default_value_t = 16)]
    pub threads: usize,
    /// The seed of the first round [default: random]
    #[arg(long)]
    pub seed: Option<u64>,
    /// The command that starts the server, which is then killed now and then
    #[arg(long)]
    pub server: Option<String>,
    /// Seconds between two kills of the server
    #[arg(long, default_value_t = 10.0)]
    pub kill_every: f64,
    /// SQL to run on each connection, such as `SET …`
    #[arg(long, default_value = "")]
    pub session: String,
    /// Plants a fault, to see that it is found
    #[arg(long)]
    pub fault: Option<Fault>,
    /// Counts until it is killed, for a run that began on this day
    ///
    /// Only the rows of the table `counted` say what it did.
    #[arg(long, hide = true)]
    pub client: Option<NaiveDate>,
}

/// What all threads of a run share.
#[derive(Debug)]
pub struct Run {
    pub settings: Settings,
    /// The seed of the first round. Each later one has the next number.
    seed: u64,
    /// The number of the current round.
    round: AtomicU64,
    pub server: Option<Server>,
    /// Locked while a server is killed, and while no server may be killed.
    pub quiet: Mutex<()>,
    pub tally: Tally,
    began: Instant,
    /// The second of the last line of progress.
    said: AtomicU64,
    next_id: AtomicI64,
    /// Whether the round has ended, because a thread has failed.
    stopped: AtomicBool,
    /// Whether the run has ended.
    ended: Mutex<bool>,
    /// Wakes those that wait in [`goes_on_for`](Run::goes_on_for).
    end: Condvar,
}

#[derive(Debug, Default)]
pub struct Tally {
    pub transactions: AtomicU64,
    pub increments: AtomicU64,
    pub takes: AtomicU64,
    /// Takes that were refused.
    pub refusals: AtomicU64,
    /// How often an empty stock was filled.
    pub fills: AtomicU64,
    pub rollbacks: AtomicU64,
    pub retries: AtomicU64,
    pub reads: AtomicU64,
    pub not_checked: AtomicU64,
    pub lost_answers: AtomicU64,
    pub servers_killed: AtomicU64,
    pub clients_killed: AtomicU64,
}

/// The seconds between two lines of progress.
const SECONDS_BETWEEN_LINES: u64 = 10;

impl Run {
    pub fn new(settings: Settings) -> Result<Self> {
        Ok(Run {
            seed: settings.seed.unwrap_or_else(rand::random),
            round: 0.into(),
            server: settings.server.clone().map(Server::run).transpose()?,
            settings,
            quiet: Mutex::new(()),
            tally: Tally::default(),
            began: Instant::now(),
            said: 0.into(),
            // At random, because the processes of a run have numbers in the same tables.
            next_id: (rand::random_range(1..1 << 30) << 32).into(),
            stopped: false.into(),
            ended: Mutex::default(),
            end: Condvar::new(),
        })
    }

    pub fn is_client(&self) -> bool {
        self.settings.client.is_some()
    }

    pub fn has(&self, fault: Fault) -> bool {
        self.settings.fault == Some(fault)
    }

    /// The `often` of [`generate`](crate::history::generate): merges and corrections are more
    /// frequent if a fault is planted, because most faults are in them.
    pub fn often(&self) -> u32 {
        if self.settings.fault.is_some() { 8 } else { 1 }
    }

    /// Begins a round. Returns its seed.
    pub fn begin(&self, round: u64) -> u64 {
        self.round.store(round, Relaxed);
        self.seed.wrapping_add(round)
    }

    pub fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Relaxed)
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Ends the round: a thread has failed.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    /// Ends the run.
    pub fn end(&self) {
        *self.ended.lock().expect("no thread panics") = true;
        self.end.notify_all();
    }

    /// Waits for this time. Returns whether the run has not ended by then.
    pub fn goes_on_for(&self, time: Duration) -> bool {
        let ended = self.ended.lock().expect("no thread panics");
        let waited = self.end.wait_timeout_while(ended, time, |ended| !*ended);
        !*waited.expect("no thread panics").0
    }

    /// Starts a process that counts until it is killed.
    pub fn start_client(&self) -> Result<Child> {
        Command::new(std::env::current_exe()?)
            .arg(&self.settings.url)
            .args(["--client", &today().to_string()])
            .args(["--threads", "4", "--seed", &self.next_id().to_string()])
            .args(["--session", &self.settings.session])
            .stdin(Stdio::null())
            .spawn()
            .context("cannot start a process that counts")
    }

    fn name(&self) -> &str {
        let name = self.settings.name.as_deref();
        name.unwrap_or(scheme_of(&self.settings.url))
    }

    pub fn progress(&self) {
        let seconds = self.began.elapsed().as_secs();
        let all = self.settings.seconds + self.settings.client_seconds;
        if seconds >= self.said.load(Relaxed) + SECONDS_BETWEEN_LINES {
            self.said.store(seconds, Relaxed);
            eprintln!("{}: {seconds} of {all} s, {}", self.name(), self.tally);
        }
    }

    /// Prints what was done and found, and how to run it again. Returns the exit code.
    pub fn report(&self, failure: Option<&Failure>) -> u8 {
        let name = self.name();
        let tally = &self.tally;
        let seed = self.seed;
        let seconds = self.began.elapsed().as_secs();
        let found = match failure {
            None => "0 lost or doubled",
            Some(Failure::Wrong(_)) => "SOME lost or doubled",
            Some(Failure::Other(_)) => "ended by an error",
        };
        println!("{name}: {seconds} s, {tally}, {found} (seed {seed})");
        let Some(failure) = failure else {
            return RIGHT;
        };
        let (what, code) = match failure {
            Failure::Wrong(_) => ("WRONG", WRONG),
            Failure::Other(_) => ("FAILED", FAILED),
        };
        println!("{name}: {what}: {failure}");
        let settings = &self.settings;
        let mut again = format!("{name} --threads {}", settings.threads);
        if !settings.session.is_empty() {
            again += &format!(" --session \"{}\"", settings.session);
        }
        if let Some(fault) = &settings.fault {
            again += &format!(" --fault {}", name_of(fault));
        }
        let seed = seed.wrapping_add(self.round.load(Relaxed));
        println!("The same round again: scripts/soak 1 {again} --seed {seed}");
        code
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |of: &AtomicU64| HumanCount(of.load(Relaxed));
        write!(
            f,
            "{} increments, {} takes and {} refusals ({} empty stocks filled) in {} \
             transactions; killed {} servers ({} answers to COMMIT lost) and {} \
             clients; {} rollbacks, {} retries; {} reads checked, {} not",
            count(&self.increments),
            count(&self.takes),
            count(&self.refusals),
            count(&self.fills),
            count(&self.transactions),
            count(&self.servers_killed),
            count(&self.lost_answers),
            count(&self.clients_killed),
            count(&self.rollbacks),
            count(&self.retries),
            count(&self.reads),
            count(&self.not_checked),
        )
    }
}

/// Why a round failed.
#[derive(Debug)]
pub enum Failure {
    /// A count is wrong.
    Wrong(String),
    /// Something else failed.
    Other(String),
}

impl Failure {
    pub fn new(error: impl fmt::Display) -> Self {
        Failure::Other(error.to_string())
    }

    pub fn database(by: &str, error: Error) -> Self {
        Failure::Other(format!("{by} failed: {error:?}"))
    }

    pub fn is_wrong(&self) -> bool {
        matches!(self, Failure::Wrong(_))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Wrong(text) | Failure::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_without_a_database_is_explained() {
        assert_eq!(scheme_of("mariadb://localhost/x"), "mariadb");
        let unknown = why_no_database("mariadb");
        assert!(
            unknown.contains("cannot begin with mariadb://"),
            "{unknown}"
        );
        for (url, feature) in [("postgresql://x", "postgres"), ("soak.db", "sqlite")] {
            let not_built = why_no_database(scheme_of(url));
            let advice = format!("--features {feature}");
            assert!(not_built.ends_with(&advice), "{not_built}");
        }
    }
}
