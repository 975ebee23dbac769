//! The race on the front page: sixteen connections count comments of one article, first in one row,
//! and then in slots.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{io, panic, thread};

use anyhow::{anyhow, ensure};
use diesel::prelude::*;
use diesel_counters::{is_retryable, prelude::*};

use crate::db::{self, Conn};
use crate::schema::{race_articles, race_comments, race_counters};

/// How many connections count at the same time.
pub const CONNECTIONS: usize = 16;

/// How long each lane lasts.
pub const LASTS: Duration = Duration::from_secs(3);

/// How long a transaction holds its locks before it commits, like one that does more than count.
pub const HOLD: Duration = Duration::from_millis(2);

diesel_counters::counter_table! {
    race_counters {
        parent = race_articles::id,
    }
}

#[derive(Clone, Copy, Identifiable, HasCounters)]
#[diesel(table_name = race_articles)]
#[counters(table_name = race_counters)]
struct Article {
    id: i64,
}

/// Where an article's comments are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    OneRow,
    Slots,
}

/// The lanes, in the order of the race.
const LANES: [Lane; 2] = [Lane::OneRow, Lane::Slots];

impl Lane {
    /// The lane's own article.
    fn article(self) -> Article {
        Article {
            id: 1 + self as i64,
        }
    }

    /// **What the race is about**: one way to count, and the other.
    fn count(self, article: Article, conn: &mut Conn) -> QueryResult<()> {
        use race_articles::comments;
        match self {
            Lane::OneRow => diesel::update(&article)
                .set(comments.eq(comments + 1))
                .execute(conn)
                .map(drop),
            Lane::Slots => article.incr_counter(race_counters::comments, conn),
        }
    }
}

/// What a connection is doing.
#[derive(Clone, Copy)]
enum Now {
    Rests,
    /// Its statements have been running since then.
    Runs(Instant),
    /// It has counted, and holds its locks.
    Holds,
}

/// A connection, and what it has done in a lane.
struct Racer {
    now: Now,
    commits: i64,
    slowest: Duration,
}

/// What the connections have done in a lane.
pub struct Progress {
    begun: OnceLock<Instant>,
    took: OnceLock<Duration>,
    racers: [Mutex<Racer>; CONNECTIONS],
}

impl Progress {
    fn new() -> Self {
        let racer = |_| {
            Mutex::new(Racer {
                now: Now::Rests,
                commits: 0,
                slowest: Duration::ZERO,
            })
        };
        Progress {
            begun: OnceLock::new(),
            took: OnceLock::new(),
            racers: std::array::from_fn(racer),
        }
    }

    pub fn has_begun(&self) -> bool {
        self.begun.get().is_some()
    }

    pub fn has_ended(&self) -> bool {
        self.took.get().is_some()
    }

    /// How long the lane has taken so far, or in all once it has ended.
    pub fn elapsed(&self) -> Duration {
        let since = || self.begun.get().map(Instant::elapsed);
        let took = self.took.get().copied();
        took.or_else(since).unwrap_or_default()
    }

    pub fn commits(&self) -> i64 {
        self.racers.iter().map(|racer| lock(racer).commits).sum()
    }

    /// Commits per second.
    pub fn rate(&self) -> f64 {
        self.commits() as f64 / self.elapsed().as_secs_f64().max(0.001)
    }

    /// How long the slowest transaction took.
    pub fn slowest(&self) -> Duration {
        let slowest = self.racers.iter().map(|racer| lock(racer).slowest);
        slowest.max().unwrap_or_default()
    }

    /// How many connections hold their locks, and how many wait. A connection waits if its
    /// statements have been running for longer than a transaction holds its locks.
    pub fn holding_and_waiting(&self) -> (usize, usize) {
        let now: Vec<Now> = self.racers.iter().map(|racer| lock(racer).now).collect();
        let holds = |now: &&Now| matches!(now, Now::Holds);
        let waits = |now: &&Now| matches!(now, Now::Runs(since) if since.elapsed() > HOLD);
        (
            now.iter().filter(holds).count(),
            now.iter().filter(waits).count(),
        )
    }
}

/// What is in the database after a race, for each lane. If `counted` and `committed` differ, a
/// count is wrong.
#[derive(Clone, Copy)]
pub struct Outcome {
    /// How many comments are stored.
    pub committed: [i64; 2],
    /// What the counters say.
    pub counted: [i64; 2],
}

pub struct Race {
    lanes: [Progress; 2],
    /// Known at the end.
    outcome: OnceLock<Result<Outcome, String>>,
}

impl Race {
    pub fn lane(&self, lane: Lane) -> &Progress {
        &self.lanes[lane as usize]
    }

