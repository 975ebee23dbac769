//! A registry of packages with a year of daily downloads: its pages, from a counter table, from a
//! table of daily rows that is written by hand, and from a plain column.

use std::ops::RangeInclusive;
use std::time::Instant;

use anyhow::{Result, ensure};
use chrono::{Days, NaiveDate};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::dsl::{compact, fold, recount, total};
use diesel_counters::prelude::*;
use diesel_counters::{Compacted, Period};

use crate::Plan;
use crate::compare::median;
use crate::database::{Database, Describe, Engine, Reads, for_each_connection, with_connection};
use crate::server::on_each;
use crate::table::{Table, three_digits};

diesel::table! {
    bench_versions (id) {
        id -> BigInt,
        package_id -> BigInt,
        name -> Text,
        downloads -> BigInt,
        recent_downloads -> BigInt,
    }
}
diesel::table! {
    bench_version_downloads (version_id, day) {
        version_id -> BigInt,
        day -> Date,
        downloads -> BigInt,
    }
}
diesel::table! {
    bench_version_counters (version_id, day, slot) {
        version_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        downloads -> BigInt,
    }
}
diesel::joinable!(bench_version_downloads -> bench_versions (version_id));
diesel::allow_tables_to_appear_in_same_query!(bench_version_downloads, bench_versions);
diesel_counters::counter_table!(bench_version_counters {
    parent = bench_versions::id
});

#[derive(diesel_counters::HasCounters)]
#[diesel(table_name = bench_versions)]
#[counters(table_name = bench_version_counters)]
#[allow(dead_code, reason = "only its type is used")]
struct BenchVersion {
    id: i64,
}

/// How much is measured.
#[derive(clap::Args)]
pub struct Size {
    #[command(flatten)]
    plan: Plan,
    /// The number of versions, ten to a package.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    versions: i64,
    /// The number of days with downloads of each version.
    #[arg(long, value_name = "N", default_value_t = 365)]
    days: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    /// The ten versions with the most downloads in the last days, with their names.
    Top { days: u64 },
    /// The totals of these versions.
    Totals { versions: i64 },
    /// The last 90 days of one version.
    Series,
    /// A package: the totals of its ten versions, and its last 90 days.
    Package,
    /// The last 90 days of 20 versions.
    ManySeries,
    /// The first 20 of 1,000 versions, by their downloads of the last 90 days.
    Search,
    /// Not a page: all counts are compared with the table that is written by hand, and a column is
    /// computed from that table again.
    Recount,
    /// Not a page: all totals are copied into a column that has them already.
    Materialize,
}

const PAGES: [(&str, Page); 10] = [
    ("top 10 of 90 days", Page::Top { days: 90 }),
    ("top 10 of 7 days", Page::Top { days: 7 }),
    ("totals of 10", Page::Totals { versions: 10 }),
    ("totals of 100", Page::Totals { versions: 100 }),
    ("90 days of one", Page::Series),
    ("a package of ten", Page::Package),
    ("90 days of 20", Page::ManySeries),
    ("1,000 sorted by recent", Page::Search),
    ("a recount", Page::Recount),
    ("totals into a column", Page::Materialize),
];

/// Reads the pages from each store. A store that does not have a page returns nothing.
trait Registry: Describe {
    fn by_counters(&mut self, page: Page, today: NaiveDate) -> QueryResult<Vec<i64>>;
    fn by_hand(&mut self, page: Page, today: NaiveDate) -> QueryResult<Vec<i64>>;
    fn by_columns(&mut self, page: Page, today: NaiveDate) -> QueryResult<Vec<i64>>;
    fn merge(&mut self) -> QueryResult<Compacted>;
    /// Merges the days before the last 90 into months, and copies the counts of these 90 into a
    /// column.
    fn maintain(&mut self, today: NaiveDate) -> QueryResult<()>;
}

/// Returns the counts of the days that have rows in a table that is written by hand.
fn counts(series: Vec<(NaiveDate, i64)>) -> Vec<i64> {
    let counts = series.into_iter().map(|day| day.1);
    counts.filter(|&count| count != 0).collect()
}

/// A search finds the versions of the packages up to this one.
const FOUND: i64 = 100;

/// The package whose page is read.
const PACKAGE: i64 = 7;
/// The versions of this package.
const VERSIONS: RangeInclusive<i64> = 61..=70;

