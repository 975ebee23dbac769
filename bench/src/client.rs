//! The client's own cost: instructions and allocations of a statement of this crate, beside the same
//! statement by hand. A child of this program runs each under valgrind, on SQLite in memory.

use std::env;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

use anyhow::{Context, Result, ensure};
use chrono::{NaiveDate, Utc};
use diesel::connection::InstrumentationEvent;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Date};
use diesel::sqlite::Sqlite;
use diesel_counters::prelude::*;

use crate::schema::bench_article_counters::{self, views};
use crate::schema::create_tables;
use crate::table::{Table, three_digits};

/// An operation, and how often it runs: the figures are those of as many more runs.
const OPERATIONS: [(&str, u32); 6] = [
    ("incr_counter", 200),
    ("counter_value", 200),
    ("increment, of_many of 10", 50),
    ("increment, of_many of 1,000", 5),
    ("counter_value, of_many of 10", 50),
    ("counter_value, of_many of 1,000", 5),
];

#[derive(HasCounters)]
#[counters(table_name = bench_article_counters)]
struct Article {
    id: i64,
}

/// An operation, with the entities that it counts.
struct Operation<'a> {
    name: &'a str,
    ids: Vec<i64>,
}

impl<'a> Operation<'a> {
    fn new(name: &'a str) -> Self {
        let number = name.rsplit_once(" of ").map_or("1", |(_, number)| number);
        let number: i64 = number.replace(',', "").parse().unwrap_or(1);
        // In no order, and different: 7 has no common divisor with these numbers.
        let ids = (0..number).map(|i| 1 + i * 7 % number).collect();
        Operation { name, ids }
    }

    fn run(&self, by_hand: bool, conn: &mut SqliteConnection) -> QueryResult<Vec<i64>> {
        let article = Article { id: self.ids[0] };
        let ids = self.ids.iter().copied();
        let read = match (self.name.split(" of ").next().unwrap_or_default(), by_hand) {
            ("incr_counter", false) => return article.incr_counter(views, conn).map(|()| vec![]),
            ("incr_counter", true) => return add(vec![(article.id, 1)], conn),
            ("counter_value", false) => article.counter_value(views, conn)?,
            ("counter_value", true) => Total(article.id).get_result(conn)?,
            ("increment, of_many", false) => {
                return increment(views)
                    .of_many(ids.map(|id| (id, 1)))
                    .execute(conn)
                    .map(|_| vec![]);
            }
            ("increment, of_many", true) => return add(ids.map(|id| (id, 1)).collect(), conn),
            (_, false) => return counter_value(views).of_many(ids).load(conn),
            (_, true) => return totals(&self.ids, conn),
        };
        Ok(vec![read])
    }
}

/// Adds up the amounts of each entity, and adds them to the rows of today in the order of the keys.
fn add(mut rows: Vec<(i64, i64)>, conn: &mut SqliteConnection) -> QueryResult<Vec<i64>> {
    let day = Utc::now().date_naive();
    if rows.len() > 1 {
        rows.sort_unstable();
        rows.dedup_by(|next, row| {
            let same = next.0 == row.0;
            row.1 += if same { next.1 } else { 0 };
            same
        });
    }
    let mut rows = &rows[..];
    while let Some(log) = rows.len().checked_ilog2() {
        let (now, later) = rows.split_at(1 << log.min(8));
        match now.len() {
            1 => Add::<false> { day, rows: now }.execute(conn)?,
            _ => Add::<true> { day, rows: now }.execute(conn)?,
        };
        rows = later;
    }
    Ok(vec![])
}

/// The statement that adds to one row, or to a list. A list can have any length, so Diesel caches its
/// statement by the text, as it does its own `eq_any`.
struct Add<'a, const LIST: bool> {
    day: NaiveDate,
    rows: &'a [(i64, i64)],
}

impl<const LIST: bool> QueryId for Add<'_, LIST> {
    type QueryId = Add<'static, LIST>;
    const HAS_STATIC_QUERY_ID: bool = !LIST;
}

impl<const LIST: bool> RunQueryDsl<SqliteConnection> for Add<'_, LIST> {}

impl<const LIST: bool> QueryFragment<Sqlite> for Add<'_, LIST> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(
            "INSERT INTO `bench_article_counters` AS diesel_counters_stored \
             (`article_id`, `day`, `slot`, `views`) VALUES ",
        );
        for (i, (id, amount)) in self.rows.iter().enumerate() {
            out.push_sql(if i == 0 { "(" } else { ", (" });
            out.push_bind_param::<BigInt, _>(id)?;
            out.push_sql(", ");
            out.push_bind_param::<Date, _>(&self.day)?;
            out.push_sql(", 0, ");
            out.push_bind_param::<BigInt, _>(amount)?;
            out.push_sql(")");
        }
        out.push_sql(
            " ON CONFLICT (`article_id`, `day`, `slot`) DO UPDATE SET `views` = \
             CASE typeof(diesel_counters_stored.`views` + excluded.`views`) WHEN 'integer' \
             THEN diesel_counters_stored.`views` + excluded.`views` \
             ELSE abs(-9223372036854775807 - 1) END",
        );
        Ok(())
    }
}

const SUM: &str = "CASE typeof(COALESCE(SUM(`views`), 0)) WHEN 'integer' \
    THEN COALESCE(SUM(`views`), 0) ELSE abs(-9223372036854775807 - 1) END";

/// The query of one total.
#[derive(QueryId)]
struct Total(i64);

impl RunQueryDsl<SqliteConnection> for Total {}

impl Query for Total {
    type SqlType = BigInt;
}

