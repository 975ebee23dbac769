//! The tags of an image board: each transaction tags a post, and triggers count the posts of the
//! site, the tags of each post, and the usages of each tag. The tables and the transactions have the
//! shape of those of `liamw1/oxibooru`, which counts with row triggers on plain rows.
//!
//! There, the triggers on plain rows are deferred to the COMMIT, tags are replaced by a DELETE and one
//! INSERT of several rows, and the row of the site counts posts, not tags.
//!
//! The triggers of this crate are what `diesel-counters generate trigger` writes: a test of the command
//! compares them.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use clap::ValueEnum;
use diesel::prelude::*;
use rand::seq::{SliceRandom, index};

use crate::counter::{Limit, commit};
use crate::database::{Describe, Engine, for_each_connection, with_connection};
use crate::figures::median;
use crate::run::wait_for_workers;
use crate::server::Server;
use crate::table::{Table, three_digits};
use crate::tally::Tally;
use crate::way::Count;
use crate::worker::WARM_UP;

const CONNECTIONS: i64 = 16;
const TAGS: i64 = 50;
const TAGS_OF_A_POST: usize = 5;
/// The posts of a connection that exist at the beginning. No other connection tags them.
const POSTS: i64 = 100;

diesel::table! {
    bench_posts (id) {
        id -> BigInt,
    }
}

diesel::table! {
    bench_post_tags (post_id, tag_id) {
        post_id -> BigInt,
        tag_id -> BigInt,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Uncounted,
    /// As a user writes them by hand.
    RowTriggers,
    /// As oxibooru has them.
    DeferredRowTriggers,
    /// Those of `diesel-counters generate trigger`.
    ThisCrate,
}

impl Way {
    fn all(engine: Engine) -> Vec<Self> {
        let mut ways = vec![Way::Uncounted, Way::RowTriggers, Way::ThisCrate];
        if engine == Engine::Postgres {
            ways.insert(2, Way::DeferredRowTriggers);
        }
        ways
    }

    fn name(self) -> &'static str {
        match self {
            Way::Uncounted => "uncounted",
            Way::RowTriggers => "row triggers on plain rows",
            Way::DeferredRowTriggers => "the same, deferred to the COMMIT",
            Way::ThisCrate => "this crate's triggers",
        }
    }

    /// What creates its triggers.
    fn triggers(self, engine: Engine) -> Option<String> {
        let [row_triggers, count_posts, count_post_tags] = migrations(engine).map(|[up, _]| up);
        match self {
            Way::Uncounted => None,
            Way::RowTriggers => Some(row_triggers.to_owned()),
            Way::DeferredRowTriggers => Some(
                row_triggers
                    .replace("CREATE TRIGGER", "CREATE CONSTRAINT TRIGGER")
                    .replace("FOR EACH ROW", "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"),
            ),
            Way::ThisCrate => Some(format!("{count_posts}\n{count_post_tags}")),
        }
    }

    /// How the tables that it counts in end.
    fn counted_in(self) -> Option<&'static str> {
        match self {
            Way::Uncounted => None,
            Way::RowTriggers | Way::DeferredRowTriggers => Some("statistics"),
            Way::ThisCrate => Some("counters"),
        }
    }
}

/// Which post a transaction tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Post {
    /// It is inserted and tagged.
    New,
    /// Its tags are replaced.
    OneOfMany,
}

impl Post {
    fn name(self) -> &'static str {
        match self {
            Post::New => "16 connections, each inserts posts with 5 of 50 tags",
            Post::OneOfMany => "16 connections, each replaces the 5 of 50 tags of posts",
        }
    }
}

trait Tagging: Count + Describe {
    fn insert_post(&mut self, post: i64) -> QueryResult<()>;
    fn delete_tags(&mut self, post: i64) -> QueryResult<()>;
    /// In one statement, as oxibooru does.
    fn insert_tags(&mut self, post: i64, tags: [i64; TAGS_OF_A_POST]) -> QueryResult<()>;
}

for_each_connection!(
    impl Tagging {
        fn insert_post(&mut self, post: i64) -> QueryResult<()> {
            diesel::insert_into(bench_posts::table)
                .values(bench_posts::id.eq(post))
                .execute(self)
                .map(drop)
        }

        fn delete_tags(&mut self, post: i64) -> QueryResult<()> {
            use bench_post_tags::{post_id, table};
            diesel::delete(table.filter(post_id.eq(post)))
                .execute(self)
                .map(drop)
        }

        fn insert_tags(&mut self, post: i64, tags: [i64; TAGS_OF_A_POST]) -> QueryResult<()> {
            use bench_post_tags::{post_id, table, tag_id};
            diesel::insert_into(table)
                .values(tags.map(|tag| (post_id.eq(post), tag_id.eq(tag))))
                .execute(self)
                .map(drop)
        }
    }
);

