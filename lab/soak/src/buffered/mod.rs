//! Kills processes that count in a `CounterBuffer`, and their server, and cuts their connections.
//! Compares what the processes counted with what is stored.

#[path = "../../../../tests/src/answer.rs"]
mod answer;
pub mod proxy;

use std::collections::BTreeMap;
use std::fmt;

use clap::{Args, ValueEnum};
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};

/// Kills processes that count in a CounterBuffer, and compares what they counted with what is
/// stored
#[derive(Debug, Args)]
pub struct Buffered {
    /// The URL of a server, or the path of an SQLite file to create
    ///
    /// On a server, a database is created for the run, and removed if all counts were right.
    pub url: String,
    /// The database's name in the output [default: the scheme of the URL]
    #[arg(long)]
    pub name: Option<String>,
    /// How many processes are killed
    #[arg(long, default_value_t = 1000)]
    pub kills: u64,
    /// The command that starts the server, which is then killed too
    #[arg(long)]
    pub server: Option<String>,
    /// How often the server is killed
    #[arg(long, default_value_t = 100)]
    pub server_kills: u64,
    /// Plants a fault, to see that it is found
    #[arg(long)]
    pub fault: Option<Planted>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Planted {
    /// A process counts a batch again whose COMMIT was not answered, or was answered with an error
    CountedAgain,
    /// A row that a process has written is missing
    RowLost,
}

/// Counts until it is killed, or until its input ends.
#[derive(Debug, Args)]
pub struct Client {
    pub url: String,
    pub number: i64,
    #[arg(long)]
    pub fault: Option<Planted>,
}

diesel::table! {
    buffered_counters (id, day, slot) {
        id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(buffered_counters { slots = 64 });

pub const TABLE: &str = "CREATE TABLE buffered_counters (
    id BIGINT NOT NULL,
    day DATE NOT NULL,
    slot SMALLINT NOT NULL,
    views BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id, day, slot)
);";

/// The number of threads of a process that count.
pub const THREADS: usize = 2;

/// The key that is counted in transactions, beside the buffers.
pub const BESIDE: i64 = 0;

/// The key that a process counts together with each of its numbers. The number of a process is 1 or
/// more, so that this is not [`BESIDE`].
pub fn key_of_all(client: i64) -> i64 {
    -(client << 32)
}

/// The key of a number of a thread. Numbers count from 1 on, and each is counted once.
///
/// A merge goes through the keys in their order. Later keys are smaller, because the merge would
/// never end if keys were inserted at its end.
pub fn key_of(client: i64, thread: usize, number: i64) -> i64 {
    key_of_all(client) - ((thread as i64 + 1) << 28) - number
}

/// What a process prints: a JSON text on each line.
#[derive(Debug, Serialize, Deserialize)]
pub enum Line {
    /// The thread begins to count the numbers up to this one.
    Begins(usize, i64),
    /// The numbers of each thread up to this one are written.
    Written([i64; THREADS]),
    /// A write failed.
    Failed,
    /// Nobody knows whether a COMMIT has committed. These are the keys of its batch, with their
    /// amounts.
    Unknown(Vec<(i64, i64)>),
}

/// What a process has printed, and how it ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// The number of the process.
    pub number: i64,
    pub was_killed: bool,
    /// The last number that each thread has begun to count.
    pub begun: [i64; THREADS],
    /// The last number of each thread that is written.
    pub written: [i64; THREADS],
    /// How many writes failed.
    pub failed: u64,
    /// The keys of batches of which nobody knows whether they have committed, with their amounts.
    /// These are written or lost.
    pub unknown: BTreeMap<i64, i64>,
}

impl Ended {
    /// Adds what a line says.
    pub fn add(&mut self, line: Line) {
        match line {
            Line::Begins(thread, number) => self.begun[thread] = number,
            Line::Written(numbers) => self.written = numbers,
            Line::Failed => self.failed += 1,
            Line::Unknown(counts) => {
                for (key, amount) in counts {
                    *self.unknown.entry(key).or_default() += amount;
                }
            }
        }
    }

    /// Compares what is stored with what the process counted, and removes it from `stored`.
    fn check(&self, stored: &mut BTreeMap<i64, i64>) -> Result<Lost, String> {
        let client = self.number;
        let mut all = 0;
        let mut lost = Lost::default();
        for thread in 0..THREADS {
            for number in 1..=self.begun[thread] {
                let what = || format!("process {client}, thread {thread}, number {number}");
                match stored.remove(&key_of(client, thread, number)) {
                    Some(1) => all += 1,
                    Some(times) => return Err(format!("{} was counted {times} times", what())),
                    None if self.unknown.contains_key(&key_of(client, thread, number)) => {
                        lost.by_commits += 1;
                    }
                    None if !self.was_killed => return Err(format!("{} was lost", what())),
                    None if number <= self.written[thread] => {
                        return Err(format!("{} was written, and lost", what()));
                    }
                    None => lost.by_kill += 1,
                }
            }
        }
        let sum = stored.remove(&key_of_all(client)).unwrap_or(0);
        let written: i64 = self.written.iter().sum();
        let begun: i64 = self.begun.iter().sum();
        let unknown = self.unknown.get(&key_of_all(client)).unwrap_or(&0);
        // Its counts and those of the numbers can be in different batches, of which a kill has lost
        // one. So the sum is compared with what was begun and written, and not with the numbers.
        let least = if self.was_killed { written } else { begun } - unknown;
        let is_right = (least..=begun).contains(&sum);
        if is_right {
            return Ok(lost);
        }
        Err(format!(
            "the key that process {client} counts each time has {sum}; it has written {written} \
             and counted {begun}, of which {all} are stored, and does not know of {unknown}"
        ))
    }
}

