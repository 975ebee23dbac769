//! `recount`: corrects counters from the rows that triggers count.

use anyhow::{Result, bail};
use clap::Args;
use diesel::connection::{Connection, SimpleConnection};
use diesel::sql_types::{BigInt, Text};
use diesel::{QueryResult, RunQueryDsl};
use serde::Serialize;

use crate::connection::AnyConnection;
use crate::options::Options;
use crate::output::{printable, thousands};
use crate::sql::sql;
use crate::trigger::{Counting, Definition, Target, WRONG, definitions};

/// Correct the counters of triggers by counting their rows again.
///
/// It compares the counters with the rows that `generate trigger` was told to count, and adds what
/// is missing. Programs can write the rows and count at the same time. It finds the entities with
/// wrong counts, locks them against other corrections, and corrects all counters of a table in one
/// transaction.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters recount --dry-run
  diesel-counters recount count_article_likes")]
pub struct Recount {
    /// The names of the triggers, such as count_article_likes [default: all].
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Only print which counts are wrong.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct Report {
    dry_run: bool,
    triggers: Vec<Recounted>,
}

#[derive(Serialize)]
struct Recounted {
    name: String,
    rows: String,
    wrong: Vec<Wrong>,
}

/// A count that is not that of the rows.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Wrong {
    counter: String,
    /// Empty if the table counts for one thing only.
    entity: String,
    /// 1970-01-01 if the rows are not counted by a day of their own.
    day: String,
    stored: i64,
    actual: i64,
}

pub fn run(args: Recount, options: &Options) -> Result<()> {
    let conn = &mut options.connect()?;
    let (mut triggers, mut failed) = (Vec::new(), Vec::new());
    for definition in named(&args.names, conn)? {
        let name = definition.name.clone();
        match recount(definition, args.dry_run, conn) {
            Ok(recounted) => triggers.push(recounted),
            Err(error) => failed.push(format!("{name}: {error:#}")),
        }
    }
    let report = Report {
        dry_run: args.dry_run,
        triggers,
    };
    options.print(&report, || text(&report))?;
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("{}", failed.join("\n")),
    }
}

/// The recount of all triggers, for a program that runs it often: it reads the catalogue once.
pub struct Recounts(Vec<Counting>);

impl Recounts {
    /// Reads what the triggers count.
    pub fn new(conn: &mut AnyConnection) -> Result<Self> {
        let definitions = named(&[], conn)?.into_iter();
        let counting = definitions.map(|definition| Counting::new(definition, conn));
        Ok(Recounts(counting.collect::<Result<_>>()?))
    }

    /// Corrects the counters. Returns the number of wrong counts.
    pub fn correct(&self, conn: &mut AnyConnection) -> Result<usize> {
        let mut wrong = 0;
        for counting in &self.0 {
            for target in &counting.targets {
                wrong += correct(counting, target, conn)?.len();
            }
        }
        Ok(wrong)
    }
}

fn recount(definition: Definition, dry_run: bool, conn: &mut AnyConnection) -> Result<Recounted> {
    let counting = Counting::new(definition, conn)?;
    let mut wrong = Vec::new();
    for target in &counting.targets {
        wrong.extend(match dry_run {
            true => find(&counting, target, false, conn)?,
            false => correct(&counting, target, conn)?,
        });
    }
    Ok(Recounted {
        name: counting.definition.name,
        rows: counting.rows.to_string(),
        wrong,
    })
}

fn named(names: &[String], conn: &mut AnyConnection) -> Result<Vec<Definition>> {
    let mut all = definitions(conn)?;
    if all.is_empty() {
        bail!(
            "this database has no triggers that count rows: `diesel-counters generate trigger` writes them"
        );
    }
    let known: Vec<_> = all
        .iter()
        .map(|definition| definition.name.clone())
        .collect();
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        bail!(
            "there are no triggers {name}; there are {}",
            known.join(", ")
        );
    }
    all.retain(|definition| names.is_empty() || names.contains(&definition.name));
    Ok(all)
}

/// Corrects the counters of one table. It finds the entities with wrong counts, and locks them against
/// other corrections, as the library does. A statement reads one snapshot, in which a row and its
/// count are both there or both not. Whatever commits later adds the same to both.
fn correct(counting: &Counting, target: &Target, conn: &mut AnyConnection) -> Result<Vec<Wrong>> {
    let database = counting.database;
    let sql_of = &database.facts().trigger;
    let begin = sql_of
        .begin_recount
        .replace("{table}", &database.table_name(&target.counters.table))
        .replace("{key}", &counting.key_of_wrong(target))
        .replace("{wrong}", &counting.wrong_entities(target));
    batch(sql_of.before_recount, conn)?;
    conn.transaction(|conn| {
        batch(&begin, conn)?;
        let number = sql(format!("SELECT COUNT(*) FROM {WRONG}")).typed::<BigInt>();
        if number.get_result::<i64>(conn)? == 0 {
            return Ok(Vec::new());
        }
        sql(counting.lock_wrong(target)).execute(conn)?;
        let wrong = find(counting, target, true, conn)?;
        if !wrong.is_empty() {
            sql(counting.correct_wrong(target)).execute(conn)?;
        }
        Ok(wrong)
    })
}

fn batch(statements: &str, conn: &mut AnyConnection) -> QueryResult<()> {
    match statements {
        "" => Ok(()),
        statements => conn.batch_execute(statements),
    }
}

fn find(
    counting: &Counting,
    target: &Target,
    locked: bool,
    conn: &mut AnyConnection,
) -> Result<Vec<Wrong>> {
    let mut all = Vec::new();
    // One query a counter, so that the rows have the same columns.
    for (i, name) in target.names.iter().enumerate() {
        let query = sql(counting.drift(target, i, locked)).typed::<(Text, Text, BigInt, BigInt)>();
        let rows: Vec<(String, String, i64, i64)> = query.load(conn)?;
        let counter = format!("{}.{name}", target.counters.table);
        all.extend(rows.into_iter().map(|(entity, day, stored, actual)| Wrong {
            counter: counter.clone(),
            entity,
            day,
            stored,
            actual,
        }));
    }
    Ok(all)
}

/// The wrong counts that are printed for each trigger.
const SHOWN: usize = 20;

fn text(report: &Report) -> String {
    let mut text = String::new();
    for Recounted { name, rows, wrong } in &report.triggers {
        let number = match wrong.len() {
            0 => format!("all counts agree with {rows}"),
            1 => "1 count".to_owned(),
            several => format!("{} counts", thousands(several as i64)),
        };
        let done = match (wrong.len(), report.dry_run) {
            (0, _) => "",
            (_, true) => " would be corrected",
            (_, false) => " corrected",
        };
        text += &format!("{}: {number}{done}\n", printable(name));
        for one in wrong.iter().take(SHOWN) {
            let of = match &*one.entity {
                "" => String::new(),
                entity => format!(" of {entity}"),
            };
            let on = match &*one.day {
                "1970-01-01" => String::new(),
                day => format!(" on {day}"),
            };
            let (stored, actual) = (thousands(one.stored), thousands(one.actual));
            let line = format!("  {}{of}{on}: stored {stored}, rows {actual}", one.counter);
            text += &(printable(&line) + "\n");
        }
        if wrong.len() > SHOWN {
            text += &format!("  and {} more\n", thousands((wrong.len() - SHOWN) as i64));
        }
    }
    text
}
