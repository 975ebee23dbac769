//! The rounds of the checker on both nodes, while the line between them is cut and the servers are
//! killed.
//!
//! At the end of each round, the line is healed. Both nodes then have to have the same rows, which
//! the checker compares with what the threads of both have committed.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::dsl::{delete_counters, set_counter};
use diesel_counters::prelude::*;
use diesel_counters::{is_retryable, with_default_slot};
use diesel_counters_cli::{Recount, recounts};
use rand::RngExt;

use super::Regions;
use super::nodes::{Nodes, UNCHECKED};
use crate::postgres::on::own_database::{connect, connect_to};
use crate::postgres::on::soak::rounds;
use crate::run::{Failure, Run, Settings};
use crate::server::Server;
use crate::tables::article_counters::dsl::{article_counters, views};
use crate::tables::{Article, DAYS, day};

/// The pause between two operations that the checker does not know of.
const PAUSE: Duration = Duration::from_millis(20);

/// A run on nodes whose line is cut, and whose servers are killed.
struct Disturbed<'a> {
    args: &'a Regions,
    run: &'a Run,
    servers: Vec<Server>,
    urls: Vec<String>,
    /// The recount of what triggers count in slots. That of the column is left out, because
    /// articles are not replicated.
    recount: Recount,
    nodes: Mutex<Nodes>,
    /// Locked for reading during an operation that the checker does not know of, and for writing
    /// while the nodes are compared.
    compared: RwLock<()>,
    cuts: AtomicU32,
    /// The first error of a thread that is none of the checker's.
    found: Mutex<Option<Failure>>,
}

/// Runs rounds until the time is over or something is wrong. Returns the exit code.
pub fn run(args: &Regions) -> Result<u8> {
    let commands = args.server.len();
    ensure!(
        commands == 0 || commands == 2,
        "give the command of each server, or none"
    );
    let mut servers = Vec::new();
    for command in &args.server {
        servers.push(Server::run(command.clone())?);
    }
    let nodes = Nodes::create(args)?;
    let urls: Vec<_> = nodes.nodes.iter().map(|node| node.url.clone()).collect();
    let run = Run::new(Settings {
        urls: urls.clone(),
        name: Some("regions".to_owned()),
        seconds: args.seconds,
        threads: args.threads,
        seed: args.seed,
        session: args.session.clone(),
        fault: args.fault,
        killed: !servers.is_empty(),
        applies_later: true,
        ..Settings::default()
    })?;
    let mut recounts = recounts(&urls[0])?.into_iter();
    let recount = recounts.find(|recount| recount.table == "article_counters");
    let disturbed = Disturbed {
        args,
        run: &run,
        servers,
        recount: recount.context("no triggers count in slots")?,
        urls,
        nodes: Mutex::new(nodes),
        compared: RwLock::new(()),
        cuts: 0.into(),
        found: Mutex::default(),
    };
    let mut failure = thread::scope(|scope| {
        scope.spawn(|| disturbed.note(disturbed.disturb()));
        for node in 0..2 {
            let disturbed = &disturbed;
            let unchecked = move || disturbed.note(disturbed.unchecked(node));
            scope.spawn(move || with_default_slot(args.slot(node), unchecked));
        }
        rounds(&run, &|| disturbed.meet())
    })?;
    failure = failure.or(disturbed.found.into_inner().expect("no thread panics"));
    println!("regions: {} cuts", disturbed.cuts.load(Relaxed));
    let mut nodes = disturbed.nodes.into_inner().expect("no thread panics");
    let conflicts = nodes.end()?;
    if failure.is_none() && !conflicts.is_empty() {
        let conflicts = format!("the servers have found conflicts: {conflicts}");
        failure = Some(Failure::Wrong(conflicts));
    }
    if failure.is_none() {
        nodes.remove()?;
    }
    Ok(run.report(failure.as_ref()))
}