/// How many numbers a process has counted that are not stored.
#[derive(Debug, Default)]
struct Lost {
    /// Those that were not written before it was killed.
    by_kill: u64,
    /// Those of a batch of which nobody knew whether it has committed.
    by_commits: u64,
}

/// What was done and found in a run.
#[derive(Debug, Default)]
pub struct Tally {
    /// The servers that were killed.
    pub servers: u64,
    /// The numbers that are stored.
    pub counted: u64,
    /// The writes that failed.
    pub failed: u64,
    pub commits_cut: u64,
    pub commits_with_errors: u64,
    /// The keys of batches of which nobody knew whether they have committed.
    pub unknown: u64,
    /// The numbers of these batches that are lost.
    pub unknown_lost: u64,
    /// The rows that were merged.
    pub merged: u64,
    /// The processes that were stopped, and not killed.
    pub stopped: u64,
    /// How many numbers each process that was killed has lost.
    pub windows: Vec<u64>,
}

impl Tally {
    /// Checks what processes have counted. `stored` has the sums that are stored, by key.
    pub fn check(&mut self, ended: &[Ended], mut stored: BTreeMap<i64, i64>) -> Result<(), String> {
        for client in ended {
            let lost = client.check(&mut stored)?;
            let begun = client.begun.iter().sum::<i64>() as u64;
            self.counted += begun - lost.by_kill - lost.by_commits;
            self.unknown += client.unknown.len() as u64;
            self.unknown_lost += lost.by_commits;
            self.failed += client.failed;
            if client.was_killed {
                self.windows.push(lost.by_kill)
            } else {
                self.stopped += 1
            }
        }
        match stored.first_key_value() {
            None => Ok(()),
            Some((key, views)) => Err(format!("nobody has counted key {key}, but it has {views}")),
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut windows = self.windows.clone();
        windows.sort_unstable();
        let lost = windows.iter().filter(|lost| **lost > 0).count();
        let lines = [
            ("processes killed", windows.len() as u64),
            ("servers killed", self.servers),
            ("connections cut at a COMMIT", self.commits_cut),
            ("COMMITs answered with an error", self.commits_with_errors),
            ("writes that failed", self.failed),
            ("counts written", self.counted),
            ("keys that are written or lost", self.unknown),
            ("of these, lost", self.unknown_lost),
            ("rows merged meanwhile", self.merged),
            (
                "processes that stopped, and lost nothing else",
                self.stopped,
            ),
            ("killed processes that lost counts", lost as u64),
            (
                "the median of what a killed process lost",
                nth(&windows, 50),
            ),
            ("nine in ten lost at most", nth(&windows, 90)),
            ("the most", nth(&windows, 100)),
        ];
        for (what, number) in lines {
            write!(f, "\n  {what:<46} {:>11}", HumanCount(number).to_string())?;
        }
        Ok(())
    }
}

/// Returns a percentile of sorted numbers, or 0 if there are none.
fn nth(sorted: &[u64], percent: usize) -> u64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get(last * percent / 100).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that has begun and written these numbers on its first thread, and what is stored:
    /// the first `stored` numbers, each once.
    fn process(begun: i64, written: i64, stored: i64) -> (Ended, BTreeMap<i64, i64>) {
        let ended = Ended {
            number: 1,
            was_killed: true,
            begun: [begun, 0],
            written: [written, 0],
            ..Ended::default()
        };
        let numbers = (1..=stored).map(|number| (key_of(1, 0, number), 1));
        let of_all = (key_of_all(1), stored);
        (ended, numbers.chain([of_all]).collect())
    }

    fn check(ended: Ended, stored: BTreeMap<i64, i64>) -> Result<Tally, String> {
        let mut tally = Tally::default();
        tally.check(&[ended], stored)?;
        Ok(tally)
    }

    #[test]
    fn a_kill_loses_what_was_not_written() {
        let (ended, stored) = process(9, 5, 6);
        let tally = check(ended, stored).unwrap();
        assert_eq!(tally.windows, [3]);
        assert_eq!(tally.counted, 6);
    }

    #[test]
    fn what_was_written_is_not_lost_unless_a_commit_was_unknown() {
        let (ended, stored) = process(9, 7, 6);
        let wrong = check(ended, stored).unwrap_err();
        assert!(wrong.contains("number 7 was written, and lost"), "{wrong}");
        let (mut ended, stored) = process(9, 7, 6);
        ended.add(Line::Unknown(vec![
            (key_of(1, 0, 7), 1),
            (key_of_all(1), 1),
        ]));
        assert_eq!(check(ended, stored).unwrap().unknown_lost, 1);
    }

    #[test]
    fn a_process_that_stopped_has_lost_nothing() {
        let (mut ended, stored) = process(9, 5, 6);
        ended.was_killed = false;
        let wrong = check(ended, stored).unwrap_err();
        assert!(wrong.contains("number 7 was lost"), "{wrong}");
    }

    #[test]
    fn nothing_is_counted_twice_or_by_nobody() {
        let (ended, mut stored) = process(9, 5, 6);
        stored.insert(key_of(1, 0, 2), 2);
        let wrong = check(ended, stored).unwrap_err();
        assert!(wrong.contains("number 2 was counted 2 times"), "{wrong}");
        let (ended, mut stored) = process(9, 5, 6);
        stored.insert(key_of_all(2), 1);
        assert!(
            check(ended, stored)
                .unwrap_err()
                .starts_with("nobody has counted")
        );
    }

    #[test]
    fn percentiles_are_those_of_sorted_numbers() {
        assert_eq!(nth(&[], 50), 0);
        assert_eq!(nth(&[1, 2, 3], 50), 2);
        assert_eq!(nth(&[1, 2, 3], 100), 3);
    }
}
