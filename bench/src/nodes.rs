//! What counting costs on several nodes that accept writes: if each node has a partition of the
//! slots, and if it has all of them.

use anyhow::Result;
use diesel::MysqlConnection;
use diesel::connection::SimpleConnection;

use crate::compare::compare;
use crate::count::Run;
use crate::create::{create_tables, create_without_triggers, drop_tables};
use crate::database::Database;
use crate::way::Way;
use crate::workload::{Entities, each_with_a_thread};

/// The number of writers on each node.
const WRITERS: u32 = 4;

/// Names, ways, and whether each node has a partition of the slots.
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
    for entities in [Entities::One, Entities::ThreeOfFive] {
        let workload = each_with_a_thread(entities, WRITERS, 0);
        let title = workload.name();
        let names = WAYS.map(|(name, ..)| name);
        let table = compare(&title, &names, &[("no counter", 0)], 5, |i| {
            create_tables(conn)?;
            let (_, way, partitions) = WAYS[i];
            let run = Run {
                urls,
                workload,
                way,
                partitions,
                claims: true,
                session: "",
                reads: false,
                seconds: 3.0,
            };
            run.cell::<MysqlConnection>()
        })?;
        println!("{table}");
    }
    Ok(drop_tables(conn)?)
}

/// Counts in keyspaces of Vitess, where no connection can claim a number.
pub fn vitess(urls: &[String]) -> Result<()> {
    let ways = [Way::OneRow, Way::ThisCrate, Way::NoCounter];
    let cells = urls.iter().flat_map(|url| ways.map(|way| (url, way)));
    let cells = Vec::from_iter(cells);
    let names = cells.iter().map(|(url, way)| {
        let keyspace = url.rsplit('/').next().unwrap_or_default();
        format!("{keyspace}: {}", way.name())
    });
    let names = Vec::from_iter(names);
    let names = Vec::from_iter(names.iter().map(String::as_str));
    // `create_without_triggers` inserts the first five.
    let hits = (6..=1_000).map(|id| format!("({id}, 0)"));
    let hits = Vec::from_iter(hits).join(", ");
    for entities in [Entities::One, Entities::OneOfAThousand] {
        for hold in [0, 2_000] {
            let workload = each_with_a_thread(entities, 16, hold);
            let table = compare(&workload.name(), &names, &[(names[0], 0)], 3, |i| {
                let (url, way) = cells[i];
                let conn = &mut MysqlConnection::connect(url)?;
                create_without_triggers(conn)?;
                let insert = "INSERT INTO bench_hits (article_id, views) VALUES ";
                conn.batch_execute(&format!("{insert}{hits}"))?;
                let run = Run {
                    urls: std::slice::from_ref(url),
                    workload,
                    way,
                    partitions: false,
                    claims: false,
                    session: "",
                    reads: false,
                    seconds: 2.0,
                };
                run.cell::<MysqlConnection>()
            })?;
            println!("{table}");
        }
    }
    Ok(())
}
