//! The settings of a run, its progress, and what it has found.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{fmt, fs};

use anyhow::{Context, Result};
use clap::ValueEnum;
use indicatif::{HumanCount, HumanDuration, ProgressBar};

use crate::fault::Fault;
use crate::history::History;
use crate::run::{Failure, Run, Tally};
use crate::server::Server;
use crate::tables::today;

#[derive(Debug)]
pub struct Options {
    /// What the database is called in what is printed.
    pub name: String,
    /// The URL of each node.
    pub urls: Vec<String>,
    /// Such as `--only-counts`.
    pub flags: Vec<&'static str>,
    pub fault: Option<Fault>,
    /// Run on each new connection.
    pub session: String,
    pub time: Duration,
    pub clients_for: Duration,
    pub threads: usize,
    pub seed: u64,
    pub server: Option<Server>,
    pub kill_every: Duration,
    pub cut_down_for: Duration,
    pub replay: Option<History>,
    pub replays: usize,
    pub began: Instant,
    pub bar: ProgressBar,
    /// The second of the last line of progress, where there is no terminal.
    pub said: AtomicU64,
}

/// Without a terminal, a line is printed each so many seconds.
const SECONDS_BETWEEN_LINES: u64 = 10;

impl Options {
    pub fn seed_of(&self, round: u64) -> u64 {
        self.seed.wrapping_add(round)
    }

    pub fn say(&self, text: &str) {
        let line = format!("{}: {text}", self.name);
        self.bar.suspend(|| eprintln!("{line}"));
    }

    pub fn progress(&self, run: &Run) {
        let seconds = self.began.elapsed().as_secs();
        let all = self.time + self.clients_for;
        let text = format!("{seconds} of {} s, {}", all.as_secs(), run.tally);
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("{}: {text}", self.name));
            self.bar.tick();
        } else if seconds >= self.said.load(Relaxed) + SECONDS_BETWEEN_LINES {
            self.said.store(seconds, Relaxed);
            self.say(&text);
        }
    }

    /// Starts a process that counts until it is killed.
    pub fn start_client(&self, seed: u64) -> Result<Child> {
        Command::new(std::env::current_exe()?)
            .args(&self.urls)
            .args(["--client", &today().to_string()])
            .args(["--threads", "4", "--seed", &seed.to_string()])
            .args(["--session", &self.session])
            .args(&self.flags)
            .stdin(Stdio::null())
            .spawn()
            .context("cannot start a process that counts")
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |of: &AtomicU64| HumanCount(of.load(Relaxed));
        write!(
            f,
            "{} increments in {} transactions; killed {} servers ({} answers to COMMIT lost) and {} \
             clients; {} rollbacks, {} retries; {} reads checked, {} not",
            count(&self.increments),
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

/// A wrong count or an error, and the history that leads to it.
#[derive(Debug)]
pub struct Found {
    pub failure: Failure,
    pub seed: u64,
    pub history: History,
}

impl Found {
    /// What the whole run shows, not a round.
    pub fn without_history(failure: Failure, seed: u64) -> Self {
        Found {
            failure,
            seed,
            history: History::default(),
        }
    }

    /// Prints what was found and how to run it again.
    pub fn report(&self, options: &Options) -> Result<()> {
        let Found {
            failure,
            seed,
            history,
        } = self;
        let name = &options.name;
        let took = HumanDuration(options.began.elapsed());
        let what = match failure {
            Failure::Wrong(_) => "WRONG, found",
            Failure::Other(_) => "FAILED",
        };
        println!("{name}: {what} after {took}: {failure}");
        let work = history.0.iter().enumerate();
        for (thread, work) in work.filter(|(_, work)| !work.is_empty()) {
            println!("  thread {thread}");
            for work in work {
                println!("    {work:?}");
            }
        }
        if history.0.is_empty() {
            return Ok(());
        }
        let file = format!("soak-{name}-{seed}.json");
        fs::write(&file, serde_json::to_string(history)?)?;
        let mut again = format!("{name} --threads {}", options.threads);
        if !options.session.is_empty() {
            again += &format!(" --session \"{}\"", options.session);
        }
        for flag in &options.flags {
            again += &format!(" {flag}");
        }
        if let Some(fault) = options.fault.and_then(|fault| fault.to_possible_value()) {
            again += &format!(" --fault {}", fault.get_name());
        }
        println!("The same history again: scripts/soak {again} --replay {file}");
        println!("The round before it was cut down: scripts/soak 1 {again} --seed {seed}");
        Ok(())
    }
}