for_each_connection!(
    impl Registry {
        fn by_counters(&mut self, page: Page, today: NaiveDate) -> QueryResult<Vec<i64>> {
            use bench_version_counters::downloads;
            use bench_versions::{id, name, package_id, table};

            let last = |days| today - Days::new(days - 1)..=today;
            match page {
                Page::Top { days } => {
                    let top = ranking(downloads).between(last(days)).limit(10);
                    let rows: Vec<(i64, i64)> = top.load(self)?;
                    // The page shows their names, which a second query reads.
                    let ids = rows.iter().map(|row| row.0);
                    let names = table.filter(id.eq_any(ids)).select((id, name));
                    names.load::<(i64, String)>(self)?;
                    Ok(rows.into_iter().map(|row| row.1).collect())
                }
                Page::Totals { versions } => {
                    counter_value(downloads).of_many(1..=versions).load(self)
                }
                Page::Series => {
                    let series = counter_series(downloads).of(7_i64).between(last(90));
                    Ok(counts(series.load(self)?))
                }
                Page::Package => {
                    let mut page = counter_value(downloads).of_many(VERSIONS).load(self)?;
                    let versions = table.filter(package_id.eq(PACKAGE)).select(id);
                    let series = counter_series(downloads).of_any(versions).between(last(90));
                    page.extend(counts(series.load(self)?));
                    Ok(page)
                }
                Page::ManySeries => {
                    let series = counter_series(downloads).of_many(1..=20_i64).between(last(90));
                    Ok(counts(series.load(self)?.concat()))
                }
                Page::Recount => {
                    use bench_version_downloads as by_hand;
                    let source = by_hand::table.select((by_hand::version_id, by_hand::downloads));
                    let drift = recount(downloads, source).execute::<i64, _>(self)?;
                    Ok(drift.into_iter().map(|drift| drift.entity).collect())
                }
                Page::Materialize => {
                    let totals = BenchVersion::materialize(downloads, bench_versions::downloads);
                    totals.execute(self).map(|_| Vec::new())
                }
                Page::Search => {
                    let recent = total(downloads).between(last(90));
                    let found = table.filter(package_id.le(FOUND));
                    let found = found.order((recent.desc(), id)).limit(20);
                    found.select(recent).load(self)
                }
            }
        }

        fn by_hand(&mut self, page: Page, today: NaiveDate) -> QueryResult<Vec<i64>> {
            use bench_version_downloads::{day, downloads, table, version_id};
            use bench_versions::{id, name, package_id};

            // Diesel's `sum` of a BIGINT is NUMERIC, which is another type on each database.
            let integer = Self::INTEGER;
            let cast = format!("CAST(SUM(bench_version_downloads.downloads) AS {integer})");
            let sum = || sql::<BigInt>(&cast);
            let last = |days| day.between(today - Days::new(days - 1), today);
            match page {
                Page::Top { days } => {
                    let rows = table.inner_join(bench_versions::table).filter(last(days));
                    let rows = rows.group_by((id, name)).select((name, sum()));
                    let top = rows.order((sum().desc(), id)).limit(10);
                    let rows: Vec<(String, i64)> = top.load(self)?;
                    Ok(rows.into_iter().map(|row| row.1).collect())
                }
                Page::Totals { versions } => {
                    let rows = table.filter(version_id.eq_any(1..=versions)).group_by(version_id);
                    rows.select(sum()).order(version_id).load(self)
                }
                Page::Series => {
                    let rows = table.filter(version_id.eq(7).and(last(90)));
                    rows.select(downloads).order(day).load(self)
                }
                Page::Package => {
                    let rows = table.filter(version_id.eq_any(VERSIONS)).group_by(version_id);
                    let mut page: Vec<i64> = rows.select(sum()).order(version_id).load(self)?;
                    let versions = bench_versions::table.filter(package_id.eq(PACKAGE)).select(id);
                    let days = table.filter(version_id.eq_any(versions).and(last(90)));
                    page.extend(days.group_by(day).select(sum()).order(day).load::<i64>(self)?);
                    Ok(page)
                }
                Page::ManySeries => {
                    let rows = table.filter(version_id.eq_any(1..=20_i64).and(last(90)));
                    rows.select(downloads).order((version_id, day)).load(self)
                }
                Page::Recount | Page::Materialize => {
                    self.batch_execute(COMPUTE_COLUMN)?;
                    Ok(Vec::new())
                }
                Page::Search => {
                    let rows = table.inner_join(bench_versions::table);
                    let rows = rows.filter(last(90).and(package_id.le(FOUND))).group_by(id);
                    rows.select(sum()).order((sum().desc(), id)).limit(20).load(self)
                }
            }
        }

        fn by_columns(&mut self, page: Page, today: NaiveDate) -> QueryResult<Vec<i64>> {
            use bench_versions::{downloads, id, name, package_id, recent_downloads, table};

            match page {
                Page::Top { days: 90 } => {
                    let sorted = table.order((recent_downloads.desc(), id.desc()));
                    let top = sorted.select((name, recent_downloads)).limit(10);
                    let rows: Vec<(String, i64)> = top.load(self)?;
                    Ok(rows.into_iter().map(|row| row.1).collect())
                }
                Page::Totals { versions } => {
                    let rows = table.filter(id.eq_any(1..=versions));
                    rows.select(downloads).order(id).load(self)
                }
                Page::Package => {
                    // A column has no days: these are from the counters.
                    let rows = table.filter(id.eq_any(VERSIONS)).order(id);
                    let mut page: Vec<i64> = rows.select(downloads).load(self)?;
                    let versions = table.filter(package_id.eq(PACKAGE)).select(id);
                    let series = counter_series(bench_version_counters::downloads).of_any(versions);
                    let series = series.between(today - Days::new(89)..=today);
                    page.extend(counts(series.load(self)?));
                    Ok(page)
                }
                Page::Search => {
                    let found = table.filter(package_id.le(FOUND)).select(recent_downloads);
                    found.order((recent_downloads.desc(), id.desc())).limit(20).load(self)
                }
                Page::Top { .. }
                | Page::Series
                | Page::ManySeries
                | Page::Recount
                | Page::Materialize => Ok(Vec::new()),
            }
        }

        fn merge(&mut self) -> QueryResult<Compacted> {
            compact(bench_version_counters::table).execute(self)
        }

        fn maintain(&mut self, today: NaiveDate) -> QueryResult<()> {
            let months = fold(bench_version_counters::table).per(Period::Month);
            let older = today - Days::new(89);
            months.before(older).batch(1_000).execute(self)?;
            let downloads = bench_version_counters::downloads;
            let recent = BenchVersion::materialize(downloads, bench_versions::recent_downloads);
            recent.between(older..=today).execute(self).map(drop)
        }
    }
);

