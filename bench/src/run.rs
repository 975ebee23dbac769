//! Rounds of all ways under all workloads, on one database.

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use rand::seq::SliceRandom;

use crate::database::Engine;
use crate::figures::{Cell, WorkloadFigures, figures};
use crate::pgbench;
use crate::schema::{create_tables, create_triggers};
use crate::way::{Count, Way};
use crate::worker::{Counted, Spec, Until};
use crate::workload::Workload;

pub struct Run<'a> {
    pub engine: Engine,
    pub url: &'a str,
    pub workloads: Vec<Workload>,
    /// Only ways whose names contain one of these.
    pub ways: Vec<String>,
    pub rounds: usize,
    /// The length of a cell.
    pub seconds: f64,
}

impl Run<'_> {
    pub fn figures<C: Count>(&self) -> Result<Vec<WorkloadFigures>> {
        let has_pgbench = pgbench::program().is_some();
        let ways: Vec<_> = self
            .workloads
            .iter()
            .map(|workload| {
                let mut ways = workload.ways(self.engine);
                ways.retain(|&way| way != Way::Pgbench || has_pgbench);
                let is_named = |way: &Way| {
                    let mut names = self.ways.iter();
                    self.ways.is_empty() || names.any(|name| way.name().contains(name))
                };
                ways.retain(is_named);
                ways
            })
            .collect();
        let cells: usize = ways.iter().map(Vec::len).sum();
        let bar = progress_bar(self.engine, cells * self.rounds);
        let conn = &mut C::connect(self.url)?;
        let others = conn.number(C::OTHER_SESSIONS)?;

        let mut rounds: Vec<Vec<Vec<Cell>>> = ways.iter().map(|_| Vec::new()).collect();
        for round in 1..=self.rounds {
            create_tables(conn)?;
            create_triggers(conn)?;
            let mut counted = Counts::default();
            for ((workload, ways), rounds) in self.workloads.iter().zip(&ways).zip(&mut rounds) {
                let mut ways = ways.clone();
                // So that drift of the machine affects all ways alike.
                ways.shuffle(&mut rand::rng());
                let mut cells = Vec::new();
                for way in ways {
                    bar.set_message(format!("{}: {}", workload.name(), way.name()));
                    wait_for_workers(conn, others)?;
                    let cell = self.cell::<C>(workload, way)?;
                    counted.add(workload, &cell);
                    cells.push(cell);
                    bar.inc(1);
                }
                rounds.push(cells);
            }
            counted.check(conn)?;
            let line = format!("{}: round {round} of {}", self.engine.name(), self.rounds);
            if bar.is_hidden() {
                eprintln!("{line}");
            } else {
                bar.println(line);
            }
        }
        bar.finish_and_clear();

        let workloads = self.workloads.iter().zip(&ways).zip(&rounds);
        workloads
            .map(|((workload, ways), rounds)| {
                Ok(WorkloadFigures {
                    name: workload.name(),
                    workload: *workload,
                    ways: figures(ways, rounds)?,
                })
            })
            .collect()
    }

    fn cell<C: Count>(&self, workload: &Workload, way: Way) -> Result<Cell> {
        if way == Way::Pgbench {
            return pgbench::run::<C>(self.url, workload.connections, self.seconds);
        }
        let specs = (0..workload.processes).map(|process| Spec {
            until: Until::Seconds(self.seconds),
            ..Spec::new(self.engine, self.url, way, workload, process)
        });
        let counted =
            count(specs).with_context(|| format!("{}: {}", workload.name(), way.name()))?;
        Ok(Cell {
            way,
            transactions_per_second: counted.speed(),
            tally: counted.tally,
        })
    }
}

/// Runs a worker for each of the `specs`, all at the same time.
pub fn count(specs: impl Iterator<Item = Spec>) -> Result<Counted> {
    let mut workers: Vec<_> = specs
        .map(|spec| Worker::start(&spec))
        .collect::<Result<_>>()?;
    for worker in &mut workers {
        worker.is_ready()?;
    }
    for worker in &mut workers {
        worker.go()?;
    }
    finish(&mut workers)
}

/// Waits for the workers, and adds up what they did at the same time.
pub fn finish(workers: &mut [Worker]) -> Result<Counted> {
    let mut all = Counted::default();
    for worker in workers {
        let counted = worker.counted()?;
        all.tally.add(&counted.tally)?;
        all.seconds = all.seconds.max(counted.seconds);
    }
    Ok(all)
}

/// A process that counts.
pub struct Worker {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Worker {
    pub fn start(spec: &Spec) -> Result<Self> {
        let mut child = Command::new(env::current_exe()?)
            .arg("worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (stdin, stdout) = child
            .stdin
            .take()
            .zip(child.stdout.take())
            .context("no pipes")?;
        let mut worker = Worker {
            child,
            stdin,
            stdout: BufReader::new(stdout),
        };
        writeln!(worker.stdin, "{}", serde_json::to_string(spec)?)?;
        Ok(worker)
    }

    /// Waits until it is warm.
    pub fn is_ready(&mut self) -> Result<()> {
        self.line().context("a worker did not begin")?;
        Ok(())
    }

    pub fn go(&mut self) -> Result<()> {
        Ok(writeln!(self.stdin, "go")?)
    }

    pub fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stdout.read_line(&mut line)? > 0, "it ended early");
        Ok(line)
    }

    fn counted(&mut self) -> Result<Counted> {
        let line = self.line()?;
        self.child.wait()?;
        Ok(serde_json::from_str(&line)?)
    }
}

/// Waits until the server has ended the sessions of the workers before, which hold the least
/// numbers: until it has no more than the `others`. It gives up where the server is shared.
pub fn wait_for_workers<C: Count>(conn: &mut C, others: i64) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(2);
    while conn.number(C::OTHER_SESSIONS)? > others && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// What each counter has to be after a round: a way that loses counts has no figures.
#[derive(Default)]
struct Counts(BTreeMap<(&'static str, &'static str), u64>);

impl Counts {
    fn add(&mut self, workload: &Workload, cell: &Cell) {
        let entities = match cell.way {
            Way::HundredAtOnce => 100,
            _ => workload.entities.number(),
        };
        if let Some(counter) = cell.way.counter() {
            *self.0.entry(counter).or_default() += entities * cell.tally.committed;
        }
    }

    fn check<C: Count>(self, conn: &mut C) -> Result<()> {
        for ((column, table), counts) in self.0 {
            let stored = conn.number(&format!("SELECT COALESCE(SUM({column}), 0) FROM {table}"))?;
            ensure!(
                stored == counts as i64,
                "{table} has not the {counts} that were counted"
            );
        }
        Ok(())
    }
}

fn progress_bar(engine: Engine, cells: usize) -> ProgressBar {
    let template = "{prefix} {bar:30} {pos}/{len} cells, {eta} left  {wide_msg}";
    let style = ProgressStyle::with_template(template).expect("a valid template");
    ProgressBar::new(cells as u64)
        .with_style(style)
        .with_prefix(engine.name())
}
