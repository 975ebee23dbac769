//! `recount`: corrects counters from the rows that triggers count.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use diesel::connection::{Connection, SimpleConnection};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;

use crate::connection::{AnyConnection, connect};
use crate::database::{Joined, MYSQL};
use crate::options::{self, Options};
use crate::output::{printable, thousands};
use crate::triggers::{
    Compared, Counting, Definition, Existing, Recount as OfTable, Stored, Wrong, definitions,
    replace,
};

/// Correct the counters of triggers by counting their rows again.
///
/// It compares the counters with the rows that the triggers count, and adds what is missing, in
/// short transactions. Programs can write the rows and count at the same time. If it is stopped,
/// run it again.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters recount --dry-run
  diesel-counters recount count_article_likes
  diesel-counters recount count_article_likes --of 42")]
pub struct Recount {
    /// The names of the triggers, such as count_article_likes [default: all].
    #[arg(value_name = "NAME", value_parser = options::name)]
    names: Vec<String>,
    /// Only print which counts are wrong.
    #[arg(long)]
    dry_run: bool,
    /// Recount one entity only, such as 42, in each table with such a key. Write a key of several
    /// columns as in 7,heart, or as a JSON list of texts if one has a comma, as in '["7","a, b"]'.
    /// Write bytes as hexadecimal digits.
    #[arg(
        long,
        value_name = "KEY",
        requires = "names",
        allow_hyphen_values = true
    )]
    of: Option<String>,
    /// Also set the counts of entities without a counted row to 0, in an ordinary column that
    /// counts the rows of a condition (`when`). Others may keep these counts, so they are left as
    /// they are otherwise.
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
        let write = "`diesel-counters generate triggers` writes them";
        bail!("this database has no triggers that count rows: {write}");
    }
    let names: Vec<_> = known.iter().map(|one| &*one.definition.name).collect();
    if let Some(name) = args.names.iter().find(|name| !names.contains(&&***name)) {
        let all = names.join(", ");
        bail!("there are no triggers {name}; there are {all}");
    }
    let is_asked =
        |name: &str| args.names.is_empty() || args.names.iter().any(|asked| asked == name);
    known.retain(|one| is_asked(&one.definition.name));
    if conn.database() == MYSQL {
        // Each statement names the rows that it changes.
        conn.batch_execute("SET SESSION sql_safe_updates = 0")?;
    }
    // A definition that fails does not keep the others from being recounted.
    let mut triggers = Vec::new();
    let mut failed = Vec::new();
    for stored in known {
        let name = stored.definition.name.clone();
        match recount_stored(stored, &args, conn) {
            Ok(recounted) => triggers.push(recounted),
            Err(error) => failed.push(format!("{name}: {error:#}")),
        }
    }
    let report = json!({ "dry_run": args.dry_run, "triggers": triggers });
    let text = |one| text(one, args.dry_run);
    options.print(&report, || triggers.iter().map(text).collect())?;
    if !failed.is_empty() {
        bail!("{}", failed.join("\n"));
    }
    Ok(())
}

fn recount_stored(stored: Stored, args: &Recount, conn: &mut AnyConnection) -> Result<Recounted> {
    let written = stored.definition.clone();
    let counting = Counting::new(stored.definition, conn)?;
    recount(counting, written, args, conn)
}

