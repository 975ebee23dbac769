//! An operation on each node, and the lines between the nodes.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use anyhow::{Context as _, Result};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters_cli::recounts;

use super::Regions;
use super::effects::{all_kinds, effects, unknown};
use super::nodes::{Nodes, Stopped};
use crate::check::Round;
use crate::interleave::case::{Case, name_of};
use crate::interleave::gate::Event;
use crate::interleave::outcome::{Ended, Transaction};
use crate::interleave::report::{Found, Tally, What};
use crate::interleave::schedule::Orders;
use crate::interleave::trace::{Step, Trace};
use crate::postgres::on::audit;
use crate::postgres::on::own_database::connect;
use crate::postgres::on::worker::{Job, Worker};
use crate::record::{Change, now};
use crate::run::PATIENCE;

/// The number by which the enumerator chooses that node 0 applies. For node 1, it is one more. The
/// numbers 0 and 1 are the operations of the nodes.
const APPLIES: usize = 2;

/// Holds back what one node has committed, until the other one may apply all of it.
///
/// The worker that applies waits for a row that is locked here, the one of the beacon. It applies
/// in the order of commits, so everything that is committed after the beacon waits too.
struct Line {
    to: usize,
    holder: PgConnection,
    from: PgConnection,
}

impl Line {
    fn new(to: usize, nodes: &Nodes) -> Result<Self> {
        let mut line = Line {
            to,
            holder: connect(&nodes.nodes[to].url)?,
            from: connect(&nodes.nodes[1 - to].url)?,
        };
        line.hold()?;
        Ok(line)
    }

    fn hold(&mut self) -> Result<()> {
        let from = 1 - self.to;
        self.holder.batch_execute(&format!(
            "BEGIN; SELECT FROM beacons WHERE node = {from} FOR UPDATE"
        ))?;
        self.from.batch_execute(&format!(
            "UPDATE beacons SET number = number + 1 WHERE node = {from}"
        ))?;
        Ok(())
    }

    /// Lets the node apply everything that was committed. If an operation on this node `may_block`
    /// the worker, it applies up to a row that the operation has locked.
    fn apply(&mut self, nodes: &mut Nodes, may_block: bool) -> Result<()> {
        self.holder.batch_execute("COMMIT")?;
        if may_block {
            nodes.wait_for_all_or_block(self.to)?;
        } else {
            nodes.wait_for_all(self.to)?;
        }
        self.hold()
    }
}

/// Where the operation of a node is.
#[derive(Debug, Default)]
struct Side {
    /// The statement that it runs next, if it has not ended.
    next: Option<String>,
    /// Whether it has run a statement.
    has_begun: bool,
    in_a_transaction: bool,
    /// Whether it has committed something that the other node has not applied.
    has_news: bool,
}

impl Side {
    /// Whether it has begun, and has not ended.
    fn is_amid(&self) -> bool {
        self.has_begun && self.next.is_some()
    }

    /// Takes its next statement, which is about to run.
    fn take_next(&mut self) -> Option<String> {
        let sql = self.next.take()?;
        self.has_begun = true;
        self.has_news |= sql == "COMMIT" || !self.in_a_transaction;
        self.in_a_transaction &= sql != "COMMIT" && sql != "ROLLBACK";
        Some(sql)
    }
}

/// Returns what can happen next: the number of a node whose operation runs its next statement, or
/// [`APPLIES`] and so on. When both operations have ended, everything is applied anyway.
fn choices([first, second]: &[Side; 2]) -> Vec<usize> {
    let mut choices = Vec::new();
    if first.next.is_some() && !second.is_amid() {
        choices.push(0);
    }
    if second.next.is_some() {
        choices.push(1);
    }
    if second.has_news && first.next.is_some() && !second.is_amid() {
        choices.push(APPLIES);
    }
    if first.has_news && second.next.is_some() {
        choices.push(APPLIES + 1);
    }
    choices
}

/// The operations of both nodes, and the lines between these.
pub struct Pair {
    nodes: Nodes,
    /// The line to each node.
    lines: Vec<Line>,
    workers: Vec<Worker>,
    events: Receiver<Event>,
    /// A connection to each node, which makes the starting state without replicating it.
    resets: Vec<PgConnection>,
    sides: [Side; 2],
    ended: Vec<(Transaction, Ended)>,
    trace: Trace,
}

