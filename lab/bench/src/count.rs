//! The ways of counting, under each workload.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicI16, AtomicI64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use diesel::QueryResult;
use diesel::r2d2::{ManageConnection, Pool};
use diesel::result::Error;

use crate::Plan;
use crate::compare::{Cell, commit, compare, on_threads, sum_of_threads};
use crate::create::{FOREIGN_KEY, create_tables, drop_tables};
use crate::database::{Engine, with_connection};
use crate::server::on_each;
use crate::tally::Tally;
use crate::way::{Counting, LAST_UNITS, STOCK, Way, Ways};
use crate::workload::{Entities, Workload};

#[derive(clap::Args)]
pub struct Count {
    #[command(flatten)]
    plan: Plan,
    /// Measure the workloads whose names contain this, such as "1 connection, no hold"
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Measure the ways whose names contain one of these, such as "INSERT alone"
    #[arg(long, value_name = "TEXT")]
    way: Vec<String>,
    /// SQL to run on each connection, such as one that sets the isolation level
    #[arg(long, value_name = "SQL", default_value = "")]
    session: String,
    /// Read the total of the first entity before it is counted, in the same transaction
    #[arg(long)]
    read: bool,
    /// Give the counter table the foreign key of the reference migrations, with ON DELETE CASCADE
    #[arg(long)]
    foreign_key: bool,
}

/// Prints a table for each database and workload.
pub fn run(args: &Count) -> Result<()> {
    on_each(&args.plan.databases, |engine, url| {
        with_connection!(engine, measure(engine, url, args))
    })
}

fn measure<C: Ways>(engine: Engine, url: &str, args: &Count) -> Result<()> {
    let conn = &mut C::connect(url)?;
    let others = conn.number(C::OTHER_SESSIONS)?;
    for workload in Workload::all(engine) {
        let name = workload.name();
        let is_last = workload.entities == Entities::LastUnits;
        let mut ways = workload.ways(engine);
        let is_named = |way: &Way| args.way.iter().any(|name| way.name().contains(name));
        ways.retain(|way| args.way.is_empty() || is_named(way));
        if ways.is_empty() || !name.contains(&args.only) {
            continue;
        }
        let bases = [
            Way::NoCounter,
            Way::Ceiling,
            Way::OneRow,
            Way::OneRowOfStock,
        ]
        .into_iter();
        let place = |base| ways.iter().position(|&way| way == base);
        let bases = bases.filter_map(|way| Some((way.name(), place(way)?)));
        let bases: Vec<_> = bases.collect();
        let names: Vec<_> = ways.iter().map(|way| way.name()).collect();
        let rounds = args.plan.rounds(3);
        let seconds = args.plan.seconds(1.2);
        let table = compare(&name, &names, &bases, rounds, |i| {
            create_tables(conn, url)?;
            if args.foreign_key {
                conn.batch_execute(FOREIGN_KEY)?;
            }
            wait_for_sessions(conn, others)?;
            let way = ways[i];
            let is_stock = matches!(way, Way::OneRowOfStock | Way::Take);
            // `last_units` fills the stock again after its warm-up.
            if is_stock {
                conn.fill(STOCK)?;
            }
            let run = Run {
                url,
                workload,
                way,
                claims: true,
                session: &args.session,
                reads: args.read,
                seconds,
            };
            let cell = if is_last {
                run.last_units(conn)
            } else {
                run.cell::<C>()
            };
            let cell = cell.with_context(|| format!("{name}: {}", way.name()))?;
            // A way that loses counts has no figures.
            if let Some((column, table)) = way.counter() {
                let counted = (workload.entities.number() * cell.tally.committed) as i64;
                let sum =
                    conn.number(&format!("SELECT COALESCE(SUM({column}), 0) FROM {table}"))?;
                let filled = match (is_stock, is_last) {
                    (false, _) => 0,
                    (_, true) => LAST_UNITS,
                    _ => STOCK,
                };
                // The sum of a stock is what is left, with a minus.
                let stored = filled + sum;
                ensure!(stored == counted, "{table} has {stored} of {counted}");
            }
            Ok(cell)
        })?;
        println!("{table}");
    }
    Ok(drop_tables(conn)?)
}

/// Waits until the server has ended the sessions of the cell before. They hold the least numbers,
/// which the next connections are to claim. `others` is the number of sessions that go on.
///
/// Gives up after two seconds: the server can have new sessions of other programs.
pub fn wait_for_sessions<C: Ways>(conn: &mut C, others: i64) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(2);
    while conn.number(C::OTHER_SESSIONS)? > others && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// What is run for a cell.
pub struct Run<'a> {
    pub url: &'a str,
    pub workload: Workload,
    pub way: Way,
    /// Whether each connection claims the least free number.
    pub claims: bool,
    /// SQL that is run on each connection.
    pub session: &'a str,
    /// Whether a transaction reads the total before it counts.
    pub reads: bool,
    pub seconds: f64,
}