fn recount(
    mut counting: Counting,
    written: Definition,
    args: &Recount,
    conn: &mut AnyConnection,
) -> Result<Recounted> {
    // On a terminal only.
    let style =
        ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len}, {eta} left")?;
    let bar = ProgressBar::new(0).with_style(style);
    let mut wrong = Vec::new();
    for mut of_table in asked(&counting, args.of.as_deref())? {
        if args.zero {
            of_table.compared = Compared::All;
        }
        if args.dry_run {
            wrong.extend(of_table.find(conn)?);
            continue;
        }
        bar.set_message(printable(&of_table.table));
        wrong.extend(of_table.correct(conn, |done, all| {
            bar.set_length(all);
            bar.set_position(done);
        })?);
    }
    bar.finish_and_clear();
    // The rows that existed before the triggers are counted now: the definition says so from here.
    let is_whole = !args.dry_run && args.of.is_none();
    if is_whole && counting.definition.existing == Existing::Later {
        counting.definition = written;
        counting.definition.existing = Existing::Now;
        let replaces = replace(&counting)?;
        conn.transaction(|conn| conn.batch_execute(&replaces))?;
    }
    Ok(Recounted {
        name: counting.definition.name.clone(),
        rows: counting.rows.to_string(),
        wrong,
    })
}

/// The recounts that the command was asked for.
fn asked(counting: &Counting, of: Option<&str>) -> Result<Vec<OfTable>> {
    let all = of_tables(counting);
    let Some(text) = of else {
        return Ok(all.collect());
    };
    let database = counting.database;
    // A text can have a comma, so it is only divided if a table has several columns in its key.
    let mut targets = counting.targets.iter();
    let is_whole = targets.all(|target| target.entity.len() < 2);
    let mut asked = Vec::new();
    for mut of_table in all {
        let key = &of_table.target.entity;
        let values = if is_whole {
            vec![text.to_owned()]
        } else {
            values(text)
        };
        if key.is_empty() || values.len() != key.len() {
            continue;
        }
        let literals = key
            .iter()
            .zip(values)
            .map(|(key, value)| database.key_literal(key, &value));
        of_table.entity = Some(literals.collect::<Result<_>>()?);
        asked.push(of_table);
    }
    if asked.is_empty() {
        let name = &counting.definition.name;
        let tables = counting.targets.iter().map(|target| {
            let key = target.entity.iter().map(|key| &*key.name).joined(",");
            format!("{} ({key})", target.table)
        });
        bail!(
            "--of {text}: {name} counts in no table whose key has as many columns. It counts in \
             {}. Write a text that has a comma in a JSON list, such as [\"7\",\"a, b\"]",
            tables.joined(", ")
        );
    }
    Ok(asked)
}

/// The values of a key of several columns: a JSON list of texts, or a list with commas.
fn values(text: &str) -> Vec<String> {
    let divided = || text.split(',').map(|value| value.trim().to_owned());
    serde_json::from_str(text).unwrap_or_else(|_| divided().collect())
}

fn of_tables(counting: &Counting) -> impl Iterator<Item = OfTable> {
    counting.targets.iter().map(|target| OfTable {
        table: target.table.to_string(),
        counting: counting.clone(),
        target: target.clone(),
        compared: counting.compared(target),
        entity: None,
    })
}

/// The recounts of all triggers of a database, table by table, for the enumerator and the checker.
pub fn recounts(url: &str) -> Result<Vec<OfTable>> {
    let conn = &mut connect(url, Duration::from_secs(60))?;
    let mut all = Vec::new();
    for stored in definitions(conn)? {
        all.extend(of_tables(&Counting::new(stored.definition, conn)?));
    }
    Ok(all)
}

/// The wrong counts that are printed for each trigger.
const SHOWN: usize = 20;

fn text(recounted: &Recounted, dry_run: bool) -> String {
    let Recounted { name, rows, wrong } = recounted;
    let done = if dry_run {
        "would be corrected"
    } else {
        "corrected"
    };
    let summary = match wrong.len() {
        0 => format!("all counts agree with {rows}"),
        1 => format!("1 count {done}"),
        several => format!("{} counts {done}", thousands(several as i64)),
    };
    let mut text = printable(&format!("{name}: {summary}")) + "\n";
    for one in wrong.iter().take(SHOWN) {
        let line = format!("  {one}");
        text += &(printable(&line) + "\n");
    }
    if wrong.len() > SHOWN {
        text += &format!("  and {} more\n", thousands((wrong.len() - SHOWN) as i64));
    }
    text
}
