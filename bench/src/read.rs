//! What reading a total costs, as a multiple of reading one row by its key.

use std::time::{Duration, Instant};

use anyhow::Result;
use chrono::{Days, NaiveDate, Utc};
use diesel::prelude::*;
use diesel_counters::prelude::*;
use rand::seq::{IndexedRandom, SliceRandom};

use crate::Plan;
use crate::compare::{median, spread};
use crate::create::{create_tables, drop_tables};
use crate::database::{Database, for_each_connection, with_connection};
use crate::schema::{bench_article_counters, bench_articles};
use crate::server::on_each;
use crate::table::{Table, three_digits};

/// So many that no database would rather scan the table than look a key up.
const ARTICLES: i64 = 10_000;
/// The first so many articles are counted, or more while there are few rows to each. The largest
/// table has a million rows, and is within a server's default of 128 MB of cache.
const FEWEST_COUNTED: i64 = 100;
/// The counter table has at least so many rows, unless every article is counted.
const FEWEST_ROWS: i64 = 100_000;

const READS_IN_A_ROUND: usize = 200;
/// A shape is measured for no longer than this, however few rounds that is.
const LONGEST: Duration = Duration::from_secs(6);

/// A shape is measured up to this many times.
const ROUNDS: u16 = 300;
const DAYS: [i64; 3] = [1, 30, 365];

/// The slots, and whether days before today are merged.
const COLUMNS: [(i64, bool); 5] = [(1, false), (16, false), (32, false), (16, true), (32, true)];

/// Prints for each database how long a total takes, as a multiple of one row.
pub fn run(plan: &Plan) -> Result<()> {
    on_each(&plan.databases, |engine, url| {
        let columns = COLUMNS.map(|(slots, merged)| {
            let plural = if slots == 1 { "" } else { "s" };
            let merged = if merged { ", merged" } else { "" };
            format!("{slots} slot{plural}{merged}")
        });
        let mut table = Table::new([vec!["days".to_owned()], columns.into()].concat());
        for days in DAYS {
            let mut row = vec![days.to_string()];
            for (slots, merged) in COLUMNS {
                let shape = Shape {
                    days,
                    slots,
                    merged,
                };
                let ratio = with_connection!(engine, measure(url, shape, plan.rounds(ROUNDS)))?;
                row.push(three_digits(ratio));
            }
            table.row(row);
        }
        println!("{table}");
        Ok(())
    })
}

/// The two reads.
pub trait Read: Database {
    fn one_row(&mut self, id: i64) -> QueryResult<i64>;
    fn total(&mut self, id: i64) -> QueryResult<i64>;
}

for_each_connection!(
    impl Read {
        fn one_row(&mut self, id: i64) -> QueryResult<i64> {
            let row = bench_articles::table.find(id);
            row.select(bench_articles::total_views).get_result(self)
        }

        fn total(&mut self, id: i64) -> QueryResult<i64> {
            counter_value(bench_article_counters::views).of(id).get_result(self)
        }
    }
);

/// Which rows each counted entity has.
#[derive(Clone, Copy)]
struct Shape {
    days: i64,
    slots: i64,
    /// All of a day before today are in slot 0.
    merged: bool,
}

impl Shape {
    /// `(slot, views)` of an entity's rows of a day; the last day is today. Merged or not, they add
    /// up to the same.
    fn rows(self, id: i64, day: i64) -> Vec<(i64, i64)> {
        let each = (0..self.slots).map(|slot| (slot, 1 + (id + day + slot) % 9));
        if self.merged && day + 1 < self.days {
            vec![(0, each.map(|(_, views)| views).sum())]
        } else {
            each.collect()
        }
    }

    fn rows_of_one(self) -> i64 {
        if self.merged {
            self.days - 1 + self.slots
        } else {
            self.days * self.slots
        }
    }

    fn counted(self) -> i64 {
        (FEWEST_ROWS / self.rows_of_one()).clamp(FEWEST_COUNTED, ARTICLES)
    }
}

