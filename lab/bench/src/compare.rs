//! Compares ways that run in turns, so that drift of the machine affects all of them alike.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use diesel::QueryResult;
use diesel::result::Error;
use diesel_counters::is_retryable;
use rand::seq::SliceRandom;

use crate::table::{Table, three_digits};
use crate::tally::Tally;

/// What was measured of one way in one round.
pub struct Cell {
    pub transactions_per_second: f64,
    pub tally: Tally,
}

/// Runs each of the `ways` once a round, in random order. `cell` gets the place of the way.
///
/// Returns a table with a row for each way. It has the median of the way's speeds, and its ratio to
/// each of the `bases`, which have a name and a place in `ways`. A ratio is the median of those of
/// the rounds.
pub fn compare(
    title: &str,
    ways: &[&str],
    bases: &[(&str, usize)],
    rounds: u16,
    mut cell: impl FnMut(usize) -> Result<Cell>,
) -> Result<Table> {
    let mut speeds = vec![Vec::new(); ways.len()];
    let mut tallies = vec![Tally::default(); ways.len()];
    for round in 1..=rounds {
        let mut order: Vec<_> = (0..ways.len()).collect();
        order.shuffle(&mut rand::rng());
        for way in order {
            let cell = cell(way)?;
            speeds[way].push(cell.transactions_per_second);
            tallies[way].add(&cell.tally)?;
        }
        eprintln!("{title}: round {round} of {rounds}");
    }
    let mut header = vec![title.to_owned(), "transactions/s".to_owned()];
    header.extend(bases.iter().map(|(name, _)| format!("to {name}")));
    header.extend(["p50 ms", "p99 ms", "worst ms", "deadlocks", "aborts"].map(str::to_owned));
    let mut table = Table::new(header);
    for (way, tally) in tallies.iter().enumerate() {
        let speed = median(speeds[way].clone()).unwrap_or_default();
        let mut row = vec![ways[way].to_owned(), format!("{speed:.0}")];
        row.extend(bases.iter().map(|&(_, base)| {
            let ratios = speeds[way]
                .iter()
                .zip(&speeds[base])
                .map(|(one, other)| one / other);
            median(ratios.collect()).map_or("-".to_owned(), three_digits)
        }));
        row.extend([0.5, 0.99, 1.0].map(|part| three_digits(tally.latencies.quantile(part))));
        row.extend([tally.deadlocks, tally.aborts].map(|number| number.to_string()));
        table.row(row);
    }
    Ok(table)
}

/// Returns `None` if there are no values, or if the median is not finite: there is no ratio to a
/// way that stalls for whole rounds.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some((values[last / 2] + values[last.div_ceil(2)]) / 2.0).filter(|median| median.is_finite())
}

/// Returns the median, the least and the greatest of the values.
pub fn spread(values: Vec<f64>) -> [f64; 3] {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(0.0, f64::max);
    [median(values).unwrap_or_default(), least, greatest]
}

/// The time in which statements are prepared and pages are read, before the measurement.
const WARM_UP: Duration = Duration::from_millis(200);

/// Starts a thread for each of the states, which calls `once` again and again. `once` gets the time
/// at which to end: first the end of the warm-up, and then that of the measurement.
pub fn on_threads<S: Send>(
    states: Vec<S>,
    seconds: f64,
    once: impl Fn(&mut S, Instant, &mut Tally) -> Result<()> + Sync,
) -> Result<Cell> {
    let barrier = Barrier::new(states.len());
    let run = |mut state: S| {
        let mut run_for = |time| {
            let end = Instant::now() + time;
            let mut tally = Tally::default();
            while Instant::now() < end {
                once(&mut state, end, &mut tally)?;
            }
            anyhow::Ok(tally)
        };
        let warm_up = run_for(WARM_UP);
        // Also if this thread has failed: the others wait for it here.
        barrier.wait();
        let warm_up = warm_up?;
        let mut tally = run_for(Duration::from_secs_f64(seconds))?;
        tally.committed += warm_up.committed;
        // A deadlock of the warm-up can last for longer than the warm-up.
        tally.deadlocks += warm_up.deadlocks;
        anyhow::Ok(tally)
    };
    let tally = sum_of_threads(states, run)?;
    Ok(Cell {
        transactions_per_second: tally.in_time as f64 / seconds,
        tally,
    })
}

/// Calls `run` on a thread for each of the states. Returns the sum of what they return.
pub fn sum_of_threads<S: Send>(
    states: Vec<S>,
    run: impl Fn(S) -> Result<Tally> + Sync,
) -> Result<Tally> {
    thread::scope(|scope| {
        let run = &run;
        let threads = states
            .into_iter()
            .map(|state| scope.spawn(move || run(state)));
        let threads: Vec<_> = threads.collect();
        let mut all = Tally::default();
        for thread in threads {
            all.add(&thread.join().map_err(|_| anyhow!("a thread panicked"))??)?;
        }
        Ok(all)
    })
}

/// Runs a transaction until it commits, or until the end.
pub fn commit(
    end: Instant,
    tally: &mut Tally,
    mut transaction: impl FnMut() -> QueryResult<()>,
) -> Result<()> {
    let began = Instant::now();
    loop {
        match transaction() {
            Ok(()) => break,
            // The transaction was too late to go on.
            Err(Error::RollbackTransaction) => {}
            Err(error) if is_deadlock(&error) => tally.deadlocks += 1,
            Err(error) if is_retryable(&error) => tally.aborts += 1,
            Err(error) => return Err(error.into()),
        }
        // Retries after the end could go on forever. The transaction took at least this long.
        if Instant::now() >= end {
            tally.latencies.record(began.elapsed());
            return Ok(());
        }
    }
    tally.latencies.record(began.elapsed());
    tally.committed += 1;
    tally.in_time += u64::from(Instant::now() < end);
    Ok(())
}

/// Whether it is the deadlock of PostgreSQL, or that of MySQL and MariaDB.
fn is_deadlock(error: &Error) -> bool {
    let Error::DatabaseError(_, info) = error else {
        return false;
    };
    let message = info.message();
    message.starts_with("deadlock detected") || message.starts_with("Deadlock found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_value() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![1.0, f64::INFINITY, f64::INFINITY]), None);
        assert_eq!(spread(vec![3.0, 1.0, 2.0]), [2.0, 1.0, 3.0]);
    }
}
