//! What merging costs: how fast it is, how long its transactions are, and what who counts
//! meanwhile notices of it.
//!
//! `merge_cost [--batch N]`, on the database that `DATABASE_URL` names: `postgres://…` or
//! `mysql://…`. SQLite has no slots to merge.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use chrono::{Days, Utc};
use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters::{Compacted, compact};
use schema::{bench_article_counters, bench_comments};

mod schema {
    diesel::table! {
        bench_comments (id) {
            id -> BigInt,
            article_id -> BigInt,
        }
    }

    diesel::table! {
        bench_article_counters (article_id, day, slot) {
            article_id -> BigInt,
            day -> Date,
            slot -> SmallInt,
            views -> BigInt,
            likes -> BigInt,
            comments -> BigInt,
        }
    }
}

const DROP: &str = "DROP TABLE IF EXISTS bench_article_counters;
     DROP TABLE IF EXISTS bench_comments;";
const COUNTERS: &str = "CREATE TABLE bench_article_counters (
         article_id BIGINT NOT NULL,
         day DATE NOT NULL,
         slot SMALLINT NOT NULL,
         views BIGINT NOT NULL DEFAULT 0,
         likes BIGINT NOT NULL DEFAULT 0,
         comments BIGINT NOT NULL DEFAULT 0,
         PRIMARY KEY (article_id, day, slot)
     );";

const ARTICLES: i64 = 1_000;
const DAYS: u64 = 30;
const SLOTS: i16 = 16;

/// Transactions that insert a comment and count it today, each thread's one after another.
const WRITERS: u64 = 4;
/// Between two of them, so that their latency is measured and not who gets the processor.
const PAUSE: Duration = Duration::from_millis(4);
/// How long they are watched alone, before the merge and after it.
const ALONE: Duration = Duration::from_secs(10);

/// A connection of its own type, not a `MultiConnection`, whose work would be measured too.
trait Database: Connection + 'static {
    const COMMENTS: &'static str;
    const ANALYZE: &'static str;

    fn name_and_version(&mut self) -> QueryResult<String>;
    fn comment(&mut self, article_id: i64) -> QueryResult<()>;
    fn merge(&mut self, batch: usize) -> QueryResult<Compacted>;
    fn rows(&mut self) -> QueryResult<(i64, i64)>;
}

macro_rules! database {
    ($connection:ty, $name_and_version:literal, $comments:literal, $analyze:literal) => {
        impl Database for $connection {
            const COMMENTS: &'static str = $comments;
            const ANALYZE: &'static str = $analyze;

            fn name_and_version(&mut self) -> QueryResult<String> {
                diesel::select(diesel::dsl::sql::<diesel::sql_types::Text>(
                    $name_and_version,
                ))
                .get_result(self)
            }

            fn comment(&mut self, article_id: i64) -> QueryResult<()> {
                self.transaction(|conn| {
                    diesel::insert_into(bench_comments::table)
                        .values(bench_comments::article_id.eq(article_id))
                        .execute(conn)?;
                    increment(bench_article_counters::comments)
                        .of(article_id)
                        .execute(conn)?;
                    Ok(())
                })
            }

            fn merge(&mut self, batch: usize) -> QueryResult<Compacted> {
                compact(bench_article_counters::table)
                    .batch(batch)
                    .run(self)
            }

            /// Rows, and views.
            fn rows(&mut self) -> QueryResult<(i64, i64)> {
                let rows = bench_article_counters::table.count().get_result(self)?;
                let ids: Vec<i64> = (1..=ARTICLES).collect();
                let views: Vec<i64> = counter_value(bench_article_counters::views)
                    .of_many(&ids)
                    .load(self)?;
                Ok((rows, views.iter().sum()))
            }
        }
    };
}

#[cfg(feature = "postgres")]
database!(
    PgConnection,
    "'PostgreSQL ' || current_setting('server_version')",
    "CREATE TABLE bench_comments (id BIGSERIAL PRIMARY KEY, article_id BIGINT NOT NULL)",
    "VACUUM (ANALYZE) bench_article_counters"
);
#[cfg(feature = "mysql")]
database!(
    MysqlConnection,
    "concat(if(version() LIKE '%MariaDB%', 'MariaDB ', 'MySQL '), version())",
    "CREATE TABLE bench_comments (id BIGINT AUTO_INCREMENT PRIMARY KEY, article_id BIGINT NOT NULL)",
    "ANALYZE TABLE bench_article_counters"
);

