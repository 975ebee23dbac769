//! What eight clients count on two nodes, and what each node has: the table of docs/nodes.md.

use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::dsl::compact;
use diesel_counters::prelude::*;
use diesel_counters::{Slot, with_default_slot};

use super::{Nodes, Regions, connect, number, partition};
use crate::tables::article_counters::dsl::{article_counters, views};
use crate::tables::{Article, compacted_before, day};

/// The increments of each of the eight clients, of which four write to each node.
const INCREMENTS: i64 = 2_000;
const CLIENTS: i64 = 4;

pub fn run(args: &Regions) -> Result<(String, Option<String>)> {
    let mut table = Table {
        nodes: Nodes::create(args)?,
        counted: 0,
        wrong: None,
    };
    println!("| | counted | node 1, node 2 |\n| --- | ---: | --- |");
    table.line("a partition a node", |nodes| count(nodes, &partition))?;
    table.line("line cut, both count on; healed", |nodes| {
        nodes.cut()?;
        count(nodes, &partition)
    })?;
    table.line("merged on one node", |nodes| merge(nodes, 0))?;
    table.line(
        "merged on both behind a cut line, while both count; healed",
        |nodes| {
            nodes.cut()?;
            let urls: Vec<String> = nodes.nodes.iter().map(|node| node.url.clone()).collect();
            thread::scope(|scope| {
                let merging = urls.iter().enumerate().map(|(node, url)| {
                    scope.spawn(move || -> Result<()> {
                        for _ in 0..20 {
                            with_default_slot(partition(node), || {
                                let merge = compact(article_counters).before(compacted_before());
                                merge
                                    .execute(&mut connect(url)?)
                                    .map(drop)
                                    .map_err(anyhow::Error::from)
                            })?;
                        }
                        Ok(())
                    })
                });
                let merging: Vec<_> = merging.collect();
                let counted = count(nodes, &partition)?;
                for merge in merging {
                    merge.join().map_err(|_| anyhow!("a thread panicked"))??;
                }
                Ok(counted)
            })
        },
    )?;
    table.line(
        "set_counter of one article on both behind a cut line; healed",
        |nodes| {
            nodes.cut()?;
            let mut added = 0;
            for node in 0..2 {
                let to = 100_000 * (node as i64 + 1);
                let conn = &mut connect(&nodes.nodes[node].url)?;
                let set = || Article { id: 1 }.set_counter(views, to, conn);
                added += to - with_default_slot(partition(node), set)?;
            }
            Ok(added)
        },
    )?;
    table.line(
        "without partitions: the default slots on both nodes",
        |nodes| {
            // With it, these increments would be refused.
            let reset = format!(
                "ALTER DATABASE {} RESET diesel_counters.partition",
                nodes.name
            );
            for node in &mut nodes.nodes {
                node.conn.batch_execute(&reset)?;
            }
            count(nodes, &|_| Slot::Connection)
        },
    )?;
    let Table {
        mut nodes, wrong, ..
    } = table;
    nodes.end()?;
    nodes.remove()?;
    Ok(("the table".to_owned(), wrong))
}

struct Table {
    nodes: Nodes,
    counted: i64,
    wrong: Option<String>,
}

impl Table {
    /// Prints what was counted in all, and what each node has, before and after the line is healed.
    fn line(&mut self, what: &str, run: impl FnOnce(&mut Nodes) -> Result<i64>) -> Result<()> {
        self.counted += run(&mut self.nodes)?;
        let counted = self.counted;
        let before = self.nodes.views()?;
        let began = Instant::now();
        for to in 0..2 {
            self.nodes.switch(to, true)?;
        }
        for to in 0..2 {
            self.nodes.wait_for_all(to)?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let [first, second] = self.nodes.views()?;
        let [first_before, second_before] = before;
        println!(
            "| {what} | {counted} | {first_before}, {second_before}; after {seconds:.2} s {first}, {second} |"
        );
        if [first, second] != [counted; 2] && !what.starts_with("without") {
            self.wrong.get_or_insert(what.to_owned());
        }
        Ok(())
    }
}

impl Nodes {
    fn cut(&mut self) -> Result<()> {
        for to in 0..2 {
            self.switch(to, false)?;
        }
        Ok(())
    }

    fn views(&mut self) -> Result<[i64; 2]> {
        let sum = "SELECT CAST(SUM(views) AS BIGINT) FROM article_counters";
        let first = number(sum, &mut self.nodes[0].conn)?;
        Ok([first, number(sum, &mut self.nodes[1].conn)?])
    }
}

/// Eight clients count the views of an article, today and on an old day. Returns how many.
fn count(nodes: &Nodes, slot: &(dyn Fn(usize) -> Slot + Sync)) -> Result<i64> {
    let urls: Vec<&str> = nodes.nodes.iter().map(|node| &*node.url).collect();
    thread::scope(|scope| {
        let clients = urls.iter().enumerate().flat_map(|(node, url)| {
            (0..CLIENTS).map(move |_| {
                scope.spawn(move || -> Result<()> {
                    let conn = &mut connect(url)?;
                    with_default_slot(slot(node), || {
                        (0..INCREMENTS).try_for_each(|i| {
                            let count = increment(views).of(1_i64);
                            count.on(day((i % 2) as u8 * 3)).execute(conn).map(drop)
                        })
                    })?;
                    Ok(())
                })
            })
        });
        let clients: Vec<_> = clients.collect();
        for client in clients {
            client.join().map_err(|_| anyhow!("a thread panicked"))??;
        }
        Ok(2 * CLIENTS * INCREMENTS)
    })
}

fn merge(nodes: &Nodes, node: usize) -> Result<i64> {
    let conn = &mut connect(&nodes.nodes[node].url)?;
    with_default_slot(partition(node), || {
        compact(article_counters)
            .before(compacted_before())
            .execute(conn)
    })?;
    Ok(0)
}
