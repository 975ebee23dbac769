//! `recount`: corrects counters from the rows that triggers count.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use diesel::connection::SimpleConnection;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;

use crate::connection::{AnyConnection, connect};
use crate::database::{Joined, MYSQL};
use crate::options::{self, Options};
use crate::output::{printable, thousands};
use crate::triggers::{Counting, File, FoldedCounts, Plan, Recount, TooHigh, Which, Wrong};

/// Correct the counters that triggers keep by counting their rows again.
///
/// Compares the counters with the rows that the triggers in counters.toml count, and adds what is
/// missing in short transactions. Your programs can write rows and count at the same time. If it's
/// stopped, run it again. Fails if the triggers in the database differ from counters.toml.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters recount --dry-run
  diesel-counters recount count_article_likes --lower
  diesel-counters recount count_article_likes --of 42")]
pub struct RecountArgs {
    /// The triggers to recount, by their names in counters.toml, for example count_article_likes
    /// [default: all].
    #[arg(value_name = "NAME", value_parser = options::name)]
    names: Vec<String>,
    /// Only print which counts are wrong. Exits with 3 if any are.
    #[arg(long)]
    dry_run: bool,
    /// Recount only one entity, for example 42, in every table with such a key. If the key has
    /// several columns, separate them with commas, as in 7,heart. If a text has a comma in it,
    /// write a JSON list of texts, as in '["7","a, b"]'. Write bytes as hexadecimal digits.
    #[arg(
        long,
        value_name = "KEY",
        requires = "names",
        allow_hyphen_values = true
    )]
    of: Option<String>,
    /// Also lower counts that are higher than their rows. By default they stay as they are, because
    /// a count can be older than the rows.
    #[arg(long)]
    lower: bool,
    /// Also move counts that a fold has merged back to the days of their rows. By default they stay
    /// where they are, and are compared with the rows of their whole week, month or year, or of all
    /// days.
    #[arg(long)]
    unfold: bool,
    /// The file that says what is counted [default: counters.toml in this directory, or in the
    /// nearest one above it].
    #[arg(long, value_parser = options::file)]
    file: Option<PathBuf>,
}

#[derive(Serialize)]
struct Recounted {
    name: String,
    rows: String,
    wrong: Vec<Wrong>,
    /// Counts that are too high, and stay as they are.
    left: Vec<TooHigh>,
    /// Whether deleted rows stay counted.
    #[serde(skip)]
    keeps_deleted: bool,
}

/// Returns whether a dry run found a wrong count.
pub fn run(args: RecountArgs, options: &Options) -> Result<bool> {
    let file = File::read(args.file.as_deref())?;
    refuse_unknown(&args.names, &file)?;
    let conn = &mut options.connect()?;
    if conn.database() == MYSQL {
        // Not needed: every statement says which rows it changes.
        conn.batch_execute("SET SESSION sql_safe_updates = 0")?;
    }
    // If one definition fails, the others are still recounted.
    let mut triggers = Vec::new();
    let mut failed = Vec::new();
    for definition in &file.triggers {
        if !args.names.is_empty() && !args.names.contains(&definition.name) {
            continue;
        }
        let plan = Counting::new(definition.clone(), conn).and_then(Plan::new);
        match plan.and_then(|plan| recount_plan(&plan, &args, conn)) {
            Ok(recounted) => triggers.push(recounted),
            Err(error) => failed.push(format!("{}: {error:#}", definition.name)),
        }
    }
    let report = json!({ "dry_run": args.dry_run, "triggers": triggers });
    let text = |recounted| text(recounted, args.dry_run);
    options.print(&report, || triggers.iter().map(text).collect())?;
    if !failed.is_empty() {
        bail!("{}", failed.join("\n"));
    }
    let is_wrong = |recounted: &Recounted| !recounted.wrong.is_empty();
    Ok(args.dry_run && triggers.iter().any(is_wrong))
}

/// Refuses names that no definition in the file has, and a file without definitions.
fn refuse_unknown(names: &[String], file: &File) -> Result<()> {
    let path = file.path.display();
    let known: Vec<&str> = file.triggers.iter().map(|known| &*known.name).collect();
    if known.is_empty() {
        bail!("{path} has no [[trigger]]");
    }
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let known = known.join(", ");
        bail!("{path} has no [[trigger]] {name}; it has {known}");
    }
    Ok(())
}

/// Corrects the counts of one definition, or only finds them for a dry run.
fn recount_plan(plan: &Plan, args: &RecountArgs, conn: &mut AnyConnection) -> Result<Recounted> {
    // The bar is only drawn on a terminal.
    let style =
        ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len}, {eta} left")?;
    let bar = ProgressBar::new(0).with_style(style);
    let mut wrong = Vec::new();
    let mut left = Vec::new();
    for mut recount in selected_recounts(plan, args.of.as_deref())? {
        if args.lower {
            recount.which = Which::All;
        }
        if args.unfold {
            recount.merged = FoldedCounts::Return;
        }
        let found = if args.dry_run {
            recount.find(conn)
        } else {
            bar.set_message(printable(&recount.table));
            recount.correct(conn, |done, all| {
                bar.set_length(all);
                bar.set_position(done);
            })
        };
        if found.is_err() {
            // Don't print the error into the bar.
            bar.finish_and_clear();
        }
        wrong.extend(found.with_context(|| recount.counters())?);
        left.extend(
            recount
                .left_too_high(conn)
                .with_context(|| recount.counters())?,
        );
    }
    bar.finish_and_clear();
    Ok(Recounted {
        name: plan.name().to_owned(),
        rows: plan.counting.rows.to_string(),
        wrong,
        left,
        keeps_deleted: plan.counting.keeps_deleted(),
    })
}