impl Pair {
    pub fn new(args: &Regions) -> Result<Self> {
        let nodes = Nodes::create(args)?;
        let (sender, events) = channel();
        let mut workers = Vec::new();
        let mut resets = Vec::new();
        for (number, node) in nodes.nodes.iter().enumerate() {
            let set_up = format!(
                "SET synchronous_commit = off;
                 SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {}",
                args.level
            );
            let recounts = Arc::new(recounts(&node.url)?);
            let slot = args.slot(number);
            let sender = sender.clone();
            workers.push(Worker::start(
                number, &node.url, set_up, slot, sender, recounts,
            )?);
            let mut reset = connect(&node.url)?;
            // With `origin = none`, transactions of another origin are not sent.
            reset.batch_execute(
                "SELECT pg_replication_origin_create('soak_reset_' || current_database());
                 SELECT pg_replication_origin_session_setup('soak_reset_' || current_database());
                 SET synchronous_commit = off",
            )?;
            resets.push(reset);
        }
        Ok(Pair {
            lines: vec![Line::new(0, &nodes)?, Line::new(1, &nodes)?],
            nodes,
            workers,
            events,
            resets,
            sides: Default::default(),
            ended: Vec::new(),
            trace: Trace::default(),
        })
    }

    /// Runs the orders of a case, until one is wrong.
    pub fn case(&mut self, case: &Case, mut orders: Orders, tally: &mut Tally) -> Result<()> {
        tally.cases += 1;
        loop {
            let before = self.reset(case)?;
            let ran = self.run_in_order(case, &mut orders);
            tally.interleavings += u64::from(orders.is_new());
            let what = match ran {
                Err(error) if error.is::<Stopped>() => Some(What::Count(error.to_string())),
                ran => {
                    ran?;
                    self.compare(case, before, tally)?
                }
            };
            if let Some(what) = what {
                tally.add(Found {
                    case: case.clone(),
                    order: orders.ran().to_vec(),
                    what,
                    trace: std::mem::take(&mut self.trace),
                });
                return Ok(());
            }
            if !orders.next() {
                break;
            }
        }
        tally.sampled += u64::from(orders.is_sampled());
        Ok(())
    }

    /// Makes the starting state on both nodes. Returns its counts.
    fn reset(&mut self, case: &Case) -> Result<Vec<i64>> {
        for conn in &mut self.resets {
            conn.batch_execute(&case.state.sql())?;
        }
        self.sides = Default::default();
        self.ended.clear();
        self.trace = Trace::default();
        Ok(audit::cells(&mut self.resets[0])?)
    }

    fn run_in_order(&mut self, case: &Case, orders: &mut Orders) -> Result<()> {
        for (node, &script) in case.scripts.iter().enumerate() {
            let job = Job {
                script,
                transactions: 0..script.operation.transactions(),
                slot: 1,
                deletes_articles: false,
            };
            self.workers[node].run(job, true)?;
            self.settle(node)?;
        }
        loop {
            let choices = choices(&self.sides);
            if choices.is_empty() {
                break;
            }
            let chosen = orders.choose(&choices);
            if chosen < APPLIES {
                self.run_statement(chosen)?;
            } else {
                let to = chosen - APPLIES;
                let step = format!("node {to} applies what node {} has committed", 1 - to);
                self.trace.push(Step::Runs(chosen, step));
                self.lines[to].apply(&mut self.nodes, true)?;
                self.sides[1 - to].has_news = false;
            }
        }
        for to in 0..2 {
            self.lines[to].apply(&mut self.nodes, false)?;
        }
        Ok(())
    }

    fn run_statement(&mut self, node: usize) -> Result<()> {
        let sql = self.sides[node].take_next();
        let sql = sql.context("the operation has ended")?;
        self.trace.push(Step::Runs(node, sql));
        self.workers[node].grant()?;
        self.settle(node)
    }

