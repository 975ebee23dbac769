//! `generate trigger`: a migration of triggers that count the rows of tables.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::error::ErrorKind;
use diesel::RunQueryDsl;
use diesel::sql_types::BigInt;
use serde::Deserialize;
use serde_json::json;

use super::binary_log;
use super::own_triggers;
use super::refuse;
use crate::catalogue::Table;
use crate::code_of_others::{self, Access};
use crate::database::{Joined, SQLITE};
use crate::options::{self, Options};
use crate::output::printable;
use crate::sql::sql;
use crate::template::render;
use crate::triggers::{self, Counting, Definition, Existing, Plan, migration, order};

/// Print a migration with triggers that count the rows of tables.
///
/// The database then counts each row that is inserted, deleted or changed, in the same statement,
/// whichever program writes it. The migration counts the existing rows too. Reads the tables from
/// the database, which must exist, and changes nothing there.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters generate trigger count_article_likes \\
      --rows article_likes --count article_id:article_counters.likes
  diesel-counters generate trigger count_comments --rows comments --when approved --day created_at \\
      --count article_id:article_counters.comments --count article_id:articles.comment_count
  diesel-counters generate trigger --file counters.toml, which has for each table:
      [[trigger]]
      name = \"count_post_tags\"
      rows = \"post_tags\"
      count = [\"post_id:posts.tag_count\", \"tag_id:tag_counters.usages\"]")]
pub struct Trigger {
    /// A TOML file of definitions: a [[trigger]] for each table, with a name, rows, a list of counts, and
    /// by, when, only, day, period and slots, as the options below have them.
    #[arg(long, conflicts_with_all = ["name", "rows", "counts", "by", "when", "only", "day", "period", "slots"])]
    file: Option<PathBuf>,
    /// When existing rows are counted: by the migration, while writers wait, or later by
    /// `diesel-counters recount NAME`, beside writers.
    #[arg(long, value_enum, default_value_t)]
    existing: Existing,
    #[command(flatten)]
    pub definition: Definition,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    trigger: Vec<Definition>,
}

