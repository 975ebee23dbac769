//! What reading a total costs, as a multiple of reading one row by its key.
//!
//! `read_cost [--rounds N]`, on the database that `DATABASE_URL` names.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::time::{Duration, Instant};

use chrono::{Days, NaiveDate, Utc};
use diesel::prelude::*;
use diesel_counters::prelude::*;
use rand::seq::{IndexedRandom, SliceRandom};
use schema::{bench_article_counters, bench_articles};

mod schema {
    diesel::table! {
        bench_articles (id) {
            id -> BigInt,
            title -> Text,
            total_views -> BigInt,
        }
    }

    diesel::table! {
        bench_article_counters (article_id, day, slot) {
            article_id -> BigInt,
            day -> Date,
            slot -> SmallInt,
            views -> BigInt,
            likes -> BigInt,
            comments -> BigInt,
        }
    }
}

const DROP: &str = "DROP TABLE IF EXISTS bench_article_counters;
     DROP TABLE IF EXISTS bench_articles;";
// As in the reference migrations, but for the foreign key: no read looks at it.
const CREATE: &str = "CREATE TABLE bench_articles (
         id BIGINT NOT NULL PRIMARY KEY,
         title TEXT NOT NULL,
         total_views BIGINT NOT NULL
     );
     CREATE TABLE bench_article_counters (
         article_id BIGINT NOT NULL,
         day DATE NOT NULL,
         slot SMALLINT NOT NULL,
         views BIGINT NOT NULL DEFAULT 0,
         likes BIGINT NOT NULL DEFAULT 0,
         comments BIGINT NOT NULL DEFAULT 0,
         PRIMARY KEY (article_id, day, slot)
     );";

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

/// A connection to one of the databases. Each has its own type, not a `MultiConnection`, whose own
/// work would be part of both reads.
trait Database: Connection {
    /// Run on each new connection.
    const SETTINGS: &'static str;
    /// Leaves the tables as a server that has been up for a while has them.
    const AFTER_LOADING: &'static str;

    fn name_and_version(&mut self) -> QueryResult<String>;
    fn one_row(&mut self, id: i64) -> QueryResult<i64>;
    fn total(&mut self, id: i64) -> QueryResult<i64>;
}

macro_rules! database {
    ($connection:ty, $name_and_version:literal, $settings:literal, $after_loading:literal) => {
        impl Database for $connection {
            const SETTINGS: &'static str = $settings;
            const AFTER_LOADING: &'static str = $after_loading;

            fn name_and_version(&mut self) -> QueryResult<String> {
                diesel::select(diesel::dsl::sql::<diesel::sql_types::Text>(
                    $name_and_version,
                ))
                .get_result(self)
            }

            fn one_row(&mut self, id: i64) -> QueryResult<i64> {
                bench_articles::table
                    .find(id)
                    .select(bench_articles::total_views)
                    .get_result(self)
            }

            fn total(&mut self, id: i64) -> QueryResult<i64> {
                counter_value(bench_article_counters::views)
                    .of(id)
                    .get_result(self)
            }
        }
    };
}

