//! What the optional indexes of a counter table cost those who count.

use std::iter;

use anyhow::Result;
use diesel::prelude::*;
use diesel_counters::prelude::*;

use crate::Plan;
use crate::compare::{commit, on_threads, spread};
use crate::database::{Database, Engine, for_each_connection, with_connection};
use crate::schema::bench_article_counters::views;
use crate::schema::{create_tables, drop_tables};
use crate::server::on_each;
use crate::table::{Table, three_digits};

const THREADS: i64 = 4;
/// The increments of a transaction, so that its COMMIT does not hide what an index costs.
const INCREMENTS: i64 = 50;
/// The entities that have rows already, for each thread.
const ENTITIES: i64 = 10_000;

/// The indexes of docs/operations.md, and a B-tree of the day.
fn indexes(engine: Engine) -> &'static [(&'static str, &'static str)] {
    match engine {
        Engine::Postgres => &[
            ("BRIN (day)", "USING brin (day) WITH (pages_per_range = 16)"),
            ("rows to merge", "(article_id, day, slot) WHERE slot > 0"),
            ("(day)", "(day)"),
        ],
        Engine::Mariadb | Engine::Mysql => &[("(slot, day)", "(slot, day)"), ("(day)", "(day)")],
        Engine::Sqlite => &[
            ("rows to merge", "(article_id, day, slot) WHERE slot > 0"),
            ("(day)", "(day)"),
        ],
    }
}

trait CountMany: Database {
    /// Counts these entities once, in a transaction.
    fn count(&mut self, ids: &[i64]) -> QueryResult<()>;
}

for_each_connection!(
    impl CountMany {
        fn count(&mut self, ids: &[i64]) -> QueryResult<()> {
            self.write(|conn| {
                let mut counts = ids.iter();
                counts.try_for_each(|&id| increment(views).of(id).execute(conn).map(drop))
            })
        }
    }
);

pub fn run(plan: &Plan) -> Result<()> {
    on_each(&plan.databases, |engine, url| {
        let mut table = Table::new(["index", "new rows", "rows that exist"]);
        for &(name, index) in indexes(engine) {
            let mut ratios = [const { Vec::new() }; 2];
            for round in 0..plan.rounds(5) {
                let mut speeds = [[0.0; 2]; 2];
                // Each is the first one in every other round.
                for has_index in [round % 2 == 0, round % 2 != 0] {
                    let index = has_index.then_some(index);
                    let measured = with_connection!(engine, measure(url, index, plan.seconds(2.0)));
                    speeds[usize::from(has_index)] = measured?;
                }
                for (kind, ratios) in ratios.iter_mut().enumerate() {
                    ratios.push(speeds[1][kind] / speeds[0][kind]);
                }
            }
            let cells = ratios.map(|ratios| {
                let [median, least, most] = spread(ratios);
                format!("{} ({least:.2} to {most:.2})", three_digits(median))
            });
            let name = format!("{}: {name}", engine.name());
            table.row([[name].as_slice(), &cells].concat());
        }
        println!("{table}");
        Ok(())
    })
}

/// Returns how many increments a second insert a row, and how many update one.
fn measure<C: CountMany>(url: &str, index: Option<&str>, seconds: f64) -> Result<[f64; 2]> {
    let conn = &mut C::connect(url)?;
    create_tables(conn)?;
    let on = "CREATE INDEX bench_optional ON bench_article_counters";
    if let Some(columns) = index {
        conn.batch_execute(&format!("{on} {columns}"))?;
    }
    let ids = Vec::from_iter(1..=ENTITIES * THREADS);
    for ids in ids.chunks(1_000) {
        conn.count(ids)?;
    }
    let updated = count_for::<C, _>(url, seconds, |thread| {
        // In no order: 7,919 is a prime number.
        let ids = (0..ENTITIES).map(move |i| thread * ENTITIES + 1 + i * 7_919 % ENTITIES);
        ids.cycle()
    })?;
    let inserted = count_for::<C, _>(url, seconds, |thread| {
        let first = ENTITIES * THREADS + 1 + thread;
        iter::successors(Some(first), |id| Some(id + THREADS))
    })?;
    drop_tables(conn)?;
    Ok([inserted, updated])
}

/// Counts on each thread the entities that `ids` returns, and returns the increments a second.
fn count_for<C: CountMany, I: Iterator<Item = i64> + Send>(
    url: &str,
    seconds: f64,
    ids: impl Fn(i64) -> I,
) -> Result<f64> {
    let conn = |thread| anyhow::Ok((C::connect(url)?, ids(thread)));
    let states = (0..THREADS).map(conn).collect::<Result<Vec<_>>>()?;
    let counted = on_threads(states, seconds, |(conn, ids), end, tally| {
        let next = Vec::from_iter(ids.take(INCREMENTS as usize));
        commit(end, tally, || conn.count(&next))
    })?;
    Ok(counted.transactions_per_second * INCREMENTS as f64)
}
