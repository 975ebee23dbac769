//! A long run that shows whether connections ever meet in a slot: with many threads, with many
//! processes, with connections that come and go, and with a process that is killed.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::database::{Describe, Engine, with_connection};
use crate::run::{Worker, count, finish};
use crate::schema::{create_tables, drop_tables};
use crate::server::Server;
use crate::table::{Table, three_digits};
use crate::way::{Count, Counting, Way};
use crate::worker::{Counted, Spec, Until};
use crate::workload::{Entities, Workload};

/// The parts of the first comparison take turns this often.
const ROUNDS: u64 = 4;
const PROCESSES: u32 = 3;
/// How often one of the processes is killed.
const KILLS: u32 = 5;

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
    let deadlocks = conn.number(C::DEADLOCKS)?;
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
    let [few_uncounted, many_uncounted, few, many] = stress.threads()?;
    let base = few.speed();
    let mut show = |name: &str, counted: &Counted| table.row(row(name, counted, base));
    show("no counter, 16 threads over 16 connections", &few_uncounted);
    show(
        "no counter, 512 threads over 16 connections",
        &many_uncounted,
    );
    show("16 threads over 16 connections", &few);
    show("512 threads over 16 connections", &many);
    show(
        "the same, and one transaction that counted all stays open",
        &stress.beside_an_open_transaction(conn)?,
    );
    show(
        "3 processes of 10 connections, nothing configured",
        &stress.processes()?,
    );
    let mut sessions = String::new();
    for slots in [32, 64] {
        conn.batch_execute("DELETE FROM bench_sessions")?;
        show(
            &format!("the same, {slots} slots, numbers claimed, connections renewed, one killed"),
            &stress.renewed_and_killed(slots)?,
        );
        sessions += &describe_sessions(conn, slots)?;
    }
    println!("## {}\n\n{table}", conn.version()?);

    let deadlocks = conn.number(C::DEADLOCKS)? - deadlocks;
    let counted = conn.number("SELECT SUM(views) FROM bench_article_counters")?;
    let uncounted = few_uncounted.tally.committed + many_uncounted.tally.committed;
    let committed = conn.number("SELECT COUNT(*) FROM bench_comments")? - uncounted as i64;
    println!(
        "{sessions}\
         - {deadlocks} deadlocks in all, as the server counts them\n\
         - {committed} transactions committed with three counts each: {counted} were counted\n"
    );
    ensure!(
        counted == 3 * committed,
        "a count is not what was committed"
    );
    Ok(drop_tables(conn)?)
}

/// What the sessions of the last part had in common.
fn describe_sessions<C: Count>(conn: &mut C, slots: u32) -> Result<String> {
    let number = conn.number(&at_the_same_time("a.number = b.number"))?;
    let slot = conn.number(&at_the_same_time(&format!(
        "MOD(a.number, {slots}) = MOD(b.number, {slots})"
    )))?;
    let sessions = conn.number("SELECT COUNT(DISTINCT session) FROM bench_sessions")?;
    let greatest = conn.number("SELECT MAX(number) FROM bench_sessions")?;
    ensure!(number == 0, "two sessions had one number");
    Ok(format!(
        "- {slots} slots: {sessions} sessions with numbers up to {greatest}; \
         pairs that had one number at the same time: {number}, one slot: {slot}\n"
    ))
}

fn row(name: &str, counted: &Counted, base: f64) -> Vec<String> {
    let tally = &counted.tally;
    vec![
        name.to_owned(),
        tally.in_time.to_string(),
        format!("{:.0}", counted.speed()),
        three_digits(counted.speed() / base),
        three_digits(tally.latencies.quantile(0.99)),
        three_digits(tally.latencies.quantile(1.0)),
        tally.deadlocks.to_string(),
        tally.aborts.to_string(),
    ]
}

/// Pairs of sessions. A session is there from its first transaction to its last one, or longer.
fn at_the_same_time(condition: &str) -> String {
    format!(
        "WITH sessions AS (
             SELECT session, number, MIN(at) AS since, MAX(at) AS until
             FROM bench_sessions GROUP BY session, number
         )
         SELECT COUNT(*) FROM sessions a JOIN sessions b ON a.session < b.session
         AND a.since <= b.until AND b.since <= a.until AND {condition}"
    )
}

struct Stress<'a> {
    engine: Engine,
    url: &'a str,
    transactions: u64,
}

impl Stress<'_> {
    fn spec(&self, processes: u32, process: u32, threads: u32, connections: u32) -> Spec {
        let workload = Workload {
            entities: Entities::ThreeOfFive,
            processes,
            threads,
            connections,
            hold: Duration::from_micros(500),
        };
        Spec {
            until: Until::Transactions(self.transactions / u64::from(processes)),
            ..Spec::new(self.engine, self.url, Way::ThisCrate, &workload, process)
        }
    }

    /// Without and with counts, from 16 threads and from 512, in turns.
    fn threads(&self) -> Result<[Counted; 4]> {
        let parts = [
            (Way::NoCounter, 16),
            (Way::NoCounter, 512),
            (Way::ThisCrate, 16),
            (Way::ThisCrate, 512),
        ];
        let mut all = parts.map(|_| Counted::default());
        for _ in 0..ROUNDS {
            for ((way, threads), all) in parts.into_iter().zip(&mut all) {
                let spec = Spec {
                    way,
                    until: Until::Transactions(self.transactions / ROUNDS),
                    ..self.spec(1, 0, threads, 16)
                };
                let counted = count([spec].into_iter())?;
                all.seconds += counted.seconds;
                all.tally.add(&counted.tally)?;
            }
        }
        Ok(all)
    }

    fn beside_an_open_transaction<C: Count>(&self, conn: &mut C) -> Result<Counted> {
        conn.claim()?;
        conn.batch_execute("BEGIN")?;
        let counting = Counting {
            way: Way::ThisCrate,
            connections: 17,
            slot: 0,
        };
        for id in 1..=5 {
            conn.count(counting, id)?;
        }
        let counted = count([self.spec(1, 0, 512, 16)].into_iter())?;
        conn.batch_execute("ROLLBACK")?;
        Ok(counted)
    }

    fn processes(&self) -> Result<Counted> {
        count((0..PROCESSES).map(|process| Spec {
            claim: false,
            ..self.spec(PROCESSES, process, 10, 10)
        }))
    }

    /// What the killed processes did is not in the result, but in the tables.
    fn renewed_and_killed(&self, slots: u32) -> Result<Counted> {
        let specs = (0..PROCESSES).map(|process| Spec {
            // As many slots as there are connections, rounded up to 32 or 64.
            all_connections: slots,
            renew: true,
            audit: true,
            ..self.spec(PROCESSES, process, 10, 10)
        });
        let specs: Vec<_> = specs.collect();
        let mut workers: Vec<_> = specs.iter().map(Worker::start).collect::<Result<_>>()?;
        for worker in &mut workers {
            worker.is_ready()?;
            worker.go()?;
        }
        for _ in 0..KILLS {
            thread::sleep(Duration::from_millis(500));
            workers.remove(0).kill()?;
            let mut again = Worker::start(&specs[0])?;
            again.is_ready()?;
            again.go()?;
            workers.insert(0, again);
        }
        finish(&mut workers)
    }
}
