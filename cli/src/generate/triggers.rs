//! `generate triggers`: the migration from the triggers of the database to what `counters.toml`
//! says.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::Written;
use super::binary_log;
use super::names::Names;
use super::refuse;
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::{Joined, SQLITE};
use crate::options::{self, Options};
use crate::output::printable;
use crate::template::wrapped;
use crate::triggers::{
    Counting, Difference, Existing, File, Gone, Last, LiveTrigger, Plan, definitions, migration,
    order,
};

/// Print the migration from the triggers of the database to what counters.toml says.
///
/// The database then counts each row that is inserted, deleted or changed, in the same statement,
/// whichever program writes it. The migration creates what is new in the file, replaces what has
/// changed and drops what is gone. It counts the existing rows of every entity whose count is 0,
/// and leaves other counts as they are. If there is no difference, it is empty. Reads the tables
/// from the database, which must exist, and changes nothing there.
#[derive(Args)]
#[command(after_help = "Example of a counters.toml:
  [[trigger]]
  name = \"count_article_likes\"          # of the triggers
  rows = \"article_likes\"                # the table whose rows are counted
  count = [\"article_id:article_counters.likes\", \"site_counters.likes\"]
  when = \"approved\"                     # optional, as the following ones: a condition of the row
  by = \"stars\"                          # what a row adds [default: 1]
  day = \"created_at\"                    # the day that it counts on [default: that of the change]
  slots = 16                            # as in counter_table! [default: 32]

  diesel migration generate count_article_likes
  cd migrations/*_count_article_likes
  diesel-counters generate triggers > up.sql
  diesel-counters generate triggers --down > down.sql

`diesel-counters show` prints the file of the triggers that the database has.")]
pub struct Triggers {
    /// The file that says what is counted [default: counters.toml of this directory, or of the
    /// nearest one above it].
    #[arg(long, value_parser = options::file)]
    file: Option<PathBuf>,
    /// When existing rows are counted: by the migration, while writers wait, or later by
    /// `diesel-counters recount NAME`, beside writers.
    #[arg(long, value_enum, default_value_t)]
    existing: Existing,
}

/// Both sides of the migration. `is_down` is whether the way back is printed: that of the last
/// migration, if it has run. Otherwise, it only changes what is noted beside it.
pub(super) fn up_and_down(args: Triggers, is_down: bool, options: &Options) -> Result<Written> {
    let file = File::read(args.file.as_deref())?;
    let conn = &mut options.connect()?;
    let stored = definitions(conn)?;
    let of_file = file.definitions(&stored, conn)?;
    let difference = Difference::new(of_file, args.existing, stored, conn)?;
    if difference.is_empty() {
        let path = file.path.display();
        if is_down {
            return way_back(difference.stay, args.existing, conn);
        }
        note(&format!("the database has what {path} says"));
        return Ok(Written::default());
    }
    // What is wrong with the definitions themselves comes before what is wrong with the database.
    let names = names_beside(&difference, conn)?;
    names.refuse(&difference.new, conn)?;
    refuse::others(&difference.new, &difference.stay)?;
    let kept = check(&difference.new, conn)?;
    for name in &difference.repaired {
        note(&format!(
            "the triggers {name} are not all there, or not as {} says: this creates them again",
            file.path.display()
        ));
    }
    let sides = difference.sides(args.existing, conn)?;
    let unplanned = difference.gone.iter().filter_map(|gone| {
        let why = gone.plan.as_ref().err()?;
        Some(format!("{}: {why:#}", gone.name()))
    });
    let mut lost: Vec<_> = unplanned.collect();
    // Others can have taken a name of what goes, which the way back would take from them.
    let mut restored = Vec::new();
    for plan in sides.restored {
        match names.taken(&plan, conn)? {
            Some(why) => lost.push(format!("{}: {why}", plan.name())),
            None => restored.push(plan),
        }
    }
    // The SQL of both is in the JSON.
    if is_down || options.json {
        refuse_later(&restored)?;
    }
    let up_comment = locks(&difference.new, &difference.stay)?;
    // What the database has may be from a version that did not look for an order.
    let down_comment = locks(&restored, &difference.stay).unwrap_or_default();
    if is_down {
        note_changes(&sides.created, &restored);
        note_lost(lost);
    } else {
        note_changes(&sides.gone, &difference.new);
        kept.iter().for_each(|text| note(text));
        advise(&difference.new, conn)?;
    }
    Ok(Written {
        up: migration(&sides.gone, &difference.new, &up_comment)?,
        down: migration(&sides.created, &restored, &down_comment)?,
    })
}

/// The names that are taken beside those of what goes.
fn names_beside(difference: &Difference, conn: &mut AnyConnection) -> Result<Names> {
    let gone = difference.gone.iter();
    let definitions = gone.map(|gone| gone.name().to_owned()).collect();
    let goes = |live: &LiveTrigger| difference.gone.iter().any(|gone| gone.has(live));
    Names::new(definitions, goes, conn)
}

/// From what the database has to what it had before the last migration.
fn way_back(stay: Vec<Counting>, existing: Existing, conn: &mut AnyConnection) -> Result<Written> {
    let last = Last::of(stay, existing, conn)?;
    let created = last.created.iter().map(|gone| gone.name.clone());
    let goes = |live: &LiveTrigger| last.created.iter().any(|gone| gone.has(live));
    let names = Names::new(created.collect(), goes, conn)?;
    names.refuse(&last.restored, conn)?;
    refuse_later(&last.restored)?;
    refuse::others(&last.restored, &last.stay)?;
    let comment = locks(&last.restored, &last.stay).unwrap_or_default();
    note("the migration has run: this is the way back of the last one that created triggers");
    note_changes(&last.created, &last.restored);
    note_lost(last.lost);
    Ok(Written {
        up: String::new(),
        down: migration(&last.created, &last.restored, &comment)?,
    })
}

/// Refuses what cannot be counted. Says which counts stay as they are.
fn check(plans: &[Plan], conn: &mut AnyConnection) -> Result<Vec<String>> {
    let mut told = Vec::new();
    for plan in plans {
        let counting = &plan.counting;
        refuse::storage(plan)?;
        refuse::later(plan)?;
        refuse::changing_expressions(plan, conn)?;
        let kept = counting.kept_counts(conn)?;
        if plan.corrects_now() {
            told.extend(kept);
        }
    }
    Ok(told)
}

/// Refuses to count the rows of definitions later that are created again.
fn refuse_later(restored: &[Plan]) -> Result<()> {
    for plan in restored {
        refuse::later(plan).with_context(|| format!("the way back creates {}", plan.name()))?;
    }
    Ok(())
}

/// What to do beside the migration.
fn advise(plans: &[Plan], conn: &mut AnyConnection) -> Result<()> {
    if let Some(advice) = binary_log::advice(conn)? {
        note(&advice);
    }
    let targets = plans.iter().flat_map(|plan| &plan.counting.targets);
    let in_slots = targets.filter(|target| target.slots.is_some());
    let counters = in_slots.flat_map(|target| {
        let names = target.names.iter();
        names.map(|name| format!("{}.{name}", target.table))
    });
    let names = counters.joined(", ");
    if !names.is_empty() {
        let then = "in counted_by_database = (…) of their counter_table!, and remove incr_counter";
        note(&format!("then name {names} {then}"));
    }
    Ok(())
}

/// Says what a migration does.
fn note_changes(gone: &[Gone], new: &[Plan]) {
    let is_gone = |name: &&str| gone.iter().any(|gone| gone.name == *name);
    let is_new = |name: &&str| new.iter().any(|plan| plan.name() == *name);
    let gone_names = gone.iter().map(|gone| &*gone.name);
    let new_names = new.iter().map(Plan::name);
    let dropped = gone_names.filter(|name| !is_new(name)).joined(", ");
    let replaced = new_names.clone().filter(is_gone).joined(", ");
    let created = new_names.filter(|name| !is_gone(name)).joined(", ");
    for (does, names) in [
        ("drops", dropped),
        ("replaces", replaced),
        ("creates", created),
    ] {
        if !names.is_empty() {
            note(&format!("this {does} the triggers {names}"));
        }
    }
}

fn note_lost(lost: impl IntoIterator<Item = String>) {
    for definition in lost {
        note(&format!(
            "this cannot create again what was there: {definition}"
        ));
    }
}

/// A comment with the order in which rows of columns are locked. SQLite has one writer.
fn locks(new: &[Plan], stay: &[Counting]) -> Result<String> {
    let mut targets = new.iter().flat_map(|plan| &plan.counting.targets);
    let in_columns = targets.any(|target| target.slots.is_none());
    let is_of_sqlite = new.iter().any(|plan| plan.counting.database == SQLITE);
    if !in_columns || is_of_sqlite {
        return Ok(String::new());
    }
    let all = stay.iter().chain(new.iter().map(|plan| &plan.counting));
    let tables = order(&all.collect::<Vec<_>>())?;
    let tables: Vec<_> = tables.into_iter().map(Table::to_string).collect();
    let names = wrapped(&tables, "\n-- ");
    Ok(format!(
        "-- Rows are locked in this order, as the program must lock them:\n-- {names}.\n"
    ))
}

fn note(text: &str) {
    eprintln!("diesel-counters: {}", printable(text));
}
