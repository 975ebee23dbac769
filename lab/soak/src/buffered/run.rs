//! A run: rounds of processes that count in a `CounterBuffer` and are killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use chrono::{Days, Utc};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::ConnectionManager;
use diesel_counters::CounterBuffer;
use diesel_counters::dsl::{compact, increment};
use rand::random_range;

use super::own_database::{OwnDatabase, connect, connect_to};
use super::soak::Session;
use super::thread::{Pool, Pooled};
use super::{Conn, IS_SQLITE, SETTINGS, audit};
use crate::FAILED;
use crate::buffered::buffered_counters::dsl::{buffered_counters, id, views};
use crate::buffered::proxy::Proxy;
use crate::buffered::{
    BESIDE, Buffered, Client, Ended, Line, Planted, TABLE, THREADS, Tally, key_of, key_of_all,
};
use crate::interleave::case::name_of;
use crate::server::Server;

/// The number of kills until all processes stop, and their counts are checked.
const ROUND: u64 = 25;
/// The number of processes that count at the same time, and are killed and replaced.
const KILLED: usize = 2;
/// The number of processes that count besides, and are stopped at the end of the round.
const STOPPED: usize = 1;
/// A process waits while it has this number of keys to write.
const PENDING: usize = 3_000;

/// The work of a process: two threads count, another one writes, until the input ends.
pub fn client(args: &Client) -> Result<()> {
    let pool = Pool::builder()
        .max_size(2)
        .connection_timeout(Duration::from_secs(3))
        .connection_customizer(Box::new(Session {
            claims: false,
            sql: SETTINGS.to_owned(),
        }))
        .build_unchecked(ConnectionManager::new(&args.url));
    let unknown = Arc::<Mutex<Vec<(i64, i64)>>>::default();
    let reported = Arc::clone(&unknown);
    let buffer = CounterBuffer::builder(move || pool.get())
        .every(Duration::from_millis(2))
        .on_write(move |write| {
            let unknown = write.unknown.iter().map(|row| {
                let amount = row.amounts.iter().map(|(_, amount)| *amount as i64).sum();
                (row.key.parse().expect("a key is a number"), amount)
            });
            let unknown: Vec<(i64, i64)> = unknown.collect();
            if !unknown.is_empty() {
                lock(&reported).extend(&unknown);
                say(&Line::Unknown(unknown));
            }
            if write.error.is_some() {
                say(&Line::Failed);
            }
            if !write.refused.is_empty() {
                fail(write);
            }
        })
        .start()?;
    let has_ended = AtomicBool::new(false);
    let counted = [const { AtomicI64::new(0) }; THREADS];
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::stdin().read(&mut [0]);
            has_ended.store(true, SeqCst);
        });
        for (thread, counted) in counted.iter().enumerate() {
            let buffer = &buffer;
            let has_ended = &has_ended;
            scope.spawn(move || {
                while !has_ended.load(SeqCst) {
                    if buffer.pending() < PENDING {
                        count(buffer, args.number, thread, counted);
                    }
                    pause(40);
                }
            });
        }
        while !has_ended.load(SeqCst) {
            // Threads count on while `flush` writes: only what they had counted before is written.
            let before = counted.each_ref().map(|counted| counted.load(SeqCst));
            if buffer.flush().error.is_none() {
                say(&Line::Written(before));
            }
            if args.fault == Some(Planted::CountedAgain) {
                let again = lock(&unknown).split_off(0);
                let again = increment(views).of_many(again);
                buffer.count(again).unwrap_or_else(|error| fail(error));
            }
            pause(30);
        }
    });
    let write = buffer.stop();
    ensure!(
        write.error.is_none() && write.pending == 0,
        "the last write: {write}"
    );
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with the lock")
}

/// Counts the next numbers: mostly a few, and sometimes more than a transaction writes.
fn count(buffer: &CounterBuffer<Pooled>, client: i64, thread: usize, counted: &AtomicI64) {
    let most = match random_range(0..200) {
        0 => 3_000,
        1..10 => 300,
        _ => 20,
    };
    let from = counted.load(SeqCst) + 1;
    let to = from + random_range(0..most);
    say(&Line::Begins(thread, to));
    for number in from..=to {
        let keys = [key_of_all(client), key_of(client, thread, number)];
        let count = increment(views).of_many(keys.map(|key| (key, 1)));
        buffer.count(count).unwrap_or_else(|error| fail(error));
        counted.store(number, SeqCst);
    }
}