    /// Waits until the operation has a statement to run, or has ended. No other operation can make
    /// it wait.
    fn settle(&mut self, node: usize) -> Result<()> {
        loop {
            let event = self.events.recv_timeout(PATIENCE);
            match event.context("a statement does not end")? {
                Event::Runs(_, sql) => {
                    self.sides[node].in_a_transaction |= sql.starts_with("BEGIN");
                    self.trace.push(Step::Runs(node, sql));
                }
                Event::Ready(_, sql) => {
                    self.sides[node].next = Some(sql);
                    return Ok(());
                }
                Event::Ended(_, ended) => {
                    for (transaction, ended) in ended.into_iter().enumerate() {
                        self.trace.push(Step::Ends(node, ended.to_string()));
                        self.ended.push(((node, transaction), ended));
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Compares the nodes with each other, and the counts, which were `before`, with what the
    /// transactions that committed have changed.
    fn compare(
        &mut self,
        case: &Case,
        before: Vec<i64>,
        tally: &mut Tally,
    ) -> Result<Option<What>> {
        if let Some(difference) = self.nodes.difference()? {
            return Ok(Some(What::Count(difference)));
        }
        let operations = case.scripts.iter().map(|script| script.operation);
        let unknown: HashSet<_> = operations
            .flat_map(|operation| unknown(operation, &before))
            .collect();
        let mut round = Round::new(before);
        round.unknown = unknown;
        for ((node, transaction), ended) in &self.ended {
            let operation = case.scripts[*node].operation;
            match ended {
                Ended::Committed(returned) => round.changes.push(Change {
                    from: 0,
                    to: now(),
                    is_lost: false,
                    effects: effects(operation, *transaction, *node, returned),
                    by: name_of(&operation),
                }),
                Ended::Failed(failed) => {
                    let Some(kind) = failed.kind else {
                        return Ok(Some(What::Error(failed.text.clone())));
                    };
                    *tally.errors.entry(kind).or_default() += 1;
                    // A part of it can have committed.
                    if operation.is_in_parts() {
                        round.unknown.extend(all_kinds(1).chain(all_kinds(2)));
                    }
                }
            }
        }
        let after = audit::cells(&mut self.resets[0])?;
        Ok(round.check_end(&after).err().map(What::Count))
    }

    /// Ends the replication, and removes the databases. Returns the conflicts.
    pub fn end(self) -> Result<String> {
        let Pair {
            mut nodes,
            lines,
            workers,
            resets,
            ..
        } = self;
        drop((lines, workers));
        let conflicts = nodes.end()?;
        for mut reset in resets {
            reset.batch_execute(
                "SELECT pg_replication_origin_session_reset();
                 SELECT pg_replication_origin_drop('soak_reset_' || current_database())",
            )?;
        }
        nodes.remove()?;
        Ok(conflicts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the orders of operations that run these statements, with 2 and 3 where a node
    /// applies.
    fn orders_of(statements: [&[&str]; 2]) -> Vec<String> {
        let mut orders = Orders::all(100, 1);
        let mut all = Vec::new();
        loop {
            let mut left = statements.map(|of_one| of_one.iter().copied());
            let mut sides = [0, 1].map(|node| Side {
                next: left[node].next().map(str::to_owned),
                in_a_transaction: statements[node].contains(&"COMMIT"),
                ..Side::default()
            });
            loop {
                let choices = choices(&sides);
                if choices.is_empty() {
                    break;
                }
                match orders.choose(&choices) {
                    node @ 0..2 => {
                        sides[node].take_next();
                        sides[node].next = left[node].next().map(str::to_owned);
                    }
                    applies => sides[1 - (applies - APPLIES)].has_news = false,
                }
            }
            all.push(orders.ran().iter().map(usize::to_string).collect());
            if !orders.next() {
                return all;
            }
        }
    }

    #[test]
    fn what_committed_is_applied_before_each_later_statement() {
        let transaction: &[&str] = &["INSERT", "COMMIT"];
        let mut orders = orders_of([transaction; 2]);
        orders.sort();
        let all = [
            "0011", "00131", "00311", // the second one last
            "0110", "01120", // between the statements of the first one
            "1100", "11020", "11200", // first
        ];
        assert_eq!(orders, all);
    }

    #[test]
    fn a_statement_without_a_transaction_commits() {
        let mut orders = orders_of([&["UPDATE", "UPDATE"], &["UPDATE"]]);
        orders.sort();
        let all = [
            "001", "0031", "010", "0120", "0301", "03031", "0310", "03120", "100", "1020", "1200",
        ];
        assert_eq!(orders, all);
    }
}
