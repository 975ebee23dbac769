//! Runs the cases, at each isolation level.

use std::collections::HashMap;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use indicatif::{HumanCount, ProgressBar};

use super::driver::Driver;
use super::own_database::{OwnDatabase, connect};
use super::{audit, database, levels};
use crate::interleave::Interleave;
use crate::interleave::case::{Case, cases, name_of, of, replayed};
use crate::interleave::outcome::{Ended, Outcome, Transaction};
use crate::interleave::report::{Found, HEADER, Tally, What};
use crate::interleave::schedule::Orders;
use crate::run::scheme_of;

/// Transactions in one order.
type Transactions = Vec<Transaction>;
/// The serial orders of some transactions, and what each of them leaves.
type Serial = Vec<(Transactions, Outcome)>;

/// Runs everything that the arguments ask for. Returns how many orders were wrong.
pub fn run(args: &Interleave) -> Result<u64> {
    let database = OwnDatabase::create(&args.url)?;
    let wrong = run_on(&database.url, args)?;
    database.remove()?;
    Ok(wrong)
}

fn run_on(url: &str, args: &Interleave) -> Result<u64> {
    let conn = &mut connect(url)?;
    audit::create(conn, url)?;
    let wanted = args.level.to_lowercase().replace('-', " ");
    let all = levels(conn)?.into_iter();
    // All connections have the same level, or those next to each other have different ones.
    let levels = if wanted.contains(BESIDE.trim()) {
        different(&all.collect::<Vec<_>>())
    } else {
        all.map(|(name, set)| (name, vec![set])).collect()
    };
    let wanted = levels
        .iter()
        .filter(|(name, _)| name.to_lowercase().contains(&wanted));
    let seed = args.seed.unwrap_or_else(rand::random);
    let name = args.name.as_deref().unwrap_or(scheme_of(&args.url));
    let (cases, given) = match &args.replay {
        Some(replay) => {
            let (case, order) = replayed(replay)?;
            (vec![case], Some(order))
        }
        None => (chosen(args, seed), None),
    };
    ensure!(
        !cases.is_empty(),
        "there is nothing to run on this database"
    );
    // Those of `--only` and `--replay` can be of another database.
    for case in &cases {
        case.ensure_runs_on(database())?;
    }
    let connections = cases.iter().map(|case| case.scripts.len()).max();
    let fault = match &args.fault {
        None => String::new(),
        Some(fault) => format!(" --fault {}", name_of(fault)),
    };
    println!("{name}, seed {seed}\n{HEADER}");
    let mut all = Tally::default();
    let mut printed = false;
    for (level, set_up) in wanted {
        let mut level_of = Level {
            name: format!("{name}, {level}"),
            driver: Driver::new(url, connections.unwrap_or(0), set_up)?,
            tally: Tally::default(),
            bar: ProgressBar::new_spinner(),
            limit: args.limit,
            seed,
        };
        level_of.run(&cases, given.as_deref(), args.per_level)?;
        level_of.bar.finish_and_clear();
        let tally = level_of.tally;
        println!("| {name}, {level} | {tally} |");
        for (number, found) in tally.found.values() {
            let command = format!("scripts/interleave {name} --level \"{level}\"{fault}");
            found.print(*number, &format!("{name}, {level}"), &command);
            printed = true;
        }
        if printed {
            println!();
        }
        all.add_all(&tally);
    }
    ensure!(all.cases > 0, "the server has no level {:?}", args.level);
    println!("| {name}, all | {all} |");
    Ok(all.wrong)
}

/// The cases that the arguments ask for.
fn chosen(args: &Interleave, seed: u64) -> Vec<Case> {
    if let Some(fault) = args.fault {
        return fault.cases(database());
    }
    if args.only.is_empty() {
        return cases(database(), args.at_once, &args.with, seed);
    }
    of(database(), &args.only)
}

/// What is between the names of the levels of two connections.
const BESIDE: &str = " beside ";

/// Returns each pair of different levels: the name, and what sets the levels, in turns.
fn different(levels: &[(String, String)]) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for (i, (first, set_first)) in levels.iter().enumerate() {
        for (j, (second, set_second)) in levels.iter().enumerate() {
            if i != j {
                let name = format!("{first}{BESIDE}{second}");
                all.push((name, vec![set_first.clone(), set_second.clone()]));
            }
        }
    }
    all
}

/// The run at one isolation level.
struct Level {
    name: String,
    driver: Driver,
    tally: Tally,
    bar: ProgressBar,
    limit: usize,
    seed: u64,
}

