//! All orders of the statements of an operation on one node, of another operation on the other node, and
//! of the moments at which transactions are applied.
//!
//! The second operation runs in the middle of the first one, or after it. Between two of the second one's
//! statements, what the first one has committed is applied, and between two of the first one's
//! statements, what the second one has.

use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use diesel::connection::{Instrumentation, InstrumentationEvent, SimpleConnection};
use diesel::prelude::*;
use diesel_counters::{is_retryable, with_default_slot};
use diesel_counters_cli::{Recount, recounts};
use rand::seq::IndexedRandom;
use rand::{SeedableRng, rngs::StdRng};

use super::{Nodes, Regions, number, partition};
use crate::interleave::case::{Script, name_of};
use crate::interleave::operation::{Context, Database, Operation};
use crate::interleave::state::State;
use crate::postgres::on::operations;
use crate::postgres::on::own_database::connect;
use crate::postgres::slot_number;

/// What runs on nodes: all but what writes a row of both nodes, such as an article, or works on labels.
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

/// When the second operation runs, and when transactions are applied.
#[derive(Debug, Clone, Copy)]
struct Order {
    /// The statement of the first operation before which the second one runs.
    at: usize,
    /// The statement of the second operation before which the first one's transactions are applied.
    pulls_at: Option<usize>,
    /// Whether the second one's are applied before that statement.
    pushes: bool,
}

/// Holds the transactions of a node back until they are applied at once: the other node's worker waits
/// for the row of its beacon, and applies in the order of commits.
struct Gate {
    to: usize,
    holder: PgConnection,
    from: PgConnection,
}

impl Gate {
    fn new(to: usize, nodes: &Nodes) -> Result<Self> {
        let mut gate = Gate {
            to,
            holder: connect(&nodes.nodes[to].url)?,
            from: connect(&nodes.nodes[1 - to].url)?,
        };
        gate.close()?;
        Ok(gate)
    }

    fn close(&mut self) -> Result<()> {
        let from = 1 - self.to;
        self.holder.batch_execute(&format!(
            "BEGIN; SELECT FROM beacons WHERE node = {from} FOR UPDATE"
        ))?;
        self.from.batch_execute(&format!(
            "UPDATE beacons SET number = number + 1 WHERE node = {from}"
        ))?;
        Ok(())
    }

    /// Applies everything that was committed. If an operation on this node `may_block` it, up to a row
    /// that the operation has locked.
    fn pass(&mut self, nodes: &mut Nodes, may_block: bool) -> Result<()> {
        self.holder.batch_execute("COMMIT")?;
        match may_block {
            true => nodes.wait_for_all_or_block(self.to)?,
            false => nodes.wait_for_all(self.to)?,
        }
        self.close()
    }
}

/// What both operations share: they run in the same thread, one in the middle of the other.
struct Shared {
    nodes: Nodes,
    gates: Vec<Gate>,
}

impl Shared {
    fn pass(&mut self, to: usize, may_block: bool) -> Result<()> {
        let Shared { nodes, gates } = self;
        gates[to].pass(nodes, may_block)
    }
}

/// Calls `f` before the statement with this number.
struct Before<F> {
    statement: Option<usize>,
    seen: Arc<Mutex<usize>>,
    f: F,
}

impl<F: FnMut() + Send + 'static> Instrumentation for Before<F> {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        if !matches!(event, InstrumentationEvent::StartQuery { .. }) {
            return;
        }
        let mut seen = self.seen.lock().expect("no thread panics");
        if self.statement == Some(*seen) {
            (self.f)();
        }
        *seen += 1;
    }
}

/// One operation on one node.
struct Side {
    node: usize,
    script: Script,
    conn: PgConnection,
    recounts: Vec<Recount>,
    planted: bool,
}

