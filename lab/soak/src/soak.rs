//! Rounds: each runs a history on many threads, then checks what was read and what is stored.

use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, CustomizeConnection};
use diesel_counters::dsl::claim_slot;

use super::attempt::Writer;
use super::own_database::{OwnDatabase, connect, connect_to};
use super::thread::{Pool, Thread, connection};
use super::{Conn, SETTINGS, audit, planted, session_level};
use crate::check::Round;
use crate::fault::Fault;
use crate::history::{self, Level, Work};
use crate::record::Recorded;
use crate::run::{Failure, Run, WRONG};

/// Rounds until the tables are emptied, so that a round stays short.
const ROUNDS_KEPT: u64 = 20;

/// How many works a thread has in a round.
const WORKS: usize = 40;

/// How many processes count at the same time, to be killed.
const CLIENTS: usize = 3;

/// What is run on each new connection.
#[derive(Debug)]
pub struct Session {
    /// Whether the connection claims a number, and so a slot of its own.
    pub claims: bool,
    pub sql: String,
}

impl CustomizeConnection<Conn, diesel::r2d2::Error> for Session {
    fn on_acquire(&self, conn: &mut Conn) -> Result<(), diesel::r2d2::Error> {
        if !self.sql.is_empty() {
            conn.batch_execute(&self.sql)?;
        }
        if self.claims {
            claim_slot().execute(conn)?;
        }
        Ok(())
    }
}

struct Soak<'a> {
    run: &'a Run,
    pool: Pool,
    /// The isolation level of transactions that do not set one.
    session_level: Level,
    /// See [`Thread`].
    materializing: Mutex<()>,
}

/// Runs rounds in a database of its own, until the time is over or a count is wrong.
pub fn soak(run: &mut Run) -> Result<Option<Failure>> {
    let database = OwnDatabase::create(&run.settings.url)?;
    run.settings.url = database.url.clone();
    audit::create(&mut connect(&database.url)?, &database.url)?;
    let mut failure = rounds(run)?;
    if failure.is_none() {
        failure = killed_clients(run)?;
    }
    if failure.is_none() {
        database.remove()?;
    }
    Ok(failure)
}

/// Runs rounds until the time is over or a count is wrong.
fn rounds(run: &Run) -> Result<Option<Failure>> {
    // Its pool is dropped at the end, which ends its sessions: the audit of killed clients waits
    // until it is alone.
    let soak = Soak::new(run)?;
    thread::scope(|scope| {
        let kills = run.server.is_some() || run.has(Fault::RowLostAfterAKill);
        let killer = kills.then(|| scope.spawn(|| soak.kill_now_and_then()));
        let failure = soak.rounds().err();
        run.end();
        let killed = killer.map(|killer| killer.join().expect("the thread panicked"));
        let is_wrong = failure.as_ref().is_some_and(Failure::is_wrong);
        match killed {
            // A wrong count is reported even if the server could not be killed.
            Some(Err(error)) if !is_wrong => Err(error),
            _ => Ok(failure),
        }
    })
}

/// The work of a process that is killed.
pub fn client(run: &Run) -> Result<Failure> {
    let soak = Soak::new(run)?;
    for round in 0.. {
        let history = history::generate(run.begin(round), run.settings.threads, WORKS, 1);
        if let Err(failure) = soak.threads(&history) {
            return Ok(failure);
        }
    }
    bail!("there is no last round")
}

impl<'a> Soak<'a> {
    fn new(run: &'a Run) -> Result<Self> {
        let settings = &run.settings;
        let pool = Pool::builder()
            // Fewer than threads, so that they take turns.
            .max_size((settings.threads as u32 * 3 / 4).max(2))
            .min_idle(Some(0))
            .connection_timeout(Duration::from_secs(2))
            .connection_customizer(Box::new(Session {
                claims: true,
                sql: format!("{SETTINGS}{}", settings.session),
            }))
            .build_unchecked(ConnectionManager::new(&settings.url));
        let named = {
            let _quiet = run.quiet.lock();
            let mut conn = connection(&pool, || false).map_err(anyhow::Error::msg)?;
            session_level(&mut conn)?
        };
        let session_level = Level::named(&named);
        let session_level = session_level
            .with_context(|| format!("nothing is checked at {named}, the level of the sessions"))?;
        Ok(Soak {
            run,
            pool,
            session_level,
            materializing: Mutex::new(()),
        })
    }

    /// Runs `work` while the server is not killed.
    fn quietly<T>(&self, work: impl FnOnce(&mut Conn) -> QueryResult<T>) -> Result<T, Failure> {
        let _quiet = self.run.quiet.lock();
        work(&mut *connection(&self.pool, || false)?).map_err(Failure::new)
    }

    fn rounds(&self) -> Result<(), Failure> {
        let run = self.run;
        let end = Instant::now() + Duration::from_secs_f64(run.settings.seconds);
        let mut stored = self.quietly(audit::cells)?;
        for round in 0.. {
            if Instant::now() > end {
                break;
            }
            let seed = run.begin(round);
            let history = history::generate(seed, run.settings.threads, WORKS, run.often());
            stored = self.round(&history, stored)?;
            if (round + 1) % ROUNDS_KEPT == 0 {
                stored = self.start_again()?;
            }
            run.progress();
        }
        self.start_again().map(drop)
    }

