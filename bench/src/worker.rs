//! A process that counts, for one cell of a table: it reads its `Spec` as the first line of stdin,
//! prints a line when it is warm, begins at the next line, and prints its `Counted`.

use std::io::{Write, stdin, stdout};
use std::sync::Barrier;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use diesel_counters::{Slot, set_default_slot};
use serde::{Deserialize, Serialize};

use crate::counter::{Counter, Limit};
use crate::database::{Engine, with_connection};
use crate::pool::pool;
use crate::tally::Tally;
use crate::way::{Count, Way};
use crate::workload::{Entities, Workload};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spec {
    pub engine: Engine,
    pub url: String,
    pub way: Way,
    pub entities: Entities,
    /// The number of this process.
    pub process: u32,
    pub threads: u32,
    pub connections: u32,
    /// Of all processes.
    pub all_connections: u32,
    /// The time between the count and the COMMIT.
    pub hold: Duration,
    pub until: Until,
    /// Whether connections are closed at random, and new ones opened.
    pub renew: bool,
    /// Whether each connection claims a number.
    pub claim: bool,
    /// This process's share of the slots: which one, of how many.
    pub partition: Option<(u16, u16)>,
    /// Whether each transaction writes down its session and the session's number.
    pub audit: bool,
}

impl Spec {
    /// What one process of the workload does.
    pub fn new(engine: Engine, url: &str, way: Way, workload: &Workload, process: u32) -> Self {
        Spec {
            engine,
            url: url.to_owned(),
            way,
            entities: workload.entities,
            process,
            threads: workload.threads,
            connections: workload.connections,
            all_connections: workload.all_connections(),
            hold: workload.hold,
            until: Until::Seconds(1.0),
            renew: false,
            claim: true,
            partition: None,
            audit: false,
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    Seconds(f64),
    /// This many, in all threads of the process.
    Transactions(u64),
}

/// What a worker has done.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Counted {
    pub seconds: f64,
    pub tally: Tally,
}

impl Counted {
    /// Transactions a second.
    pub fn speed(&self) -> f64 {
        self.tally.in_time as f64 / self.seconds
    }
}

pub const WARM_UP: Duration = Duration::from_millis(200);

pub fn run() -> Result<()> {
    let mut line = String::new();
    stdin().read_line(&mut line)?;
    let spec: Spec = serde_json::from_str(&line)?;
    if let Some((index, of)) = spec.partition {
        set_default_slot(Slot::Partition { index, of })?;
    }
    let counted = with_connection!(spec.engine, work(&spec))?;
    serde_json::to_writer(stdout(), &counted)?;
    Ok(())
}

fn work<C: Count>(spec: &Spec) -> Result<Counted> {
    let pool = &pool::<C>(spec)?;
    let barrier = &Barrier::new(spec.threads as usize + 1);
    let left = &AtomicU64::new(match spec.until {
        Until::Seconds(_) => 0,
        Until::Transactions(number) => number,
    });
    thread::scope(|scope| {
        let threads: Vec<_> = (0..spec.threads)
            .map(|_| {
                scope.spawn(move || {
                    let mut counter = Counter::new(spec, pool);
                    let warm_up = counter.count(Limit::time(WARM_UP)).committed;
                    barrier.wait();
                    barrier.wait();
                    let mut tally = counter.count(match spec.until {
                        Until::Seconds(seconds) => Limit::time(Duration::from_secs_f64(seconds)),
                        Until::Transactions(_) => Limit::Transactions(left),
                    });
                    tally.committed += warm_up;
                    tally
                })
            })
            .collect();

        barrier.wait();
        println!("ready");
        stdout().flush()?;
        if stdin().read_line(&mut String::new())? == 0 {
            // The coordinator is gone, and the threads wait at the barrier.
            std::process::exit(1);
        }
        barrier.wait();
        let began = Instant::now();
        let mut all = Tally::default();
        for thread in threads {
            match thread.join() {
                Ok(tally) => all.add(&tally)?,
                Err(_) => bail!("a thread panicked"),
            }
        }
        Ok(Counted {
            seconds: match spec.until {
                Until::Seconds(seconds) => seconds,
                Until::Transactions(_) => began.elapsed().as_secs_f64(),
            },
            tally: all,
        })
    })
}
