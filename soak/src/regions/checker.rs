//! Random operations on both nodes, while the line between them is cut and the servers are killed.

use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use diesel::connection::SimpleConnection;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::dsl::{delete_counters, recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters::{Drift, Period, Slot, is_retryable, with_default_slot};
use diesel_counters_cli::{Recount, recounts};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use super::{Nodes, Regions, partition, text};
use crate::postgres::on::own_database::{connect, connect_to};
use crate::postgres::on::thread::{fold_into, merge};
use crate::run::Tally;
use crate::server::Server;
use crate::tables::article_counters::dsl::{article_counters, comments as commented, views};
use crate::tables::label_counters::dsl::given;
use crate::tables::{Article, DAYS, article_likes, articles, comments, counted, day, label_of};

/// The articles whose counters are never deleted.
const KEPT: RangeInclusive<i64> = 1..=6;
/// The articles whose counters are deleted now and then. Only their views are counted.
const DELETED: RangeInclusive<i64> = 7..=8;

/// How long the threads run until both nodes are compared.
const ROUND: Duration = Duration::from_secs(20);

struct Checker<'a> {
    args: &'a Regions,
    urls: Vec<String>,
    recounts: Vec<Recount>,
    servers: Vec<Server>,
    next_id: AtomicU64,
    tally: Tally,
    is_over: AtomicBool,
    wrong: Mutex<Option<String>>,
}

pub fn run(args: &Regions) -> Result<(String, Option<String>)> {
    let seed = args.seed.unwrap_or_else(rand::random);
    let commands = args.server.iter();
    let servers = commands.map(|command| Server::run(command.clone()));
    let servers = servers.collect::<Result<Vec<_>>>()?;
    let mut nodes = Nodes::create(args)?;
    let checker = Checker {
        args,
        urls: nodes.nodes.iter().map(|node| node.url.clone()).collect(),
        recounts: recounts(&nodes.nodes[0].url)?,
        servers,
        next_id: rand::random_range(1..1_u64 << 40).into(),
        tally: Tally::default(),
        is_over: false.into(),
        wrong: Mutex::default(),
    };
    let (began, time) = (Instant::now(), Duration::from_secs_f64(args.seconds));
    let all_kills = match checker.servers[..] {
        [] => 0,
        _ => args.kills,
    };
    let (mut rounds, mut cuts, mut kills) = (0_u64, 0, 0);
    while began.elapsed() < time && checker.wrong().is_none() {
        let left = time.saturating_sub(began.elapsed()).min(ROUND);
        // They are spread evenly over the whole time.
        let part = (began.elapsed() + left).as_secs_f64() / args.seconds;
        let due = |all: u32| (f64::from(all) * part).round().min(all.into()) as u32;
        let of_round = (due(args.cuts) - cuts, due(all_kills) - kills);
        checker.is_over.store(false, Relaxed);
        thread::scope(|scope| {
            for node in 0..2 {
                for thread in 0..args.threads {
                    let number = (rounds * 2 + node) * 1_000 + thread as u64;
                    let random = StdRng::seed_from_u64(seed.wrapping_add(number));
                    let checker = &checker;
                    scope.spawn(move || checker.thread(node as usize, thread, random));
                }
            }
            let disturbed = checker.disturb(left, of_round, &mut nodes, seed ^ rounds);
            checker.is_over.store(true, Relaxed);
            disturbed
        })?;
        cuts += of_round.0;
        kills += of_round.1;
        rounds += 1;
        if let Some(wrong) = checker.compare(&mut nodes)? {
            checker.found(wrong);
        }
        eprintln!("round {rounds}: {checker}, {cuts} cuts, {kills} kills");
    }
    let conflicts = nodes.end()?;
    if !conflicts.is_empty() {
        checker.found(format!("the servers have found conflicts: {conflicts}"));
    }
    let wrong = checker.wrong();
    if wrong.is_none() {
        nodes.remove()?;
    }
    let done = format!("{rounds} rounds, {checker}, {cuts} cuts, {kills} kills (seed {seed})");
    Ok((done, wrong))
}

impl std::fmt::Display for Checker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally {
            transactions,
            retries,
            lost_answers,
            ..
        } = &self.tally;
        let counts = [transactions, retries, lost_answers];
        let [operations, retries, lost] = counts.map(|of| of.load(Relaxed));
        write!(
            f,
            "{operations} operations, {retries} retries, {lost} answers lost"
        )
    }
}

