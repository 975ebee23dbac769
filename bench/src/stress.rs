//! A long run that shows whether connections ever meet in a slot: with many threads, with many
//! processes, with connections that come and go, and with a process that is killed.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::database::{Describe, Engine, with_connection};
use crate::run::{Worker, count};
use crate::schema::{create_tables, drop_tables};
use crate::server::Server;
use crate::table::{Table, three_digits};
use crate::tally::Tally;
use crate::way::{Count, Counting, Way};
use crate::worker::{Counted, Spec, Until};
use crate::workload::Entities;

/// Both ways of a comparison take turns this often.
const ROUNDS: u64 = 4;

pub fn stress_each(engines: &[Engine], transactions: u64) -> Result<()> {
    for &engine in engines {
        let server = Server::start(engine)?;
        with_connection!(engine, stress(engine, &server.url, transactions))?;
    }
    Ok(())
}

fn stress<C: Count + Describe>(engine: Engine, url: &str, transactions: u64) -> Result<()> {
    let conn = &mut C::connect(url)?;
    create_tables(conn)?;
    let stress = Stress {
        engine,
        url,
        transactions,
    };
    let mut table = Table::new([
        "three of five entities in random order, 0.5 ms hold",
        "transactions",
        "a second",
        "ratio",
        "p99 ms",
        "worst ms",
        "deadlocks",
        "aborts",
    ]);
    let [few, many] = stress.in_turns([16, 512])?;
    let base = few.speed();
    few.show("16 threads over 16 connections", base, &mut table);
    many.show("512 threads over 16 connections", base, &mut table);
    stress.beside_an_open_transaction(conn)?.show(
        "the same, and one transaction that counted all stays open",
        base,
        &mut table,
    );
    stress.processes(false)?.show(
        "3 processes of 10 connections, nothing configured",
        base,
        &mut table,
    );
    let renewed = stress.processes(true)?;
    renewed.show(
        "the same, numbers claimed, connections renewed, a process killed",
        base,
        &mut table,
    );
    println!("## {}\n\n{table}", conn.version()?);

    let sessions = conn.number("SELECT COUNT(DISTINCT session) FROM bench_sessions")?;
    let greatest = conn.number("SELECT MAX(number) FROM bench_sessions")?;
    let shared = conn.number(SHARED_NUMBERS)?;
    println!(
        "{sessions} sessions, the greatest number {greatest}; \
         numbers that two sessions had at the same time: {shared}"
    );
    let counted = conn.number("SELECT SUM(views) FROM bench_article_counters")?;
    let committed = conn.number("SELECT COUNT(*) FROM bench_comments")?;
    println!("{committed} transactions committed, counts of three entities each: {counted}\n");
    ensure!(shared == 0, "two sessions had one number");
    ensure!(counted == 3 * committed, "counts are not what committed");
    Ok(drop_tables(conn)?)
}

/// A session has its number from its first transaction to its last one, or longer.
const SHARED_NUMBERS: &str = "WITH sessions AS (
        SELECT session, number, MIN(at) AS since, MAX(at) AS until
        FROM bench_sessions GROUP BY session, number
    )
    SELECT COUNT(*) FROM sessions a JOIN sessions b
        ON a.number = b.number AND a.session < b.session AND a.since <= b.until AND b.since <= a.until";

struct Stress<'a> {
    engine: Engine,
    url: &'a str,
    transactions: u64,
}

/// What a part of the run came to.
#[derive(Default)]
struct Outcome {
    seconds: f64,
    tally: Tally,
}

impl Outcome {
    /// Of workers that ran one after another.
    fn add(&mut self, counted: &Counted) -> Result<()> {
        self.seconds += counted.seconds;
        self.tally.add(&counted.tally)
    }

    fn speed(&self) -> f64 {
        self.tally.in_time as f64 / self.seconds
    }

    fn show(&self, name: &str, base: f64, table: &mut Table) {
        let latencies = &self.tally.latencies;
        table.row(vec![
            name.to_owned(),
            self.tally.in_time.to_string(),
            format!("{:.0}", self.speed()),
            three_digits(self.speed() / base),
            three_digits(latencies.quantile(0.99)),
            three_digits(latencies.quantile(1.0)),
            self.tally.deadlocks.to_string(),
            self.tally.aborts.to_string(),
        ]);
    }
}

impl Stress<'_> {
    fn spec(&self, threads: u32, transactions: u64) -> Spec {
        Spec {
            engine: self.engine,
            url: self.url.to_owned(),
            way: Way::ThisCrate,
            entities: Entities::ThreeOfFive,
            process: 0,
            threads,
            connections: threads.min(16),
            all_connections: threads.min(16),
            hold: Duration::from_micros(500),
            until: Until::Transactions(transactions),
            renew: false,
            claim: true,
            partition: None,
            audit: false,
        }
    }

    /// Each of the numbers of threads runs all transactions, in turns with the other.
    fn in_turns(&self, threads: [u32; 2]) -> Result<[Outcome; 2]> {
        let mut outcomes = [Outcome::default(), Outcome::default()];
        for _ in 0..ROUNDS {
            for (threads, outcome) in threads.into_iter().zip(&mut outcomes) {
                let spec = self.spec(threads, self.transactions / ROUNDS);
                for counted in count([spec].into_iter())? {
                    outcome.add(&counted)?;
                }
            }
        }
        Ok(outcomes)
    }

    fn beside_an_open_transaction<C: Count>(&self, conn: &mut C) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        conn.batch_execute("BEGIN")?;
        conn.claim()?;
        let counting = Counting {
            way: Way::ThisCrate,
            connections: 17,
            slot: 0,
        };
        for id in 1..=5 {
            conn.count(counting, id)?;
        }
        for counted in count([self.spec(512, self.transactions)].into_iter())? {
            outcome.add(&counted)?;
        }
        conn.batch_execute("ROLLBACK")?;
        Ok(outcome)
    }

    fn processes(&self, renewed: bool) -> Result<Outcome> {
        const PROCESSES: u32 = 3;
        let specs: Vec<_> = (0..PROCESSES)
            .map(|process| Spec {
                process,
                all_connections: 10 * PROCESSES,
                renew: renewed,
                claim: renewed,
                audit: renewed,
                ..self.spec(10, self.transactions / u64::from(PROCESSES))
            })
            .collect();
        let all = if renewed {
            count_and_kill(&specs)?
        } else {
            count(specs.into_iter())?
        };
        let mut outcome = Outcome::default();
        for counted in all {
            outcome.tally.add(&counted.tally)?;
            outcome.seconds = outcome.seconds.max(counted.seconds);
        }
        Ok(outcome)
    }
}

/// Runs all of the `specs`, the first of them several times: each time but the last its process is
/// killed, and started again at once.
fn count_and_kill(specs: &[Spec]) -> Result<Vec<Counted>> {
    const KILLS: u32 = 5;
    let mut workers: Vec<_> = specs[1..]
        .iter()
        .map(Worker::start)
        .collect::<Result<_>>()?;
    let mut first = Worker::start(&specs[0])?;
    for worker in workers.iter_mut().chain([&mut first]) {
        worker.is_ready()?;
        worker.go()?;
    }
    for _ in 0..KILLS {
        thread::sleep(Duration::from_millis(500));
        first.kill()?;
        first = Worker::start(&specs[0])?;
        first.is_ready()?;
        first.go()?;
    }
    workers.push(first);
    workers.iter_mut().map(Worker::counted).collect()
}
