//! Rounds: each runs a history on many threads, then checks what was read and what is stored.

use std::collections::HashSet;
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use super::thread::{Pool, Recorded, Thread};
use super::{Conn, IS_SQLITE, SETTINGS, audit, planted};
use crate::WRONG;
use crate::check::Round;
use crate::fault::Fault;
use crate::history::{self, History};
use crate::options::{Found, Options};
use crate::run::{Failure, PATIENCE, Run};
use crate::tables::{ARTICLES, KEPT};
use anyhow::{Context, Result, bail, ensure};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, CustomizeConnection, PooledConnection};
use diesel_counters::dsl::claim_slot;
use diesel_counters::{Slot, with_default_slot};

/// Rounds until the tables are emptied, so that a round stays short.
const ROUNDS_KEPT: u64 = 20;

/// How often a smaller history is run before it counts as one that does not fail.
const TRIES: usize = 8;

/// How many processes count at the same time, to be killed.
const CLIENTS: usize = 3;

/// What is run on each new connection.
#[derive(Debug)]
pub struct Session {
    pub claims: bool,
    pub sql: String,
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
pub fn connect(url: &str) -> Result<Conn> {
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
    let keeps_apart = options.urls.len() > 1 && !run.conflicts;
    audit::create(keeps_apart, &mut connect(&options.urls[0])?)
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
    let (found, killed) = thread::scope(|scope| {
        let kills = options.server.is_some() || run.fault == Some(Fault::RowLostAfterAKill);
        let killer = kills.then(|| scope.spawn(|| soak.kill_now_and_then()));
        let found = soak.rounds();
        run.end();
        let killed = killer.map(|killer| {
            let result = killer.join();
            result.expect("the thread that kills the server panicked")
        });
        (found, killed)
    });
    let is_wrong = found.as_ref().is_some_and(|found| found.failure.is_wrong());
    if let (Some(Err(error)), false) = (killed, is_wrong) {
        return Err(error);
    }
    // Its sessions end with its pools.
    drop(soak);
    match found {
        None => killed_clients(options, run),
        found => Ok(found),
    }
}

/// The work of a process that is killed.
pub fn client(options: &Options, run: &Run) -> Failure {
    let soak = Soak::new(options, run);
    let mut round = 0;
    loop {
        let history = history::generate(options.seed_of(round), options.threads, 1);
        if let Err(failure) = soak.threads(&history) {
            return failure;
        }
        round += 1;
    }
}

impl<'a> Soak<'a> {
    fn new(options: &'a Options, run: &'a Run) -> Self {
        let nodes = options.urls.len();
        let pools = options.urls.iter().enumerate().map(|(node, url)| {
            // MySQL's triggers have 32 slots and do not know the partition: with these numbers of
            // connections, they count in its slots.
            let number = match nodes {
                1 => String::new(),
                _ => format!(
                    "SET @diesel_counters_number = {node} + {nodes} * (CONNECTION_ID() % {});",
                    32 / nodes
                ),
            };
            Pool::builder()
                // Fewer than threads, so that they take turns.
                .max_size((options.threads as u32 * 3 / 4).max(2))
                .min_idle(Some(0))
                .connection_timeout(Duration::from_secs(2))
                .connection_customizer(Box::new(Session {
                    claims: nodes == 1,
                    sql: format!("{SETTINGS}{number}{}", options.session),
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
    fn connection(&self) -> Result<PooledConnection<ConnectionManager<Conn>>, Failure> {
        let began = Instant::now();
        loop {
            match self.pools[0].get() {
                Ok(conn) => return Ok(conn),
                Err(error) if began.elapsed() > PATIENCE => return Err(Failure::new(error)),
                Err(_) => {}
            }
        }
    }

    /// Runs `work` while the server is not killed.
    fn quietly<T>(&self, work: impl FnOnce(&mut Conn) -> QueryResult<T>) -> Result<T, Failure> {
        let _quiet = self.quiet.lock();
        work(&mut *self.connection()?).map_err(Failure::new)
    }

    fn rounds(&self) -> Option<Found> {
        let options = self.options;
        if let Some(history) = &options.replay {
            for _ in 0..options.replays {
                if let Err(failure) = self.round(history, None) {
                    return Some(Found {
                        failure,
                        seed: options.seed,
                        history: history.clone(),
                    });
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
                    return Some(self.cut_down(history, failure, seed));
                }
            }
            if (round + 1) % ROUNDS_KEPT == 0 {
                stored = None;
                if let Err(failure) = self.start_again() {
                    return Some(Found::without_history(failure, seed));
                }
            }
            options.progress(self.run);
        }
        self.end()
    }

    /// Compares the counts a last time. The tables are then empty, as `killed_clients` requires.
    fn end(&self) -> Option<Found> {
        let failure = self.start_again().err()?;
        Some(Found::without_history(failure, self.options.seed))
    }

    fn cut_down(&self, history: History, mut failure: Failure, seed: u64) -> Found {
        self.options.say("cutting its history down");
        let end = Instant::now() + self.options.cut_down_for;
        let history = history.cut_down(|smaller| {
            let mut tries = (0..TRIES).take_while(|_| Instant::now() < end);
            tries.any(|_| match self.round(smaller, None) {
                Err(again) if again.is_wrong() == failure.is_wrong() => {
                    failure = again;
                    true
                }
                _ => false,
            })
        });
        Found {
            failure,
            seed,
            history,
        }
    }

    /// Compares the counts with the rows that the transactions wrote, and empties the tables.
    fn start_again(&self) -> Result<(), Failure> {
        let compared = self.quietly(|conn| {
            let compared = audit::compare(conn, KEPT)?;
            if compared.is_ok() {
                audit::clear(conn)?;
            }
            Ok(compared)
        });
        compared?.map_err(Failure::Wrong)
    }

    /// Runs a history, and checks it. Returns what is then stored. `before` is what was stored before
    /// it, if that is known.
    fn round(&self, history: &History, before: Option<Vec<i64>>) -> Result<Vec<i64>, Failure> {
        self.run.go_on();
        let before = match before {
            Some(before) => before,
            None => self.quietly(audit::cells)?,
        };
        let recorded = self.threads(history)?;
        let now = self.quietly(audit::cells)?;
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
        let checked = round.check(seen).map_err(Failure::Wrong)?;
        if !is_cluster {
            round.check_corrections().map_err(Failure::Wrong)?;
        }
        round.check_end(&now).map_err(Failure::Wrong)?;
        let tally = &self.run.tally;
        tally.reads.fetch_add(checked.reads, Relaxed);
        tally.not_checked.fetch_add(checked.not_checked, Relaxed);
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
                    node,
                    nodes,
                    number,
                    materializing: &self.materializing,
                    comments: Vec::new(),
                    recorded: Recorded::default(),
                };
                // Of one node, it has all slots.
                let (index, of) = (node as u16, nodes as u16);
                let slot = match nodes {
                    1 => Slot::Connection,
                    _ => Slot::Partition { index, of },
                };
                scope.spawn(move || {
                    let result = with_default_slot(slot, || thread.work(work));
                    if result.is_err() {
                        thread.run.stop();
                    }
                    result.map(|()| thread.recorded)
                })
            });
            let threads: Vec<_> = threads.collect();
            let (mut recorded, mut failures) = (Vec::new(), Vec::new());
            for thread in threads {
                match thread.join() {
                    Ok(Ok(of_thread)) => recorded.push(of_thread),
                    Ok(Err(failure)) => failures.push(failure),
                    Err(_) => failures.push(Failure::new("a thread panicked")),
                }
            }
            // If a count is wrong, the other threads stop, and can fail because of that.
            failures.sort_by_key(|failure| !failure.is_wrong());
            match failures.into_iter().next() {
                None => Ok(recorded),
                Some(failure) => Err(failure),
            }
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

/// Processes that count. They are killed when this is dropped.
struct Clients(Vec<Child>);

impl Clients {
    /// Returns whether one has found a wrong count. Fails if one has ended for another reason.
    fn has_found(&mut self) -> Result<bool> {
        for client in &mut self.0 {
            match client.try_wait()? {
                None => {}
                Some(status) if status.code() == Some(i32::from(WRONG)) => return Ok(true),
                Some(status) => bail!("a process that counts ended by itself: {status}"),
            }
        }
        Ok(false)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for client in &mut self.0 {
            let _ = client.kill();
            let _ = client.wait();
        }
    }
}

/// Runs processes, kills them, and compares the counts with what they committed.
fn killed_clients(options: &Options, run: &Run) -> Result<Option<Found>> {
    let found = |text| Some(Found::without_history(Failure::Wrong(text), options.seed));
    let in_a_client = || found("in a process that counts; see above".to_owned());
    let began = Instant::now();
    let mut clients = Clients(Vec::new());
    while began.elapsed() < options.clients_for {
        while clients.0.len() < CLIENTS {
            clients.0.push(options.start_client(run.next_id() as u64)?);
        }
        // From the beginning of a transaction to several rounds.
        thread::sleep(Duration::from_millis(rand::random_range(50..1500)));
        if clients.has_found()? {
            return Ok(in_a_client());
        }
        let client = &mut clients.0[rand::random_range(0..CLIENTS)];
        client.kill()?;
        client.wait()?;
        *client = options.start_client(run.next_id() as u64)?;
        run.tally.clients_killed.fetch_add(1, Relaxed);
        options.progress(run);
    }
    if clients.has_found()? {
        return Ok(in_a_client());
    }
    let last = clients.0.len() as u64;
    drop(clients);
    run.tally.clients_killed.fetch_add(last, Relaxed);
    for url in &options.urls {
        audit::wait_until_alone(&mut connect(url)?)?;
    }
    let mut conn = connect(&options.urls[0])?;
    if !options.session.is_empty() {
        conn.batch_execute(&options.session)?;
    }
    let views = audit::compare(&mut conn, 1..=ARTICLES)?;
    let compared = views.and(audit::compare_comments(&mut conn)?);
    Ok(compared.err().and_then(found))
}