impl Checker<'_> {
    fn wrong(&self) -> Option<String> {
        self.wrong.lock().expect("no thread panics").clone()
    }

    fn found(&self, wrong: String) {
        let mut first = self.wrong.lock().expect("no thread panics");
        first.get_or_insert(wrong);
        self.is_over.store(true, Relaxed);
    }

    /// Cuts the line and kills the servers, at random moments of this time.
    fn disturb(
        &self,
        time: Duration,
        (cuts, kills): (u32, u32),
        nodes: &mut Nodes,
        seed: u64,
    ) -> Result<()> {
        let random = &mut StdRng::seed_from_u64(seed);
        let began = Instant::now();
        let mut events: Vec<(f64, bool)> = Vec::new();
        events.extend((0..cuts).map(|_| (random.random(), false)));
        events.extend((0..kills).map(|_| (random.random(), true)));
        events.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let sleep_until = |part: f64| {
            let at = time.mul_f64(part);
            while began.elapsed() < at && !self.is_over.load(Relaxed) {
                thread::sleep(Duration::from_millis(10));
            }
        };
        for (at, is_kill) in events {
            sleep_until(at);
            let node = random.random_range(0..2);
            if is_kill {
                let server = &self.servers[node];
                server.kill()?;
                thread::sleep(Duration::from_millis(random.random_range(0..500)));
                nodes.nodes[node].conn = connect_to(&self.urls[node], Some(server))?;
            } else {
                let both = random.random_range(0..3) == 0;
                for to in [Some(node), both.then_some(1 - node)].into_iter().flatten() {
                    nodes.switch(to, false)?;
                }
                // Some cuts last long.
                let longest = [8_000, 700][usize::from(random.random_range(0..10) > 0)];
                thread::sleep(Duration::from_millis(random.random_range(0..longest)));
                for to in 0..2 {
                    nodes.switch(to, true)?;
                }
            }
        }
        sleep_until(1.0);
        Ok(())
    }

    /// Compares the nodes with each other, and with what was counted.
    fn compare(&self, nodes: &mut Nodes) -> Result<Option<String>> {
        for to in 0..2 {
            nodes.wait_for_all(to)?;
        }
        // The second wait is for what the first one has let through.
        if let Some(difference) = nodes.difference()? {
            return Ok(Some(difference));
        }
        let kept = format!("BETWEEN {} AND {}", KEPT.start(), KEPT.end());
        let wrong = format!(
            "SELECT string_agg(concat_ws(' ', 'article', id, what, 'stored', stored, 'counted', counted), '; ')
             FROM (SELECT id, what, SUM(stored) AS stored, SUM(counted) AS counted FROM (
                 SELECT article_id AS id, 'views' AS what, views AS stored, 0 AS counted FROM article_counters
                 UNION ALL SELECT article_id, 'views', 0, views FROM counted
                 UNION ALL SELECT article_id, 'labels', given, 0 FROM label_counters
                 UNION ALL SELECT article_id, 'labels', 0, views FROM counted WHERE transaction_id > 0
                 UNION ALL SELECT article_id, 'comments', comments, 0 FROM article_counters
                 UNION ALL SELECT article_id, 'comments', 0, 1 FROM comments
                 UNION ALL SELECT article_id, 'likes', likes, 0 FROM article_counters
                 UNION ALL SELECT article_id, 'likes', 0, 1 FROM article_likes
             ) AS kinds WHERE id {kept} GROUP BY id, what HAVING SUM(stored) <> SUM(counted)) AS wrong"
        );
        Ok(text(&wrong, &mut nodes.nodes[0].conn)?)
    }

    fn thread(&self, node: usize, thread: usize, mut random: StdRng) {
        let slot = match self.args.planted {
            true => Slot::Connection,
            false => partition(node),
        };
        with_default_slot(slot, || {
            while !self.is_over.load(Relaxed) {
                if let Err(error) = self.session(node, thread, &mut random) {
                    self.found(format!("{error:#}"));
                }
            }
        });
    }

    /// Runs operations until the connection is lost, or the round is over.
    fn session(&self, node: usize, thread: usize, random: &mut StdRng) -> Result<()> {
        let mut conn = connect(&self.urls[node])?;
        conn.batch_execute("SET deadlock_timeout = '100ms'")?;
        while !self.is_over.load(Relaxed) {
            let id = self.next_id.fetch_add(1, Relaxed) as i64;
            let Err(error) = self.one(node, thread, id, random, &mut conn) else {
                self.tally.transactions.fetch_add(1, Relaxed);
                continue;
            };
            let error = error.downcast::<Error>()?;
            if is_retryable(&error) {
                self.tally.retries.fetch_add(1, Relaxed);
                continue;
            }
            // Whether it has committed is known from the table `counted`.
            let is_lost = conn.batch_execute("SELECT 1").is_err();
            ensure!(
                is_lost && !self.servers.is_empty(),
                "node {node}: {error:?}"
            );
            self.tally.lost_answers.fetch_add(1, Relaxed);
            return Ok(());
        }
        Ok(())
    }

    fn one(
        &self,
        node: usize,
        thread: usize,
        id: i64,
        random: &mut impl Rng,
        conn: &mut PgConnection,
    ) -> Result<()> {
        let article = random.random_range(KEPT);
        let one = Article { id: article };
        let on = day(random.random_range(0..DAYS));
        let source = || {
            comments::table
                .group_by(comments::article_id)
                .select((comments::article_id, count_star()))
        };
        match random.random_range(0..100) {
            0..40 => conn.transaction(|conn| {
                let amount = random.random_range(-3..10);
                let count = increment(views).of(article).by(amount);
                count.on(on).execute(conn)?;
                let is_labelled = random.random();
                if is_labelled {
                    let label = (article, label_of(random.random_range(0..DAYS)));
                    let count = increment(given).on(on);
                    count.of_many([(label, amount)]).execute(conn)?;
                }
                count_views(if is_labelled { id } else { -id }, article, amount, conn)
            })?,
            40..50 => conn.transaction(|conn| {
                let amounts = KEPT.map(|article| (article, article));
                increment(views).of_many(amounts).on(on).execute(conn)?;
                let mut kept = KEPT;
                kept.try_for_each(|article| count_views(-id, article, article, conn))
            })?,
            50..62 => conn.transaction(|conn| {
                let of = (comments::article_id.eq(article), comments::day.eq(on));
                diesel::insert_into(comments::table)
                    .values((comments::id.eq(id), of))
                    .execute(conn)?;
                increment(commented).of(article).on(on).execute(conn)?;
                QueryResult::Ok(())
            })?,
            62..70 => {
                // Each thread has users of its own, as each region has.
                let user = (node * 1_000 + thread) as i64;
                let is_liked = diesel::delete(article_likes::table.find((article, user)));
                if is_liked.execute(conn)? == 0 {
                    crate::postgres::like(article, user, conn)?;
                }
            }
            70..75 => conn.transaction(|conn| {
                let to = random.random_range(0..1_000);
                let before = match random.random_range(0..2) {
                    0 => set_counter(views).of(&one).to(to).execute(conn)?,
                    _ => set_counter(views).of(article).on(on).to(to).execute(conn)?,
                };
                count_views(-id, article, to - before, conn)
            })?,
            75..79 => {
                let drift: Vec<Drift<i64>> = recount(commented, source()).of(&one).execute(conn)?;
                refuse_drift(node, !drift.is_empty(), &drift)?;
            }
            79..81 => {
                let drift: Vec<Drift<i64>> = recount(commented, source()).execute(conn)?;
                let drift = drift.iter().filter(|drift| KEPT.contains(&drift.entity));
                let drift: Vec<_> = drift.collect();
                refuse_drift(node, !drift.is_empty(), &drift)?;
            }
            81..83 => {
                for recount in &self.recounts {
                    let wrong = recount.correct(conn, |_, _| {})?;
                    let is_wrong = !wrong.is_empty() && recount.table == "article_counters";
                    refuse_drift(node, is_wrong, &wrong)?;
                }
            }
            83..88 => {
                merge(conn)?;
            }
            88..92 => {
                let into = [Period::Month, Period::Year, Period::Total];
                fold_into(into[random.random_range(0..3)], conn)?;
            }
            92..95 => {
                let deleted = random.random_range(DELETED);
                increment(views).of(deleted).on(on).execute(conn)?;
                if random.random_range(0..3) == 0 {
                    let delete = delete_counters(article_counters);
                    delete.of(&Article { id: deleted }).execute(conn)?;
                }
            }
            95..97 => {
                let log = [on, day(0)].map(|on| (*DELETED.start(), on, 7));
                set_counter(views).of_days(log).execute(conn)?;
            }
            _ => {
                // Of this node alone: an article is not replicated.
                Article::materialize(views, articles::total_views).execute(conn)?;
            }
        }
        Ok(())
    }
}

/// Writes what a transaction counts, in the same transaction. Labels are
/// counted with positive numbers.
fn count_views(id: i64, article: i64, amount: i64, conn: &mut PgConnection) -> QueryResult<()> {
    let row = (
        counted::transaction_id.eq(id),
        counted::article_id.eq(article),
        counted::day.eq(day(0)),
        counted::views.eq(amount),
    );
    let insert = diesel::insert_into(counted::table).values(row);
    insert.execute(conn).map(drop)
}

/// A transaction arrives as a whole, so that no node ever sees rows and counts that differ.
fn refuse_drift(node: usize, is_wrong: bool, drift: &dyn std::fmt::Debug) -> Result<()> {
    ensure!(!is_wrong, "node {node}: a recount has found {drift:?}");
    Ok(())
}
