//! `generate trigger`: a migration of triggers that count the rows of a table.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use diesel::RunQueryDsl;
use serde::Serialize;

use super::folder::{Folder, Written};
use crate::connection::AnyConnection;
use crate::options::{Options, Outcome};
use crate::output::thousands;
use crate::sql::sql;
use crate::trigger::{self, COLUMN, Counting, Definition};

/// Write a Diesel migration with triggers that count the rows of a table.
///
/// The database then counts each row that is inserted, deleted or changed, in the same statement,
/// whichever program writes it. The migration counts the existing rows too. Reads the tables from
/// the database, which must exist, and changes nothing there.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters generate trigger count_article_likes \\
      --rows article_likes --count article_id:article_counters.likes
  diesel-counters generate trigger count_comments --rows comments --when approved --day created_at \\
      --count article_id:article_counters.comments --count site_counters.comments")]
pub struct Trigger {
    #[command(flatten)]
    definition: Definition,
    #[command(flatten)]
    folder: Folder,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    written: Written,
    rows: i64,
    /// How long it took to count the rows now. The migration takes about as long.
    seconds: f64,
    not_counted: Vec<String>,
}

/// The longest name of a trigger, with what is appended to it, is 63 bytes.
const NAME: usize = 40;

pub fn run(args: Trigger, options: &Options) -> Result<Outcome> {
    let conn = &mut options.connect()?;
    let name = args.definition.name.clone();
    if name.len() > NAME {
        bail!("{name:?} is too long for the name of a trigger: {NAME} bytes are possible");
    }
    let counting = Counting::new(args.definition, conn)?;
    let triggers = counting.database.triggers(&counting)?;
    let up = up(&counting, &triggers)?;
    let down = down(&counting, &triggers);
    let (rows, time) = time(&counting, conn)?;
    let written = args
        .folder
        .write(&name, &counting.rows.to_string(), &up, &down)?;
    let report = Report {
        written,
        rows,
        seconds: time.as_secs_f64(),
        not_counted: counting.database.not_counted(&counting, &triggers),
    };
    options.print(&report, || text(&report))?;
    Ok(Outcome::Good)
}

fn up(counting: &Counting, triggers: &[trigger::Trigger]) -> Result<String> {
    let database = counting.database;
    let definition = serde_json::to_string(&counting.definition)?;
    let is_of_rows = |trigger: &&trigger::Trigger| trigger.table[1] == counting.rows.name;
    let (of_rows, of_others): (Vec<_>, Vec<_>) = triggers.iter().partition(is_of_rows);
    let sql = &database.facts().trigger;
    let create = |trigger: &trigger::Trigger| {
        let drop = if sql.keeps_half { &*trigger.drop } else { "" };
        format!("{drop}{}\n", trigger.create)
    };
    let all = |triggers: Vec<_>| triggers.into_iter().map(create).collect::<String>();
    let mut statements = all(of_rows);
    statements += "-- The rows that exist. It adds what is missing, so it can run again.\n";
    for target in &counting.targets {
        let parts = [counting.actual(target, ""), counting.stored(target, "")];
        statements += &counting.add(target, &parts, "0");
        statements += ";\n";
    }
    let counters = counting.targets.iter().flat_map(|target| {
        let table = &target.counters.table;
        target
            .weights
            .iter()
            .map(move |weight| format!("{table}.{}", weight.counter))
    });
    Ok(format!(
        "-- Counts the rows of {} in {}.\n\n\
         -- What the triggers do, for `diesel-counters check` and `recount`.\n\
         {} {} AS\nSELECT {} AS {COLUMN};\n\n{}{}",
        counting.rows,
        counters.collect::<Vec<_>>().join(", "),
        sql.create_view,
        database.quoted(&counting.definition.name),
        database.literal(&definition),
        all(of_others),
        database.without_writers(counting, &statements),
    ))
}

fn down(counting: &Counting, triggers: &[trigger::Trigger]) -> String {
    let triggers = triggers.iter().map(|trigger| &*trigger.drop);
    let view = counting.database.quoted(&counting.definition.name);
    triggers.collect::<String>() + &format!("DROP VIEW IF EXISTS {view};\n")
}

/// Counts the rows, as the migration will.
fn time(counting: &Counting, conn: &mut AnyConnection) -> Result<(i64, Duration)> {
    let rows = counting.database.count(&counting.rows, "1 = 1", conn)?;
    let begun = Instant::now();
    for target in &counting.targets {
        for weight in &target.weights {
            sql(counting.drift(target, weight)).execute(conn)?;
        }
    }
    Ok((rows, begun.elapsed()))
}

fn text(report: &Report) -> String {
    let Report {
        written, seconds, ..
    } = report;
    let mut text = format!(
        "Creating {}\nCreating {}\n\n{} has {} rows here. Counting them took {}; the migration keeps \
         others from writing them for about as long.\n",
        written.up.display(),
        written.down.display(),
        written.table,
        thousands(report.rows),
        match *seconds < 0.1 {
            true => "less than 0.1 s".to_owned(),
            false => format!("{seconds:.1} s"),
        },
    );
    if !report.not_counted.is_empty() {
        text += "\nNot counted:\n";
        for one in &report.not_counted {
            text += &format!("- {one}\n");
        }
    }
    text + "\nNext: diesel migration run\nThen: add counted_by_database(…) to the model's #[counters(…)], and remove incr_counter\n"
}