/// Prints two tables for each database.
pub fn run(size: Size) -> Result<()> {
    on_each(&size.plan.databases, |engine, url| {
        with_connection!(engine, measure(engine, url, &size))
    })
}

fn measure<C: Registry>(engine: Engine, url: &str, size: &Size) -> Result<()> {
    let conn = &mut C::connect(url)?;
    // A Sunday, so that all figures are of the same weeks.
    let today = NaiveDate::from_ymd_opt(2026, 11, 22).unwrap_or_default();
    fill(conn, today, size)?;
    println!(
        "{}, {} versions, {} days",
        engine.name(),
        size.versions,
        size.days
    );
    println!("\nBy day, as merges leave it:\n");
    pages(conn, today, size)?;
    let start = Instant::now();
    conn.maintain(today)?;
    let seconds = three_digits(start.elapsed().as_secs_f64());
    println!("\nBy month before the last 90 days, and these copied into a column ({seconds} s):\n");
    pages(conn, today, size)?;
    Ok(drop_tables(conn)?)
}

/// Prints the milliseconds of each page from each store, read in turns. The first round is not
/// timed: it counts what the server reads.
fn pages<C: Registry>(conn: &mut C, today: NaiveDate, size: &Size) -> Result<()> {
    let after_loading = C::AFTER_LOADING.replace("bench_articles", "bench_version_downloads");
    conn.batch_execute(&after_loading.replace("bench_article_counters", "bench_version_counters"))?;
    let mut table = Table::new([
        "page",
        "counters, ms",
        "by hand",
        "columns",
        "by hand / counters",
        "by hand / columns",
        "counters, rows / blocks",
        "by hand",
        "columns",
    ]);
    for (name, page) in PAGES {
        let mut ms = [const { Vec::new() }; 3];
        let mut reads = [None; 3];
        for round in 0..=size.plan.rounds(7) {
            let mut rows: [Vec<i64>; 3] = Default::default();
            for store in 0..3 {
                let before = if round == 0 { conn.reads()? } else { None };
                let start = Instant::now();
                rows[store] = match store {
                    0 => conn.by_counters(page, today)?,
                    1 => conn.by_hand(page, today)?,
                    _ => conn.by_columns(page, today)?,
                };
                ms[store].push(start.elapsed().as_secs_f64() * 1e3);
                if let Some(before) = before {
                    let after = conn.reads()?.unwrap_or_default();
                    reads[store] = Some(Reads {
                        rows: after.rows - before.rows,
                        blocks: after.blocks - before.blocks,
                    });
                }
            }
            let [counters, by_hand, columns] = rows;
            ensure!(
                counters == by_hand,
                "{name}: {counters:?} is not {by_hand:?}"
            );
            // Before `maintain`, the column of recent downloads has zeros. A page without a column
            // is empty.
            let is_copied = columns.iter().any(|&count| count != 0);
            ensure!(
                !is_copied || columns == by_hand,
                "{name}: {columns:?} is not {by_hand:?}"
            );
            if !is_copied {
                ms[2].clear();
                reads[2] = None;
            }
        }
        let medians = ms.map(|ms| median(ms.into_iter().skip(1).collect()));
        let [counters, by_hand, columns] = medians;
        let cell = |ms: Option<f64>| ms.map_or_else(|| "–".to_owned(), three_digits);
        let over = |ms: Option<f64>| Some(by_hand? / ms?);
        let cells = [counters, by_hand, columns, over(counters), over(columns)].map(cell);
        let reads = reads.map(|reads: Option<Reads>| match reads {
            Some(Reads { rows, blocks }) => format!("{rows} / {blocks}"),
            None => "–".to_owned(),
        });
        table.row([[name.to_owned()].as_slice(), &cells, &reads].concat());
    }
    let start = Instant::now();
    let merged = conn.merge()?;
    ensure!(merged.merged == 0, "there was something to merge: {merged}");
    let ms = three_digits(start.elapsed().as_secs_f64() * 1e3);
    print!("{table}");
    println!("\nA merge that finds nothing: {ms} ms");
    Ok(())
}

