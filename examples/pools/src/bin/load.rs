//! Compares how many comments per second two programs write, with 16 clients, in turns of two
//! seconds:
//! `DATABASE_URL=… cargo run --release -p pools --bin load -- PROGRAM OTHER`.
//!
//! For the other one, build the same program with an `UPDATE` of one row instead of the counter:
//!
//! ```sh
//! sed -i 's/increment(article_counters::comments).of(id)/diesel::update(articles::table.find(id)).set(articles::total_views.eq(articles::total_views + 1))/' examples/pools/src/bin/actix.rs
//! ```

// This program only comments, and doesn't use the rest.
#[allow(dead_code)]
#[path = "../../tests/clients/mod.rs"]
mod clients;

use std::time::{Duration, Instant};
use std::{env, process, thread};

/// An odd number, so that one ratio is in the middle.
const TURNS: usize = 11;
const TURN: Duration = Duration::from_secs(2);

fn main() {
    let url = env::var("DATABASE_URL").expect("DATABASE_URL is set");
    let names: Vec<String> = env::args().skip(1).collect();
    let [program, other] = &names[..] else {
        eprintln!("usage: load PROGRAM OTHER");
        process::exit(2);
    };
    let programs = [program, other].map(|name| clients::Program::start(name, &url));
    let mut ratios: Vec<f64> = (0..TURNS)
        .map(|_| {
            let [rate, other] = programs.each_ref().map(|program| rate(&program.address));
            println!("{rate:.0} and {other:.0} comments a second");
            rate / other
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let [low, median, high] = [0, TURNS / 2, TURNS - 1].map(|place| ratios[place]);
    println!("ratio: {median:.2} ({low:.2} to {high:.2})");
}

/// How many comments were written per second. Prints how many failed, for example because of a
/// deadlock.
fn rate(address: &str) -> f64 {
    let begun = Instant::now();
    let client = || {
        let asked = std::iter::repeat_with(|| clients::comment(address).expect("it answers"));
        let asked: Vec<_> = asked.take_while(|_| begun.elapsed() < TURN).collect();
        let written = asked
            .iter()
            .filter(|answer| answer.starts_with(clients::OK));
        let written = written.count();
        (written, asked.len() - written)
    };
    let (written, failed) = thread::scope(|scope| {
        let clients: Vec<_> = (0..16).map(|_| scope.spawn(client)).collect();
        let counts = clients.into_iter().map(|client| client.join().unwrap());
        counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
    });
    if failed > 0 {
        println!("{failed} of {} failed", written + failed);
    }
    written as f64 / begun.elapsed().as_secs_f64()
}