fn main() -> Result<(), Box<dyn Error>> {
    let batch = match env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => 100,
        [flag, number] if flag == "--batch" => number.parse()?,
        _ => return Err("usage: merge_cost [--batch N]".into()),
    };
    let url = env::var("DATABASE_URL").map_err(|_| "set DATABASE_URL")?;
    match url.split_once("://") {
        #[cfg(feature = "postgres")]
        Some(("postgres" | "postgresql", _)) => measure::<PgConnection>(&url, batch),
        #[cfg(feature = "mysql")]
        Some(("mysql", _)) => measure::<MysqlConnection>(&url, batch),
        _ => Err(
            "DATABASE_URL is of no database with slots that this was built for: \
                  add --features postgres,mysql"
                .into(),
        ),
    }
}

fn measure<Conn: Database>(url: &str, batch: usize) -> Result<(), Box<dyn Error>> {
    let conn = &mut Conn::establish(url)?;
    load(conn)?;
    let (rows_before, views_before) = conn.rows()?;

    let before = watch::<Conn>(url, |_| {
        thread::sleep(ALONE);
        Ok(())
    })?;
    let mut merged = Compacted::default();
    let mut took = Duration::ZERO;
    let during = watch::<Conn>(url, |url| {
        let conn = &mut Conn::establish(url)?;
        let began = Instant::now();
        merged = conn.merge(batch)?;
        took = began.elapsed();
        Ok(())
    })?;
    let after = watch::<Conn>(url, |_| {
        thread::sleep(ALONE);
        Ok(())
    })?;

    let (rows_after, views_after) = conn.rows()?;
    assert_eq!(views_before, views_after, "a merge changes no count");
    let name = conn.name_and_version()?;
    conn.batch_execute(DROP)?;

    let alone: Vec<Duration> = before.iter().chain(&after).copied().collect();
    println!("{name}, batches of {batch}");
    println!(
        "  rows       {rows_before} before; {} merged, {} left; {rows_after} after, with today's",
        merged.merged, merged.left
    );
    println!(
        "  speed      {:.0} rows a second",
        merged.merged as f64 / took.as_secs_f64()
    );
    println!(
        "  longest    {:.1} ms in a transaction",
        millis(merged.longest_transaction)
    );
    let (p50, p99) = (ratio(&during, &alone, 0.5), ratio(&during, &alone, 0.99));
    println!("  a writer's p50 is {p50:.2} times that of without a merge, its p99 {p99:.2} times");
    eprintln!(
        "  during: {} transactions, p50 {:.2} ms, p99 {:.2} ms; alone: {}, {:.2} ms, {:.2} ms (p99 before {:.2}, after {:.2})",
        during.len(),
        millis(quantile(&during, 0.5)),
        millis(quantile(&during, 0.99)),
        alone.len(),
        millis(quantile(&alone, 0.5)),
        millis(quantile(&alone, 0.99)),
        millis(quantile(&before, 0.99)),
        millis(quantile(&after, 0.99)),
    );
    Ok(())
}

fn load<Conn: Database>(conn: &mut Conn) -> QueryResult<()> {
    conn.batch_execute(DROP)?;
    conn.batch_execute(COUNTERS)?;
    conn.batch_execute(Conn::COMMENTS)?;
    let last = Utc::now().date_naive() - Days::new(2);
    for id in 1..=ARTICLES {
        let mut insert = "INSERT INTO bench_article_counters VALUES ".to_owned();
        for ago in 0..DAYS {
            for slot in 1..=SLOTS {
                let comma = if ago == 0 && slot == 1 { "" } else { ", " };
                let day = last - Days::new(ago);
                // A string takes any text.
                let _ = write!(insert, "{comma}({id}, '{day}', {slot}, {slot}, 1, 0)");
            }
        }
        conn.batch_execute(&insert)?;
    }
    conn.batch_execute(Conn::ANALYZE)
}

/// How long each transaction of the writers took while `work` went on.
fn watch<Conn: Database>(
    url: &str,
    work: impl FnOnce(&str) -> Result<(), Box<dyn Error>>,
) -> Result<Vec<Duration>, Box<dyn Error>> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                scope.spawn(|| {
                    let conn = &mut Conn::establish(url).map_err(|error| error.to_string())?;
                    let mut times = Vec::new();
                    while !done.load(Relaxed) {
                        let began = Instant::now();
                        conn.comment(rand::random_range(1..=ARTICLES))
                            .map_err(|error| error.to_string())?;
                        times.push(began.elapsed());
                        thread::sleep(PAUSE);
                    }
                    Ok(times)
                })
            })
            .collect();
        let worked = work(url);
        done.store(true, Relaxed);
        let mut all = Vec::new();
        for writer in writers {
            let times: Result<Vec<Duration>, String> =
                writer.join().map_err(|_| "a writer panicked")?;
            all.extend(times?);
        }
        worked?;
        Ok(all)
    })
}

fn quantile(times: &[Duration], q: f64) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[((sorted.len() - 1) as f64 * q) as usize]
}

fn ratio(a: &[Duration], b: &[Duration], q: f64) -> f64 {
    quantile(a, q).as_secs_f64() / quantile(b, q).as_secs_f64()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