/// Returns the recounts of a definition, or only those of the entity that `--of` names.
fn selected_recounts(plan: &Plan, of: Option<&str>) -> Result<Vec<Recount>> {
    let all = table_recounts(plan);
    let Some(entity) = of else {
        return Ok(all.collect());
    };
    let Counting {
        database, targets, ..
    } = &plan.counting;
    // A text key can have a comma in it, so split only if a table's key has several columns.
    let can_split = targets.iter().any(|target| target.entity.len() > 1);
    let values = if can_split {
        split_key(entity)
    } else {
        vec![entity.to_owned()]
    };
    let mut selected = Vec::new();
    for mut recount in all {
        let key = &recount.target.entity;
        if key.is_empty() || key.len() != values.len() {
            continue;
        }
        let columns = key.iter().zip(&values);
        let literals = columns.map(|(column, value)| database.key_literal(column, value));
        recount.entity = Some(literals.collect::<Result<_>>()?);
        selected.push(recount);
    }
    if selected.is_empty() {
        bail!(no_such_key(plan, entity));
    }
    Ok(selected)
}

/// Reads a key of several columns: a JSON list of texts, or values with commas between them.
fn split_key(text: &str) -> Vec<String> {
    let split = || text.split(',').map(|value| value.trim().to_owned());
    serde_json::from_str(text).unwrap_or_else(|_| split().collect())
}

/// Returns the error message if no table's key has as many columns as the entity.
fn no_such_key(plan: &Plan, entity: &str) -> String {
    let tables = plan.counting.targets.iter().map(|target| {
        let key = target.entity.iter().map(|column| &*column.name).joined(",");
        format!("{} ({key})", target.table)
    });
    format!(
        "--of {entity}: none of {}'s tables has a key with that many columns. It counts in {}. If \
         a text has a comma in it, write a JSON list, for example [\"7\",\"a, b\"]",
        plan.name(),
        tables.joined(", ")
    )
}

/// Returns a recount for every table that a definition counts in. It leaves counts that are too
/// high.
fn table_recounts(plan: &Plan) -> impl Iterator<Item = Recount> {
    let targets = plan.counting.targets.iter().flat_map(|target| {
        // Recount every counter by itself: another one can be wrong on a merged day where this one
        // is right.
        if target.slots.is_some() && plan.counting.day.is_some() {
            let indexes = 0..target.names.len();
            indexes.map(|index| target.only_counter(index)).collect()
        } else {
            vec![target.clone()]
        }
    });
    targets.map(|target| Recount {
        table: target.table.to_string(),
        counting: plan.counting.clone(),
        triggers: plan.triggers.clone(),
        target,
        which: Which::NotTooHigh,
        merged: FoldedCounts::Stay,
        entity: None,
    })
}

/// Returns the recounts of all definitions in a file, table by table, for the enumerator and the
/// checker. These recounts also lower counts.
pub fn recounts(url: &str, file: &Path) -> Result<Vec<Recount>> {
    let conn = &mut connect(url, Duration::from_secs(60))?;
    let mut all: Vec<Recount> = Vec::new();
    for definition in File::read(Some(file))?.triggers {
        let plan = Plan::new(Counting::new(definition, conn)?)?;
        all.extend(table_recounts(&plan));
    }
    for recount in &mut all {
        recount.which = Which::All;
    }
    Ok(all)
}

/// How many wrong counts are printed per trigger.
const SHOWN: usize = 20;

/// Writes what `recount` prints about a definition.
fn text(recounted: &Recounted, dry_run: bool) -> String {
    let Recounted {
        name,
        rows,
        wrong,
        left,
        keeps_deleted,
    } = recounted;
    let done = if dry_run {
        "would be corrected"
    } else {
        "corrected"
    };
    let summary = match wrong.len() {
        // If deleted rows stay counted, a count can be higher than its rows.
        0 if left.is_empty() && !keeps_deleted => format!("all counts agree with {rows}"),
        0 => "no count is too low".to_owned(),
        1 => format!("1 count {done}"),
        several => format!("{} counts {done}", thousands(several as i64)),
    };
    let mut text = printable(&format!("{name}: {summary}")) + "\n";
    for wrong_count in wrong.iter().take(SHOWN) {
        let line = format!("  {wrong_count}");
        text += &(printable(&line) + "\n");
    }
    if wrong.len() > SHOWN {
        text += &format!("  and {} more\n", thousands((wrong.len() - SHOWN) as i64));
    }
    for too_high in left {
        text += &format!("  {}\n", printable(&too_high.to_string()));
    }
    text
}