fn say(line: &Line) {
    println!("{}", serde_json::to_string(line).expect("a line is JSON"));
}

fn fail(why: impl std::fmt::Display) -> ! {
    eprintln!("soak: a process that counts: {why}");
    std::process::exit(FAILED.into())
}

fn pause(milliseconds: u64) {
    thread::sleep(Duration::from_millis(random_range(0..milliseconds)));
}

/// Kills processes, and the server. Returns what was done, and what is wrong.
pub fn run(args: &Buffered) -> Result<(Tally, Option<String>)> {
    let server = args.server.clone().map(Server::run).transpose()?;
    let database = OwnDatabase::create(&args.url)?;
    let url = database.url.clone();
    connect(&url)?.batch_execute(TABLE)?;
    let proxy = (!IS_SQLITE).then(|| Proxy::start(&url)).transpose()?;
    let mut run = Run {
        args,
        url,
        proxy,
        server,
        clients: 0,
        tally: Tally::default(),
    };
    let mut wrong = None;
    while wrong.is_none() && (run.tally.windows.len() as u64) < args.kills {
        wrong = run.round()?;
        let killed = run.tally.windows.len();
        eprintln!(
            "{killed} of {} processes and {} servers killed",
            args.kills, run.tally.servers
        );
    }
    if let Some(proxy) = &run.proxy {
        run.tally.commits_cut = proxy.commits_cut.load(SeqCst);
        run.tally.commits_with_errors = proxy.commits_with_errors.load(SeqCst);
    }
    if wrong.is_none() {
        database.remove()?;
    }
    Ok((run.tally, wrong))
}

struct Run<'a> {
    args: &'a Buffered,
    url: String,
    proxy: Option<Arc<Proxy>>,
    server: Option<Server>,
    /// The number of processes that were started.
    clients: i64,
    tally: Tally,
}

impl Run<'_> {
    /// Kills processes, stops the others, and checks all. Returns what is wrong.
    fn round(&mut self) -> Result<Option<String>> {
        self.cut(true);
        let mut clients = Vec::new();
        for _ in 0..KILLED + STOPPED {
            clients.push(self.start()?);
        }
        let has_ended = AtomicBool::new(false);
        let url = self.url.clone();
        let (ended, beside) = thread::scope(|scope| {
            let beside = scope.spawn(|| beside(&url, &has_ended));
            let ended = self.kill(&mut clients);
            has_ended.store(true, SeqCst);
            (ended, beside.join())
        });
        let mut ended = ended?;
        let beside = beside.map_err(|_| anyhow!("the thread that merges panicked"))?;
        let beside = beside.context("the thread that merges")?;
        self.tally.merged += beside.merged;
        self.cut(false);
        for client in clients {
            ended.push(client.stop()?);
        }
        let conn = &mut connect(&self.url)?;
        audit::wait_until_alone(conn)?;
        self.check(&ended, &beside, conn)
    }

    /// Sets whether the proxy interferes with COMMITs.
    fn cut(&self, cuts: bool) {
        if let Some(proxy) = &self.proxy {
            proxy.cuts.store(cuts, SeqCst);
        }
    }

    fn start(&mut self) -> Result<Process> {
        self.clients += 1;
        let url = match &self.proxy {
            Some(proxy) => proxy.url(&self.url)?,
            None => self.url.clone(),
        };
        Process::start(&url, self.clients, self.args.fault)
    }

    /// Kills processes, and starts another one for each. Returns those that were killed.
    fn kill(&mut self, clients: &mut [Process]) -> Result<Vec<Ended>> {
        let mut ended = Vec::new();
        let so_far = self.tally.windows.len() as u64;
        let kills = self.args.kills;
        let server_kills = self.args.server_kills;
        for number in so_far..(so_far + ROUND).min(kills) {
            pause(200);
            // So that the kills of the server are spread over the others.
            let kills_server = (number + 1) * server_kills / kills > number * server_kills / kills;
            if let Some(server) = self.server.as_ref().filter(|_| kills_server) {
                server.kill()?;
                self.tally.servers += 1;
                pause(200);
            }
            let mut client = self.start()?;
            std::mem::swap(&mut client, &mut clients[random_range(0..KILLED)]);
            ended.push(client.kill()?);
            connect_to(&self.url, self.server.as_ref())?;
        }
        Ok(ended)
    }

    /// Compares what is stored, read without this crate, with what was counted, and empties the
    /// tables.
    fn check(
        &mut self,
        ended: &[Ended],
        beside: &Beside,
        conn: &mut Conn,
    ) -> Result<Option<String>> {
        if self.args.fault == Some(Planted::RowLost) {
            // The first number of a process that has written some. It is NULL if there is none.
            let written = ended.iter().find(|client| client.written[0] > 0);
            let lost = written.map(|client| key_of(client.number, 0, 1));
            diesel::delete(buffered_counters.filter(id.nullable().eq(lost))).execute(conn)?;
        }
        let mut stored = BTreeMap::<i64, i64>::new();
        let rows = buffered_counters.select((id, views));
        for (key, n) in rows.load::<(i64, i64)>(conn)? {
            *stored.entry(key).or_default() += n;
        }
        let sum = stored.remove(&BESIDE).unwrap_or(0);
        if !(beside.committed..=beside.tried).contains(&sum) {
            return Ok(Some(format!(
                "beside the processes, {sum} is stored: {beside:?}"
            )));
        }
        if let Err(wrong) = self.tally.check(ended, stored) {
            return Ok(Some(wrong));
        }
        diesel::delete(buffered_counters).execute(conn)?;
        Ok(None)
    }
}