impl Side {
    fn new(node: usize, nodes: &Nodes, args: &Regions) -> Result<Self> {
        let mut conn = connect(&nodes.nodes[node].url)?;
        let level = &args.level;
        conn.batch_execute(&format!(
            "SET synchronous_commit = off;
             SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}"
        ))?;
        slot_number(1, &mut conn)?;
        Ok(Side {
            node,
            script: script(Operation::Increment),
            conn,
            recounts: recounts(&nodes.nodes[node].url)?,
            planted: args.planted,
        })
    }

    /// Runs the operation, and `f` before this statement of it. Returns the number of its statements,
    /// and what the operation returned.
    fn run(
        &mut self,
        statement: Option<usize>,
        f: impl FnMut() + Send + 'static,
    ) -> Result<(usize, String)> {
        let seen = Arc::new(Mutex::new(0));
        self.conn.set_instrumentation(Before {
            statement,
            seen: Arc::clone(&seen),
            f,
        });
        let slot = match self.planted {
            true => diesel_counters::Slot::Connection,
            false => partition(self.node),
        };
        let script = self.script;
        let mut returned = Vec::new();
        for transaction in 0..script.operation.transactions() {
            let mut run = || match script.operation {
                Operation::RecountTriggers => {
                    let mut recounts = self.recounts.iter();
                    let all = recounts.try_for_each(|recount| {
                        recount.correct(&mut self.conn, |_, _| {}).map(drop)
                    });
                    all.map(|()| String::new())
                }
                _ => operations::run(script, transaction, self.node, &mut self.conn),
            };
            let returned_now = with_default_slot(slot, || {
                loop {
                    match run() {
                        Err(error) if is_retryable(&error) => {}
                        result => break result,
                    }
                }
            });
            returned.push(returned_now?);
        }
        self.conn
            .set_instrumentation(|_: InstrumentationEvent<'_>| {});
        let seen = *seen.lock().expect("no thread panics");
        Ok((seen, returned.join(" ")))
    }
}

fn script(operation: Operation) -> Script {
    let context = match operation.contexts() {
        contexts if contexts.contains(&Context::Own) => Context::Own,
        contexts => contexts[0],
    };
    Script { operation, context }
}

/// Makes the starting state on each node, without replicating it.
struct Reset(Vec<PgConnection>);

impl Reset {
    fn new(nodes: &Nodes) -> Result<Self> {
        let mut conns = Vec::new();
        for node in &nodes.nodes {
            let mut conn = connect(&node.url)?;
            // With `origin = none`, transactions of another origin are not sent.
            conn.batch_execute(
                "SELECT pg_replication_origin_create('soak_reset_' || current_database());
                 SELECT pg_replication_origin_session_setup('soak_reset_' || current_database());
                 SET synchronous_commit = off",
            )?;
            conns.push(conn);
        }
        Ok(Reset(conns))
    }

    fn to(&mut self, state: State) -> Result<()> {
        for conn in &mut self.0 {
            conn.batch_execute(&state.sql())?;
        }
        Ok(())
    }
}

impl Drop for Reset {
    fn drop(&mut self) {
        for conn in &mut self.0 {
            let _ = conn.batch_execute(
                "SELECT pg_replication_origin_session_reset();
                 SELECT pg_replication_origin_drop('soak_reset_' || current_database())",
            );
        }
    }
}

