//! What the enumerator has run and found, and how it is printed.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use indicatif::HumanCount;

use super::case::Case;
use super::outcome::{Outcome, Transaction, letter, transaction_name};
use super::trace::Trace;

/// What was run at one isolation level.
#[derive(Debug, Default)]
pub struct Tally {
    pub cases: u64,
    /// The cases with too many orders to run all.
    pub sampled: u64,
    pub interleavings: u64,
    pub wrong: u64,
    pub errors: BTreeMap<&'static str, u64>,
    pub took: Duration,
    /// For each combination of operations, how many orders were wrong, and the shortest of them.
    pub found: BTreeMap<String, (u64, Found)>,
}

impl Tally {
    /// Adds a wrong order.
    pub fn add(&mut self, found: Found) {
        self.wrong += 1;
        let key = found.case.operations();
        match self.found.get_mut(&key) {
            None => drop(self.found.insert(key, (1, found))),
            Some((number, shortest)) => {
                *number += 1;
                if found.trace.length() < shortest.trace.length() {
                    *shortest = found;
                }
            }
        }
    }

    /// Adds what was run at another level, without what was found there.
    pub fn add_all(&mut self, other: &Tally) {
        self.cases += other.cases;
        self.sampled += other.sampled;
        self.interleavings += other.interleavings;
        self.wrong += other.wrong;
        self.took += other.took;
        for (kind, number) in &other.errors {
            *self.errors.entry(kind).or_default() += number;
        }
    }
}

pub const HEADER: &str = "| | cases | sampled | interleavings | wrong | seconds | errors |\n\
    | --- | ---: | ---: | ---: | ---: | ---: | --- |";

/// A row of the table under [`HEADER`], without its name.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.errors.iter();
        let errors = errors.map(|(kind, number)| format!("{kind} {}", HumanCount(*number)));
        write!(
            f,
            "{} | {} | {} | {} | {} | {}",
            HumanCount(self.cases),
            HumanCount(self.sampled),
            HumanCount(self.interleavings),
            HumanCount(self.wrong),
            self.took.as_secs(),
            errors.collect::<Vec<_>>().join(", ")
        )
    }
}

/// A wrong outcome, or an error that is not documented.
#[derive(Debug)]
pub struct Found {
    pub case: Case,
    /// Who ran each statement.
    pub order: Vec<usize>,
    pub what: What,
    pub trace: Trace,
}

#[derive(Debug)]
pub enum What {
    Outcome {
        seen: Outcome,
        serial: Vec<(Vec<Transaction>, Outcome)>,
    },
    Error(String),
}

impl Found {
    /// Prints what was seen, the statements, and the command that runs them again.
    ///
    /// `command` runs orders at this level, and takes `--replay`.
    pub fn print(&self, number: u64, level: &str, command: &str) {
        let case = &self.case;
        println!("\n{level}: {}: {number} WRONG", case.operations());
        println!("  from: {case}");
        match &self.what {
            What::Error(text) => println!("  an error that is not documented: {text}"),
            What::Outcome { seen, serial } => {
                let all = serial.iter().map(|(_, outcome)| outcome).chain([seen]);
                let differing = Outcome::differing(all);
                println!("  seen: {}", seen.text(&differing));
                for (order, outcome) in serial {
                    let order = order.iter().map(|&one| transaction_name(one));
                    let order = order.collect::<Vec<_>>().join(", then ");
                    println!("  {order}: {}", outcome.text(&differing));
                }
            }
        }
        print!("{}", self.trace);
        let order: String = self
            .order
            .iter()
            .map(|&connection| letter(connection))
            .collect();
        println!("  again: {command} --replay \"{case} {order}\"");
    }
}