impl QueryFragment<Sqlite> for Total {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("SELECT ");
        out.push_sql(SUM);
        out.push_sql(" FROM `bench_article_counters` WHERE `article_id` = ");
        out.push_bind_param::<BigInt, _>(&self.0)
    }
}

/// Returns the total of each of up to 1,000 entities, in the order of `ids`.
fn totals(ids: &[i64], conn: &mut SqliteConnection) -> QueryResult<Vec<i64>> {
    let rows = ids.len().next_power_of_two().min(1_000);
    let rows: Vec<(i64, i64)> = Totals { ids, rows }.load(conn)?;
    let mut totals = vec![0; ids.len()];
    for (number, total) in rows {
        if let Some(of_id) = totals.get_mut(number as usize - 1) {
            *of_id = total;
        }
    }
    Ok(totals)
}

/// The query of these totals. The last key fills up the list to so many `rows`.
struct Totals<'a> {
    ids: &'a [i64],
    rows: usize,
}

impl QueryId for Totals<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl RunQueryDsl<SqliteConnection> for Totals<'_> {}

impl Query for Totals<'_> {
    type SqlType = (BigInt, BigInt);
}

static NUMBERS: LazyLock<Vec<String>> =
    LazyLock::new(|| (1..=1_000).map(|number| format!(", {number}")).collect());

impl QueryFragment<Sqlite> for Totals<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("SELECT `diesel_counters_number`, ");
        out.push_sql(SUM);
        out.push_sql(
            " FROM (SELECT column1 AS diesel_counters_key, \
             CAST(column2 AS BIGINT) AS diesel_counters_number FROM ",
        );
        let ids = self.ids.iter().chain(self.ids.last().into_iter().cycle());
        for (i, (id, number)) in ids.zip(&NUMBERS[..self.rows]).enumerate() {
            out.push_sql(if i == 0 { "(VALUES (" } else { "), (" });
            out.push_bind_param::<BigInt, _>(id)?;
            out.push_sql(number);
        }
        out.push_sql(
            ")) AS diesel_counters_listed) AS diesel_counters_wanted \
             JOIN `bench_article_counters` ON `article_id` = diesel_counters_key \
             GROUP BY `diesel_counters_number`",
        );
        Ok(())
    }
}

fn connect(operation: &Operation<'_>) -> Result<SqliteConnection> {
    let mut conn = SqliteConnection::establish(":memory:")?;
    create_tables(&mut conn)?;
    conn.begin_test_transaction()?;
    add(operation.ids.iter().map(|&id| (id, 1)).collect(), &mut conn)?;
    Ok(conn)
}

/// Measures each operation. As a child, runs one: its name, how often, and whether by hand.
pub fn run(child: &[String]) -> Result<()> {
    if let [name, times, by_hand] = child {
        let operation = Operation::new(name);
        let (conn, by_hand) = (&mut connect(&operation)?, by_hand.parse()?);
        return (0..times.parse()?)
            .try_for_each(|_| operation.run(by_hand, conn).map(drop).map_err(Into::into));
    }
    let heading = ["operation", "instructions", "by hand", "ratio"];
    let heading = heading.iter().chain(&["allocations", "by hand", "ratio"]);
    let mut table = Table::new(heading.copied());
    for (name, times) in OPERATIONS {
        assert_same_statements(&Operation::new(name))?;
        let mut row = vec![name.to_owned()];
        for (tool, figure) in [
            ("callgrind", "Collected :"),
            ("memcheck", "total heap usage:"),
        ] {
            let cost = |by_hand| {
                let run = |times| valgrind(tool, figure, name, by_hand, times);
                anyhow::Ok((run(2 * times)? - run(times)?) / f64::from(times))
            };
            let (ours, by_hand) = (cost(false)?, cost(true)?);
            row.extend([ours, by_hand].map(|cost| format!("{cost:.0}")));
            row.push(three_digits(ours / by_hand));
        }
        table.row(row);
    }
    print!("{table}");
    Ok(())
}

/// Returns the figure that valgrind prints when the child has ended.
fn valgrind(tool: &str, figure: &str, name: &str, by_hand: bool, times: u32) -> Result<f64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.arg(format!("--tool={tool}"));
    if tool == "callgrind" {
        valgrind.arg("--callgrind-out-file=/dev/null");
    }
    valgrind.arg(env::current_exe()?).args(["client", name]);
    valgrind.args([times.to_string(), by_hand.to_string()]);
    let output = valgrind.output().context("could not run valgrind")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "valgrind failed: {text}");
    let (_, number) = text.split_once(figure).context("valgrind has no figure")?;
    let number = number.split_whitespace().next().unwrap_or_default();
    Ok(number.replace(',', "").parse()?)
}

/// Fails if the two ways do not send the same statements with the same bind values, or read different
/// totals.
fn assert_same_statements(operation: &Operation<'_>) -> Result<()> {
    let conn = &mut connect(operation)?;
    let statements = Arc::new(Mutex::new(Vec::new()));
    let sent = Arc::clone(&statements);
    conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
        if let (InstrumentationEvent::StartQuery { query, .. }, Ok(mut sent)) = (event, sent.lock())
        {
            sent.push(query.to_string());
        }
    });
    let mut run = |by_hand| -> Result<_> {
        let read = operation.run(by_hand, conn)?;
        let sent = statements.lock().map(|mut sent| std::mem::take(&mut *sent));
        Ok((sent.unwrap_or_default(), read))
    };
    let (ours, by_hand) = (run(false)?, run(true)?);
    ensure!(ours == by_hand, "{ours:#?} is not {by_hand:#?}");
    Ok(())
}