/// Makes the tables, and returns the counted entities with their totals.
fn load<C: Read>(conn: &mut C, shape: Shape) -> QueryResult<Vec<(i64, i64)>> {
    let mut totals: Vec<_> = (1..=ARTICLES).map(|id| (id, 0)).collect();
    let counted = shape.counted() as usize;
    let first_day = today() - Days::new(shape.days as u64 - 1);

    create_tables(conn)?;
    conn.transaction(|conn| {
        for day in 0..shape.days {
            let mut rows = Vec::new();
            for (id, total) in &mut totals[..counted] {
                for (slot, views) in shape.rows(*id, day) {
                    *total += views;
                    rows.push((*id, slot, views));
                }
            }
            // Counting makes a day's rows in any order, and that is how PostgreSQL and SQLite keep
            // them.
            rows.shuffle(&mut rand::rng());
            let date = first_day + Days::new(day as u64);
            let values = |(id, slot, views): &(i64, i64, i64)| {
                format!("({id}, '{date}', {slot}, {views}, 0, 0)")
            };
            insert(conn, "bench_article_counters", &rows, values)?;
        }
        insert(conn, "bench_articles", &totals, |(id, total)| {
            format!("({id}, 'The title of article {id}', {total})")
        })
    })?;
    conn.batch_execute(C::AFTER_LOADING)?;
    totals.truncate(counted);
    Ok(totals)
}

fn insert<T>(
    conn: &mut impl Read,
    table: &str,
    rows: &[T],
    values: impl Fn(&T) -> String,
) -> QueryResult<()> {
    for rows in rows.chunks(1_000) {
        let rows: Vec<_> = rows.iter().map(&values).collect();
        conn.batch_execute(&format!("INSERT INTO {table} VALUES {}", rows.join(", ")))?;
    }
    Ok(())
}

fn today() -> NaiveDate {
    Utc::now().date_naive()
}

/// How long each of the reads takes, in microseconds. Panics when one is wrong.
fn time<C>(
    conn: &mut C,
    totals: &[&(i64, i64)],
    read: fn(&mut C, i64) -> QueryResult<i64>,
) -> QueryResult<f64> {
    let start = Instant::now();
    for (id, total) in totals {
        assert_eq!(read(conn, *id)?, *total, "the total of article {id}");
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / totals.len() as f64)
}

/// The median of the rounds' ratios.
fn measure<C: Read>(url: &str, shape: Shape, rounds: u16) -> Result<f64> {
    let totals = load(&mut C::connect(url)?, shape)?;

    // A new connection, on which the database has planned nothing for another shape.
    let conn = &mut C::connect(url)?;
    let rng = &mut rand::rng();
    let mut all: Vec<_> = totals.iter().collect();
    all.shuffle(rng);
    time(conn, &all, C::one_row)?;
    time(conn, &all, C::total)?;

    let mut rows = vec![];
    let mut sums = vec![];
    let mut ratios = vec![];
    let start = Instant::now();
    while ratios.len() < rounds.into() && start.elapsed() < LONGEST {
        let some: Vec<_> = (0..READS_IN_A_ROUND)
            .filter_map(|_| totals.choose(rng))
            .collect();
        let mut micros = [0.0; 2];
        for read in [ratios.len() % 2, 1 - ratios.len() % 2] {
            micros[read] = time(conn, &some, [C::one_row, C::total][read])?;
        }
        rows.push(micros[0]);
        sums.push(micros[1]);
        ratios.push(micros[1] / micros[0]);
    }

    let spread = spread(ratios);
    let [ratio, least, greatest] = spread.map(three_digits);
    eprintln!(
        "{:3} days, {:2} slots, {:8} {:5} rows × {:5} entities: {ratio:>5} ({least}..{greatest}) \
         in {} rounds; {:.1} µs / {:.1} µs",
        shape.days,
        shape.slots,
        if shape.merged { "merged:" } else { "unmerged:" },
        shape.rows_of_one(),
        totals.len(),
        sums.len(),
        median(sums).unwrap_or_default(),
        median(rows).unwrap_or_default(),
    );
    drop_tables(conn)?;
    Ok(spread[0])
}
