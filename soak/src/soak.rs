//! Rounds: each runs a history on many threads, then checks what was read and what is stored.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use super::thread::{Pool, Recorded, Thread};
use super::{Conn, IS_SQLITE, SETTINGS, audit, planted};
use crate::check::Round;
use crate::fault::Fault;
use crate::history::{self, History};
use crate::options::{Found, Options};
use crate::run::{Failure, Run};
use crate::tables::{ARTICLES, KEPT};
use anyhow::{Context, Result, anyhow, bail, ensure};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, CustomizeConnection, PooledConnection};
use diesel_counters::Slot;
use diesel_counters::dsl::claim_slot;

/// Rounds until the tables are emptied, so that a round stays short.
const ROUNDS_KEPT: u64 = 20;

/// How often a smaller history is run before it counts as one that does not fail.
const TRIES: usize = 8;

/// How many processes count at the same time, to be killed.
const CLIENTS: usize = 3;

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is run on each new connection.
#[derive(Debug)]
struct Session {
    claims: bool,
    sql: String,
}

impl CustomizeConnection<Conn, diesel::r2d2::Error> for Session {
    fn on_acquire(&self, conn: &mut Conn) -> Result<(), diesel::r2d2::Error> {
        let set = |conn: &mut Conn| {
            if !self.sql.is_empty() {
                conn.batch_execute(&self.sql)?;
            }
            if self.claims {
                claim_slot().execute(conn)?;
            }
            QueryResult::Ok(())
        };
        set(conn).map_err(diesel::r2d2::Error::QueryError)
    }
}

struct Soak<'a> {
    options: &'a Options,
    run: &'a Run,
    /// One for each node of the database.
    pools: Vec<Pool>,
    /// Held while the server is killed, or while nothing may happen to it.
    quiet: Mutex<()>,
    materializing: Mutex<()>,
}

