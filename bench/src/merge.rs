//! What merging costs: how fast it is, how long its transactions are, and what the transactions that
//! count meanwhile notice of it.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use chrono::{Days, Utc};
use diesel::prelude::*;
use diesel_counters::Compacted;
use diesel_counters::dsl::compact;
use diesel_counters::prelude::*;
use serde::Serialize;

use crate::database::{Database, for_each_connection};
use crate::schema::{bench_article_counters, create_tables};
use crate::table::{Table, three_digits};
use crate::tally::Latencies;
use crate::way::Count;

/// How much is merged.
#[derive(Serialize)]
pub struct Size {
    /// How many rows a transaction merges at most.
    pub batch: usize,
    pub articles: i64,
    /// How long the writers are watched before the merge, and after it.
    pub alone: Duration,
}

pub const FULL: Size = Size {
    // As in the library.
    batch: 100,
    articles: 1_000,
    alone: Duration::from_secs(10),
};
pub const QUICK: Size = Size {
    articles: 100,
    alone: Duration::from_secs(1),
    ..FULL
};

const DAYS: u64 = 30;
const SLOTS: i16 = 16;

/// Transactions that insert a comment and count it today, each thread's one after another.
const WRITERS: u64 = 4;
/// Between two of them, so that their latency is measured and not who gets the processor.
const PAUSE: Duration = Duration::from_millis(4);

#[derive(Serialize)]
pub struct MergeCost {
    batch: usize,
    rows_before: i64,
    rows_after: i64,
    merged: u64,
    left: u64,
    rows_per_second: f64,
    longest_transaction_ms: f64,
    /// As multiples of those without a merge.
    p50_ratio: f64,
    p99_ratio: f64,
}

pub trait Merge: Count {
    fn comment(&mut self, article_id: i64) -> QueryResult<()>;
    fn merge(&mut self, batch: usize) -> QueryResult<Compacted>;
    /// Rows, and the views of the articles `ids`.
    fn rows_and_views(&mut self, ids: &[i64]) -> QueryResult<(i64, i64)>;
}

for_each_connection!(
    impl Merge {
        fn comment(&mut self, article_id: i64) -> QueryResult<()> {
            self.write(|conn| {
                conn.insert_comment(article_id)?;
                increment(bench_article_counters::comments)
                    .of(article_id)
                    .execute(conn)?;
                Ok(())
            })
        }

        fn merge(&mut self, batch: usize) -> QueryResult<Compacted> {
            compact(bench_article_counters::table)
                .batch(batch)
                .execute(self)
        }

        fn rows_and_views(&mut self, ids: &[i64]) -> QueryResult<(i64, i64)> {
            let rows = bench_article_counters::table.count().get_result(self)?;
            let views: Vec<i64> = counter_value(bench_article_counters::views)
                .of_many(ids)
                .load(self)?;
            Ok((rows, views.iter().sum()))
        }
    }
);

pub fn run<C: Merge>(url: &str, size: &Size) -> Result<MergeCost> {
    let conn = &mut C::connect(url)?;
    let ids: Vec<i64> = (1..=size.articles).collect();
    load(conn, &ids)?;
    let (rows_before, views_before) = conn.rows_and_views(&ids)?;

    let alone = || {
        thread::sleep(size.alone);
        Ok(())
    };
    let before = watch::<C>(url, &ids, alone)?;
    let mut merged = Compacted::default();
    let mut took = Duration::ZERO;
    let during = watch::<C>(url, &ids, || {
        let conn = &mut C::connect(url)?;
        let began = Instant::now();
        merged = conn.merge(size.batch)?;
        took = began.elapsed();
        Ok(())
    })?;
    let after = watch::<C>(url, &ids, alone)?;

    let (rows_after, views_after) = conn.rows_and_views(&ids)?;
    ensure!(views_before == views_after, "a merge changed a count");

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
    Ok(MergeCost {
        batch: size.batch,
        rows_before,
        rows_after,
        merged: merged.merged,
        left: merged.left,
        rows_per_second: merged.merged as f64 / took.as_secs_f64(),
        longest_transaction_ms: merged.longest_transaction.as_secs_f64() * 1e3,
        p50_ratio: ratio(0.5),
        p99_ratio: ratio(0.99),
    })
}

pub fn table(cost: &MergeCost) -> Table {
    let mut table = Table::new(["merge", "value"]);
    let mut row = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
    row("maximum rows in a batch", cost.batch.to_string());
    row("rows before", cost.rows_before.to_string());
    row("rows after, with today's", cost.rows_after.to_string());
    row("rows merged", cost.merged.to_string());
    row("rows left to merge", cost.left.to_string());
    row(
        "rows merged per second",
        format!("{:.0}", cost.rows_per_second),
    );
    row(
        "longest transaction (ms)",
        format!("{:.1}", cost.longest_transaction_ms),
    );
    row(
        "a writer's p50, as a multiple of that without a merge",
        three_digits(cost.p50_ratio),
    );
    row(
        "a writer's p99, as a multiple of that without a merge",
        three_digits(cost.p99_ratio),
    );
    table
}

fn load<C: Merge>(conn: &mut C, ids: &[i64]) -> QueryResult<()> {
    create_tables(conn)?;
    let last = Utc::now().date_naive() - Days::new(2);
    for id in ids {
        let mut rows = Vec::new();
        for ago in 0..DAYS {
            let day = last - Days::new(ago);
            rows.extend((1..=SLOTS).map(|slot| format!("({id}, '{day}', {slot}, {slot}, 1, 0)")));
        }
        let rows = rows.join(", ");
        conn.batch_execute(&format!("INSERT INTO bench_article_counters VALUES {rows}"))?;
    }
    conn.batch_execute(C::AFTER_LOADING)
}

/// How long each transaction of the writers took while `work` went on.
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
        done.store(true, Relaxed);
        let mut all = Latencies::default();
        for writer in writers {
            let latencies: Result<Latencies> = match writer.join() {
                Ok(latencies) => latencies,
                Err(_) => bail!("a writer panicked"),
            };
            all.add(&latencies?)?;
        }
        worked?;
        Ok(all)
    })
}