impl Run<'_> {
    pub fn cell<C: Ways>(&self) -> Result<Cell> {
        let pool = self.pool::<C>()?;
        let states = vec![&pool; self.workload.threads as usize];
        on_threads(states, self.seconds, |pool, end, tally| {
            self.once(pool, end, tally)
        })
    }

    /// Sells the last units, and refuses as many takes.
    fn last_units<C: Ways>(&self, conn: &mut C) -> Result<Cell> {
        let pool = self.pool::<C>()?;
        let states = vec![&pool; self.workload.threads as usize];
        // The warm-up alone, in which statements are prepared.
        on_threads(states.clone(), 0.0, |pool, end, tally| {
            self.once(pool, end, tally)
        })?;
        conn.fill(LAST_UNITS)?;
        let takes = AtomicI64::new(2 * LAST_UNITS);
        let began = Instant::now();
        let tally = sum_of_threads(states, |pool| {
            let mut tally = Tally::default();
            while takes.fetch_sub(1, Relaxed) > 0 {
                self.once(pool, began + Duration::from_secs(600), &mut tally)?;
            }
            Ok(tally)
        })?;
        Ok(Cell {
            transactions_per_second: 2.0 * LAST_UNITS as f64 / began.elapsed().as_secs_f64(),
            tally,
        })
    }

    fn pool<C: Ways>(&self) -> Result<Connections<C>> {
        let sessions = Sessions {
            url: self.url.to_owned(),
            claims: self.claims,
            session: self.session.to_owned(),
            next: 1.into(),
            connection: PhantomData,
        };
        Pool::builder()
            .max_size(self.workload.connections)
            // Threads can wait for as long as transactions deadlock.
            .connection_timeout(Duration::from_secs(600))
            // It would be a round trip before each transaction.
            .test_on_check_out(false)
            .build(sessions)
            .context("cannot connect")
    }

    fn once<C: Ways>(&self, pool: &Connections<C>, end: Instant, tally: &mut Tally) -> Result<()> {
        let mut session = pool.get().context("no connection from the pool")?;
        let entities = self.workload.entities;
        let ids = entities.choose(self.way, session.slot, &mut rand::rng());
        if Instant::now() >= end {
            return Ok(());
        }
        let mut is_refused = false;
        commit(end, tally, || {
            let result = self.transaction(&mut session, &ids, end);
            is_refused = entities == Entities::LastUnits && matches!(result, Err(Error::NotFound));
            if is_refused { Ok(()) } else { result }
        })?;
        // `commit` has counted it, but it took nothing.
        tally.committed -= u64::from(is_refused);
        Ok(())
    }

    fn transaction<C: Ways>(
        &self,
        session: &mut Session<C>,
        ids: &[i64],
        end: Instant,
    ) -> QueryResult<()> {
        let counting = Counting {
            way: self.way,
            slot: session.slot,
        };
        if self.way.is_alone() {
            return session.conn.count_alone(counting, ids[0]);
        }
        session.conn.write(|conn| {
            if self.reads {
                // Above READ COMMITTED, this takes the snapshot of the transaction.
                conn.total(self.way, ids[0])?;
            }
            conn.insert_comment(ids[0])?;
            for &id in ids {
                // A transaction that is later than this is stalled by deadlocks.
                if Instant::now() > end + Duration::from_millis(500) {
                    return Err(Error::RollbackTransaction);
                }
                conn.count(counting, id)?;
            }
            if !self.workload.hold.is_zero() {
                thread::sleep(self.workload.hold);
            }
            Ok(())
        })
    }
}

type Connections<C> = Pool<Sessions<C>>;

/// Opens a pool's connections.
struct Sessions<C> {
    url: String,
    claims: bool,
    session: String,
    /// The `slot` of the next session.
    next: AtomicI16,
    connection: PhantomData<fn() -> C>,
}

/// A connection, and how it counts.
struct Session<C> {
    conn: C,
    /// A slot that no other connection has, for ways that bind it.
    slot: i16,
}

impl<C: Ways> ManageConnection for Sessions<C> {
    type Connection = Session<C>;
    type Error = diesel::r2d2::Error;

    fn connect(&self) -> Result<Session<C>, Self::Error> {
        let mut conn = C::connect(&self.url)?;
        if self.claims {
            conn.claim()?;
        }
        if !self.session.is_empty() {
            conn.batch_execute(&self.session)?;
        }
        Ok(Session {
            conn,
            slot: self.next.fetch_add(1, Relaxed),
        })
    }

    fn is_valid(&self, session: &mut Session<C>) -> Result<(), Self::Error> {
        Ok(session.conn.ping()?)
    }

    fn has_broken(&self, session: &mut Session<C>) -> bool {
        session.conn.is_broken()
    }
}
