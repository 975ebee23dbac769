//! The servers, their databases, and the replication between them.

use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::Regions;
use crate::postgres::on::own_database::connect;
use crate::postgres::{DROP_FOREIGN_KEYS, REFERENCE, TRIGGERS};
use crate::run::PATIENCE;
use crate::tables::{self, ARTICLES};

/// The error of a replication that makes no progress.
#[derive(Debug)]
pub struct Stopped {
    node: usize,
    conflicts: String,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stopped { node, conflicts } = self;
        write!(f, "the replication to node {node} has stopped: {conflicts}")
    }
}

impl std::error::Error for Stopped {}

/// The database of a node, and a session there.
pub struct Node {
    pub url: String,
    pub conn: PgConnection,
}

/// Both nodes. Each subscribes to the other.
pub struct Nodes {
    pub nodes: Vec<Node>,
    /// Whether the run kills servers.
    are_killed: bool,
    /// The name of the databases, the publications, and the beginning of the subscriptions.
    name: String,
    servers: Vec<String>,
}

/// The articles whose counters are deleted and imported now and then. Only their rows on both nodes
/// are compared.
pub const UNCHECKED: RangeInclusive<i64> = ARTICLES + 1..=ARTICLES + 2;

/// The tables that are replicated, and what orders their rows. `beacons` has a row for each node,
/// whose number grows: when a node has applied the last number of the other one, it has applied all
/// that was committed before.
const REPLICATED: [(&str, &str); 6] = [
    ("article_counters", "article_id, day, slot"),
    ("label_counters", "article_id, label, day, slot"),
    ("comments", "id"),
    ("article_likes", "article_id, user_id"),
    ("counted", "transaction_id, article_id, day"),
    ("beacons", "node"),
];

/// Returns the number that a query selects.
pub fn number(query: &str, conn: &mut PgConnection) -> QueryResult<i64> {
    diesel::select(sql::<BigInt>(&format!("({query})"))).get_result(conn)
}

/// Returns the text that a query selects.
pub fn text(query: &str, conn: &mut PgConnection) -> QueryResult<Option<String>> {
    diesel::select(sql::<Nullable<Text>>(&format!("({query})"))).get_result(conn)
}

impl Nodes {
    /// Creates a database on each server, with tables that replicate to the other.
    pub fn create(args: &Regions) -> Result<Self> {
        let servers = &args.urls;
        let name = format!("soak_{}", rand::random_range(1..i32::MAX));
        let mut nodes = Vec::new();
        for (node, server) in servers.iter().enumerate() {
            let (to, _) = server.rsplit_once('/').context("the URL has no database")?;
            let url = format!("{to}/{name}");
            let mut conn = connect(server)?;
            conn.batch_execute(&format!("CREATE DATABASE {name}"))?;
            if !args.has_no_partitions() {
                conn.batch_execute(&format!(
                    "ALTER DATABASE {name} SET diesel_counters.partition = '{node}/2'"
                ))?;
            }
            let mut conn = connect(&url)?;
            let unchecked = UNCHECKED.map(|id| format!("({id})"));
            let unchecked: Vec<_> = unchecked.collect();
            let unchecked = unchecked.join(", ");
            let tables = REPLICATED.map(|(table, _)| table).join(", ");
            conn.batch_execute(&tables::create(REFERENCE, TRIGGERS))?;
            conn.batch_execute(DROP_FOREIGN_KEYS)?;
            conn.batch_execute(&format!(
                "CREATE TABLE beacons (node BIGINT PRIMARY KEY, number BIGINT NOT NULL);
                 INSERT INTO beacons VALUES (0, 0), (1, 0);
                 INSERT INTO articles (id) VALUES {unchecked};
                 CREATE PUBLICATION {name} FOR TABLE {tables}"
            ))?;
            nodes.push(Node { url, conn });
        }
        let mut nodes = Nodes {
            nodes,
            are_killed: !args.server.is_empty(),
            name,
            servers: servers.clone(),
        };
        for to in 0..2 {
            let name = &nodes.name;
            let from = &nodes.nodes[1 - to].url;
            let subscribe = format!(
                "CREATE SUBSCRIPTION {name}_{to} CONNECTION '{from}' PUBLICATION {name}
                 WITH (origin = none, copy_data = false)"
            );
            nodes.nodes[to].conn.batch_execute(&subscribe)?;
        }
        for to in 0..2 {
            nodes.wait_for_all(to)?;
        }
        Ok(nodes)
    }

    /// Opens or cuts the line to this node.
    pub fn switch(&mut self, to: usize, on: bool) -> QueryResult<()> {
        let state = if on { "ENABLE" } else { "DISABLE" };
        let switch = format!("ALTER SUBSCRIPTION {}_{to} {state}", self.name);
        self.nodes[to].conn.batch_execute(&switch)
    }

    /// Waits until this node has applied everything that the other one has committed.
    pub fn wait_for_all(&mut self, to: usize) -> Result<()> {
        self.wait_for_all_or(to, |_| Ok(false))
    }

    /// Waits until this node has applied everything that the other one has committed, or waits for
    /// a lock that a session of the node has.
    pub fn wait_for_all_or_block(&mut self, to: usize) -> Result<()> {
        let blocked = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()
            AND backend_type LIKE 'logical replication%'
            AND cardinality(pg_blocking_pids(pid)) > 0";
        self.wait_for_all_or(to, |conn| Ok(number(blocked, conn)? > 0))
    }

