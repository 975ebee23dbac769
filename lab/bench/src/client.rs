//! What a statement costs in the client, beside the same statement written by hand in Diesel.
//!
//! The program runs itself under valgrind, with a number of runs and with twice as many. The
//! difference is the cost of the runs alone, and is the same on a busy machine.

mod by_hand;

use std::env;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use diesel::prelude::*;
use diesel_counters::dsl::{counter_value, increment, set_counter, take, total};

use crate::create::{create_without_triggers, drop_tables};
use crate::database::Database;
use crate::schema::bench_article_counters::views;
use crate::schema::bench_tickets::remaining;
use crate::schema::{bench_articles, bench_hits};
use crate::table::{Table, three_digits};

/// The measurement has no arguments. It runs this program with them, under valgrind.
#[derive(clap::Args)]
pub struct Client {
    #[arg(long, hide = true)]
    statement: Option<Statement>,
    #[arg(long, hide = true)]
    by_hand: bool,
    #[arg(long, hide = true, default_value_t = 0)]
    times: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Statement {
    Increment,
    IncrementMany,
    CounterValue,
    CounterValueMany,
    PageWithTotal,
    Take,
    SetCounter,
    IncrementOnPostgres,
}

impl Statement {
    fn name(self) -> &'static str {
        match self {
            Statement::Increment => "`increment`",
            Statement::IncrementMany => "`increment` of 100 keys",
            Statement::CounterValue => "`counter_value`",
            Statement::CounterValueMany => "`counter_value` of 20 keys",
            Statement::PageWithTotal => "a page of 20 rows with `total`",
            Statement::Take => "`take`; by hand, of one row",
            Statement::SetCounter => "`set_counter`",
            Statement::IncrementOnPostgres => "`increment` on PostgreSQL",
        }
    }
}

/// The keys that are counted.
const MANY: i64 = 100;

/// The rows of a page.
const PAGE: i64 = 20;

/// How often a statement is run, and then twice as often.
const TIMES: u32 = 200;

/// Prints what each statement costs: instructions, or nanoseconds if there is no valgrind.
pub fn run(client: &Client) -> Result<()> {
    if let Some(statement) = client.statement {
        let program = Program {
            statement,
            by_hand: client.by_hand,
            times: client.times,
        };
        return program.run();
    }
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    let mut table = Table::new(if has_valgrind {
        vec![
            "instructions",
            "this crate",
            "by hand",
            "ratio",
            "allocations",
            "by hand",
        ]
    } else {
        vec!["nanoseconds", "this crate", "by hand", "ratio"]
    });
    for &statement in Statement::value_variants() {
        if statement == Statement::IncrementOnPostgres && env::var("POSTGRES_URL").is_err() {
            eprintln!("PostgreSQL is skipped: POSTGRES_URL is not set");
            continue;
        }
        let costs = if has_valgrind {
            cost_of_one(statement, Program::instructions)?
        } else {
            cost_of_one(statement, Program::nanoseconds)?
        };
        let mut row = vec![statement.name().to_owned()];
        row.extend(costs.map(|cost| format!("{cost:.0}")));
        row.push(three_digits(costs[0] / costs[1]));
        if has_valgrind {
            let allocations = cost_of_one(statement, Program::allocations)?;
            row.extend(allocations.map(|number| format!("{number:.0}")));
        }
        table.row(row);
    }
    println!("{table}");
    Ok(())
}

/// Returns the cost of one run: of this crate's statement, and of the one that is written by hand.
/// The difference of two programs leaves out what they do besides.
fn cost_of_one(statement: Statement, cost: impl Fn(Program) -> Result<f64>) -> Result<[f64; 2]> {
    let of = |by_hand| {
        let program = |times| Program {
            statement,
            by_hand,
            times,
        };
        let once = cost(program(TIMES))?;
        let twice = cost(program(2 * TIMES))?;
        anyhow::Ok((twice - once) / f64::from(TIMES))
    };
    Ok([of(false)?, of(true)?])
}

/// Creates the tables, and runs a statement `times` times.
#[derive(Clone, Copy)]
struct Program {
    statement: Statement,
    by_hand: bool,
    times: u32,
}

impl Program {
    fn instructions(self) -> Result<f64> {
        let options = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
        self.valgrind(options, "Collected :")
    }

    /// Also those of the database's client library and of SQLite.
    fn allocations(self) -> Result<f64> {
        let options = ["--tool=dhat", "--dhat-out-file=/dev/null"];
        self.valgrind(options, "bytes in")
    }