pub fn run(args: &Regions) -> Result<(String, Option<String>)> {
    let seed = args.seed.unwrap_or_else(rand::random);
    let random = &mut StdRng::seed_from_u64(seed);
    let nodes = Nodes::create(args)?;
    let mut first = Side::new(0, &nodes, args)?;
    let second = Arc::new(Mutex::new(Side::new(1, &nodes, args)?));
    let mut reset = Reset::new(&nodes)?;
    let gates = vec![Gate::new(0, &nodes)?, Gate::new(1, &nodes)?];
    let shared = Arc::new(Mutex::new(Shared { nodes, gates }));
    let all = operations_of_nodes();
    let (mut orders, mut cases) = (0_u64, 0_u64);
    let mut wrong = None;
    'all: for state in State::value_variants() {
        for &a in &all {
            for &b in &all {
                if a == b && a == Operation::Unlike {
                    continue; // Both would delete the same row.
                }
                first.script = script(a);
                second.lock().expect("no thread panics").script = script(b);
                let mut case = Case {
                    first: &mut first,
                    second: &second,
                    shared: &shared,
                    reset: &mut reset,
                    state: *state,
                };
                cases += 1;
                // The first order says how many statements each has.
                let alone = Order {
                    at: usize::MAX,
                    pulls_at: None,
                    pushes: false,
                };
                let mut found = case.run(alone)?;
                orders += 1;
                let all = all_orders(a, found.statements);
                let chosen: Vec<_> = all.sample(random, args.limit.min(all.len())).collect();
                for &order in chosen {
                    if found.wrong.is_some() {
                        break;
                    }
                    found = case.run(order)?;
                    orders += 1;
                }
                if let Some(what) = found.wrong {
                    wrong = Some(what);
                    break 'all;
                }
            }
        }
        eprintln!("{state:?}: {cases} cases, {orders} orders so far");
    }
    drop((first, second, reset));
    let shared = Arc::into_inner(shared).expect("nothing else has it");
    let Shared { mut nodes, gates } = shared.into_inner().expect("no thread panics");
    drop(gates);
    let conflicts = nodes.end()?;
    if wrong.is_none() && !conflicts.is_empty() {
        wrong = Some(format!("the servers have found conflicts: {conflicts}"));
    }
    if wrong.is_none() {
        nodes.remove()?;
    }
    let done = format!("{cases} cases, {orders} orders (seed {seed})");
    Ok((done, wrong))
}

fn all_orders(a: Operation, statements: [usize; 2]) -> Vec<Order> {
    let [of_first, of_second] = statements;
    let mut all = Vec::new();
    for at in 0..=of_first {
        let is_after = at == of_first;
        for pushes in [false, true] {
            if is_after && pushes {
                continue; // At the end, everything is applied.
            }
            let mut add = |pulls_at| {
                all.push(Order {
                    at: if is_after { usize::MAX } else { at },
                    pulls_at,
                    pushes,
                })
            };
            add(None);
            // Otherwise the first operation has committed nothing yet.
            if is_after || a.is_in_parts() || a.transactions() > 1 {
                (0..of_second).for_each(|pulls_at| add(Some(pulls_at)));
            }
        }
    }
    all
}

struct Case<'a> {
    first: &'a mut Side,
    second: &'a Arc<Mutex<Side>>,
    shared: &'a Arc<Mutex<Shared>>,
    reset: &'a mut Reset,
    state: State,
}

struct Found {
    /// The number of statements of each operation.
    statements: [usize; 2],
    wrong: Option<String>,
}

/// What is stored and counted on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sums {
    views: i64,
    comments: i64,
    comment_rows: i64,
    likes: i64,
    like_rows: i64,
}

impl Sums {
    fn of(conn: &mut PgConnection) -> QueryResult<Self> {
        let mut sum = |column: &str| {
            let sum =
                format!("SELECT CAST(COALESCE(SUM({column}), 0) AS BIGINT) FROM article_counters");
            number(&sum, conn)
        };
        let [views, comments, likes] = [sum("views")?, sum("comments")?, sum("likes")?];
        Ok(Sums {
            views,
            comments,
            likes,
            comment_rows: number("SELECT COUNT(*) FROM comments", conn)?,
            like_rows: number("SELECT COUNT(*) FROM article_likes", conn)?,
        })
    }
}