    fn is_running(&self) -> bool {
        self.outcome.get().is_none()
    }

    pub fn outcome(&self) -> Option<&Result<Outcome, String>> {
        self.outcome.get()
    }

    fn run(&self, url: &str) -> anyhow::Result<Outcome> {
        let pool = db::pool(url, true);
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            connections.push(pool.get()?);
        }
        let conn = &mut *connections[0];
        // Delete what an earlier race has left.
        diesel::delete(race_comments::table).execute(conn)?;
        diesel::delete(race_articles::table).execute(conn)?;
        let ids = LANES.map(|lane| race_articles::id.eq(lane.article().id));
        diesel::insert_into(race_articles::table)
            .values(&ids[..])
            .execute(conn)?;

        for lane in LANES {
            let begun = *self.lane(lane).begun.get_or_init(Instant::now);
            let until = begun + LASTS;
            let ended = thread::scope(|scope| {
                let mut threads = Vec::new();
                for (conn, racer) in connections.iter_mut().zip(&self.lane(lane).racers) {
                    threads.push(scope.spawn(move || count(lane, until, racer, conn)));
                }
                // Join all of them: if a thread panicked and nobody joined it, the scope panics.
                let ended: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
                for one in ended {
                    one.map_err(|_| anyhow!("a connection's thread panicked"))??;
                }
                anyhow::Ok(())
            });
            // A lane that fails has ended too.
            let _ = self.lane(lane).took.set(begun.elapsed());
            ended?;
        }

        let conn = &mut *connections[0];
        let in_one_row = race_articles::table.find(Lane::OneRow.article().id);
        let in_one_row: i64 = in_one_row.select(race_articles::comments).first(conn)?;
        let in_slots = Lane::Slots
            .article()
            .counter_value(race_counters::comments, conn)?;
        let mut committed = [0; 2];
        for lane in LANES {
            let comments =
                race_comments::table.filter(race_comments::article_id.eq(lane.article().id));
            let stored: i64 = comments.count().get_result(conn)?;
            let commits = self.lane(lane).commits();
            ensure!(
                stored == commits,
                "{commits} transactions were committed, and {stored} comments are stored"
            );
            committed[lane as usize] = stored;
        }
        Ok(Outcome {
            committed,
            counted: [in_one_row, in_slots],
        })
    }
}

/// Inserts a comment, counts it, holds the locks and commits, again and again.
fn count(lane: Lane, until: Instant, racer: &Mutex<Racer>, conn: &mut Conn) -> QueryResult<()> {
    let article = lane.article();
    let comment = (
        race_comments::article_id.eq(article.id),
        race_comments::body.eq("It rained here too."),
    );
    while Instant::now() < until {
        let begun = Instant::now();
        lock(racer).now = Now::Runs(begun);
        let result = conn.transaction(|conn| {
            comment.insert_into(race_comments::table).execute(conn)?;
            lane.count(article, conn)?;
            lock(racer).now = Now::Holds;
            thread::sleep(HOLD);
            Ok(())
        });
        let mut racer = lock(racer);
        racer.now = Now::Rests;
        match result {
            Ok(()) => {
                racer.commits += 1;
                racer.slowest = racer.slowest.max(begun.elapsed());
            }
            Err(error) if is_retryable(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The latest race. Only one runs at a time.
#[derive(Clone, Default)]
pub struct Races(Arc<Mutex<Option<Arc<Race>>>>);

impl Races {
    pub fn latest(&self) -> Option<Arc<Race>> {
        lock(&self.0).clone()
    }

    pub fn is_running(&self) -> bool {
        self.latest().is_some_and(|race| race.is_running())
    }

    /// Starts a race, unless one is running. Fails if its thread can't be started.
    pub fn start(&self, url: Arc<str>) -> io::Result<()> {
        let mut latest = lock(&self.0);
        if latest.as_ref().is_some_and(|race| race.is_running()) {
            return Ok(());
        }
        let race = Arc::new(Race {
            lanes: [Progress::new(), Progress::new()],
            outcome: OnceLock::new(),
        });
        let running = race.clone();
        thread::Builder::new().spawn(move || {
            // A race that panics has ended too.
            let ended = panic::catch_unwind(|| running.run(&url));
            let outcome = ended.unwrap_or_else(|_| Err(anyhow!("its thread panicked")));
            let outcome = outcome.map_err(|error| format!("{error:#}"));
            if let Err(error) = &outcome {
                tracing::error!("the race: {error}");
            }
            running.outcome.set(outcome)
        })?;
        *latest = Some(race);
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