    /// Compares the counts with the rows that the transactions wrote, and empties the tables.
    /// Returns what is then stored.
    fn start_again(&self) -> Result<Vec<i64>, Failure> {
        let compared = self.quietly(|conn| {
            let compared = audit::compare(conn)?;
            if compared.is_ok() {
                audit::clear(conn)?;
            }
            Ok(compared)
        });
        compared?.map_err(Failure::Wrong)?;
        self.quietly(audit::cells)
    }

    /// Runs a history, and checks it. Returns what is then stored. `before` is what was stored
    /// before it.
    fn round(&self, history: &[Vec<Work>], before: Vec<i64>) -> Result<Vec<i64>, Failure> {
        let recorded = self.threads(history)?;
        let now = self.quietly(audit::cells)?;
        let mut round = Round::new(before);
        let mut seen = Vec::new();
        for thread in recorded {
            round.changes.extend(thread.changes);
            round.unknown.extend(thread.unknown);
            seen.extend(thread.seen);
        }
        let checked = round.check(seen, &self.run.tally);
        let checked = checked.and_then(|()| round.check_end(&now));
        checked.map_err(Failure::Wrong)?;
        Ok(now)
    }

    fn threads(&self, history: &[Vec<Work>]) -> Result<Vec<Recorded>, Failure> {
        thread::scope(|scope| {
            let threads = history.iter().enumerate().map(|(number, work)| {
                let mut thread = Thread {
                    run: self.run,
                    writer: Writer {
                        run: self.run,
                        comments: Vec::new(),
                    },
                    pool: &self.pool,
                    number,
                    session_level: self.session_level,
                    materializing: &self.materializing,
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
            let mut recorded = Vec::new();
            let mut failures = Vec::new();
            for thread in threads {
                match thread.join() {
                    Ok(Ok(of_thread)) => recorded.push(of_thread),
                    Ok(Err(failure)) => failures.push(failure),
                    Err(_) => failures.push(Failure::new("a thread panicked")),
                }
            }
            // If a count is wrong, the other threads stop, and can fail because of that.
            failures.sort_by_key(|failure| !failure.is_wrong());
            failures.into_iter().next().map_or(Ok(recorded), Err)
        })
    }

    /// Kills the server, and starts it again, until the run ends.
    fn kill_now_and_then(&self) -> Result<()> {
        let every = Duration::from_secs_f64(self.run.settings.kill_every);
        while self.run.goes_on_for(every) {
            let _quiet = self.run.quiet.lock();
            let server = self.run.server.as_ref();
            if let Some(server) = server {
                server.kill()?;
            }
            let mut conn = connect_to(&self.run.settings.url, server)?;
            if self.run.has(Fault::RowLostAfterAKill) {
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
    /// Returns a failure if one has found a wrong count. Fails if one has ended for another reason.
    fn found(&mut self) -> Result<Option<Failure>> {
        for client in &mut self.0 {
            match client.try_wait()? {
                None => {}
                Some(status) if status.code() == Some(i32::from(WRONG)) => {
                    let wrong = "in a process that counts; see above".to_owned();
                    return Ok(Some(Failure::Wrong(wrong)));
                }
                Some(status) => bail!("a process that counts ended by itself: {status}"),
            }
        }
        Ok(None)
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
fn killed_clients(run: &Run) -> Result<Option<Failure>> {
    let time = Duration::from_secs_f64(run.settings.client_seconds);
    let killed = &run.tally.clients_killed;
    let began = Instant::now();
    let mut clients = Clients(Vec::new());
    while began.elapsed() < time {
        while clients.0.len() < CLIENTS {
            clients.0.push(run.start_client()?);
        }
        // So that a client is killed in its first transaction, or after several rounds.
        thread::sleep(Duration::from_millis(rand::random_range(50..1500)));
        if let Some(found) = clients.found()? {
            return Ok(Some(found));
        }
        let client = &mut clients.0[rand::random_range(0..CLIENTS)];
        client.kill()?;
        client.wait()?;
        *client = run.start_client()?;
        killed.fetch_add(1, Relaxed);
        run.progress();
    }
    if let Some(found) = clients.found()? {
        return Ok(Some(found));
    }
    killed.fetch_add(clients.0.len() as u64, Relaxed);
    drop(clients);
    // A killed client's transaction goes on until the server finds that the client is gone.
    let mut conn = connect(&run.settings.url)?;
    audit::wait_until_alone(&mut conn)?;
    if !run.settings.session.is_empty() {
        conn.batch_execute(&run.settings.session)?;
    }
    let views = audit::compare(&mut conn)?;
    let compared = views.and(audit::compare_comments(&mut conn)?);
    Ok(compared.err().map(Failure::Wrong))
}