    /// Increases the beacon of the other node, and waits until this node has its number or
    /// `is_blocked`.
    fn wait_for_all_or(
        &mut self,
        to: usize,
        mut is_blocked: impl FnMut(&mut PgConnection) -> QueryResult<bool>,
    ) -> Result<()> {
        let from = 1 - to;
        let conn = &mut self.nodes[from].conn;
        conn.batch_execute(&format!(
            "UPDATE beacons SET number = number + 1 WHERE node = {from}"
        ))?;
        let beacon = format!("SELECT number FROM beacons WHERE node = {from}");
        let last = number(&beacon, conn)?;
        let began = Instant::now();
        while number(&beacon, &mut self.nodes[to].conn)? < last {
            if is_blocked(&mut self.nodes[to].conn)? {
                return Ok(());
            }
            // The worker tries for ever to insert a row that exists.
            let conflicts = if began.elapsed() > Duration::from_secs(5) {
                self.conflicts()?
            } else {
                String::new()
            };
            if conflicts.contains("exists") || began.elapsed() > PATIENCE {
                bail!(Stopped {
                    node: to,
                    conflicts
                });
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Compares the tables of both nodes. Returns the first difference.
    pub fn difference(&mut self) -> Result<Option<String>> {
        // `Line` increases beacons that it then holds back.
        let compared = REPLICATED.iter().filter(|(table, _)| *table != "beacons");
        for (table, order) in compared {
            let rows = format!(
                "SELECT string_agg(CAST(kept AS TEXT), ' ' ORDER BY {order}) FROM {table} AS kept"
            );
            let mut of = |node: usize| text(&rows, &mut self.nodes[node].conn);
            let first = of(0)?;
            let second = of(1)?;
            if first != second {
                let [first, second] = [first, second].map(Option::unwrap_or_default);
                return Ok(Some(different_rows(table, &first, &second)));
            }
        }
        Ok(None)
    }

    /// Returns a text of the conflicts that the servers have counted, which is empty if there are
    /// none. If no server was killed, it has the errors too: a lost connection is one of these. A
    /// server adds to its counts when the worker ends.
    pub fn conflicts(&mut self) -> Result<String> {
        let mut found = String::new();
        for (to, node) in self.nodes.iter_mut().enumerate() {
            let counts = "SELECT string_agg(key || ' ' || value, ', ')
                 FROM pg_subscription s JOIN pg_stat_subscription_stats t ON t.subid = s.oid,
                 LATERAL jsonb_each_text(to_jsonb(t)) WHERE s.subdbid = (SELECT oid FROM pg_database
                     WHERE datname = current_database())
                 AND (key LIKE 'confl%' OR key = {errors}) AND value <> '0'";
            let errors = if self.are_killed {
                "''"
            } else {
                "'apply_error_count'"
            };
            let counts = counts.replace("{errors}", errors);
            if let Some(counts) = text(&counts, &mut node.conn)? {
                found += &format!("node {to}: {counts}; ");
            }
        }
        Ok(found)
    }

    /// Ends the replication. Returns the conflicts of the whole run.
    pub fn end(&mut self) -> Result<String> {
        for to in 0..2 {
            self.switch(to, false)?;
        }
        let workers = "SELECT COUNT(*) FROM pg_stat_subscription s JOIN pg_subscription d
            ON d.oid = s.subid AND d.subname LIKE 'soak%' WHERE s.pid IS NOT NULL
            AND d.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())";
        for node in &mut self.nodes {
            while number(workers, &mut node.conn)? > 0 {
                thread::sleep(Duration::from_millis(10));
            }
        }
        self.conflicts()
    }

    /// Removes the databases.
    pub fn remove(mut self) -> Result<()> {
        for to in 0..2 {
            let drop = format!("DROP SUBSCRIPTION {}_{to}", self.name);
            self.nodes[to].conn.batch_execute(&drop)?;
        }
        self.nodes.clear();
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        for server in &self.servers {
            connect(server)?.batch_execute(&drop)?;
        }
        Ok(())
    }
}

/// Describes up to five rows that only one of the nodes has, on each.
fn different_rows(table: &str, first: &str, second: &str) -> String {
    let of_first = rows_alone(first, second);
    let of_second = rows_alone(second, first);
    format!("{table} of node 0 has {of_first}, where node 1 has {of_second}")
}

/// Up to five rows that only the first text has. PostgreSQL writes a row as `(1,2)`.
fn rows_alone(one: &str, other: &str) -> String {
    let of_other: HashSet<&str> = rows_of(other).collect();
    let alone = rows_of(one).filter(|row| !of_other.contains(row));
    alone.take(5).collect::<Vec<_>>().join(" ")
}

fn rows_of(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(')').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_node_alone_are_named() {
        let text = different_rows("counted", "(1,2) (3,4)", "(1,2) (3,9) (5,6)");
        let expected = "counted of node 0 has (3,4), where node 1 has (3,9) (5,6)";
        assert_eq!(text, expected);
        let text = different_rows("counted", "(1,2)", "(1,2) (5,6)");
        assert_eq!(text, "counted of node 0 has , where node 1 has (5,6)");
    }
}
