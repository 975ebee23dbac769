//! A forum that counts with triggers: the votes and the comments of posts, and what each person,
//! each community and the site has. Forums write such triggers by hand.
//!
//! The triggers of this crate are what `diesel-counters generate triggers` writes: a test of the
//! command compares them.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, Integer};
use rand::seq::IndexedRandom;

use crate::Plan;
use crate::compare::{Cell, commit, compare, on_threads};
use crate::count::wait_for_sessions;
use crate::database::{Engine, for_each_connection, migration, with_connection};
use crate::server::on_each;
use crate::way::Ways;

const CONNECTIONS: i32 = 16;
/// How many people vote on each connection, before they vote on the next posts and comments.
const VOTERS: i32 = 48_000 / CONNECTIONS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Written by hand.
    ItsOwn,
    Columns,
    Slots,
    Uncounted,
}

impl Way {
    const ALL: [(Way, &str); 4] = [
        (Way::ItsOwn, "its own triggers"),
        (Way::Columns, "this crate's, in columns"),
        (Way::Slots, "this crate's, in slots"),
        (Way::Uncounted, "uncounted"),
    ];

    /// The migration that creates its triggers, and that drops them.
    fn migration(self, engine: Engine) -> [&'static str; 2] {
        match (self, engine) {
            (Way::ItsOwn, Engine::Postgres) => migration!("../forum/postgres/own"),
            (Way::ItsOwn, _) => migration!("../forum/mysql/own"),
            (Way::Columns, Engine::Postgres) => migration!("../forum/postgres/columns"),
            (Way::Columns, _) => migration!("../forum/mysql/columns"),
            (Way::Slots, Engine::Postgres) => migration!("../forum/postgres/slots"),
            (Way::Slots, _) => migration!("../forum/mysql/slots"),
            (Way::Uncounted, _) => ["SELECT 1"; 2],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Workload {
    Hot,
    Held,
    Busy,
}

impl Workload {
    const ALL: [(Workload, &str); 3] = [
        (Workload::Hot, "votes on one post"),
        (Workload::Held, "votes on one post, 2 ms hold"),
        (Workload::Busy, "a busy community"),
    ];
}

/// A statement of `busy.txt` with its values. Each connection prepares it once.
struct Statement<'a> {
    sql: &'static str,
    values: &'a HashMap<&'static str, i32>,
}

impl<DB> QueryFragment<DB> for Statement<'_>
where
    DB: diesel::backend::Backend + HasSqlType<Integer>,
    i32: ToSql<Integer, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        for (i, part) in self.sql.split(['{', '}']).enumerate() {
            match i % 2 {
                0 => out.push_sql(part),
                _ => out.push_bind_param::<Integer, _>(&self.values[part])?,
            }
        }
        Ok(())
    }
}

impl QueryId for Statement<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Conn> RunQueryDsl<Conn> for Statement<'_> {}

trait Forum: Ways {
    fn run(&mut self, statement: Statement<'_>) -> QueryResult<()>;
}

for_each_connection!(
    impl Forum {
        fn run(&mut self, statement: Statement<'_>) -> QueryResult<()> {
            statement.execute(self).map(drop)
        }
    }
);

/// The transactions of a busy community, with how often they are. The first one votes on a post.
fn transactions() -> Vec<(u32, &'static str)> {
    let lines = include_str!("../forum/busy.txt").lines();
    let lines = lines.filter_map(|line| line.split_once(" | "));
    let weighted = lines.filter_map(|(weight, sql)| Some((weight.trim().parse().ok()?, sql)));
    weighted.collect()
}

/// The values of a connection's transaction. Connections write rows of their own, but for what they
/// vote and comment on.
fn values(connection: i32, number: i32, workload: Workload) -> HashMap<&'static str, i32> {
    let earlier = rand::random_range(0..=number);
    let person = |number| number % VOTERS * CONNECTIONS + connection + 1;
    let post = |number| {
        let among = if workload == Workload::Busy { 5 } else { 1 };
        number % among + number / VOTERS + 1
    };
    let id = |number| (connection + 1) * 1_000_000 + number;
    HashMap::from([
        ("person", person(number)),
        ("voter", person(earlier)),
        ("post", post(number)),
        ("voted", post(earlier)),
        ("comment", rand::random_range(1..=50) + number / VOTERS * 50),
        ("id", id(number)),
        ("earlier", id(earlier)),
        ("vote", if number % 4 == 3 { -1 } else { 1 }),
    ])
}