/// Prints a table for each of the `engines`, or for all of them where none is named.
pub fn run(engines: &[Engine], rounds: u16, seconds: f64) -> Result<()> {
    let engines = if engines.is_empty() {
        Engine::value_variants()
    } else {
        engines
    };
    for &engine in engines {
        match Server::start(engine) {
            Ok(server) => {
                with_connection!(engine, compare(engine, &server.url, rounds, seconds))?;
            }
            Err(error) => eprintln!("{} is skipped: {error:#}", engine.name()),
        }
    }
    Ok(())
}

fn compare<C: Tagging>(engine: Engine, url: &str, rounds: u16, seconds: f64) -> Result<()> {
    let conn = &mut C::connect(url)?;
    let others = conn.number(C::OTHER_SESSIONS)?;
    println!("## {}\n", conn.version()?);
    for post in [Post::New, Post::OneOfMany] {
        let ways = Way::all(engine);
        let mut speeds = vec![Vec::new(); ways.len()];
        let mut tallies = vec![Tally::default(); ways.len()];
        for round in 1..=rounds {
            let mut order: Vec<_> = (0..ways.len()).collect();
            // So that drift of the machine affects all ways alike.
            order.shuffle(&mut rand::rng());
            for i in order {
                wait_for_workers(conn, others)?;
                create_tables(conn, engine, ways[i])?;
                let tally = cell::<C>(url, post, seconds)?;
                check(conn, ways[i], post, &tally)?;
                speeds[i].push(tally.in_time as f64 / seconds);
                tallies[i].add(&tally)?;
            }
            eprintln!("{}: round {round} of {rounds}", engine.name());
        }
        let mut table = Table::new([
            post.name(),
            "transactions/s",
            "to uncounted",
            "p50 ms",
            "p99 ms",
            "deadlocks",
            "aborts",
        ]);
        for ((way, speed), tally) in ways.iter().zip(&speeds).zip(&tallies) {
            let ratios = speed.iter().zip(&speeds[0]).map(|(one, none)| one / none);
            table.row(vec![
                way.name().to_owned(),
                format!("{:.0}", median(speed.clone()).unwrap_or_default()),
                median(ratios.collect()).map_or("-".to_owned(), three_digits),
                three_digits(tally.latencies.quantile(0.5)),
                three_digits(tally.latencies.quantile(0.99)),
                tally.deadlocks.to_string(),
                tally.aborts.to_string(),
            ]);
        }
        println!("{table}");
    }
    Ok(drop_tables(conn, engine)?)
}

/// Tags posts on all connections at the same time.
fn cell<C: Tagging>(url: &str, post: Post, seconds: f64) -> Result<Tally> {
    let mut conns = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut conn = C::connect(url)?;
        conn.claim()?;
        conns.push(conn);
    }
    let begin = Instant::now() + WARM_UP;
    let end = begin + Duration::from_secs_f64(seconds);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(conns)
            .map(|(writer, mut conn)| {
                scope.spawn(move || {
                    // After the posts that exist, and far from those of the other connections.
                    let mut new_posts = 1_000_000 * (writer + 1)..;
                    let warm_up = tag(&mut conn, post, writer, &mut new_posts, begin)?;
                    let mut tally = tag(&mut conn, post, writer, &mut new_posts, end)?;
                    tally.committed += warm_up.committed;
                    // A deadlock of the warm-up can last for longer than the warm-up.
                    tally.deadlocks += warm_up.deadlocks;
                    anyhow::Ok(tally)
                })
            })
            .collect();
        let mut all = Tally::default();
        for thread in threads {
            let tally = thread.join().map_err(|_| anyhow!("a thread panicked"))?;
            all.add(&tally?)?;
        }
        Ok(all)
    })
}

fn tag<C: Tagging>(
    conn: &mut C,
    post: Post,
    writer: i64,
    new_posts: &mut impl Iterator<Item = i64>,
    end: Instant,
) -> Result<Tally> {
    let limit = Limit::Time(end);
    let rng = &mut rand::rng();
    let mut tally = Tally::default();
    while limit.begins_another() {
        let tags = index::sample_array(rng, TAGS as usize).expect("fewer tags than there are");
        let tags = tags.map(|index| index as i64 + 1);
        let id = match post {
            Post::New => new_posts.next().expect("no last post"),
            Post::OneOfMany => writer * POSTS + rand::random_range(1..=POSTS),
        };
        commit(limit, &mut tally, || {
            conn.write(|conn| {
                match post {
                    Post::New => conn.insert_post(id)?,
                    Post::OneOfMany => conn.delete_tags(id)?,
                }
                conn.insert_tags(id, tags)
            })
        })?;
    }
    Ok(tally)
}

