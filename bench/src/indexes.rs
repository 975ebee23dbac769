//! What the optional indexes of a counter table cost those who count.

use std::time::{Duration, Instant};
use std::{iter, thread};

use anyhow::{Result, anyhow};
use diesel::prelude::*;
use diesel_counters::prelude::*;

use crate::database::{Database, Engine, for_each_connection, with_connection};
use crate::figures::median;
use crate::schema::bench_article_counters::views;
use crate::schema::{create_tables, drop_tables};
use crate::server::Server;
use crate::table::{Table, three_digits};

const THREADS: i64 = 4;
/// The increments of a transaction, so that its COMMIT does not hide what an index costs.
const INCREMENTS: i64 = 50;
/// The entities that have rows already, for each thread.
const ENTITIES: i64 = 10_000;

/// The indexes that `diesel-counters generate migration --indexes` writes, and a B-tree of the day.
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

trait Count: Database {
    /// Counts these entities once, in a transaction.
    fn count(&mut self, ids: &[i64]) -> QueryResult<()>;
}

for_each_connection!(
    impl Count {
        fn count(&mut self, ids: &[i64]) -> QueryResult<()> {
            self.write(|conn| {
                let mut counts = ids.iter();
                counts.try_for_each(|&id| increment(views).of(id).execute(conn).map(drop))
            })
        }
    }
);

pub fn run(databases: &[Engine], rounds: u16, seconds: f64) -> Result<()> {
    let mut table = Table::new(["index", "new rows", "rows that exist"]);
    for &engine in databases {
        let server = Server::start(engine)?;
        for &(name, index) in indexes(engine) {
            let mut ratios = [const { Vec::new() }; 2];
            for round in 0..rounds {
                let mut speeds = [[0.0; 2]; 2];
                // Each is the first one in every other round.
                for has_index in [round % 2 == 0, round % 2 != 0] {
                    let index = has_index.then_some(index);
                    let url = &server.url;
                    speeds[usize::from(has_index)] =
                        with_connection!(engine, measure(url, index, seconds))?;
                }
                for (kind, ratios) in ratios.iter_mut().enumerate() {
                    ratios.push(speeds[1][kind] / speeds[0][kind]);
                }
            }
            let cells = ratios.map(|mut ratios| {
                ratios.sort_by(f64::total_cmp);
                let [least, most] = [ratios.first(), ratios.last()];
                let [least, most] = [least, most].map(|ratio| ratio.copied().unwrap_or_default());
                let median = three_digits(median(ratios).unwrap_or_default());
                format!("{median} ({least:.2} to {most:.2})")
            });
            let name = format!("{}: {name}", engine.name());
            table.row([[name].as_slice(), &cells].concat());
        }
    }
    print!("{table}");
    Ok(())
}

/// Returns how many increments a second insert a row, and how many update one.
fn measure<C: Count>(url: &str, index: Option<&str>, seconds: f64) -> Result<[f64; 2]> {
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
fn count_for<C: Count, I: Iterator<Item = i64>>(
    url: &str,
    seconds: f64,
    ids: impl Fn(i64) -> I + Sync,
) -> Result<f64> {
    let (start, ids) = (Instant::now(), &ids);
    let end = start + Duration::from_secs_f64(seconds);
    let counted = thread::scope(|scope| {
        let count = |thread| {
            scope.spawn(move || -> Result<i64> {
                let conn = &mut C::connect(url)?;
                let (mut ids, mut counted) = (ids(thread), 0);
                while Instant::now() < end {
                    let next = Vec::from_iter(ids.by_ref().take(INCREMENTS as usize));
                    conn.count(&next)?;
                    counted += INCREMENTS;
                }
                Ok(counted)
            })
        };
        let threads = Vec::from_iter((0..THREADS).map(count));
        let counted = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?);
        counted.sum::<Result<i64>>()
    })?;
    Ok(counted as f64 / start.elapsed().as_secs_f64())
}
