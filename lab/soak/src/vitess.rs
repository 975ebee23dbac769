//! Counts through the gate of a Vitess keyspace, while its tablets are killed and its shards are
//! split.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use diesel::connection::SimpleConnection;
use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use diesel_counters::dsl::{compact, fold, recount, set_counter};
use diesel_counters::prelude::*;
use rand::RngExt;

use crate::mysql::on::own_database::connect;
use crate::run::PATIENCE;
use crate::tables::article_counters::dsl::{article_counters, views};
use crate::tables::{ARTICLES, DAYS, added, compacted_before, counted, day, folded_before};

/// Counts through the gate of a Vitess keyspace, and compares the counts with the rows of the same
/// transactions. `scripts/vitess` starts a cluster
#[derive(Debug, Args)]
pub struct Vitess {
    /// The URL of a keyspace, whose tables `article_counters` and `counted` are replaced
    url: String,
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    #[arg(long, default_value_t = 16)]
    threads: usize,
    /// The shards to merge, each in a session of its own
    #[arg(long, allow_hyphen_values = true)]
    shard: Vec<String>,
    /// The shards to merge once they are split
    #[arg(long, allow_hyphen_values = true)]
    then: Vec<String>,
    /// A command that kills a tablet, which is run every five seconds
    #[arg(long)]
    kill: Option<String>,
    /// A command that splits the shards, which is run after a third of the time
    #[arg(long)]
    reshard: Option<String>,
    /// Counts outside of the transaction, to see that it is found
    #[arg(long)]
    planted: bool,
}

const TABLES: &str = "
    DROP TABLE IF EXISTS article_counters, counted;
    CREATE TABLE article_counters (
        article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        views BIGINT NOT NULL DEFAULT 0, likes BIGINT NOT NULL DEFAULT 0,
        comments BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (article_id, day, slot)
    );
    CREATE TABLE counted (
        transaction_id BIGINT NOT NULL, article_id BIGINT NOT NULL, day DATE NOT NULL,
        views BIGINT NOT NULL, PRIMARY KEY (article_id, transaction_id, day)
    )";

/// What all threads share.
#[derive(Default)]
struct Checker {
    is_planted: bool,
    is_over: AtomicBool,
    next_id: AtomicI64,
    transactions: AtomicU64,
    merged: AtomicU64,
    kills: AtomicU64,
    reads: AtomicU64,
    /// How often each error was returned, without its numbers.
    errors: Mutex<BTreeMap<String, u64>>,
    wrong: Mutex<Option<String>>,
}

/// Counts, compares, merges, kills and splits until the time is over. Returns what was done, and
/// what is wrong.
pub fn run(args: &Vitess) -> Result<(String, Option<String>)> {
    let conn = &mut connect(&args.url)?;
    conn.batch_execute(TABLES)?;
    let checker = &Checker {
        is_planted: args.planted,
        ..Checker::default()
    };
    let began = Instant::now();
    let time = Duration::from_secs(args.seconds);
    let is_resharded = thread::scope(|scope| {
        for _ in 0..args.threads {
            scope.spawn(move || checker.repeat(&args.url, transaction));
        }
        scope.spawn(move || checker.repeat(&args.url, compare_some));
        // The new shards are merged only once they serve. A row that is merged while it is copied
        // is copied twice, or not at all.
        let merges = |shards: &[String]| {
            for shard in shards {
                let url = format!("{}:{shard}", args.url);
                scope.spawn(move || checker.repeat(&url, merge));
            }
        };
        merges(&args.shard);
        let resharded = args.reshard.as_deref().map(|command| {
            scope.spawn(move || {
                thread::sleep(time / 3);
                shell(command)?;
                merges(&args.then);
                anyhow::Ok(())
            })
        });
        let mut killed = Ok(());
        while began.elapsed() < time && checker.wrong().is_none() && killed.is_ok() {
            thread::sleep(Duration::from_secs(5).min(time));
            if let Some(kill) = &args.kill {
                killed = shell(kill);
                checker.kills.fetch_add(1, Relaxed);
            }
            eprintln!("{} s: {}", began.elapsed().as_secs(), checker.done());
        }
        let resharded = resharded.map(|thread| thread.join().expect("the thread panicked"));
        checker.is_over.store(true, Relaxed);
        killed?;
        resharded.transpose()
    })?;
    let mut done = checker.done();
    if is_resharded.is_some() {
        done += ", resharded";
    }
    for (error, times) in checker.errors.lock().expect("no thread panics").iter() {
        eprintln!("{times} times: {error}");
    }
    if let Some(wrong) = checker.wrong() {
        return Ok((done, Some(wrong)));
    }
    let has_merged = args.shard.is_empty() || checker.merged.load(Relaxed) > 0;
    ensure!(has_merged && checker.reads.load(Relaxed) > 0, "{done}");
    let conn = &mut connect(&args.url)?;
    for article in 1..=ARTICLES {
        // The last tablet that was killed may still be starting.
        let began = Instant::now();
        let (stored, of_rows) = loop {
            match both(&[article], conn) {
                Ok(both) => break both,
                Err(error) if began.elapsed() > PATIENCE => return Err(error.into()),
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        };
        if stored != of_rows {
            let wrong = format!("article {article} has {stored:?} views, and rows of {of_rows:?}");
            return Ok((done, Some(wrong)));
        }
    }
    // Vitess ends transactions that a killed tablet had prepared.
    let mut in_part = in_part(conn)?;
    let began = Instant::now();
    while in_part > 0 && began.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_secs(1));
        in_part = self::in_part(conn)?;
    }
    let in_part = format!("{in_part} of several shards committed in part");
    Ok((format!("{done}, {in_part}"), None))
}

