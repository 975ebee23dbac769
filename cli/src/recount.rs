//! `recount`: corrects counters from the rows that triggers count.

use anyhow::{Result, bail};
use clap::Args;
use diesel_counters::RecountedTable;
use diesel_counters::dsl::recount_triggers;
use serde::Serialize;

use crate::options::Options;
use crate::output::{printable, progress_bar, thousands};
use crate::triggers::definitions;

/// Correct the counters of triggers by counting their rows again.
///
/// It compares the counters with the rows that `generate trigger` was told to count, and adds what
/// is missing. Programs can write the rows and count at the same time.
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
#[derive(Serialize)]
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
    let known: Vec<_> = definitions(conn)?.into_iter().map(|one| one.name).collect();
    if known.is_empty() {
        bail!(
            "this database has no triggers that count rows: `diesel-counters generate trigger` writes them"
        );
    }
    if let Some(name) = args.names.iter().find(|name| !known.contains(name)) {
        bail!(
            "there are no triggers {name}; there are {}",
            known.join(", ")
        );
    }
    let named = known.into_iter();
    let named = named.filter(|name| args.names.is_empty() || args.names.contains(name));
    let (mut triggers, mut failed) = (Vec::new(), Vec::new());
    let bar = progress_bar("triggers");
    for name in bar.wrap_iter(named.collect::<Vec<_>>().into_iter()) {
        let recount = recount_triggers().of(&name);
        let tables = match args.dry_run {
            true => recount.dry_run(conn),
            false => recount.execute(conn),
        };
        match tables {
            Ok(tables) => triggers.push(recounted(name, tables)),
            Err(error) => failed.push(format!("{name}: {error}")),
        }
    }
    bar.finish_and_clear();
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

fn recounted(name: String, tables: Vec<RecountedTable>) -> Recounted {
    let rows = tables
        .first()
        .map_or(String::new(), |table| table.rows.clone());
    let wrong = tables.into_iter().flat_map(|table| {
        let wrong = table.wrong.into_iter();
        wrong.map(move |wrong| Wrong {
            counter: format!("{}.{}", table.table, wrong.counter),
            entity: wrong.entity,
            day: wrong.day.unwrap_or_default().to_string(),
            stored: wrong.stored,
            actual: wrong.actual,
        })
    });
    Recounted {
        name,
        rows,
        wrong: wrong.collect(),
    }
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