impl Case<'_> {
    fn run(&mut self, order: Order) -> Result<Found> {
        self.reset.to(self.state)?;
        let start = Sums::of(&mut self.reset.0[0])?;
        let error = Arc::new(Mutex::new(None));
        let second_ran = Arc::new(Mutex::new(None));
        let run_second = {
            let (second, shared) = (Arc::clone(self.second), Arc::clone(self.shared));
            let (error, ran) = (Arc::clone(&error), Arc::clone(&second_ran));
            move || {
                let run = || -> Result<(usize, String)> {
                    let (pulled, failed) = (Arc::clone(&shared), Arc::clone(&error));
                    let mut second = second.lock().expect("no thread panics");
                    let ran = second.run(order.pulls_at, move || {
                        let passed = pulled.lock().expect("no thread panics").pass(1, true);
                        if let Err(found) = passed {
                            *failed.lock().expect("no thread panics") = Some(found);
                        }
                    })?;
                    if order.pushes {
                        shared.lock().expect("no thread panics").pass(0, true)?;
                    }
                    Ok(ran)
                };
                match run() {
                    Ok(found) => *ran.lock().expect("no thread panics") = Some(found),
                    Err(found) => *error.lock().expect("no thread panics") = Some(found),
                }
            }
        };
        let (of_first, first_returned) = self.first.run(Some(order.at), run_second.clone())?;
        if order.at >= of_first {
            run_second.clone()();
        }
        if let Some(error) = error.lock().expect("no thread panics").take() {
            return Err(error.context(self.name(order)));
        }
        let ran = second_ran.lock().expect("no thread panics").take();
        let (of_second, second_returned) = ran.unwrap_or_default();
        let mut shared = self.shared.lock().expect("no thread panics");
        for to in 0..2 {
            let passed = shared.pass(to, false);
            passed.with_context(|| self.name(order))?;
        }
        let mut wrong = shared.nodes.difference()?;
        let end = Sums::of(&mut shared.nodes.nodes[0].conn)?;
        if wrong.is_none() {
            let returned = [first_returned, second_returned];
            wrong = self.wrong_sums(start, end, &returned);
        }
        Ok(Found {
            statements: [of_first, of_second],
            wrong: wrong.map(|wrong| format!("{}: {wrong}", self.name(order))),
        })
    }

    fn operations(&self) -> [Operation; 2] {
        let second = self.second.lock().expect("no thread panics");
        [self.first.script.operation, second.script.operation]
    }

    fn name(&self, order: Order) -> String {
        let [a, b] = self.operations().map(|operation| name_of(&operation));
        format!(
            "{a} on node 0, {b} on node 1, from {:?}, {order:?}",
            self.state
        )
    }

    /// Compares the sums with what the operations say they did. A deletion removes what has arrived, and
    /// an import sets what it sees: beside one, only the nodes are compared.
    fn wrong_sums(&self, start: Sums, end: Sums, returned: &[String; 2]) -> Option<String> {
        let operations = self.operations();
        let unknown = [Operation::Delete, Operation::DeleteMany, Operation::SetDays];
        if operations.iter().any(|one| unknown.contains(one)) {
            return None;
        }
        let mut views = start.views;
        for (node, (operation, returned)) in operations.iter().zip(returned).enumerate() {
            let amount = 10_i64.pow(node as u32);
            let last = returned.split(' ').next_back().unwrap_or_default();
            let before = last.parse::<i64>().unwrap_or_default();
            views += match operation {
                Operation::Increment | Operation::Past => amount,
                Operation::Many | Operation::Buffer | Operation::CountingTransaction => 2 * amount,
                Operation::Set | Operation::SetDay => 1_000 * amount - before,
                Operation::CountThenSet => amount + 1_000 * amount - before,
                _ => 0,
            };
        }
        if views != end.views {
            let stored = end.views;
            return Some(format!(
                "{stored} views are stored, and {views} were counted"
            ));
        }
        // Two corrections of one drift add it twice.
        if start.comments != start.comment_rows || start.likes != start.like_rows {
            return None;
        }
        if end.comments != end.comment_rows || end.likes != end.like_rows {
            return Some(format!(
                "comments and likes are not those of the rows: {end:?}"
            ));
        }
        None
    }
}
