//! What reading a total costs, as a multiple of reading one row by its key.

use std::time::{Duration, Instant};

use anyhow::Result;
use chrono::{Days, NaiveDate, Utc};
use diesel::prelude::*;
use diesel_counters::prelude::*;
use rand::seq::{IndexedRandom, SliceRandom};

use crate::Plan;
use crate::compare::{median, spread};
use crate::create::{create_without_triggers, drop_tables};
use crate::database::{Database, for_each_connection, with_connection};
use crate::schema::{bench_article_counters, bench_articles};
use crate::server::on_each;
use crate::table::{Table, three_digits};

/// The rows of the table that is read by key: so many that each database uses the key.
const ARTICLES: i64 = 10_000;
/// The fewest articles that are counted. The largest table then has 1,051,200 rows: 116 MB with its
/// primary key on PostgreSQL, within the 128 MB that the servers cache by default.
const FEWEST_COUNTED: i64 = 90;
/// The fewest rows of the counter table, unless every article is counted.
const FEWEST_ROWS: i64 = 100_000;

const READS_IN_A_ROUND: usize = 200;
/// No round of a shape begins later than this, however few there were.
const LONGEST: Duration = Duration::from_secs(6);

/// The most rounds of a shape.
const ROUNDS: u16 = 300;
const DAYS: [i64; 3] = [1, 30, 365];

/// The number of slots, and whether days before today are merged.
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

/// Which rows each counted article has.
#[derive(Clone, Copy)]
struct Shape {
    days: i64,
    slots: i64,
    /// Whether each day before today has one row, in slot 0, as after
    /// `compact(…).before(today)`. By default, `compact` leaves the slots of yesterday too.
    merged: bool,
}

impl Shape {
    /// The slots and the views of an article's rows of a day. `day` counts from 0 on, and the last
    /// one is today. Merged or not, the views add up to the same.
    fn rows(self, id: i64, day: i64) -> Vec<(i64, i64)> {
        // Counting begins at slot 1, except on SQLite. A read takes all of them alike.
        let each = (0..self.slots).map(|slot| (slot, 1 + (id + day + slot) % 9));
        let today = self.days - 1;
        if self.merged && day < today {
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

    /// The number of articles that are counted.
    fn counted(self) -> i64 {
        let articles = (FEWEST_ROWS as u64).div_ceil(self.rows_of_one() as u64) as i64;
        articles.clamp(FEWEST_COUNTED, ARTICLES)
    }
}

/// Makes the tables, and returns the counted articles with their totals.
fn load<C: Read>(conn: &mut C, shape: Shape) -> QueryResult<Vec<(i64, i64)>> {
    let mut totals: Vec<_> = (1..=ARTICLES).map(|id| (id, 0)).collect();
    let counted = shape.counted() as usize;
    let first_day = today() - Days::new(shape.days as u64 - 1);

    create_without_triggers(conn)?;
    conn.transaction(|conn| {
        for day in 0..shape.days {
            let mut rows = Vec::new();
            for (id, total) in &mut totals[..counted] {
                for (slot, views) in shape.rows(*id, day) {
                    *total += views;
                    rows.push((*id, slot, views));
                }
            }
            // Counting inserts the rows of a day in any order. PostgreSQL keeps them so, and the
            // others sort them by their key.
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

/// Returns the mean time of the reads, in microseconds. Panics if one is wrong.
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

/// Loads the tables and reads them. Returns the median of the rounds' ratios.
fn measure<C: Read>(url: &str, shape: Shape, rounds: u16) -> Result<f64> {
    let totals = load(&mut C::connect(url)?, shape)?;

    // Not the connection that has loaded the tables.
    let conn = &mut C::connect(url)?;
    let rng = &mut rand::rng();
    let mut all: Vec<_> = totals.iter().collect();
    all.shuffle(rng);
    // Every article once, so that the statements are prepared and the pages are in the cache.
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
        // Each round begins with the read that ended the one before.
        for read in [ratios.len() % 2, 1 - ratios.len() % 2] {
            micros[read] = time(conn, &some, [C::one_row, C::total][read])?;
        }
        rows.push(micros[0]);
        sums.push(micros[1]);
        ratios.push(micros[1] / micros[0]);
    }

    let [median_ratio, least, greatest] = spread(ratios);
    let [ratio, least, greatest] = [median_ratio, least, greatest].map(three_digits);
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
    Ok(median_ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> impl Iterator<Item = Shape> {
        DAYS.into_iter().flat_map(|days| {
            COLUMNS.map(|(slots, merged)| Shape {
                days,
                slots,
                merged,
            })
        })
    }

    #[test]
    fn a_table_has_the_rows_that_are_said() {
        for shape in shapes() {
            let rows = (0..shape.days).map(|day| shape.rows(1, day).len() as i64);
            assert_eq!(rows.sum::<i64>(), shape.rows_of_one());
            let rows = shape.counted() * shape.rows_of_one();
            assert!(rows >= FEWEST_ROWS || shape.counted() == ARTICLES, "{rows}");
        }
        let rows = shapes().map(|shape| shape.counted() * shape.rows_of_one());
        assert_eq!(rows.max(), Some(1_051_200));
    }

    #[test]
    fn merged_rows_add_up_to_the_same() {
        for shape in shapes() {
            let total = |shape: Shape| -> i64 {
                let rows = (0..shape.days).flat_map(|day| shape.rows(7, day));
                rows.map(|(_, views)| views).sum()
            };
            let unmerged = Shape {
                merged: false,
                ..shape
            };
            assert_eq!(total(shape), total(unmerged));
        }
    }
}
