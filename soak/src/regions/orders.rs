//! All orders of the statements of an operation on each node, and of the moments at which a node
//! applies what the other one has committed.
//!
//! The enumerator chooses between four: the operation of each node runs its next statement, or a
//! node applies. A statement of one node has no effect on the other one until it is applied there.
//! So the second operation, once it has begun, runs to its end before the first one goes on: the
//! other orders leave the same.

use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::ValueEnum;

use super::Regions;
use super::pair::Pair;
use crate::interleave::case::{Case, Script, name_of, replayed};
use crate::interleave::operation::{Context, Database, Operation};
use crate::interleave::report::{HEADER, Tally};
use crate::interleave::schedule::Orders;
use crate::interleave::state::State;
use crate::run::{RIGHT, WRONG};

/// Returns the operations that run on nodes: those on counters of articles that do not write a row
/// that the other node writes too, such as an article or a comment of the starting state.
fn operations_of_nodes() -> Vec<Operation> {
    let mut all = Operation::all(Database::Postgres);
    all.retain(|operation| operation.table() == 0 && !operation.deletes_articles());
    all.retain(|operation| {
        !matches!(
            operation,
            Operation::Uncomment
                | Operation::SetLikes
                | Operation::RecountLikes
                | Operation::MoveLikes
                | Operation::TruncateLikes
                | Operation::RecountColumn
        )
    });
    all
}

/// Returns the cases: each state, with each operation on the first and each on the second node.
fn cases() -> Vec<Case> {
    let all = operations_of_nodes();
    let mut cases = Vec::new();
    for &state in State::value_variants() {
        for &first in &all {
            for &second in &all {
                if [first, second] == [Operation::Unlike; 2] {
                    continue; // Both would delete the same row.
                }
                cases.push(Case {
                    scripts: vec![script(first), script(second)],
                    state,
                    one_slot: false,
                });
            }
        }
    }
    cases
}

/// An operation in a transaction of its own, or else in the caller's.
fn script(operation: Operation) -> Script {
    let contexts = operation.contexts();
    let context = if contexts.contains(&Context::Own) {
        Context::Own
    } else {
        contexts[0]
    };
    Script { operation, context }
}

/// Runs the cases until one is wrong. Returns the exit code.
pub fn run(args: &Regions) -> Result<u8> {
    let seed = args.seed.unwrap_or_else(rand::random);
    let (cases, given) = match &args.replay {
        None => (cases(), None),
        Some(replay) => {
            let (case, order) = replayed(replay)?;
            (vec![case], Some(order))
        }
    };
    let mut pair = Pair::new(args)?;
    let mut tally = Tally::default();
    let began = Instant::now();
    let mut state = cases[0].state;
    println!("regions, seed {seed}\n{HEADER}");
    for case in &cases {
        if case.state != state {
            eprintln!("{state:?}: {} orders so far", tally.interleavings);
            state = case.state;
        }
        let orders = match &given {
            Some(order) => Orders::given(order.clone()),
            None => Orders::all(args.limit, seed),
        };
        let run = pair.case(case, orders, &mut tally);
        run.with_context(|| case.to_string())?;
        if tally.wrong > 0 {
            break; // The nodes can differ from here on.
        }
    }
    tally.took = began.elapsed();
    println!("| regions, {} | {tally} |", args.level);
    let mut command = format!("scripts/soak regions --orders --level \"{}\"", args.level);
    if let Some(fault) = &args.fault {
        command += &format!(" --fault {}", name_of(fault));
    }
    for (number, found) in tally.found.values() {
        found.print(*number, &format!("regions, {}", args.level), &command);
    }
    if tally.wrong > 0 {
        return Ok(WRONG); // The databases are kept.
    }
    let conflicts = pair.end()?;
    if !conflicts.is_empty() {
        println!("regions: WRONG: the servers have found conflicts: {conflicts}");
        return Ok(WRONG);
    }
    Ok(RIGHT)
}