/// Whether each count is the number of its rows.
fn check<C: Tagging>(conn: &mut C, way: Way, post: Post, tally: &Tally) -> Result<()> {
    let posts = CONNECTIONS * POSTS + tally.committed as i64 * i64::from(post == Post::New);
    ensure!(
        conn.number("SELECT COUNT(*) FROM bench_posts")? == posts,
        "there are not the {posts} posts that were inserted"
    );
    let Some(counted_in) = way.counted_in() else {
        return Ok(());
    };
    let counted = format!("SELECT SUM(post_count) FROM bench_site_{counted_in}");
    ensure!(
        conn.number(&counted)? == posts,
        "the site has not {posts} posts"
    );
    let posts = match way {
        Way::ThisCrate => "SELECT id, tag_count AS count FROM bench_posts".to_owned(),
        _ => format!("SELECT post_id AS id, tag_count AS count FROM bench_post_{counted_in}"),
    };
    let tags = format!("SELECT tag_id AS id, usage_count AS count FROM bench_tag_{counted_in}");
    for (entity, counts) in [("post", posts), ("tag", tags)] {
        let wrong = conn.number(&format!(
            "SELECT COUNT(*) FROM (
                 SELECT id, SUM(count) AS difference FROM (
                     {counts}
                     UNION ALL
                     SELECT {entity}_id, -1 FROM bench_post_tags
                 ) AS counts
                 GROUP BY id
             ) AS differences
             WHERE difference <> 0"
        ))?;
        ensure!(wrong == 0, "{}: {wrong} of {entity}s are wrong", way.name());
    }
    Ok(())
}

/// The migrations of a database, up and down: triggers by hand, and two of this crate.
fn migrations(engine: Engine) -> [[&'static str; 2]; 3] {
    macro_rules! migration {
        ($database:literal, $name:literal) => {
            [
                include_str!(concat!("../tagging/", $database, "/", $name, "/up.sql")),
                include_str!(concat!("../tagging/", $database, "/", $name, "/down.sql")),
            ]
        };
        ($database:literal) => {
            [
                migration!($database, "row_triggers"),
                migration!($database, "bench_count_posts"),
                migration!($database, "bench_count_post_tags"),
            ]
        };
    }
    match engine {
        Engine::Postgres => migration!("postgres"),
        Engine::Mariadb | Engine::Mysql => migration!("mysql"),
        Engine::Sqlite => migration!("sqlite"),
    }
}

/// Creates the tables again, with the posts that exist, and then the triggers of `way`, which count
/// what exists.
fn create_tables<C: Tagging>(conn: &mut C, engine: Engine, way: Way) -> QueryResult<()> {
    let values = |ids: i64| {
        let ids: Vec<_> = (1..=ids).map(|id| format!("({id})")).collect();
        ids.join(", ")
    };
    drop_tables(conn, engine)?;
    conn.batch_execute(include_str!("../tagging/tables.sql"))?;
    conn.batch_execute(&format!(
        "INSERT INTO bench_posts (id) VALUES {};
         INSERT INTO bench_tags VALUES {};
         INSERT INTO bench_post_tags SELECT bench_posts.id, bench_tags.id
             FROM bench_posts JOIN bench_tags ON bench_posts.id % 10 = bench_tags.id % 10",
        values(CONNECTIONS * POSTS),
        values(TAGS),
    ))?;
    match way.triggers(engine) {
        Some(triggers) => conn.batch_execute(&triggers),
        None => Ok(()),
    }
}

fn drop_tables<C: Tagging>(conn: &mut C, engine: Engine) -> QueryResult<()> {
    for [_, down] in migrations(engine) {
        conn.batch_execute(down)?;
    }
    conn.batch_execute(
        "DROP TABLE IF EXISTS bench_post_tags;
         DROP TABLE IF EXISTS bench_post_statistics;
         DROP TABLE IF EXISTS bench_tag_statistics;
         DROP TABLE IF EXISTS bench_site_statistics;
         DROP TABLE IF EXISTS bench_tag_counters;
         DROP TABLE IF EXISTS bench_site_counters;
         DROP TABLE IF EXISTS bench_posts;
         DROP TABLE IF EXISTS bench_tags;",
    )
}
