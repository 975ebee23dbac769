//! `generate triggers`: writes the migration from the triggers after the last one to those that
//! `counters.toml` asks for.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::error::ErrorKind;

use super::binary_log;
use super::directory::{Directory, refuse_name};
use super::names;
use super::refuse;
use super::{Written, refuse_steering};
use crate::catalogue::Table;
use crate::connection::{AnyConnection, backend_name, connect};
use crate::database::{Joined, SQLITE};
use crate::options::{self, Options};
use crate::output::printable;
use crate::template::wrapped;
use crate::triggers::{
    Cascade, Counting, Difference, Existing, File, Gone, Migrations, Plan, Repair, Snapshot,
    cascades, locking_order, migration,
};

/// Write a migration that makes the database's triggers match counters.toml.
///
/// The database then counts every row that is inserted, deleted or changed, in the same statement,
/// whichever program writes it. The migration creates what is new in the file, replaces what has
/// changed, and drops what is gone. It compares the file with the last migration that this command
/// wrote: next to its up.sql, every such migration has a counters.toml that says which triggers
/// exist after it.
///
/// The migration also counts existing rows where there is no count yet. If a definition has
/// changed, it adds what that counts more or less than before.
///
/// The tables must exist in the database that you connect to. The command only reads there.
#[derive(Args)]
#[command(after_help = "Example of a counters.toml:
  [[trigger]]
  name = \"count_article_likes\"          # the name of the triggers
  rows = \"article_likes\"                # the table whose rows are counted
  count = [\"article_id:article_counters.likes\", \"site_counters.likes\"]
  when = \"approved\"                     # optional, like all below: which rows count
  by = \"stars\"                          # what a row adds [default: 1]
  day = \"created_at\"                    # the day that it counts on [default: the day of the change]
  slots = 16                            # as in counter_table! [default: 32]
  deleted = \"kept\"                      # a deleted row stays in the count [default: taken_off]

  diesel-counters generate triggers count_article_likes
  diesel migration run")]
pub struct Triggers {
    /// The name of the migration, for example count_article_likes.
    #[arg(value_name = "NAME", value_parser = options::name)]
    name: Option<String>,
    /// The file that says what is counted [default: counters.toml in this directory, or in the
    /// nearest one above it].
    #[arg(long, value_parser = options::file)]
    file: Option<PathBuf>,
    /// The directory of the migrations [default: the one in diesel.toml, or migrations next to
    /// counters.toml].
    #[arg(long, value_name = "DIR", value_parser = options::file, env = "MIGRATION_DIRECTORY")]
    migrations: Option<PathBuf>,
    /// What the migration does about rows that already exist.
    #[arg(long, value_enum, default_value_t)]
    existing: Existing,
    /// Create these definitions again although the file hasn't changed, or all of them if you name
    /// none. Use it if triggers were lost, if their tables have changed, or after an update of this
    /// command.
    #[arg(long, value_name = "DEFINITION", num_args = 0.., value_parser = options::name)]
    repair: Option<Vec<String>>,
    /// Print up.sql, or down.sql with --down, and write no migration.
    #[arg(long)]
    print: bool,
}

/// Writes the migration. Returns what to print, if anything.
pub(super) fn run(args: Triggers, is_down: bool, options: &Options) -> Result<Option<Written>> {
    let is_printed = args.print || is_down || options.json;
    if args.name.is_none() && !is_printed {
        let message = "the migration needs a name, for example count_article_likes. Write it \
                       before the options\n";
        return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, message).into());
    }
    if let Some(name) = &args.name {
        refuse_name(name)?;
    }
    let file = File::read(args.file.as_deref())?;
    let directory = Directory::find(args.migrations.as_deref(), &file.path)?;
    let migrations = directory.migrations()?;
    let old = migrations.state()?;
    let repair = repair(args.repair.as_deref(), &old)?;
    let conn = &mut options.connect()?;
    refuse_other_backend(&old, &directory.path, conn)?;
    let difference = Difference::new(&old, &file.triggers, repair, args.existing, conn)?;
    refuse_conflicts(&difference, &migrations, conn)?;
    note_outdated(&difference);
    if difference.is_empty() {
        // Fails if the tables have changed so that there is no order.
        let nothing_new = [];
        lock_order_comment(&nothing_new, &difference.stay)?;
        let path = shown(&file.path);
        note(&format!("{path} has not changed since the last migration"));
        let counters = difference.snapshot.toml()?;
        return Ok(is_printed.then(|| Written {
            counters,
            ..Written::default()
        }));
    }
    let kept_counts = check(&difference, conn)?;
    let written = statements(&difference)?;
    if is_down {
        note_changes(&difference.created, &difference.restored);
    } else {
        note_changes(&difference.gone, &difference.new);
        kept_counts.iter().for_each(|text| note(text));
        advise(&difference.new, conn)?;
    }
    for definition in difference.lost {
        note(&format!(
            "down.sql can't create these triggers again: {definition}"
        ));
    }
    let name = args.name.filter(|_| !is_printed);
    let Some(name) = name else {
        return Ok(Some(written));
    };
    refuse_steering(&written.up)?;
    refuse_steering(&written.down)?;
    let path = directory.write(&name, &written)?;
    note(&format!("wrote {}", shown(&path)));
    if args.repair.is_some() {
        note("if triggers were missing, run `diesel-counters recount` after the migration");
    }
    Ok(None)
}

