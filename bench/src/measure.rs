//! Measures one database after the other.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;

use crate::database::{Describe, Engine, Setting, with_connection};
use crate::figures::WorkloadFigures;
use crate::machine::Machine;
use crate::merge::{self, Merge, MergeCost};
use crate::read::{self, Read, ReadCost};
use crate::report::Report;
use crate::run::Run;
use crate::schema::drop_tables;
use crate::server::Server;
use crate::workload::Workload;

/// What is measured on each database.
#[derive(Serialize)]
pub struct Plan {
    ways: Option<Rounds>,
    read: Option<read::Size>,
    merge: Option<merge::Size>,
}

/// How the ways of counting are compared.
#[derive(Clone, Serialize)]
pub struct Rounds {
    pub rounds: usize,
    /// The length of a cell.
    pub seconds: f64,
    pub quick: bool,
    /// Only workloads whose names contain this.
    pub only: String,
    /// Only ways whose names contain one of these.
    pub ways: Vec<String>,
}

impl Rounds {
    fn workloads(&self, engine: Engine) -> Vec<Workload> {
        let mut workloads = if self.quick {
            Workload::quick(engine)
        } else {
            Workload::all(engine)
        };
        workloads.retain(|workload| workload.name().contains(&self.only));
        workloads
    }
}

impl Plan {
    pub fn all(quick: bool, rounds: Option<u16>, seconds: Option<f64>) -> Self {
        let (default_rounds, default_seconds) = if quick { (1, 0.4) } else { (3, 1.2) };
        Plan {
            ways: Some(Rounds {
                rounds: rounds.unwrap_or(default_rounds).into(),
                seconds: seconds.unwrap_or(default_seconds),
                quick,
                only: String::new(),
                ways: Vec::new(),
            }),
            read: Some(if quick { read::QUICK } else { read::FULL }),
            merge: Some(if quick { merge::QUICK } else { merge::FULL }),
        }
    }

    pub fn count(only: String, ways: Vec<String>, rounds: u16, seconds: f64) -> Self {
        Plan {
            ways: Some(Rounds {
                rounds: rounds.into(),
                seconds,
                quick: false,
                only,
                ways,
            }),
            read: None,
            merge: None,
        }
    }

    pub fn read(rounds: u16) -> Self {
        Plan {
            ways: None,
            read: Some(read::Size {
                rounds: rounds.into(),
                ..read::FULL
            }),
            merge: None,
        }
    }

    pub fn merge(batch: usize) -> Self {
        Plan {
            ways: None,
            read: None,
            merge: Some(merge::Size {
                batch,
                ..merge::FULL
            }),
        }
    }
}

/// What was measured on a database.
#[derive(Serialize)]
pub struct Measured {
    pub engine: Engine,
    pub version: String,
    pub settings: Vec<Setting>,
    pub workloads: Vec<WorkloadFigures>,
    pub read: Option<Vec<ReadCost>>,
    pub merge: Option<MergeCost>,
}

/// Measures the `engines`, or all of them where none is named. Only one server runs at a time. The
/// report is written after each, so that a run that is interrupted leaves one.
pub fn measure_each(engines: &[Engine], plan: Plan, out: Option<&Path>) -> Result<Report> {
    let engines = if engines.is_empty() {
        Engine::value_variants()
    } else {
        engines
    };
    let mut report = Report {
        machine: Machine::this(),
        plan,
        databases: Vec::new(),
        skipped: Vec::new(),
        failed: Vec::new(),
    };
    for &engine in engines {
        let server = match Server::start(engine) {
            Ok(server) => server,
            Err(error) => {
                eprintln!("{} is skipped: {error:#}", engine.name());
                report.skipped.push(engine.name());
                continue;
            }
        };
        match with_connection!(engine, measure(engine, &server.url, &report.plan)) {
            Ok(measured) => report.databases.push(measured),
            Err(error) => {
                eprintln!("{}: {error:#}", engine.name());
                report.failed.push(engine.name());
            }
        }
        if let Some(folder) = out {
            report.write(folder)?;
        }
    }
    Ok(report)
}

fn measure<C: Describe + Merge + Read>(engine: Engine, url: &str, plan: &Plan) -> Result<Measured> {
    let conn = &mut C::connect(url)?;
    let (version, settings) = (conn.version()?, conn.settings()?);
    eprintln!("{version}");

    let workloads = match &plan.ways {
        Some(ways) => Run {
            engine,
            url,
            workloads: ways.workloads(engine),
            ways: ways.ways.clone(),
            rounds: ways.rounds,
            seconds: ways.seconds,
        }
        .figures::<C>()?,
        None => Vec::new(),
    };
    let read = plan
        .read
        .as_ref()
        .map(|size| read::run::<C>(url, size))
        .transpose()?;
    let merge = plan.merge.as_ref().filter(|_| engine.has_slots());
    let merge = merge.map(|size| merge::run::<C>(url, size)).transpose()?;
    drop_tables(conn)?;
    Ok(Measured {
        engine,
        version,
        settings,
        workloads,
        read,
        merge,
    })
}
