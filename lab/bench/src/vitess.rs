//! What counting costs on Vitess.

use anyhow::Result;
use diesel::MysqlConnection;
use diesel::connection::SimpleConnection;

use crate::compare::compare;
use crate::count::Run;
use crate::create::create_without_triggers;
use crate::database::Database;
use crate::way::Way;
use crate::workload::{Entities, each_with_a_thread};

/// Counts in keyspaces of Vitess, where no connection can claim a number.
pub fn run(urls: &[String]) -> Result<()> {
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
                    url,
                    workload,
                    way,
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