/// What was counted in transactions.
#[derive(Debug, Default)]
struct Beside {
    tried: i64,
    committed: i64,
    merged: u64,
}

/// Merges all rows, and counts in transactions, while processes count and the server is killed.
fn beside(url: &str, has_ended: &AtomicBool) -> Result<Beside> {
    let mut beside = Beside::default();
    while !has_ended.load(SeqCst) {
        let conn = &mut connect(url)?;
        // It fails if the server is killed, or with a deadlock.
        let _ = merge(&mut beside, has_ended, conn);
    }
    Ok(beside)
}

fn merge(beside: &mut Beside, has_ended: &AtomicBool, conn: &mut Conn) -> QueryResult<()> {
    while !has_ended.load(SeqCst) {
        beside.tried += 1;
        increment(views).of(BESIDE).execute(conn)?;
        beside.committed += 1;
        let tomorrow = Utc::now().date_naive() + Days::new(1);
        let merge = compact(buffered_counters).before(tomorrow);
        beside.merged += merge.execute(conn)?.merged;
    }
    Ok(())
}

/// A process that counts, and the thread that reads what it prints.
struct Process {
    child: Child,
    said: JoinHandle<Result<Ended>>,
}

impl Process {
    /// Starts a process, and waits until it counts.
    fn start(url: &str, number: i64, fault: Option<Planted>) -> Result<Self> {
        let fault = fault.as_ref().map(name_of);
        let mut child = Command::new(std::env::current_exe()?)
            .args(["buffered-client", url, &number.to_string()])
            .args(fault.iter().flat_map(|fault| ["--fault", fault]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a process that counts")?;
        let output = child.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(output).lines();
        let first = lines.next();
        let first = first.context("a process that counts ended by itself")?;
        let said = thread::spawn(move || {
            let mut ended = Ended {
                number,
                ..Ended::default()
            };
            for line in std::iter::once(first).chain(lines) {
                ended.add(serde_json::from_str(&line?)?);
            }
            Ok(ended)
        });
        Ok(Process { child, said })
    }

    fn kill(mut self) -> Result<Ended> {
        if let Some(status) = self.child.try_wait()? {
            bail!("a process that counts ended by itself: {status}");
        }
        self.child.kill()?;
        self.child.wait()?;
        Ok(Ended {
            was_killed: true,
            ..self.said()?
        })
    }

    /// Closes its input, and waits until it has stopped.
    fn stop(mut self) -> Result<Ended> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        ensure!(
            status.success(),
            "a process that counts did not stop as it should: {status}"
        );
        self.said()
    }

    fn said(self) -> Result<Ended> {
        let said = self.said.join();
        said.unwrap_or_else(|_| bail!("the thread that reads what a process says panicked"))
    }
}
