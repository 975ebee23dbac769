//! Counting 1,000 entities in one transaction: with `increment_many`, beside single increments.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use diesel::prelude::*;
use diesel_counters::prelude::*;

use crate::database::{Database, Engine, for_each_connection, with_connection};
use crate::figures::median;
use crate::schema::bench_article_counters::views;
use crate::schema::{create_tables, drop_tables};
use crate::server::Server;
use crate::table::{Table, three_digits};

const ENTITIES: i64 = 1_000;

/// The two ways to count each of these entities once.
trait Many: Database {
    fn one_by_one(&mut self, ids: &[i64]) -> QueryResult<()>;
    fn at_once(&mut self, ids: &[i64]) -> QueryResult<()>;
}

for_each_connection!(
    impl Many {
        fn one_by_one(&mut self, ids: &[i64]) -> QueryResult<()> {
            self.write(|conn| {
                ids.iter()
                    .try_for_each(|&id| increment(views).of(id).execute(conn).map(drop))
            })
        }

        fn at_once(&mut self, ids: &[i64]) -> QueryResult<()> {
            self.write(|conn| increment(views).of_many(ids.iter().map(|&id| (id, 1))).execute(conn).map(drop))
        }
    }
);

/// Measures each database, and prints how many times as many entities a second `increment_many` counts.
pub fn run(databases: &[Engine], rounds: u16, round_trip: u64) -> Result<()> {
    let all = [
        Engine::Postgres,
        Engine::Mariadb,
        Engine::Mysql,
        Engine::Sqlite,
    ];
    let mut table = Table::new(["database", "new rows", "rows that exist"]);
    for &engine in if databases.is_empty() {
        &all
    } else {
        databases
    } {
        let server = Server::start(engine)?;
        let url = match round_trip {
            0 => server.url.clone(),
            _ => delayed(&server.url, Duration::from_micros(round_trip) / 2)?,
        };
        let ratios = with_connection!(engine, measure(&url, rounds))?;
        let ratios = ratios.map(|ratio| format!("{}×", three_digits(ratio)));
        table.row([[engine.name().to_owned()].as_slice(), &ratios].concat());
    }
    print!("{table}");
    Ok(())
}

/// The medians of the rounds' ratios, for rows that are inserted, and for rows that are updated.
fn measure<C: Many>(url: &str, rounds: u16) -> Result<[f64; 2]> {
    let conn = &mut C::connect(url)?;
    create_tables(conn)?;
    let mut ratios = [vec![], vec![]];
    let (mut first, mut microseconds) = (0, [[f64::INFINITY; 2]; 2]);
    for round in 0..=rounds {
        let mut seconds = [[0.0; 2]; 2];
        for way in [usize::from(round % 2), usize::from(1 - round % 2)] {
            // In no order: 7 has no common divisor with 1,000.
            let ids: Vec<_> = (0..ENTITIES).map(|i| first + i * 7 % ENTITIES).collect();
            first += ENTITIES;
            for of_state in &mut seconds {
                let start = Instant::now();
                match way {
                    0 => conn.one_by_one(&ids)?,
                    _ => conn.at_once(&ids)?,
                }
                of_state[way] = start.elapsed().as_secs_f64();
            }
        }
        // The first round prepares the statements.
        for state in (0..2).filter(|_| round > 0) {
            ratios[state].push(seconds[state][0] / seconds[state][1]);
            for way in 0..2 {
                let least = &mut microseconds[state][way];
                *least = least.min(seconds[state][way] * 1e6 / ENTITIES as f64);
            }
        }
    }
    drop_tables(conn)?;
    eprintln!("µs for an entity, at least, [one by one, at once]: {microseconds:.1?}");
    Ok(ratios.map(|ratios| median(ratios).unwrap_or_default()))
}

/// Returns the URL of a proxy that delays what either side sends. A file has no network.
fn delayed(url: &str, delay: Duration) -> Result<String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Ok(url.to_owned());
    };
    let (user, rest) = rest.split_once('@').context("the URL has no user")?;
    let (address, database) = rest.split_once('/').context("the URL has no database")?;
    let (listener, address) = (TcpListener::bind("127.0.0.1:0")?, address.to_owned());
    let port = listener.local_addr()?.port();
    thread::spawn(move || -> Result<()> {
        for client in listener.incoming() {
            let (client, server) = (client?, TcpStream::connect(&address)?);
            for (from, to) in [(&client, &server), (&server, &client)] {
                to.set_nodelay(true)?;
                let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
                thread::spawn(move || -> Result<()> {
                    let mut message = vec![0; 1 << 20];
                    loop {
                        let length = from.read(&mut message)?;
                        thread::sleep(delay);
                        to.write_all(&message[..length])?;
                        if length == 0 {
                            return Ok(to.shutdown(std::net::Shutdown::Write)?);
                        }
                    }
                });
            }
        }
        Ok(())
    });
    Ok(format!("{scheme}://{user}@127.0.0.1:{port}/{database}"))
}
