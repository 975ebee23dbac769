//! What merging costs: how fast it is, how long its transactions are, and what the transactions
//! that count meanwhile notice of it.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use chrono::{Days, Utc};
use diesel::prelude::*;
use diesel_counters::Compacted;
use diesel_counters::dsl::compact;
use diesel_counters::prelude::*;

use crate::create::{create_without_triggers, drop_tables};
use crate::database::{Database, Engine, for_each_connection, with_connection};
use crate::schema::bench_article_counters;
use crate::server::on_each_with_slots;
use crate::table::{Table, three_digits};
use crate::tally::Latencies;
use crate::way::Ways;

const ARTICLES: i64 = 1_000;
/// The days that are merged.
const DAYS: u64 = 30;
/// The slots of each of these days.
const SLOTS: i16 = 16;

/// The threads that insert comments and count them today, one after another.
const WRITERS: u64 = 4;
/// How long a writer sleeps between two transactions. Without this, its latency would be the wait
/// for a processor.
const PAUSE: Duration = Duration::from_millis(4);
/// How long the writers are watched before the merge, and after it.
const ALONE: Duration = Duration::from_secs(10);

trait Merge: Ways {
    /// Inserts a comment and counts it, in one transaction.
    fn comment(&mut self, article_id: i64) -> QueryResult<()>;
    fn merge(&mut self, batch: usize) -> QueryResult<Compacted>;
    /// The number of rows of the counter table.
    fn rows(&mut self) -> QueryResult<i64>;
    /// The views of each of these articles.
    fn views(&mut self, ids: &[i64]) -> QueryResult<Vec<i64>>;
}

for_each_connection!(
    impl Merge {
        fn comment(&mut self, article_id: i64) -> QueryResult<()> {
            self.write(|conn| {
                conn.insert_comment(article_id)?;
                let count = increment(bench_article_counters::comments).of(article_id);
                count.execute(conn).map(drop)
            })
        }

        fn merge(&mut self, batch: usize) -> QueryResult<Compacted> {
            compact(bench_article_counters::table).batch(batch).execute(self)
        }

        fn rows(&mut self) -> QueryResult<i64> {
            bench_article_counters::table.count().get_result(self)
        }

        fn views(&mut self, ids: &[i64]) -> QueryResult<Vec<i64>> {
            counter_value(bench_article_counters::views).of_many(ids).load(self)
        }
    }
);

/// Prints the cost of a merge, on each database that has slots to merge.
pub fn run(engines: &[Engine], batch: usize) -> Result<()> {
    on_each_with_slots(engines, |engine, url| {
        with_connection!(engine, measure(url, batch))
    })
}

fn measure<C: Merge>(url: &str, batch: usize) -> Result<()> {
    let conn = &mut C::connect(url)?;
    let ids: Vec<i64> = (1..=ARTICLES).collect();
    load(conn, &ids)?;
    let rows_before = conn.rows()?;
    let views_before = conn.views(&ids)?;

    let alone = || {
        thread::sleep(ALONE);
        Ok(())
    };
    let before = watch::<C>(url, &ids, alone)?;
    let mut merged = Compacted::default();
    let mut took = Duration::ZERO;
    let during = watch::<C>(url, &ids, || {
        let conn = &mut C::connect(url)?;
        let began = Instant::now();
        merged = conn.merge(batch)?;
        took = began.elapsed();
        Ok(())
    })?;
    let after = watch::<C>(url, &ids, alone)?;

    ensure!(
        !merged.already_running,
        "another program merges the tables of this benchmark"
    );
    // The writers count comments, and no views.
    ensure!(conn.views(&ids)? == views_before, "a merge changed a count");
    let rows_after = conn.rows()?;

    let mut both = before.clone();
    both.add(&after)?;
    let ratio = |quantile| during.quantile(quantile) / both.quantile(quantile);
    for (when, latencies) in [("before", &before), ("during", &during), ("after", &after)] {
        eprintln!(
            "{when} the merge: {} transactions, p50 {:.2} ms, p99 {:.2} ms",
            latencies.number(),
            latencies.quantile(0.5),
            latencies.quantile(0.99),
        );
    }
    let per_second = merged.merged as f64 / took.as_secs_f64();
    let [p50, p99] = [0.5, 0.99].map(|quantile| three_digits(ratio(quantile)));
    let longest = merged.longest_transaction.as_secs_f64() * 1e3;
    let mut table = Table::new(["merge", "value"]);
    for (name, value) in [
        ("maximum rows in a batch", batch.to_string()),
        ("rows before", rows_before.to_string()),
        ("rows after, with the writers'", rows_after.to_string()),
        ("rows merged", merged.merged.to_string()),
        ("rows left to merge", merged.left.to_string()),
        ("rows merged per second", format!("{per_second:.0}")),
        ("longest transaction (ms)", format!("{longest:.1}")),
        ("a writer's p50, as a multiple of that without a merge", p50),
        ("a writer's p99, as a multiple of that without a merge", p99),
    ] {
        table.row(vec![name.to_owned(), value]);
    }
    println!("{table}");
    Ok(drop_tables(conn)?)
}

fn load<C: Merge>(conn: &mut C, ids: &[i64]) -> QueryResult<()> {
    create_without_triggers(conn)?;
    // The last day that a merge merges by default: it leaves yesterday, which may not be over
    // everywhere.
    let last = Utc::now().date_naive() - Days::new(2);
    for id in ids {
        let mut rows = Vec::new();
        for ago in 0..DAYS {
            let day = last - Days::new(ago);
            // Slots are numbered from 1 on. A merge moves their counts to slot 0.
            rows.extend((1..=SLOTS).map(|slot| format!("({id}, '{day}', {slot}, {slot})")));
        }
        let rows = rows.join(", ");
        conn.batch_execute(&format!(
            "INSERT INTO bench_article_counters (article_id, day, slot, views) VALUES {rows}"
        ))?;
    }
    conn.batch_execute(C::AFTER_LOADING)
}

/// Returns how long each transaction of the writers took while `work` went on.
fn watch<C: Merge>(url: &str, ids: &[i64], work: impl FnOnce() -> Result<()>) -> Result<Latencies> {
    let done = &AtomicBool::new(false);
    thread::scope(|scope| {
        let write = || {
            let conn = &mut C::connect(url)?;
            let mut latencies = Latencies::default();
            while !done.load(Relaxed) {
                let began = Instant::now();
                conn.comment(ids[rand::random_range(..ids.len())])?;
                latencies.record(began.elapsed());
                thread::sleep(PAUSE);
            }
            Ok(latencies)
        };
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(write)).collect();
        let worked = work();
        // Also after an error: the scope waits for the writers.
        done.store(true, Relaxed);
        let mut all = Latencies::default();
        for writer in writers {
            let latencies: Result<Latencies> = writer.join().expect("a writer panicked");
            all.add(&latencies?)?;
        }
        worked?;
        Ok(all)
    })
}
