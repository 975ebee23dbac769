//! `generate trigger`: a migration of triggers that count the rows of tables.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use diesel::RunQueryDsl;
use diesel::sql_types::BigInt;
use serde::Deserialize;

use super::refuse;
use crate::options::Options;
use crate::output::printable;
use crate::sql::sql;
use crate::triggers::{Counting, Definition, Plan, migration};

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
    /// by, when, day, period and slots, as the options below have them.
    #[arg(long, conflicts_with_all = ["name", "rows", "counts"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    pub definition: Definition,
}

/// A file of definitions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    trigger: Vec<Definition>,
}

pub fn up_and_down(args: Trigger, options: &Options) -> Result<[String; 2]> {
    let conn = &mut options.connect()?;
    let definitions = match &args.file {
        Some(file) => {
            let cannot = || format!("cannot read {}", file.display());
            let text = fs::read_to_string(file).with_context(cannot)?;
            toml::from_str::<File>(&text).with_context(cannot)?.trigger
        }
        None => vec![args.definition],
    };
    let plans = definitions.into_iter();
    let plans = plans.map(|definition| Plan::new(Counting::new(definition, conn)?));
    let plans: Vec<_> = plans.collect::<Result<_>>()?;
    if plans.is_empty() {
        bail!("the file has no [[trigger]]");
    }
    refuse::order(&plans)?;
    refuse::names(&plans, conn)?;
    refuse::second_definitions(&plans, conn)?;
    let (mut own_triggers, mut counters) = (Vec::new(), Vec::new());
    for plan in &plans {
        let counting = &plan.counting;
        refuse::functions(plan, conn)?;
        refuse::changing_expressions(plan, conn)?;
        counting.refuse_hidden_rows(conn)?;
        own_triggers.extend(refuse::own_triggers(plan, conn)?);
        for target in &counting.targets {
            // It finds expressions that the database refuses.
            let drift = counting.drift(target, counting.compared(target));
            let number = sql(format!("SELECT COUNT(*) FROM {drift}")).typed::<BigInt>();
            number.get_result::<i64>(conn)?;
            let names = target.names.iter().filter(|_| target.slots.is_some());
            counters.extend(names.map(|name| format!("{}.{name}", target.table)));
        }
    }
    for own in own_triggers {
        note(&format!(
            "first, let the function of an own trigger find what it names inside of the counting: {own}"
        ));
    }
    if !counters.is_empty() {
        note(&format!(
            "then name {} in counted_by_database = (…) of their counter_table!, and remove incr_counter",
            counters.join(", ")
        ));
    }
    Ok(migration(&plans))
}

fn note(text: &str) {
    eprintln!("diesel-counters: {}", printable(text));
}
