//! How many transactions fail at each isolation level, and have to be run again.

use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use diesel::prelude::*;
use diesel_counters::dsl::counter_value;
use diesel_counters::retry;
use rand::seq::index;

use crate::counter::Limit;
use crate::database::{Describe, Engine, for_each_connection, with_connection};
use crate::run::wait_for_workers;
use crate::schema::{bench_article_counters, create_tables, drop_tables};
use crate::server::Server;
use crate::table::Table;
use crate::way::{Count, Counting, Way};

const CONNECTIONS: u32 = 16;
const ARTICLES: usize = 5;
const HOLD: Duration = Duration::from_millis(1);
const WAYS: [Way; 3] = [Way::OneRow, Way::RandomSlots, Way::ThisCrate];
const COUNTED: [usize; 2] = [1, 3];

/// What each transaction does.
#[derive(Clone, Copy)]
struct Transaction {
    way: Way,
    /// How many articles it counts, in random order.
    counted: usize,
    /// Whether it reads a total before.
    reads: bool,
}

/// A level, and on MariaDB a setting whose default depends on the version.
fn levels(engine: Engine) -> &'static [&'static str] {
    match engine {
        Engine::Mariadb => &[
            "READ COMMITTED",
            "REPEATABLE READ, innodb_snapshot_isolation = OFF",
            "REPEATABLE READ, innodb_snapshot_isolation = ON",
            "SERIALIZABLE",
        ],
        _ => &["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"],
    }
}

/// What sets one of the `levels` for a session.
fn set(engine: Engine, level: &str) -> String {
    match (engine, level.split_once(", ")) {
        // By default, each deadlock lasts for a second.
        (Engine::Postgres, _) => format!(
            "SET deadlock_timeout = '10ms';
             SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}"
        ),
        (_, Some((level, setting))) => {
            format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}; SET SESSION {setting}")
        }
        (_, None) => format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"),
    }
}

trait ReadTotal: Count + Describe {
    fn total(&mut self, way: Way, id: i64) -> QueryResult<i64>;
}

for_each_connection!(
    impl ReadTotal {
        fn total(&mut self, way: Way, id: i64) -> QueryResult<i64> {
            if way == Way::OneRow {
                return self.number(&format!(
                    "SELECT views FROM bench_hits WHERE article_id = {id}"
                ));
            }
            counter_value(bench_article_counters::views)
                .of(id)
                .get_result(self)
        }
    }
);

/// Prints one table for the `engines`, or for all that have slots where none is named.
pub fn run(engines: &[Engine], transactions: u64) -> Result<()> {
    let engines = if engines.is_empty() {
        &[Engine::Postgres, Engine::Mariadb, Engine::Mysql]
    } else {
        engines
    };
    let mut header = vec!["failures per 1,000 commits".to_owned()];
    for counted in COUNTED {
        let ways = ["one row", "random slots", "the connection's slot"];
        header.extend(ways.map(|way| format!("{counted} of {ARTICLES}: {way}")));
    }
    let mut table = Table::new(header);
    for &engine in engines {
        ensure!(engine.has_slots(), "{} has one level", engine.name());
        match Server::start(engine) {
            Ok(server) => {
                with_connection!(
                    engine,
                    measure(engine, &server.url, transactions, &mut table)
                )?;
            }
            Err(error) => eprintln!("{} is skipped: {error:#}", engine.name()),
        }
    }
    print!("{table}");
    Ok(())
}

fn measure<C: ReadTotal>(
    engine: Engine,
    url: &str,
    transactions: u64,
    table: &mut Table,
) -> Result<()> {
    let conn = &mut C::connect(url)?;
    let others = conn.number(C::OTHER_SESSIONS)?;
    eprintln!("{}", conn.version()?);
    let levels = levels(engine).iter().map(|level| (*level, true));
    for (level, reads) in levels.chain([("SERIALIZABLE", false)]) {
        let set = set(engine, level);
        let nothing_read = if reads { "" } else { ", nothing read" };
        let mut row = vec![format!("{}, {level}{nothing_read}", engine.name())];
        for counted in COUNTED {
            for way in WAYS {
                // So that the numbers of the last cell's connections are free.
                wait_for_workers(conn, others)?;
                create_tables(conn)?;
                let transaction = Transaction {
                    way,
                    counted,
                    reads,
                };
                let failed = cell::<C>(url, &set, transaction, transactions)?;
                check(conn, transaction, transactions)?;
                // Rounded up, so that 0 is none.
                row.push((1_000 * failed).div_ceil(transactions).to_string());
            }
        }
        eprintln!("{}", row.join(" | "));
        table.row(row);
    }
    Ok(drop_tables(conn)?)
}

/// Commits this many transactions, on all connections at the same time. Returns how many failed.
fn cell<C: ReadTotal>(
    url: &str,
    set: &str,
    transaction: Transaction,
    transactions: u64,
) -> Result<u64> {
    let mut conns = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut conn = C::connect(url)?;
        conn.claim()?;
        conn.batch_execute(set)?;
        conns.push(conn);
    }
    let limit = Limit::Transactions(&AtomicU64::new(transactions));
    thread::scope(|scope| {
        let threads: Vec<_> = conns
            .into_iter()
            .map(|mut conn| scope.spawn(move || count(&mut conn, transaction, limit)))
            .collect();
        let mut failed = 0;
        for thread in threads {
            failed += thread.join().map_err(|_| anyhow!("a thread panicked"))??;
        }
        Ok(failed)
    })
}

fn count<C: ReadTotal>(
    conn: &mut C,
    Transaction {
        way,
        counted,
        reads,
    }: Transaction,
    limit: Limit<'_>,
) -> QueryResult<u64> {
    let counting = Counting {
        way,
        connections: CONNECTIONS,
        slot: 0,
    };
    let mut failed = 0;
    while limit.begins_another() {
        let ids = index::sample(&mut rand::rng(), ARTICLES, counted);
        let ids: Vec<_> = ids.into_iter().map(|index| index as i64 + 1).collect();
        retry()
            .attempts(usize::MAX)
            .on_retry(|_, _| failed += 1)
            .transaction(conn, |conn| {
                if reads {
                    // Its snapshot is taken here.
                    conn.total(way, ids[0])?;
                }
                conn.insert_comment(ids[0])?;
                for &id in &ids {
                    conn.count(counting, id)?;
                }
                thread::sleep(HOLD);
                Ok(())
            })?;
    }
    Ok(failed)
}

/// Whether the counters are what was committed.
fn check<C: Count>(
    conn: &mut C,
    Transaction { way, counted, .. }: Transaction,
    transactions: u64,
) -> Result<()> {
    let (column, table) = way.counter().expect("it counts");
    let counters = conn.number(&format!("SELECT SUM({column}) FROM {table}"))?;
    let comments = conn.number("SELECT COUNT(*) FROM bench_comments")?;
    ensure!(
        [comments, counters] == [transactions, transactions * counted as u64].map(|n| n as i64),
        "{}: {comments} comments and {counters} counts, after {transactions} transactions",
        way.name()
    );
    Ok(())
}