/// Refuses definitions that can't exist together. Merged branches may have brought them.
fn refuse_conflicts(
    difference: &Difference,
    migrations: &Migrations,
    conn: &mut AnyConnection,
) -> Result<()> {
    let new = difference.new.iter().map(|plan| &plan.counting);
    let all: Vec<&Counting> = difference.stay.iter().chain(new).collect();
    refuse::shared_counters(&all)?;
    names::refuse(difference, migrations, conn)
}

/// Returns the first migration for the triggers in this file, for the benchmark.
pub fn first_migration(url: &str, file: &Path) -> Result<String> {
    let conn = &mut connect(url, Duration::from_secs(60))?;
    let definitions = File::read(Some(file))?.triggers;
    let (old, repair) = (Snapshot::default(), Repair::None);
    let difference = Difference::new(&old, &definitions, repair, Existing::default(), conn)?;
    let (nothing_gone, no_comment) = (&[], "");
    migration(nothing_gone, &difference.new, no_comment)
}

/// Returns which definitions to create again: none without `--repair`, and all if it has no names.
/// Fails if no definition has one of the names.
fn repair<'n>(names: Option<&'n [String]>, old: &Snapshot) -> Result<Repair<'n>> {
    let Some(names) = names else {
        return Ok(Repair::None);
    };
    let known: Vec<&str> = old.triggers.iter().map(|old| &*old.name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let there_are = if known.is_empty() {
            "no migration has made any yet".to_owned()
        } else {
            format!("there are {}", known.join(", "))
        };
        bail!("--repair {name}: no migration has these triggers; {there_are}");
    }
    Ok(match names {
        [] => Repair::All,
        names => Repair::Named(names),
    })
}

/// Refuses a database of another kind than the last migration's: there, triggers have other names
/// and SQL.
fn refuse_other_backend(old: &Snapshot, migrations: &Path, conn: &AnyConnection) -> Result<()> {
    let backend = backend_name(conn.database());
    if !old.backend.is_empty() && old.backend != backend {
        bail!(
            "the migrations in {} are for {}, and this database is {backend}: name the directory of \
             its migrations with --migrations",
            shown(migrations),
            old.backend
        );
    }
    Ok(())
}

/// Refuses what can't be counted. Returns what to say about counts that stay as they are.
fn check(difference: &Difference, conn: &mut AnyConnection) -> Result<Vec<String>> {
    let mut kept_counts = Vec::new();
    for plan in &difference.new {
        refuse::storage(plan)?;
        refuse::later(plan)?;
        refuse::changing_expressions(plan, conn)?;
        kept_counts.extend(plan.kept_count_notes(conn)?);
    }
    kept_counts.extend(difference.left_behind(conn)?);
    for plan in &difference.restored {
        refuse::later(plan).with_context(|| format!("the way back creates {}", plan.name()))?;
    }
    Ok(kept_counts)
}

/// Returns the statements of the migration, and the state after it.
fn statements(difference: &Difference) -> Result<Written> {
    let up_comment = lock_order_comment(&difference.new, &difference.stay)?;
    // The tables may have changed since the old definitions were created.
    let restored = &difference.restored;
    let down_comment = lock_order_comment(restored, &difference.stay).unwrap_or_default();
    Ok(Written {
        up: migration(&difference.gone, &difference.new, &up_comment)?,
        down: migration(&difference.created, restored, &down_comment)?,
        counters: difference.snapshot.toml()?,
    })
}

/// Says which triggers the command would write in another way now.
fn note_outdated(difference: &Difference) {
    for name in &difference.outdated {
        note(&format!(
            "the triggers {name} are out of date, because a table or this command has changed. To \
             write a migration that replaces them, add --repair {name}"
        ));
    }
}

/// Says what to do besides running the migration.
fn advise(plans: &[Plan], conn: &mut AnyConnection) -> Result<()> {
    if let Some(advice) = binary_log::advice(conn)? {
        note(&advice);
    }
    for plan in plans {
        for cascade in cascades(&plan.counting, conn)? {
            note(&format!("{cascade} {} {}", Cascade::COST, cascade.remedy()));
        }
    }
    let counters = plans.iter().flat_map(Plan::new_in_slots).joined(", ");
    if !counters.is_empty() {
        note(&format!(
            "then name {counters} in counted_by_database = (…) of their counter_table!, and remove \
             incr_counter"
        ));
    }
    Ok(())
}

/// Says which triggers a migration drops, replaces and creates.
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

/// Returns a comment with the order in which rows with counters are locked. Fails if there is no
/// such order. Returns an empty text if none is needed: slots don't deadlock, although columns of
/// ordinary tables can, and SQLite has one writer.
fn lock_order_comment(new: &[Plan], stay: &[Counting]) -> Result<String> {
    let of_new = new.iter().map(|plan| &plan.counting);
    let all: Vec<_> = stay.iter().chain(of_new).collect();
    let mut targets = all.iter().flat_map(|counting| &counting.targets);
    let is_in_columns = targets.any(|target| target.slots.is_none());
    let is_sqlite = all.iter().any(|counting| counting.database == SQLITE);
    if !is_in_columns || is_sqlite {
        return Ok(String::new());
    }
    let tables = locking_order(&all)?;
    let tables: Vec<_> = tables.into_iter().map(Table::to_string).collect();
    let names = wrapped(&tables, "\n-- ");
    Ok(format!(
        "-- Rows are locked in this order, as the program must lock them:\n-- {names}.\n"
    ))
}

/// Writes a path relative to the current directory.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Prints a note on stderr, so that it isn't in a migration that is printed.
fn note(text: &str) {
    eprintln!("diesel-counters: {}", printable(text));
}
