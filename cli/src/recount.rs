//! `recount`: corrects counters from the rows that triggers count.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use diesel::connection::{Connection, SimpleConnection};
use diesel_counters::Dialect;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;

use crate::connection::{AnyConnection, connect};
use crate::options::Options;
use crate::output::{printable, thousands};
use crate::partition::merged_slot;
use crate::triggers::{
    Compared, Counting, Existing, Recount as Statements, Stored, Wrong, definitions, replace,
};

/// Correct the counters of triggers by counting their rows again.
///
/// It compares the counters with the rows that `generate trigger` was told to count, and adds what
/// is missing, in short transactions. Programs can write the rows and count at the same time. If it is
/// stopped, run it again.
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
    /// Also set the counts of entities without a counted row to 0, in an ordinary column that counts the
    /// rows of a condition (`--when`). Others may keep these counts, so they are left as they are
    /// otherwise.
    #[arg(long)]
    zero: bool,
}

#[derive(Serialize)]
struct Recounted {
    name: String,
    rows: String,
    wrong: Vec<Wrong>,
}

pub fn run(args: Recount, options: &Options) -> Result<()> {
    let conn = &mut options.connect()?;
    let mut known = definitions(conn)?;
    if known.is_empty() {
        bail!(
            "this database has no triggers that count rows: `diesel-counters generate trigger` writes them"
        );
    }
    let name = |one: &Stored| one.definition.name.clone();
    let names: Vec<_> = known.iter().map(name).collect();
    if let Some(name) = args.names.iter().find(|name| !names.contains(name)) {
        bail!(
            "there are no triggers {name}; there are {}",
            names.join(", ")
        );
    }
    known.retain(|one| args.names.is_empty() || args.names.contains(&one.definition.name));
    let all = known
        .into_iter()
        .map(|one| (name(&one), counting(one, conn)));
    let all: Vec<_> = all.collect();
    if conn.dialect() == Dialect::MySql {
        // Each statement names the rows that it changes.
        conn.batch_execute("SET SESSION sql_safe_updates = 0")?;
    }
    let (mut triggers, mut failed) = (Vec::new(), Vec::new());
    for (name, counting) in all {
        match counting.and_then(|counting| recount(counting, &args, options, conn)) {
            Ok(recounted) => triggers.push(recounted),
            Err(error) => failed.push(format!("{name}: {error:#}")),
        }
    }
    let report = json!({ "dry_run": args.dry_run, "triggers": triggers });
    options.print(&report, || {
        let all = triggers.iter().map(|one| text(one, args.dry_run));
        all.collect()
    })?;
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("{}", failed.join("\n")),
    }
}

fn counting(stored: Stored, conn: &mut AnyConnection) -> Result<Counting> {
    if !stored.is_own {
        bail!(
            "they belong to {}, and a recount runs the SQL that they have: run it as {0}. If that account is \
             gone, create it again, or generate the triggers again",
            stored.owner
        );
    }
    let counting = Counting::new(stored.definition, conn)?;
    counting.refuse_hidden_rows(conn)?;
    Ok(counting)
}

fn recount(
    mut counting: Counting,
    args: &Recount,
    options: &Options,
    conn: &mut AnyConnection,
) -> Result<Recounted> {
    let merged = options.merged_slot(conn.dialect());
    // On a terminal only.
    let style =
        ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len}, {eta} left")?;
    let bar = ProgressBar::new(0).with_style(style);
    let mut wrong = Vec::new();
    for target in &counting.targets {
        let compared = match args.zero {
            true => Compared::All,
            false => counting.compared(target),
        };
        let statements = Statements::new(&counting, target, compared, &merged);
        let found = match args.dry_run {
            true => statements.find(conn),
            false => {
                bar.set_message(statements.table.clone());
                statements.correct(conn, |done, all| {
                    bar.set_length(all);
                    bar.set_position(done);
                })
            }
        };
        wrong.extend(found?.into_iter().map(|wrong| Wrong {
            counter: format!("{}.{}", statements.table, wrong.counter),
            ..wrong
        }));
    }
    bar.finish_and_clear();
    if !args.dry_run && counting.definition.existing == Existing::Later {
        counting.definition.existing = Existing::Now;
        conn.transaction(|conn| conn.batch_execute(&replace(&counting)))?;
    }
    Ok(Recounted {
        name: counting.definition.name.clone(),
        rows: counting.rows.to_string(),
        wrong,
    })
}

/// The recounts of all triggers of a database, table by table, for the enumerator and the checker.
pub fn recounts(url: &str) -> Result<Vec<Statements>> {
    let conn = &mut connect(url, Duration::from_secs(60))?;
    let merged = merged_slot(conn.dialect());
    let mut all = Vec::new();
    for stored in definitions(conn)? {
        let counting = counting(stored, conn)?;
        all.extend(
            counting.targets.iter().map(|target| {
                Statements::new(&counting, target, counting.compared(target), &merged)
            }),
        );
    }
    Ok(all)
}

/// The wrong counts that are printed for each trigger.
const SHOWN: usize = 20;

fn text(recounted: &Recounted, dry_run: bool) -> String {
    let Recounted { name, rows, wrong } = recounted;
    let number = match wrong.len() {
        0 => format!("all counts agree with {rows}"),
        1 => "1 count".to_owned(),
        several => format!("{} counts", thousands(several as i64)),
    };
    let done = match (wrong.len(), dry_run) {
        (0, _) => "",
        (_, true) => " would be corrected",
        (_, false) => " corrected",
    };
    let mut text = format!("{}: {number}{done}\n", printable(name));
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
    text
}