impl Level {
    fn run(&mut self, cases: &[Case], given: Option<&[usize]>, at_most: u64) -> Result<()> {
        let began = Instant::now();
        for case in cases {
            if self.tally.interleavings >= at_most {
                break;
            }
            let orders = match given {
                Some(order) => Orders::given(order.to_vec()),
                None => Orders::all(self.limit, self.seed),
            };
            let run = self.case(case, orders);
            run.with_context(|| format!("{}: {case}", self.name))?;
            self.tally.took = began.elapsed();
        }
        Ok(())
    }

    /// Runs the orders of a case.
    fn case(&mut self, case: &Case, mut orders: Orders) -> Result<()> {
        let mut serial = HashMap::new();
        self.tally.cases += 1;
        loop {
            let (ended, trace) = self.driver.run_in_order(case, &mut orders)?;
            if orders.is_new() {
                self.tally.interleavings += 1;
                let what = self.compare(case, &ended, &mut serial)?;
                let order = orders.ran().to_vec();
                if let Some(what) = what {
                    self.tally.add(Found {
                        case: case.clone(),
                        order,
                        what,
                        trace,
                    });
                }
            }
            if !orders.next() {
                break;
            }
        }
        self.tally.sampled += u64::from(orders.is_sampled());
        let done = self.tally.interleavings;
        let wrong = self.tally.wrong;
        let name = &self.name;
        let done = HumanCount(done);
        self.bar.set_message(format!(
            "{name}: {done} interleavings, {wrong} wrong; {case}"
        ));
        self.bar.tick();
        Ok(())
    }

    /// Compares what an order left with what the transactions that committed leave one after
    /// another. A transaction that failed counts as not run, unless it runs in parts.
    fn compare(
        &mut self,
        case: &Case,
        ended: &[(Transaction, Ended)],
        known: &mut HashMap<Transactions, Serial>,
    ) -> Result<Option<What>> {
        let mut committed = Vec::new();
        let mut perhaps = Vec::new();
        for (key, ended) in ended {
            match ended {
                Ended::Committed(_) => committed.push(*key),
                Ended::Failed(failed) => {
                    let Some(kind) = failed.kind else {
                        *self.tally.errors.entry("NOT DOCUMENTED").or_default() += 1;
                        return Ok(Some(What::Error(failed.text.clone())));
                    };
                    *self.tally.errors.entry(kind).or_default() += 1;
                    if case.scripts[key.0].operation.is_in_parts() {
                        perhaps.push(*key);
                    }
                }
            }
        }
        let seen = self.driver.outcome(case, ended)?;
        let mut serial = self.serial(case, &committed, known)?;
        // An operation in parts that has failed can have committed some of them, or all.
        if !perhaps.is_empty() {
            committed.extend(perhaps);
            committed.sort_unstable();
            serial.extend(self.serial(case, &committed, known)?);
        }
        let outcomes: Vec<_> = serial.iter().map(|(_, outcome)| outcome.clone()).collect();
        let is_right = case.comparison().explains(&seen, &outcomes);
        Ok((!is_right).then_some(What::Outcome { seen, serial }))
    }

    /// Returns what these transactions leave in each serial order in which none of them fails.
    fn serial(
        &mut self,
        case: &Case,
        transactions: &[Transaction],
        known: &mut HashMap<Transactions, Serial>,
    ) -> Result<Serial> {
        if let Some(serial) = known.get(transactions) {
            return Ok(serial.clone());
        }
        let mut serial = Vec::new();
        for order in serial_orders(transactions) {
            if let Some(outcome) = self.driver.run_serially(case, &order)? {
                serial.push((order, outcome));
            }
        }
        known.insert(transactions.to_vec(), serial.clone());
        Ok(serial)
    }
}

/// Returns the orders of transactions in which those of each connection keep their order.
fn serial_orders(transactions: &[Transaction]) -> Vec<Transactions> {
    if transactions.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, &first) in transactions.iter().enumerate() {
        let is_next = transactions[..at].iter().all(|other| other.0 != first.0);
        if is_next {
            let mut rest = transactions.to_vec();
            rest.remove(at);
            for mut order in serial_orders(&rest) {
                order.insert(0, first);
                all.push(order);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transactions_of_a_connection_keep_their_order() {
        let [first, second, other] = [(0, 0), (0, 1), (1, 0)];
        let orders = serial_orders(&[first, second, other]);
        let all = [
            vec![first, second, other],
            vec![first, other, second],
            vec![other, first, second],
        ];
        assert_eq!(orders, all);
    }
}