/// Runs a shell command, which has to succeed.
fn shell(command: &str) -> Result<()> {
    let status = Command::new("sh").args(["-c", command]).status()?;
    ensure!(status.success(), "{command}: {status}");
    Ok(())
}

impl Checker {
    /// Notes that a count is wrong.
    fn found(&self, wrong: String) {
        *self.wrong.lock().expect("no thread panics") = Some(wrong);
    }

    fn wrong(&self) -> Option<String> {
        self.wrong.lock().expect("no thread panics").clone()
    }

    fn done(&self) -> String {
        let [transactions, reads, merged, kills] =
            [&self.transactions, &self.reads, &self.merged, &self.kills].map(|n| n.load(Relaxed));
        format!(
            "{transactions} transactions, {reads} reads compared, {merged} rows merged, \
             {kills} tablets killed"
        )
    }

    /// Calls `once` until the run is over. After an error, it connects again: the rows say what was
    /// done before.
    fn repeat(&self, url: &str, once: fn(&Checker, &mut MysqlConnection) -> QueryResult<()>) {
        while !self.is_over.load(Relaxed) {
            let mut ended = match MysqlConnection::establish(url) {
                Ok(mut conn) => loop {
                    match once(self, &mut conn) {
                        Ok(()) if self.is_over.load(Relaxed) => return,
                        Ok(()) => {}
                        Err(error) => break error.to_string(),
                    }
                },
                Err(error) => error.to_string(),
            };
            ended.retain(|c| !c.is_ascii_digit());
            let mut errors = self.errors.lock().expect("no thread panics");
            *errors.entry(ended).or_default() += 1;
            drop(errors);
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Counts one article or two. The last digit of the transaction's id is how many: see [`in_part`].
fn transaction(checker: &Checker, conn: &mut MysqlConnection) -> QueryResult<()> {
    let random = &mut rand::rng();
    let article = |random: &mut rand::rngs::ThreadRng| random.random_range(1..=ARTICLES);
    let kind = random.random_range(0..20);
    let first = article(random);
    let second = article(random);
    let number = random.random_range(0..DAYS);
    let amount = random.random_range(-3..10);
    let of_one = kind < 14 || first == second;
    let id = checker.next_id.fetch_add(10, Relaxed) + if of_one { 1 } else { 2 };
    let row = |article: i64, amount: i64, conn: &mut MysqlConnection| {
        let of = (
            counted::transaction_id.eq(id),
            counted::article_id.eq(article),
        );
        let values = (of, counted::day.eq(day(number)), counted::views.eq(amount));
        diesel::insert_into(counted::table)
            .values(values)
            .execute(conn)
    };
    let count = increment(views).on(day(number));
    let is_planted = checker.is_planted && of_one && kind > 0;
    if is_planted {
        count.clone().of(first).by(amount).execute(conn)?;
    }
    conn.transaction(|conn| {
        match kind {
            0 if of_one => {
                let before = set_counter(views).of(first).to(amount).execute(conn)?;
                row(first, amount - before, conn)?;
            }
            _ if is_planted => drop(row(first, amount, conn)?),
            _ if of_one => {
                row(first, amount, conn)?;
                count.of(first).by(amount).execute(conn)?;
            }
            14..16 => {
                for article in [first.min(second), first.max(second)] {
                    row(article, amount, conn)?;
                    count.clone().of(article).by(amount).execute(conn)?;
                }
            }
            _ => {
                for article in [first, second] {
                    row(article, amount, conn)?;
                }
                count
                    .of_many([(first, amount), (second, amount)])
                    .execute(conn)?;
            }
        }
        QueryResult::Ok(())
    })?;
    checker.transactions.fetch_add(1, Relaxed);
    if kind == 19 {
        let rows = counted::table.group_by(counted::article_id);
        let rows = rows.select((
            counted::article_id,
            sql::<BigInt>("CAST(SUM(views) AS SIGNED)"),
        ));
        let corrected = recount(views, rows).of(first).execute::<i64, _>(conn)?;
        if added(&corrected) != 0 {
            checker.found(format!("a recount corrected {corrected:?}"));
        }
    }
    Ok(())
}

/// Compares the views of articles with the rows of the same snapshot. One of the articles is given
/// twice.
fn compare_some(checker: &Checker, conn: &mut MysqlConnection) -> QueryResult<()> {
    let [first, second] = [(); 2].map(|()| rand::random_range(1..=ARTICLES));
    for articles in [vec![first], vec![first, second, first]] {
        let (stored, of_rows) = both(&articles, conn)?;
        if stored != of_rows {
            checker.found(format!(
                "articles {articles:?} had {stored:?} views, and rows of {of_rows:?}"
            ));
        }
    }
    checker.reads.fetch_add(1, Relaxed);
    Ok(())
}

/// Returns the views of articles, and those of their rows. By default, a transaction of MySQL reads
/// one snapshot.
fn both(articles: &[i64], conn: &mut MysqlConnection) -> QueryResult<(Vec<i64>, Vec<i64>)> {
    conn.transaction(|conn| {
        let stored = match articles {
            [article] => vec![counter_value(views).of(article).get_result(conn)?],
            _ => counter_value(views).of_many(articles).load(conn)?,
        };
        let of_rows = articles.iter().map(|article| {
            let rows = counted::table.filter(counted::article_id.eq(article));
            let sum = sql::<BigInt>("CAST(COALESCE(SUM(views), 0) AS SIGNED)");
            rows.select(sum).get_result(conn)
        });
        Ok((stored, of_rows.collect::<QueryResult<_>>()?))
    })
}

/// Merges old days of the connection's shard.
fn merge(checker: &Checker, conn: &mut MysqlConnection) -> QueryResult<()> {
    let compacted = compact(article_counters)
        .before(compacted_before())
        .execute(conn)?;
    let folded = fold(article_counters)
        .before(folded_before())
        .execute(conn)?;
    let merged = compacted.merged + folded.merged;
    checker.merged.fetch_add(merged, Relaxed);
    thread::sleep(Duration::from_millis(200));
    Ok(())
}

/// Returns the number of transactions of two articles that have only one row: their shards have
/// committed a part.
fn in_part(conn: &mut MysqlConnection) -> Result<usize> {
    let mut in_part = 0;
    // A query of Vitess returns up to 10,000 rows of a shard.
    for part in 0..100 {
        let of_part = sql::<Bool>(&format!(
            "transaction_id % 10 > 1 AND transaction_id DIV 10 % 100 = {part}"
        ));
        let rows = counted::table.filter(of_part);
        let rows = rows.group_by(counted::transaction_id).select(count_star());
        let rows: Vec<i64> = rows.load(conn)?;
        in_part += rows.iter().filter(|rows| **rows < 2).count();
    }
    Ok(in_part)
}