impl Disturbed<'_> {
    /// Keeps an error, and ends the round.
    fn note(&self, result: Result<()>) {
        if let Err(error) = result {
            let mut found = self.found.lock().expect("no thread panics");
            found.get_or_insert(Failure::Wrong(format!("{error:#}")));
            self.run.stop();
        }
    }

    /// Waits until each node has applied what the other one has committed, and compares their rows.
    /// It is called when no thread of the checker runs and the line is not cut.
    fn meet(&self) -> Result<(), Failure> {
        let _nothing_else_runs = self.compared.write().expect("no thread panics");
        if let Some(found) = self.found.lock().expect("no thread panics").take() {
            return Err(found);
        }
        let mut nodes = self.nodes.lock().expect("no thread panics");
        let mut difference = || {
            nodes.wait_for_all(0)?;
            nodes.wait_for_all(1)?;
            nodes.difference()
        };
        match difference() {
            Ok(None) => Ok(()),
            Ok(Some(difference)) => Err(Failure::Wrong(difference)),
            Err(error) => Err(Failure::Wrong(format!("{error:#}"))),
        }
    }

    /// Cuts the line and kills the servers, at random moments of the run.
    fn disturb(&self) -> Result<()> {
        let random = &mut rand::rng();
        let kills = if self.servers.is_empty() {
            0
        } else {
            self.args.kills
        };
        // A part of the time, and whether a server is killed at that moment.
        let mut events: Vec<(f64, bool)> = Vec::new();
        events.extend((0..self.args.cuts).map(|_| (random.random(), false)));
        events.extend((0..kills).map(|_| (random.random(), true)));
        events.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let mut last = 0.0;
        for (at, is_kill) in events {
            let pause = Duration::from_secs_f64((at - last) * self.args.seconds);
            last = at;
            if !self.run.goes_on_for(pause) {
                break;
            }
            let _quiet = self.run.quiet.lock();
            let nodes = &mut *self.nodes.lock().expect("no thread panics");
            let node = random.random_range(0..2);
            if is_kill {
                self.kill(node, nodes)?;
            } else {
                self.cut(node, nodes)?;
            }
        }
        Ok(())
    }

    /// Kills the server of a node, and starts it again after a moment.
    fn kill(&self, node: usize, nodes: &mut Nodes) -> Result<()> {
        let server = &self.servers[node];
        server.kill()?;
        thread::sleep(Duration::from_millis(rand::random_range(0..500)));
        nodes.nodes[node].conn = connect_to(&self.urls[node], Some(server))?;
        self.run.tally.servers_killed.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Cuts the line to this node for a moment, and one time in three also that to the other node.
    fn cut(&self, node: usize, nodes: &mut Nodes) -> Result<()> {
        nodes.switch(node, false)?;
        if rand::random_range(0..3) == 0 {
            nodes.switch(1 - node, false)?;
        }
        let is_long = rand::random_range(0..10) == 0;
        let longest = if is_long { 8_000 } else { 700 };
        thread::sleep(Duration::from_millis(rand::random_range(0..longest)));
        for to in 0..2 {
            nodes.switch(to, true)?;
        }
        self.cuts.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Runs operations on a node that the checker does not know of, until the run ends.
    fn unchecked(&self, node: usize) -> Result<()> {
        let mut conn = connect(&self.urls[node])?;
        while self.run.goes_on_for(PAUSE) {
            let operation = {
                let _not_compared = self.compared.read().expect("no thread panics");
                self.one(node, &mut conn)
            };
            let Err(error) = operation else { continue };
            let error = error.downcast::<Error>()?;
            if is_retryable(&error) {
                continue;
            }
            let is_lost = diesel::sql_query("SELECT 1").execute(&mut conn).is_err();
            ensure!(is_lost && self.run.kills(), "node {node}: {error:?}");
            conn = connect(&self.urls[node])?;
        }
        Ok(())
    }

    /// Runs an operation on an article that is not checked, or the command's recount of all
    /// articles.
    fn one(&self, node: usize, conn: &mut PgConnection) -> Result<()> {
        let article = rand::random_range(UNCHECKED);
        let on = day(rand::random_range(0..DAYS));
        match rand::random_range(0..10) {
            0..5 => {
                increment(views).of(article).on(on).execute(conn)?;
            }
            5..7 => {
                let delete = delete_counters(article_counters);
                delete.of(&Article { id: article }).execute(conn)?;
            }
            7 => {
                let log = [on, day(0)].map(|on| (article, on, 7));
                set_counter(views).of_days(log).execute(conn)?;
            }
            // A transaction arrives as a whole, so at no time do rows and counts differ on a node.
            _ => {
                let drift = self.recount.correct(conn, |_, _| {})?;
                ensure!(
                    drift.is_empty(),
                    "node {node}: a recount has found {drift:?}"
                );
            }
        }
        Ok(())
    }
}