#[cfg(feature = "sqlite")]
database!(
    SqliteConnection,
    "'SQLite ' || sqlite_version()",
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
    // After this, the SQLite that libsqlite3-sys bundles plans each read of a total anew, as it does
    // any statement whose best plan could depend on a value that was bound (SQLITE_ENABLE_STAT4).
    "ANALYZE bench_articles; ANALYZE bench_article_counters; PRAGMA wal_checkpoint(TRUNCATE)"
);
#[cfg(feature = "postgres")]
database!(
    PgConnection,
    "'PostgreSQL ' || current_setting('server_version')",
    "",
    // The vacuum is one that autovacuum would otherwise begin during the measurement.
    "VACUUM (ANALYZE) bench_articles, bench_article_counters"
);
#[cfg(feature = "mysql")]
database!(
    MysqlConnection,
    "concat(if(version() LIKE '%MariaDB%', 'MariaDB ', 'MySQL '), version())",
    "",
    "ANALYZE TABLE bench_articles, bench_article_counters"
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
fn load<C: Database>(conn: &mut C, shape: Shape) -> QueryResult<Vec<(i64, i64)>> {
    let mut totals: Vec<_> = (1..=ARTICLES).map(|id| (id, 0)).collect();
    let counted = shape.counted() as usize;
    let first_day = today() - Days::new(shape.days as u64 - 1);

    conn.batch_execute(DROP)?;
    conn.batch_execute(CREATE)?;
    conn.transaction(|conn| {
        for day in 0..shape.days {
            let mut rows = Vec::new();
            for (id, total) in &mut totals[..counted] {
                for (slot, views) in shape.rows(*id, day) {
                    *total += views;
                    rows.push((*id, slot, views));
                }
            }
            // Counting makes a day's rows in any order, and that is how PostgreSQL and SQLite keep them.
            rows.shuffle(&mut rand::rng());
            let date = first_day + Days::new(day as u64);
            insert(
                conn,
                "bench_article_counters",
                &rows,
                |(id, slot, views)| format!("({id}, '{date}', {slot}, {views}, 0, 0)"),
            )?;
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
    conn: &mut impl Database,
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

fn connect<C: Database>(url: &str) -> Result<C, Box<dyn Error>> {
    let mut conn = C::establish(url)?;
    if !C::SETTINGS.is_empty() {
        conn.batch_execute(C::SETTINGS)?;
    }
    Ok(conn)
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

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let (lower, upper) = ((values.len() - 1) / 2, values.len() / 2);
    (values[lower] + values[upper]) / 2.0
}

/// The median of the rounds' ratios.
fn measure<C: Database>(url: &str, shape: Shape, rounds: usize) -> Result<f64, Box<dyn Error>> {
    let totals = load(&mut connect::<C>(url)?, shape)?;

    // A new connection, on which the database has planned nothing for another shape.
    let conn = &mut connect::<C>(url)?;
    let rng = &mut rand::rng();
    let mut all: Vec<_> = totals.iter().collect();
    all.shuffle(rng);
    time(conn, &all, C::one_row)?;
    time(conn, &all, C::total)?;

    let (mut rows, mut sums, mut ratios) = (vec![], vec![], vec![]);
    let start = Instant::now();
    while ratios.len() < rounds && start.elapsed() < LONGEST {
        let some: Vec<_> = (0..READS_IN_A_ROUND)
            .filter_map(|_| totals.choose(rng))
            .collect();
        let (row, sum);
        if ratios.len() % 2 == 0 {
            row = time(conn, &some, C::one_row)?;
            sum = time(conn, &some, C::total)?;
        } else {
            sum = time(conn, &some, C::total)?;
            row = time(conn, &some, C::one_row)?;
        }
        rows.push(row);
        sums.push(sum);
        ratios.push(sum / row);
    }

    let ratio = median(&mut ratios);
    eprintln!(
        "{:3} days, {:2} slots, {:8} {:5} rows × {:5} entities: {:>5} ({}..{}) in {} rounds; {:.1} µs / {:.1} µs",
        shape.days,
        shape.slots,
        if shape.merged { "merged:" } else { "unmerged:" },
        shape.rows_of_one(),
        totals.len(),
        three_digits(ratio),
        three_digits(ratios[0]),
        three_digits(ratios[ratios.len() - 1]),
        ratios.len(),
        median(&mut sums),
        median(&mut rows),
    );
    Ok(ratio)
}

fn three_digits(ratio: f64) -> String {
    let decimals = match ratio {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{ratio:.decimals$}")
}

fn run<C: Database>(url: &str, rounds: usize) -> Result<(), Box<dyn Error>> {
    let conn = &mut connect::<C>(url)?;
    let name = conn.name_and_version()?;
    eprintln!("{name}: median ratio (least..greatest); medians of a total / a row");

    let columns = [(1, false), (16, false), (32, false), (16, true), (32, true)];
    let mut table = String::from("| days |");
    for (slots, merged) in columns {
        let plural = if slots == 1 { "" } else { "s" };
        let merged = if merged { ", merged" } else { "" };
        write!(table, " {slots} slot{plural}{merged} |")?;
    }
    write!(table, "\n| ---: |{}", " ---: |".repeat(columns.len()))?;
    for days in [1, 30, 365] {
        write!(table, "\n| {days} |")?;
        for (slots, merged) in columns {
            let shape = Shape {
                days,
                slots,
                merged,
            };
            let ratio = measure::<C>(url, shape, rounds)?;
            write!(table, " {} |", three_digits(ratio))?;
        }
    }
    conn.batch_execute(DROP)?;
    println!("{name}\n\n{table}");
    Ok(())
}

fn rounds() -> Result<usize, Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(300),
        ["--rounds", rounds] => match rounds.parse()? {
            0 => Err("at least one round".into()),
            rounds => Ok(rounds),
        },
        _ => Err("usage: read_cost [--rounds N]".into()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = rounds()?;
    let url = env::var("DATABASE_URL").ok();
    match url.as_deref() {
        #[cfg(feature = "postgres")]
        Some(url) if url.starts_with("postgres") => run::<PgConnection>(url, rounds),
        #[cfg(feature = "mysql")]
        Some(url) if url.starts_with("mysql://") => run::<MysqlConnection>(url, rounds),
        Some(url) if url.contains("://") => {
            Err(format!("not built for {url}: see the features").into())
        }
        #[cfg(feature = "sqlite")]
        Some(file) => run::<SqliteConnection>(file, rounds),
        #[cfg(feature = "sqlite")]
        None => {
            let folder = tempfile::tempdir()?;
            let file = folder.path().join("read_cost.sqlite");
            run::<SqliteConnection>(&file.to_string_lossy(), rounds)
        }
        #[cfg(not(feature = "sqlite"))]
        _ => Err("DATABASE_URL is not set".into()),
    }
}