/// Fills the tables day by day, as traffic does.
fn fill<C: Registry>(conn: &mut C, today: NaiveDate, size: &Size) -> Result<()> {
    drop_tables(conn)?;
    let options = C::TABLE_OPTIONS;
    conn.batch_execute(&format!(
        "CREATE TABLE bench_versions (id BIGINT PRIMARY KEY, package_id BIGINT NOT NULL,
             name VARCHAR(40) NOT NULL, downloads BIGINT NOT NULL DEFAULT 0,
             recent_downloads BIGINT NOT NULL DEFAULT 0);
         CREATE INDEX bench_versions_by_package ON bench_versions (package_id);
         CREATE INDEX bench_versions_by_recent ON bench_versions (recent_downloads, id);
         CREATE TABLE bench_version_downloads (version_id BIGINT NOT NULL, day DATE NOT NULL,
             downloads BIGINT NOT NULL, PRIMARY KEY (version_id, day));
         CREATE TABLE bench_version_counters (version_id BIGINT NOT NULL, day DATE NOT NULL,
             slot SMALLINT NOT NULL, downloads BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (version_id, day, slot)){options}"
    ))?;
    let version = |id| format!("({id}, {}, 'version {id}')", (id - 1) / 10 + 1);
    let versions = Vec::from_iter((1..=size.versions).map(version));
    for versions in versions.chunks(1_000) {
        let rows = versions.join(", ");
        conn.batch_execute(&format!(
            "INSERT INTO bench_versions (id, package_id, name) VALUES {rows}"
        ))?;
    }
    for ago in (0..size.days).rev() {
        let day = today - Days::new(ago);
        // A few versions are popular.
        let select = format!(
            "(id * 7919 + {ago} * 104729) % 97 + 1
             + CASE WHEN id % 997 = 7 THEN 1000 + id ELSE 0 END
             FROM bench_versions"
        );
        conn.batch_execute(&format!(
            "INSERT INTO bench_version_downloads SELECT id, '{day}', {select};
             INSERT INTO bench_version_counters SELECT id, '{day}', 0, {select}"
        ))?;
    }
    conn.batch_execute(COMPUTE_COLUMN)?;
    Ok(())
}

/// What keeps a column up to date that is written by hand.
const COMPUTE_COLUMN: &str = "UPDATE bench_versions SET downloads = (SELECT SUM(d.downloads)
    FROM bench_version_downloads d WHERE d.version_id = bench_versions.id)";

fn drop_tables<C: Database>(conn: &mut C) -> QueryResult<()> {
    conn.batch_execute(
        "DROP TABLE IF EXISTS bench_versions;
         DROP TABLE IF EXISTS bench_version_downloads;
         DROP TABLE IF EXISTS bench_version_counters",
    )
}