/// Prints a table for each database and workload.
pub fn run(plan: &Plan) -> Result<()> {
    on_each(&plan.databases, |engine, url| {
        if !engine.has_slots() {
            eprintln!("{} is skipped: it has one writer at a time", engine.name());
            return Ok(());
        }
        with_connection!(engine, measure(engine, url, plan))
    })
}

fn measure<C: Forum>(engine: Engine, url: &str, plan: &Plan) -> Result<()> {
    let conn = &mut C::connect(url)?;
    let others = conn.number(C::OTHER_SESSIONS)?;
    for (workload, title) in Workload::ALL {
        let names = Way::ALL.map(|(_, name)| name);
        let table = compare(title, &names, &[("its own", 0)], plan.rounds(5), |i| {
            let (way, name) = Way::ALL[i];
            wait_for_sessions(conn, others)?;
            create_tables(conn, engine, way)?;
            let cell = cell::<C>(url, workload, plan.seconds(2.0))?;
            for wrong in wrong_counts(way) {
                ensure!(conn.number(&wrong)? == 0, "{name}: {wrong}");
            }
            Ok(cell)
        })?;
        println!("{table}");
    }
    Ok(drop_tables(conn, engine)?)
}

fn cell<C: Forum>(url: &str, workload: Workload, seconds: f64) -> Result<Cell> {
    let transactions = transactions();
    let mut writers = Vec::new();
    for connection in 0..CONNECTIONS {
        let mut conn = C::connect(url)?;
        conn.claim()?;
        writers.push((conn, connection, 0..));
    }
    on_threads(writers, seconds, |writer, end, tally| {
        let (conn, connection, numbers) = writer;
        let number = numbers.next().expect("no last transaction");
        let values = &values(*connection, number, workload);
        let (_, sql) = match workload {
            Workload::Busy => transactions.choose_weighted(&mut rand::rng(), |one| one.0)?,
            Workload::Hot | Workload::Held => &transactions[0],
        };
        let run = |conn: &mut C| {
            let mut statements = sql.split("; ");
            statements.try_for_each(|sql| conn.run(Statement { sql, values }))
        };
        commit(end, tally, || match workload {
            Workload::Held => conn.write(|conn| {
                run(conn)?;
                thread::sleep(Duration::from_millis(2));
                Ok(())
            }),
            Workload::Busy if sql.contains(';') => conn.write(run),
            Workload::Busy | Workload::Hot => run(conn),
        })
    })
}

/// Queries for the number of counts that are not those of the rows.
fn wrong_counts(way: Way) -> impl Iterator<Item = String> {
    let lines = include_str!("../forum/counts.txt").lines();
    let lines = lines.filter(move |_| way != Way::Uncounted);
    lines.map(move |line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [counters, key, entities, counter, rows] = cells[..] else {
            unreachable!("five cells a line")
        };
        let stored = match way {
            Way::Slots => {
                format!("SUM({counter}) FROM bench_forum_{counters} WHERE {key} = entity.id")
            }
            _ => format!("entity.{counter}"),
        };
        format!(
            "SELECT COUNT(*) FROM bench_forum_{entities} AS entity \
             LEFT JOIN (SELECT {rows} GROUP BY 1) AS counted ON counted.id = entity.id \
             WHERE COALESCE((SELECT {stored}), 0) <> COALESCE(counted.number, 0)"
        )
    })
}

/// Creates the tables again, with the rows that exist, and then the triggers, which count what
/// exists.
fn create_tables<C: Forum>(conn: &mut C, engine: Engine, way: Way) -> QueryResult<()> {
    drop_tables(conn, engine)?;
    let is_cut = engine != Engine::Postgres && way == Way::Columns;
    let tables = include_str!("../forum/tables.sql").lines();
    let tables = tables.filter(|line| !is_cut || !line.contains("-- Not on MySQL"));
    conn.batch_execute(&tables.collect::<Vec<_>>().join("\n"))?;
    conn.batch_execute(include_str!("../forum/rows.sql"))?;
    conn.batch_execute(way.migration(engine)[0])
}

fn drop_tables<C: Forum>(conn: &mut C, engine: Engine) -> QueryResult<()> {
    for (way, _) in Way::ALL {
        conn.batch_execute(way.migration(engine)[1])?;
    }
    conn.batch_execute(include_str!("../forum/drop.sql"))
}
