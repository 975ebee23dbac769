//! A forum whose triggers count votes, comments and posts: of each post and comment, of each
//! person, of each community, and of the site.
//!
//! Forums write such triggers by hand. Those of diesel_counters are generated when it runs.

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, Integer};
use rand::seq::IndexedRandom;

use crate::Plan;
use crate::compare::{Cell, commit, compare, on_threads};
use crate::count::wait_for_sessions;
use crate::create::drop_functions;
use crate::database::{Engine, for_each_connection, with_connection};
use crate::server::on_each_with_slots;
use crate::triggers;
use crate::way::Ways;

const CONNECTIONS: i32 = 16;
/// The people of each connection, of the 48,000 in `rows.sql`. Each of them votes once, and then
/// all vote again, on the next posts and comments.
const VOTERS: i32 = 48_000 / CONNECTIONS;
/// The posts of a busy community that people vote on at the same time.
const BUSY_POSTS: i32 = 5;
/// The comments that people vote on at the same time.
const COMMENTS: i32 = 50;
/// The most transactions of a connection. For these, `rows.sql` has enough posts and comments to
/// vote on, and each connection has ids of its own.
const TRANSACTIONS: i32 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The triggers that the forum has written by hand.
    ItsOwn,
    /// Triggers of diesel_counters, which count in columns of the entities.
    Columns,
    /// Triggers of diesel_counters, which count in slots.
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

    /// Creates the triggers of this way.
    fn create_triggers<C: Forum>(self, conn: &mut C, engine: Engine, url: &str) -> Result<()> {
        match self {
            Way::ItsOwn if engine == Engine::Postgres => {
                Ok(conn.batch_execute(include_str!("../forum/postgres.sql"))?)
            }
            Way::ItsOwn => Ok(conn.batch_execute(include_str!("../forum/mysql.sql"))?),
            Way::Columns => triggers::create(conn, url, "forum/columns.toml"),
            Way::Slots => triggers::create(conn, url, "forum/slots.toml"),
            Way::Uncounted => Ok(()),
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

/// A statement of `busy.txt` with its values. `{name}` in it is a bind value.
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

// The type does not tell the text, so Diesel caches the prepared statement by its text.
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

/// A transaction of a busy community.
struct Transaction {
    /// How frequent it is, as a part of the sum of all weights.
    weight: u32,
    statements: Vec<&'static str>,
}

/// The transactions of a busy community. The first one votes on a post.
fn transactions() -> Result<Vec<Transaction>> {
    let lines = include_str!("../forum/busy.txt").lines();
    let transactions = lines.map(|line| {
        let (weight, sql) = line.split_once(" | ").context("a line has no weight")?;
        Ok(Transaction {
            weight: weight.trim().parse()?,
            statements: sql.split("; ").collect(),
        })
    });
    transactions.collect()
}

/// The values of a connection's transaction.
///
/// A connection inserts posts, comments and votes of its own, and changes and deletes these. What
/// it votes on, comments on or marks as deleted are the rows of `rows.sql`, as on all connections.
fn values(connection: i32, number: i32, workload: Workload) -> HashMap<&'static str, i32> {
    // What an update or a deletion looks for. It finds nothing if that transaction was another one.
    let earlier = rand::random_range(0..=number);
    let person = |number| number % VOTERS * CONNECTIONS + connection + 1;
    // A person votes on no post twice: `VOTERS` is a multiple of `BUSY_POSTS`, so that the same
    // person has the same `number % among` each time, and the next post.
    let post = |number| {
        let among = if workload == Workload::Busy {
            BUSY_POSTS
        } else {
            1
        };
        number % among + number / VOTERS + 1
    };
    let id = |number| (connection + 1) * TRANSACTIONS + number;
    HashMap::from([
        ("person", person(number)),
        ("voter", person(earlier)),
        ("post", post(number)),
        ("voted", post(earlier)),
        (
            "comment",
            rand::random_range(1..=COMMENTS) + number / VOTERS * COMMENTS,
        ),
        ("id", id(number)),
        ("earlier", id(earlier)),
        ("vote", if number % 4 == 3 { -1 } else { 1 }),
    ])
}

/// Prints a table for each database and workload.
pub fn run(plan: &Plan) -> Result<()> {
    on_each_with_slots(&plan.databases, |engine, url| {
        with_connection!(engine, measure(engine, url, plan))
    })
}

fn measure<C: Forum>(engine: Engine, url: &str, plan: &Plan) -> Result<()> {
    let conn = &mut C::connect(url)?;
    let others = conn.number(C::OTHER_SESSIONS)?;
    for (workload, title) in Workload::ALL {
        let names = Way::ALL.map(|(_, name)| name);
        // The first way is the forum's own one.
        let table = compare(title, &names, &[("its own", 0)], plan.rounds(5), |way| {
            let (way, name) = Way::ALL[way];
            wait_for_sessions(conn, others)?;
            create_tables(conn, engine, url, way)?;
            let cell = cell::<C>(url, workload, plan.seconds(2.0))?;
            for wrong in wrong_counts(way) {
                ensure!(conn.number(&wrong)? == 0, "{name}: {wrong}");
            }
            Ok(cell)
        })?;
        println!("{table}");
    }
    Ok(drop_tables(conn)?)
}

fn cell<C: Forum>(url: &str, workload: Workload, seconds: f64) -> Result<Cell> {
    let transactions = transactions()?;
    let mut writers = Vec::new();
    for connection in 0..CONNECTIONS {
        let mut conn = C::connect(url)?;
        // Its number, which chooses the slot, also in triggers.
        conn.claim()?;
        writers.push((conn, connection, 0..TRANSACTIONS));
    }
    on_threads(writers, seconds, |writer, end, tally| {
        let (conn, connection, numbers) = writer;
        let number = numbers.next();
        let number = number.context("there are no more people to vote: take fewer --seconds")?;
        let values = &values(*connection, number, workload);
        let transaction = match workload {
            Workload::Busy => transactions.choose_weighted(&mut rand::rng(), |one| one.weight)?,
            Workload::Hot | Workload::Held => &transactions[0],
        };
        let statements = &transaction.statements;
        let run = |conn: &mut C| {
            let mut statements = statements.iter();
            statements.try_for_each(|sql| conn.run(Statement { sql, values }))
        };
        commit(end, tally, || match workload {
            Workload::Held => conn.write(|conn| {
                run(conn)?;
                thread::sleep(Duration::from_millis(2));
                Ok(())
            }),
            Workload::Busy if statements.len() > 1 => conn.write(run),
            // The server commits a statement by itself.
            Workload::Busy | Workload::Hot => run(conn),
        })
    })
}

/// Queries, each for the number of entities whose stored count differs from the rows.
///
/// A line of `counts.txt` has the counter table and its column for the entity, the table of the
/// entities, the counter, and what selects `id` and `number` from the rows.
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

/// Creates the tables again, and their rows, and then the triggers. The migration of the triggers
/// counts the rows that exist.
fn create_tables<C: Forum>(conn: &mut C, engine: Engine, url: &str, way: Way) -> Result<()> {
    drop_tables(conn)?;
    // On MySQL and MariaDB, foreign keys share-lock the rows of people, in which triggers count in
    // columns: two people who vote on each other's posts would deadlock.
    let leaves_out_keys = engine != Engine::Postgres && way == Way::Columns;
    let tables = include_str!("../forum/tables.sql").lines();
    let tables = tables.filter(|line| !leaves_out_keys || !line.contains("-- Not on MySQL"));
    conn.batch_execute(&tables.collect::<Vec<_>>().join("\n"))?;
    for of in ["post", "comment", "person", "community", "site"] {
        let table = format!("bench_forum_{of}_counters");
        conn.batch_execute(&C::WITHOUT_DAYS.replace("{table}", &table))?;
    }
    conn.batch_execute(include_str!("../forum/rows.sql"))?;
    way.create_triggers(conn, engine, url)
}

fn drop_tables<C: Forum>(conn: &mut C) -> QueryResult<()> {
    conn.batch_execute(include_str!("../forum/drop.sql"))?;
    drop_functions(conn)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The number of rows of this table in `rows.sql`.
    fn rows_of(table: &str) -> i32 {
        let (_, after) = include_str!("../forum/rows.sql")
            .split_once(&format!("INSERT INTO bench_forum_{table} "))
            .unwrap();
        let (_, after) = after.split_once("WHERE id <= ").unwrap();
        let (number, _) = after.split_once(';').unwrap();
        number.parse().unwrap()
    }

    #[test]
    fn each_transaction_votes_on_what_exists() {
        for last in [10 * VOTERS, TRANSACTIONS - 1] {
            for workload in [Workload::Hot, Workload::Busy] {
                let values = values(CONNECTIONS - 1, last, workload);
                assert!(values["comment"] <= rows_of("comments"), "{values:?}");
                assert!(values["post"] <= rows_of("posts"), "{values:?}");
                assert!(values["person"] <= CONNECTIONS * VOTERS, "{values:?}");
            }
        }
    }

    #[test]
    fn nobody_votes_twice() {
        for workload in [Workload::Hot, Workload::Busy] {
            let mut votes = HashSet::new();
            for number in 0..3 * VOTERS {
                for connection in 0..2 {
                    let values = values(connection, number, workload);
                    for of in ["post", "comment"] {
                        let vote = (of, values[of], values["person"]);
                        assert!(votes.insert(vote), "{vote:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_transaction_is_one_vote() {
        let transactions = transactions().unwrap();
        assert_eq!(transactions.len(), 9);
        assert_eq!(transactions[0].statements.len(), 1);
        assert!(transactions[0].statements[0].contains("post_votes VALUES ({post}, {person}"));
        let weights = transactions.iter().map(|one| one.weight);
        assert_eq!(weights.sum::<u32>(), 100);
    }
}