/// Connects, and waits while the server starts.
fn connect(url: &str) -> Result<Conn> {
    let began = Instant::now();
    loop {
        match Conn::establish(url) {
            Ok(conn) => return Ok(conn),
            Err(error) if began.elapsed() > PATIENCE => return Err(error.into()),
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Runs rounds in a database of its own, until the time is over or a count is wrong.
pub fn soak(options: &mut Options, run: &Run) -> Result<Option<Found>> {
    let server = options.urls[0].clone();
    let name = format!("soak_{}", run.next_id());
    if !IS_SQLITE {
        let create = format!("CREATE DATABASE {name}");
        connect(&server)?.batch_execute(&create)?;
        for url in &mut options.urls {
            let (to, _) = url.rsplit_once('/').context("the URL has no database")?;
            *url = format!("{to}/{name}");
        }
    }
    let is_cluster = options.urls.len() > 1;
    audit::create(is_cluster, &mut connect(&options.urls[0])?)
        .context("cannot create the tables")?;
    let found = rounds(options, run)?;
    if !IS_SQLITE && found.is_none() {
        let drop = format!("DROP DATABASE {name}");
        connect(&server)?.batch_execute(&drop)?;
    }
    Ok(found)
}

fn rounds(options: &Options, run: &Run) -> Result<Option<Found>> {
    let soak = Soak::new(options, run);
    let found = thread::scope(|scope| {
        let kills = options.server.is_some() || run.fault == Some(Fault::RowLostAfterAKill);
        let killer = kills.then(|| scope.spawn(|| soak.kill_now_and_then()));
        let found = soak.rounds();
        run.end();
        if let Some(killer) = killer {
            killer
                .join()
                .expect("the thread that kills the server panicked")?;
        }
        found
    })?;
    // Its sessions end with its pools.
    drop(soak);
    match found {
        None => killed_clients(options, run),
        found => Ok(found),
    }
}

/// The work of a process that is killed.
pub fn client(options: &Options, run: &Run) -> Result<()> {
    let soak = Soak::new(options, run);
    for round in 0.. {
        let history = history::generate(options.seed_of(round), options.threads, 1);
        soak.threads(&history)
            .map_err(|failure| anyhow!("{failure}"))?;
    }
    Ok(())
}

impl<'a> Soak<'a> {
    fn new(options: &'a Options, run: &'a Run) -> Self {
        let pools = options.urls.iter().map(|url| {
            Pool::builder()
                // Fewer than threads, so that they take turns.
                .max_size((options.threads as u32 * 3 / 4).max(2))
                .min_idle(Some(0))
                .connection_timeout(Duration::from_secs(2))
                .connection_customizer(Box::new(Session {
                    claims: options.urls.len() == 1,
                    sql: format!("{SETTINGS}{}", options.session),
                }))
                .build_unchecked(ConnectionManager::new(url))
        });
        Soak {
            options,
            run,
            pools: pools.collect(),
            quiet: Mutex::new(()),
            materializing: Mutex::new(()),
        }
    }

    /// Waits until the server accepts a connection.
    fn connection(&self) -> PooledConnection<ConnectionManager<Conn>> {
        loop {
            if let Ok(conn) = self.pools[0].get() {
                return conn;
            }
        }
    }

    /// Runs `work` while the server is not killed.
    fn quietly<T>(&self, work: impl FnOnce(&mut Conn) -> T) -> T {
        let _quiet = self.quiet.lock();
        work(&mut self.connection())
    }

    fn rounds(&self) -> Result<Option<Found>> {
        let options = self.options;
        if let Some(history) = &options.replay {
            for _ in 0..options.replays {
                if let Err(failure) = self.round(history, None) {
                    return Ok(Some(Found::new(failure, options.seed, history.clone())));
                }
            }
            return self.end();
        }
        let began = Instant::now();
        let mut stored = None;
        for round in 0.. {
            if began.elapsed() > options.time {
                break;
            }
            let seed = options.seed_of(round);
            let history = history::generate(seed, options.threads, self.run.often());
            match self.round(&history, stored.take()) {
                Ok(now) => stored = Some(now),
                Err(failure) => {
                    let after = began.elapsed().as_secs_f64();
                    options.say(&format!(
                        "round {round} failed after {after:.1} s: {failure}"
                    ));
                    return Ok(Some(self.cut_down(history, failure, seed)));
                }
            }
            if (round + 1) % ROUNDS_KEPT == 0 {
                stored = None;
                if let Err(text) = self.start_again()? {
                    return Ok(Some(Found::new(text, seed, History::default())));
                }
            }
            options.progress(self.run);
        }
        self.end()
    }

    /// Compares the counts a last time. The tables are then empty, as `killed_clients` requires.
    fn end(&self) -> Result<Option<Found>> {
        let wrong = self.start_again()?.err();
        Ok(wrong.map(|text| Found::new(text, self.options.seed, History::default())))
    }

    fn cut_down(&self, history: History, mut failure: Failure, seed: u64) -> Found {
        self.options.say("cutting its history down");
        let end = Instant::now() + self.options.cut_down_for;
        let history = history.cut_down(|smaller| {
            let mut tries = (0..TRIES).take_while(|_| Instant::now() < end);
            tries.any(|_| {
                self.round(smaller, None)
                    .map_err(|again| failure = again)
                    .is_err()
            })
        });
        Found::new(failure, seed, history)
    }

    /// Compares the counts with the rows that the transactions wrote, and empties the tables.
    fn start_again(&self) -> Result<Result<(), String>> {
        self.quietly(|conn| {
            if let Err(text) = audit::compare(conn, KEPT)? {
                return Ok(Err(text));
            }
            audit::clear(conn)?;
            Ok(Ok(()))
        })
    }

    /// Runs a history, and checks it. Returns what is then stored. `before` is what was stored before
    /// it, if that is known.
    fn round(&self, history: &History, before: Option<Vec<i64>>) -> Result<Vec<i64>, Failure> {
        self.run.go_on();
        let before = match before {
            Some(before) => before,
            None => self.quietly(audit::cells).map_err(Failure::new)?,
        };
        let recorded = self.threads(history)?;
        let now = self.quietly(audit::cells).map_err(Failure::new)?;
        let mut round = Round {
            before,
            changes: Vec::new(),
            unknown: HashSet::new(),
        };
        let mut seen = Vec::new();
        let is_cluster = self.pools.len() > 1;
        for thread in recorded {
            round.changes.extend(thread.changes);
            round.unknown.extend(thread.unknown);
            if is_cluster {
                // A node may show less than what another one has committed.
                let not_checked = thread.seen.len() as u64;
                self.run.tally.not_checked.fetch_add(not_checked, Relaxed);
            } else {
                seen.extend(thread.seen);
            }
        }
        for checked in [round.check(seen), round.check_end(&now)] {
            let checked = checked.map_err(Failure::Wrong)?;
            self.run.tally.reads.fetch_add(checked.reads, Relaxed);
            self.run
                .tally
                .not_checked
                .fetch_add(checked.not_checked, Relaxed);
        }
        Ok(now)
    }

    fn threads(&self, history: &History) -> Result<Vec<Recorded>, Failure> {
        let nodes = self.pools.len();
        thread::scope(|scope| {
            let threads = history.0.iter().enumerate().map(|(number, work)| {
                let node = number % nodes;
                let mut thread = Thread {
                    run: self.run,
                    pool: &self.pools[node],
                    slot: (nodes > 1).then_some(Slot::Partition {
                        index: node as u16,
                        of: nodes as u16,
                    }),
                    conflicts: nodes == 1 || self.run.conflicts,
                    corrects: node == 0 || self.run.conflicts,
                    number,
                    materializing: &self.materializing,
                    comments: Vec::new(),
                    recorded: Recorded::default(),
                };
                scope.spawn(move || {
                    let result = thread.work(work);
                    if result.is_err() {
                        thread.run.stop();
                    }
                    result.map(|()| thread.recorded)
                })
            });
            let threads: Vec<_> = threads.collect();
            let results = threads.into_iter().map(|thread| match thread.join() {
                Ok(result) => result,
                Err(_) => Err(Failure::new("a thread panicked")),
            });
            results.collect()
        })
    }

    /// Kills the server, and starts it again, until the run ends.
    fn kill_now_and_then(&self) -> Result<()> {
        while self.run.goes_on_for(self.options.kill_every) {
            let _quiet = self.quiet.lock();
            if let Some(server) = &self.options.server {
                server.kill()?;
            }
            let killed = Instant::now();
            let mut conn = loop {
                ensure!(
                    killed.elapsed() < PATIENCE,
                    "the server did not start again"
                );
                if let Some(server) = &self.options.server {
                    server.start_again()?;
                }
                if let Ok(conn) = self.pools[0].get() {
                    break conn;
                }
            };
            if self.run.fault == Some(Fault::RowLostAfterAKill) {
                planted::lose_a_row(&mut conn)?;
            }
            self.run.tally.servers_killed.fetch_add(1, Relaxed);
        }
        Ok(())
    }
}

/// Runs processes, kills them, and compares the counts with what they committed.
fn killed_clients(options: &Options, run: &Run) -> Result<Option<Found>> {
    let began = Instant::now();
    let mut clients = Vec::new();
    while began.elapsed() < options.clients_for {
        while clients.len() < CLIENTS {
            clients.push(options.start_client(run.next_id() as u64)?);
        }
        // From the beginning of a transaction to several rounds.
        thread::sleep(Duration::from_millis(rand::random_range(50..1500)));
        let mut client = clients.remove(rand::random_range(0..clients.len()));
        if let Some(status) = client.try_wait()? {
            bail!("a process that counts ended by itself: {status}");
        }
        client.kill()?;
        client.wait()?;
        run.tally.clients_killed.fetch_add(1, Relaxed);
        options.progress(run);
    }
    for mut client in clients {
        client.kill()?;
        client.wait()?;
        run.tally.clients_killed.fetch_add(1, Relaxed);
    }
    let mut conn = Conn::establish(&options.urls[0])?;
    audit::wait_until_alone(&mut conn)?;
    let views = audit::compare(&mut conn, 1..=ARTICLES)?;
    let wrong = views.and(audit::compare_comments(&mut conn)?).err();
    Ok(wrong.map(|text| Found::new(text, options.seed, History::default())))
}
