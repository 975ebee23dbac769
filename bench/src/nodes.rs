//! Several database nodes that accept writes: what counts cost when each node takes its own share
//! of the slots, and when it does not.

use anyhow::Result;
use diesel::MysqlConnection;

use crate::compare::compare;
use crate::count::Run;
use crate::database::Database;
use crate::schema::{create_tables, drop_tables};
use crate::way::Way;
use crate::workload::{Entities, each_with_a_thread};

/// Writers on each node.
const WRITERS: u32 = 4;

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
    for entities in [Entities::One, Entities::ThreeOfFive] {
        let workload = each_with_a_thread(entities, WRITERS, 0);
        let (title, names) = (workload.name(), WAYS.map(|(name, ..)| name));
        let table = compare(&title, &names, &[("no counter", 0)], 5, |i| {
            create_tables(conn)?;
            let (_, way, partitions) = WAYS[i];
            let run = Run {
                urls,
                workload,
                way,
                partitions,
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
