//! Several database nodes that accept writes: what counts cost when each node takes its own share
//! of the slots, and when it does not.

use std::time::Duration;

use anyhow::Result;
use diesel::MysqlConnection;
use rand::seq::SliceRandom;

use crate::database::{Database, Describe, Engine};
use crate::figures::median;
use crate::run::count;
use crate::schema::{create_tables, drop_tables};
use crate::table::{Table, three_digits};
use crate::tally::Tally;
use crate::way::Way;
use crate::worker::{Counted, Spec, Until};
use crate::workload::{Entities, Workload};

/// Writers on each node.
const WRITERS: u32 = 4;
const ROUNDS: usize = 5;
const SECONDS: f64 = 3.0;

/// Each way, and whether each node has its share of the slots.
const WAYS: [(&str, Way, bool); 5] = [
    ("no counter", Way::NoCounter, false),
    ("one row", Way::OneRow, false),
    ("this crate, random slots", Way::RandomSlots, false),
    ("this crate, all slots on each node", Way::ThisCrate, false),
    ("this crate, a partition a node", Way::ThisCrate, true),
];

/// Counts on the nodes of a Galera cluster, which `urls` name.
pub fn run(urls: &[String]) -> Result<()> {
    let conn = &mut MysqlConnection::connect(&urls[0])?;
    println!("## {} on {} nodes\n", conn.version()?, urls.len());
    for (entities, name) in [
        (Entities::One, "one entity"),
        (
            Entities::ThreeOfFive,
            "three of five entities in random order",
        ),
    ] {
        let mut table = Table::new([name, "transactions/s", "to no counter", "p99 ms", "aborts"]);
        let mut speeds = WAYS.map(|_| Vec::new());
        let mut tallies = WAYS.map(|_| Tally::default());
        for _ in 0..ROUNDS {
            create_tables(conn)?;
            let mut ways: Vec<_> = WAYS.into_iter().enumerate().collect();
            ways.shuffle(&mut rand::rng());
            for (i, (_, way, partitions)) in ways {
                let counted = cell(urls, entities, way, partitions)?;
                speeds[i].push(counted.speed());
                tallies[i].add(&counted.tally)?;
            }
        }
        for (((name, ..), tally), speed) in WAYS.iter().zip(&tallies).zip(&speeds) {
            let ratios = speed.iter().zip(&speeds[0]).map(|(one, none)| one / none);
            table.row(vec![
                (*name).to_owned(),
                format!("{:.0}", median(speed.clone()).unwrap_or_default()),
                median(ratios.collect()).map_or("-".to_owned(), three_digits),
                three_digits(tally.latencies.quantile(0.99)),
                (tally.deadlocks + tally.aborts).to_string(),
            ]);
        }
        println!("{table}");
    }
    Ok(drop_tables(conn)?)
}

fn cell(urls: &[String], entities: Entities, way: Way, partitions: bool) -> Result<Counted> {
    let nodes = urls.len() as u16;
    let workload = Workload {
        entities,
        processes: nodes.into(),
        threads: WRITERS,
        connections: WRITERS,
        hold: Duration::ZERO,
    };
    count(urls.iter().zip(0..).map(|(url, node)| Spec {
        until: Until::Seconds(SECONDS),
        partition: partitions.then_some((node, nodes)),
        ..Spec::new(Engine::Mariadb, url, way, &workload, node.into())
    }))
}
