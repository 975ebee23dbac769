//! `generate trigger`: a migration of triggers that count the rows of tables.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use diesel::RunQueryDsl;
use diesel::sql_types::BigInt;
use serde::Deserialize;
use serde_json::json;

use super::folder::Folder;
use super::refuse;
use crate::options::Options;
use crate::sql::sql;
use crate::triggers::{Count, Counting, Definition, Period, Plan, SLOTS, in_order, migration};

/// Write a Diesel migration with triggers that count the rows of tables.
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
  diesel-counters generate trigger count_all --file counters.toml, which has for each table:
      [[trigger]]
      name = \"count_post_tags\"
      rows = \"post_tags\"
      count = [\"post_id:posts.tag_count\", \"tag_id:tag_counters.usages\"]")]
pub struct Trigger {
    /// The name of the migration, such as count_article_likes. The triggers have it too, unless a file
    /// names them.
    name: String,
    /// A TOML file of definitions: a [[trigger]] for each table, with a name, rows, a list of counts, and
    /// by, when, day, period and slots, as the options below have them.
    #[arg(long, conflicts_with_all = ["rows", "counts"])]
    file: Option<PathBuf>,
    /// The table whose rows are counted, such as article_likes.
    #[arg(long, value_name = "TABLE", required_unless_present = "file")]
    rows: Option<String>,
    /// A counter, and the column of the row that names its entity, such as
    /// article_id:article_counters.likes. The counter can be in a counter table, or a BIGINT column of
    /// an ordinary table, such as post_id:posts.tag_count, whose primary key names the entity. A row
    /// whose column is NULL counts for no entity. A key of several columns takes as many, as in
    /// article_id,emoji:article_reactions.given. A counter table without an entity takes no column, as
    /// in site_counters.likes. A weight of its own can follow, as in
    /// article_id:article_counters.stars=stars. Repeat it for more counters.
    #[arg(
        long = "count",
        required_unless_present = "file",
        value_name = "[COLUMN,…:]TABLE.COUNTER[=WEIGHT]"
    )]
    counts: Vec<Count>,
    /// What a row adds to a counter: an integer column, or an SQL expression of the row's columns.
    #[arg(
        long,
        value_name = "WEIGHT",
        default_value = "1",
        allow_hyphen_values = true
    )]
    by: String,
    /// Count only the rows for which this is true: a column, or an SQL expression of the row's
    /// columns, such as "status = 'approved'".
    #[arg(long, value_name = "CONDITION")]
    when: Option<String>,
    /// The date or time column with the day that a row counts on [default: the day of the change, in
    /// UTC: a deleted row is taken off on the day on which it is deleted].
    #[arg(long, value_name = "COLUMN")]
    day: Option<String>,
    /// The period of the counters, as in counter_table!.
    #[arg(long, value_name = "PERIOD", default_value = "day")]
    period: Period,
    /// The number of slots, as in counter_table!.
    #[arg(long, default_value_t = SLOTS, value_parser = clap::value_parser!(u16).range(1..=32767))]
    slots: u16,
    #[command(flatten)]
    folder: Folder,
}

impl Trigger {
    /// The definition that the options give.
    pub fn definition(&self) -> Definition {
        Definition {
            name: self.name.clone(),
            rows: self.rows.clone().unwrap_or_default(),
            counts: self.counts.clone(),
            by: self.by.clone(),
            when: self.when.clone(),
            day: self.day.clone(),
            period: self.period,
            slots: self.slots,
        }
    }
}

/// A file of definitions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    trigger: Vec<Definition>,
}

pub fn run(args: Trigger, options: &Options) -> Result<()> {
    let conn = &mut options.connect()?;
    let definitions = match &args.file {
        Some(file) => {
            let cannot = || format!("cannot read {}", file.display());
            let text = fs::read_to_string(file).with_context(cannot)?;
            toml::from_str::<File>(&text).with_context(cannot)?.trigger
        }
        None => vec![args.definition()],
    };
    let plans = definitions.into_iter();
    let plans = plans.map(|definition| Plan::new(Counting::new(definition, conn)?));
    let plans = in_order(plans.collect::<Result<_>>()?)?;
    if plans.is_empty() {
        bail!("the file has no [[trigger]]");
    }
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
    let [up, down] = migration(&plans);
    let Some(folder) = args.folder.write(&args.name, [&up, &down])? else {
        return Ok(());
    };
    let report = json!({
        "migration": folder,
        "up": folder.join("up.sql"),
        "down": folder.join("down.sql"),
        "own_triggers": own_triggers,
        "counters": counters,
    });
    options.print(&report, || {
        let mut text = format!(
            "Creating {}\n\nWhile the migration counts the rows, it blocks writes to their tables.\n",
            folder.display()
        );
        if !own_triggers.is_empty() {
            text += "\nThese triggers run in the counting, where only the server's own functions are found without \
                     their schema.\nFirst, let their functions find what they name:\n";
        }
        text.extend(own_triggers.iter().map(|one| format!("- {one}\n")));
        text += "\nNext: diesel migration run\n";
        if !counters.is_empty() {
            text += &format!(
                "Then: name {} in counted_by_database = (…) of their counter_table!, and remove incr_counter\n",
                counters.join(", ")
            );
        }
        text
    })
}