    /// Returns the number after `text` in valgrind's report.
    fn valgrind(self, options: [&str; 2], text: &str) -> Result<f64> {
        let statement = self
            .statement
            .to_possible_value()
            .context("not an argument")?;
        let mut command = Command::new("valgrind");
        command.args(options).arg(env::current_exe()?);
        command.args(["client", "--statement", statement.get_name()]);
        command.args(["--times", &self.times.to_string()]);
        command.args(self.by_hand.then_some("--by-hand"));
        let output = command.output()?;
        let report = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!("{command:?} failed: {report}");
        }
        let (_, rest) = report
            .split_once(text)
            .with_context(|| format!("no total in {report}"))?;
        let number = rest
            .split_whitespace()
            .next()
            .context("no number in the report")?;
        Ok(number.replace(',', "").parse()?)
    }

    /// Returns the least time of several runs, because other programs use the machine.
    fn nanoseconds(self) -> Result<f64> {
        let mut least = f64::INFINITY;
        for _ in 0..50 {
            let began = Instant::now();
            self.run()?;
            least = least.min(began.elapsed().as_nanos() as f64);
        }
        Ok(least)
    }

    fn run(self) -> Result<()> {
        if self.statement == Statement::IncrementOnPostgres {
            let conn = &mut PgConnection::connect(&env::var("POSTGRES_URL")?)?;
            create_without_triggers(conn)?;
            for _ in 0..self.times {
                if self.by_hand {
                    by_hand::Increment::of(1).execute(conn)?;
                } else {
                    increment(views).of(1_i64).execute(conn)?;
                }
            }
            return Ok(drop_tables(conn)?);
        }
        // Without the settings of `Database::connect`, which are those of a file.
        let conn = &mut SqliteConnection::establish(":memory:")?;
        create_without_triggers(conn)?;
        for article in 1..=MANY {
            use bench_articles::{id, table, title, total_views};
            let values = (id.eq(article), title.eq("An article"), total_views.eq(0));
            diesel::insert_into(table).values(values).execute(conn)?;
            increment(views).of(article).execute(conn)?;
        }
        set_counter(remaining)
            .of(1_i64)
            .to(1_000_000)
            .execute(conn)?;
        diesel::update(bench_hits::table)
            .set(bench_hits::views.eq(1_000_000))
            .execute(conn)?;
        for _ in 0..self.times {
            self.once(conn)?;
        }
        Ok(())
    }

    fn once(self, conn: &mut SqliteConnection) -> QueryResult<()> {
        let counts = (1..=MANY).map(|id| (id, 1));
        match (self.statement, self.by_hand) {
            (Statement::Increment | Statement::IncrementOnPostgres, false) => {
                increment(views).of(1_i64).execute(conn).map(drop)
            }
            (Statement::Increment | Statement::IncrementOnPostgres, true) => {
                by_hand::Increment::of(1).execute(conn).map(drop)
            }
            (Statement::IncrementMany, false) => {
                increment(views).of_many(counts).execute(conn).map(drop)
            }
            (Statement::IncrementMany, true) => {
                by_hand::IncrementMany::of(counts).execute(conn).map(drop)
            }
            (Statement::CounterValue, false) => counter_value(views)
                .of(1_i64)
                .get_result(conn)
                .map(drop::<i64>),
            (Statement::CounterValue, true) => {
                by_hand::CounterValue(1).get_result(conn).map(drop::<i64>)
            }
            (Statement::CounterValueMany, false) => counter_value(views)
                .of_many(1..=PAGE)
                .load(conn)
                .map(drop::<Vec<i64>>),
            (Statement::CounterValueMany, true) => {
                by_hand::counter_values((1..=PAGE).collect(), conn).map(drop)
            }
            (Statement::PageWithTotal, false) => {
                let page = bench_articles::table.order(bench_articles::id).limit(PAGE);
                let total = total(views).of(bench_articles::id);
                let rows = page.select((bench_articles::id, bench_articles::title, total));
                rows.load(conn).map(drop::<Vec<(i64, String, i64)>>)
            }
            (Statement::PageWithTotal, true) => {
                let page = bench_articles::table.order(bench_articles::id).limit(PAGE);
                let total = by_hand::Total;
                let rows = page.select((bench_articles::id, bench_articles::title, total));
                rows.load(conn).map(drop::<Vec<(i64, String, i64)>>)
            }
            (Statement::SetCounter, false) => {
                set_counter(views).of(1_i64).to(7).execute(conn).map(drop)
            }
            (Statement::SetCounter, true) => conn.immediate_transaction(|conn| {
                let stored: i64 = by_hand::CounterValue(1).get_result(conn)?;
                by_hand::Increment::of(1)
                    .by(7 - stored)
                    .execute(conn)
                    .map(drop)
            }),
            (Statement::Take, false) => take(remaining).of(1_i64).execute(conn).map(drop),
            (Statement::Take, true) => {
                use bench_hits::{table, views};
                let stock = table.find(1).filter(views.ge(1));
                diesel::update(stock)
                    .set(views.eq(views - 1))
                    .execute(conn)
                    .map(drop)
            }
        }
    }
}
