//! `generate trigger`: a migration of triggers that count the rows of tables.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use diesel::sql_types::BigInt;
use diesel::{QueryResult, RunQueryDsl};
use serde::{Deserialize, Serialize};

use super::folder::{Folder, Written};
use super::{refuse, search_path};
use crate::connection::AnyConnection;
use crate::options::Options;
use crate::output::thousands;
use crate::sql::sql;
use crate::triggers::{
    self, Compared, Count, Counting, Definition, Period, Plan, SLOTS, in_order, migration,
    not_counted,
};

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
    /// Print the SQL, and write no file.
    #[arg(long, value_name = "SQL", num_args = 0..=1, default_missing_value = "up")]
    stdout: Option<Part>,
    #[command(flatten)]
    folder: Folder,
}

/// A file of a migration.
#[derive(Clone, Copy, ValueEnum)]
enum Part {
    Up,
    Down,
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

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    written: Written,
    tables: Vec<Counted>,
}

/// A table whose rows are counted.
#[derive(Serialize)]
struct Counted {
    table: String,
    rows: i64,
    /// How long it took to count the rows now. The migration takes about as long.
    seconds: f64,
    not_counted: Vec<String>,
    /// Triggers of the application that run in the counting, and may not find what they name.
    own_triggers: Vec<String>,
    /// The entities without a row that counts whose counts are not 0, and are left as they are.
    left: i64,
    counters: String,
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
    let plan = |definition| triggers::plan(Counting::new(definition, conn)?);
    let plans = definitions.into_iter().map(plan);
    let plans = in_order(plans.collect::<Result<_>>()?)?;
    if plans.is_empty() {
        bail!("the file has no [[trigger]]");
    }
    refuse::names(&plans, conn)?;
    refuse::second_definitions(&plans, conn)?;
    search_path::refuse_functions(&plans, conn)?;
    refuse::changing_expressions(&plans, conn)?;
    plans
        .iter()
        .try_for_each(|plan| plan.counting.refuse_hidden_rows(conn))?;
    let tables = plans.iter().map(|plan| counted(plan, conn));
    let tables = tables.collect::<Result<Vec<_>>>()?;
    let [up, down] = migration(&plans);
    if let Some(part) = args.stdout {
        print!(
            "{}",
            match part {
                Part::Up => up,
                Part::Down => down,
            }
        );
        return Ok(());
    }
    let written = args.folder.write(&args.name, &up, &down)?;
    let report = Report { written, tables };
    options.print(&report, || text(&report))
}

/// Counts the rows, as the migration will. It also finds expressions that the database refuses.
fn counted(plan: &Plan, conn: &mut AnyConnection) -> Result<Counted> {
    let counting = &plan.counting;
    let rows = counting.database.count(&counting.rows, "1 = 1", conn)?;
    let begun = Instant::now();
    let mut left = 0;
    for target in &counting.targets {
        let compared = counting.compared(target);
        number(&counting.drift(target, compared), conn)?;
        if compared == Compared::WithRows {
            left += number(&counting.drift(target, Compared::WithoutRows), conn)?;
        }
    }
    Ok(Counted {
        table: counting.rows.to_string(),
        rows,
        seconds: begun.elapsed().as_secs_f64(),
        not_counted: not_counted(plan),
        own_triggers: search_path::own_triggers(plan, conn)?,
        left,
        counters: counting.counters_that(|table, _| {
            let mut targets = counting.targets.iter();
            targets.any(|target| target.slots.is_some() && target.table.name == table.name)
        }),
    })
}

fn number(from: &str, conn: &mut AnyConnection) -> QueryResult<i64> {
    let number = sql(format!("SELECT COUNT(*) FROM {from}"));
    number.typed::<BigInt>().get_result(conn)
}

fn text(report: &Report) -> String {
    let Report { written, tables } = report;
    let mut text = format!(
        "Creating {}\nCreating {}\n\n",
        written.up.display(),
        written.down.display(),
    );
    for Counted {
        table,
        rows,
        seconds,
        left,
        ..
    } in tables
    {
        text += &format!(
            "{table} has {} rows here. Counting them took {}.\n",
            thousands(*rows),
            match *seconds < 0.1 {
                true => "less than 0.1 s".to_owned(),
                false => format!("{seconds:.1} s"),
            },
        );
        if *left > 0 {
            text += &format!(
                "{} entities have no such row, and another count than 0: the migration leaves them as they \
                 are, because others may keep them. `diesel-counters recount --zero` sets them to 0.\n",
                thousands(*left)
            );
        }
    }
    text += "The migration blocks writes to these tables for about as long.\n";
    let mut not_counted: Vec<_> = tables.iter().flat_map(|table| &table.not_counted).collect();
    not_counted.dedup();
    if !not_counted.is_empty() {
        text += "\nNot counted:\n";
        for one in not_counted {
            text += &format!("- {one}\n");
        }
    }
    let own: Vec<_> = tables
        .iter()
        .flat_map(|table| &table.own_triggers)
        .collect();
    if !own.is_empty() {
        text += "\nThese triggers run in the counting, where only the server's own functions are found without \
                 their schema.\nFirst, let their functions find what they name:\n";
        for one in own {
            text += &format!("- {one}\n");
        }
    }
    text += &format!("\nNext: {}\n", written.next);
    let counters = tables.iter().map(|table| &*table.counters);
    let counters: Vec<_> = counters.filter(|counters| !counters.is_empty()).collect();
    match counters.is_empty() {
        true => text,
        false => {
            text + &format!(
                "Then: name {} in counted_by_database = (…) of their counter_table!, and remove incr_counter\n",
                counters.join(", ")
            )
        }
    }
}