pub fn up_and_down(args: Trigger, is_down: bool, options: &Options) -> Result<[String; 2]> {
    let conn = &mut options.connect()?;
    let mut definitions = match &args.file {
        Some(file) => {
            let cannot = || format!("cannot read {}", file.display());
            let text = fs::read_to_string(file).with_context(cannot)?;
            toml::from_str::<File>(&text).with_context(cannot)?.trigger
        }
        None => vec![args.definition],
    };
    let names = definitions.iter().flat_map(|one| [&one.name, &one.rows]);
    if let Some(error) = names.filter_map(|name| options::name(name).err()).next() {
        // In a file, too: an empty name names nothing.
        let message = format!("the name of a trigger, or of its rows: {error}\n");
        return Err(clap::Error::raw(ErrorKind::InvalidValue, message).into());
    }
    if args.existing == Existing::Later {
        (definitions.iter_mut()).for_each(|one| one.existing = Existing::Later);
    }
    let mut plans = Vec::new();
    for mut definition in definitions {
        triggers::name_keys(&mut definition, conn)?;
        plans.push(Plan::new(Counting::new(definition, conn)?)?);
    }
    if plans.is_empty() {
        bail!("the file has no [[trigger]]");
    }
    // Anybody can create what looks like one.
    let known = triggers::definitions(conn)?.into_iter();
    let known = known.filter(|known| known.is_own);
    let known = known.filter_map(|known| Counting::new(known.definition, conn).ok());
    let mut known: Vec<_> = known.collect();
    if is_down {
        keep_new(&mut plans, &known);
        // They can have run.
        known.retain(|known| {
            !plans
                .iter()
                .any(|plan| plan.name() == known.definition.name)
        });
        let names = plans.iter().map(Plan::name).joined(", ");
        note(&format!("this drops the triggers {names}"));
    } else {
        if args.file.is_some() {
            leave_out(&mut plans, &known)?;
        }
        refuse::names(&plans, conn)?;
    }
    refuse::others(&plans, &known)?;
    let locks = locks(&plans, &known)?;
    let (mut own_triggers, mut counters) = (Vec::new(), Vec::new());
    for plan in &plans {
        let counting = &plan.counting;
        refuse::storage(plan)?;
        refuse::vetoes(plan, conn)?;
        for table in counting.tables() {
            code_of_others::refuse(table, Access::Reads, conn)?;
        }
        // The migration writes them, and so do the triggers.
        for target in &counting.targets {
            code_of_others::refuse(&target.table, Access::Writes, conn)?;
        }
        refuse::functions(plan, conn)?;
        refuse::later(plan)?;
        refuse::changing_expressions(plan, conn)?;
        counting.refuse_hidden_rows(conn)?;
        own_triggers.extend(own_triggers::to_alter(plan, conn)?);
        for target in &counting.targets {
            // It finds expressions that the database refuses.
            let drift = counting.drift(target, counting.compared(target), None);
            let number = render("number.sql", json!({ "drift": drift }))?;
            let number = sql(number).typed::<BigInt>();
            number.get_result::<i64>(conn)?;
            let names = target.names.iter().filter(|_| target.slots.is_some());
            counters.extend(names.map(|name| format!("{}.{name}", target.table)));
        }
    }
    if let Some(advice) = binary_log::advice(conn)? {
        note(&advice);
    }
    let first =
        "first, let the function of an own trigger find what it names inside of the counting:";
    for own in own_triggers {
        note(&format!("{first} {own}"));
    }
    if !counters.is_empty() {
        let names = counters.join(", ");
        let then = "in counted_by_database = (…) of their counter_table!, and remove incr_counter";
        note(&format!("then name {names} {then}"));
    }
    migration(&plans, &locks)
}

/// Keeps the plans that the database does not have, or all if it has all of them: the migration has run.
fn keep_new(plans: &mut Vec<Plan>, known: &[Counting]) {
    let is_there = |plan: &Plan| {
        let mut names = known.iter().map(|known| &*known.definition.name);
        names.any(|name| name == plan.name())
    };
    if !plans.iter().all(is_there) {
        plans.retain(|plan| !is_there(plan));
    }
}

/// Leaves out the definitions of a file that an earlier migration has.
fn leave_out(plans: &mut Vec<Plan>, known: &[Counting]) -> Result<()> {
    let is_same = |plan: &Plan| {
        let mut definition = plan.counting.definition.clone();
        known.iter().any(|known| {
            definition.existing = known.definition.existing;
            definition == known.definition
        })
    };
    if plans.iter().all(is_same) {
        bail!("the database has all triggers of this file. `--down` prints what drops them");
    }
    for plan in plans.iter().filter(|plan| is_same(plan)) {
        note(&format!(
            "{} is in the database already, and left out",
            plan.name()
        ));
    }
    plans.retain(|plan| !is_same(plan));
    Ok(())
}

/// A comment with the order in which rows of columns are locked. SQLite has one writer.
fn locks(plans: &[Plan], known: &[Counting]) -> Result<String> {
    let mut targets = plans.iter().flat_map(|plan| &plan.counting.targets);
    let in_columns = targets.any(|target| target.slots.is_none());
    if !in_columns || plans[0].counting.database == SQLITE {
        return Ok(String::new());
    }
    let all = known.iter().chain(plans.iter().map(|plan| &plan.counting));
    let tables = order(&all.collect::<Vec<_>>())?.into_iter();
    let tables = tables.map(Table::to_string).joined(", ");
    let order = "-- Rows are locked in this order, as the program must lock them";
    Ok(format!("{order}: {tables}.\n"))
}

fn note(text: &str) {
    eprintln!("diesel-counters: {}", printable(text));
}
