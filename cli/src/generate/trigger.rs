//! `generate trigger`: a migration of triggers that count the rows of a table.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use diesel::connection::{Connection, SimpleConnection};
use diesel::result::Error;
use diesel::{QueryResult, RunQueryDsl};
use serde::Serialize;

use super::folder::{Folder, Written};
use crate::connection::AnyConnection;
use crate::options::Options;
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

pub fn run(args: Trigger, options: &Options) -> Result<()> {
    let conn = &mut options.connect()?;
    let name = args.definition.name.clone();
    let counting = Counting::new(args.definition, conn)?;
    let sql = &counting.database.facts().trigger;
    let triggers = (sql.triggers)(&counting)?;
    refuse_names(&counting, &triggers, conn)?;
    refuse_second_definition(&counting, conn)?;
    refuse_changing_expressions(&counting, conn)?;
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
        not_counted: (sql.not_counted)(&counting, &triggers),
    };
    options.print(&report, || text(&report))
}

fn up(counting: &Counting, triggers: &[trigger::Trigger]) -> Result<String> {
    let database = counting.database;
    let definition = serde_json::to_string(&counting.definition)?;
    let table = [&counting.rows.in_schema, &counting.rows.name].map(Clone::clone);
    let is_of_rows = |trigger: &&trigger::Trigger| trigger.table == table;
    let (of_rows, of_others): (Vec<_>, Vec<_>) = triggers.iter().partition(is_of_rows);
    let sql = &database.facts().trigger;
    let create = |trigger: &trigger::Trigger| {
        let drop = if sql.keeps_half { &*trigger.drop } else { "" };
        format!("{drop}{}\n", trigger.create)
    };
    let all = |triggers: Vec<_>| triggers.into_iter().map(create).collect::<String>();
    let function = triggers
        .iter()
        .find_map(|trigger| trigger.function.as_ref());
    let mut statements = function.map_or(String::new(), |function| function.create.clone() + "\n");
    statements += &all(of_rows);
    statements +=
        "-- Counts the existing rows: adds the difference between the rows and the counters.\n";
    for target in &counting.targets {
        let parts = [counting.actual(target, ""), counting.stored(target, "")];
        statements += &counting.add(target, &parts, "0");
        statements += ";\n";
    }
    let first = format!(
        "-- The definition of the triggers, for `diesel-counters check` and `recount`.\n\
         CREATE {}VIEW {} AS\nSELECT {} AS {COLUMN};\n\n{}",
        if sql.keeps_half { "OR REPLACE " } else { "" },
        database.quoted(&counting.definition.name),
        database.literal(&definition),
        all(of_others),
    );
    Ok(format!(
        "-- Counts the rows of {} in {}.\n\n{}",
        counting.rows,
        counting.counters_that(|_, _| true),
        (sql.without_writers)(counting, &first, &statements),
    ))
}

fn down(counting: &Counting, triggers: &[trigger::Trigger]) -> String {
    let function = triggers
        .iter()
        .find_map(|trigger| trigger.function.as_ref());
    let function = function.map_or("", |function| &function.drop);
    let triggers = triggers.iter().map(|trigger| &*trigger.drop);
    let view = counting.database.quoted(&counting.definition.name);
    triggers.collect::<String>() + function + &format!("DROP VIEW IF EXISTS {view};\n")
}

/// The longest name of a trigger on PostgreSQL.
const NAME: usize = 63;

fn refuse_names(
    counting: &Counting,
    triggers: &[trigger::Trigger],
    conn: &mut AnyConnection,
) -> Result<()> {
    let names = triggers.iter().map(|trigger| &trigger.name);
    if let Some(name) = names.into_iter().find(|name| name.len() > NAME) {
        bail!(
            "a trigger would be named {name}, which is longer than {NAME} bytes: choose a shorter name"
        );
    }
    let name = &counting.definition.name;
    let mut definitions = trigger::definitions(conn)?.into_iter();
    if definitions.any(|other| other.name == *name) {
        bail!("there are triggers {name} already: choose another name, or revert their migration");
    }
    let tables = counting.database.tables(None, conn)?;
    let is_table = tables.iter().any(|table| table.name == *name);
    // MySQL would replace a view.
    let view = counting.database.quoted(name);
    let view = sql(format!("SELECT 1 FROM {view} WHERE 1 = 0"));
    if is_table || view.execute(conn).is_ok() {
        bail!(
            "there is a table {name} already, or a view: choose another name, such as count_{name}"
        );
    }
    Ok(())
}

/// A counter equals the rows of one definition: another one would set it to its own rows.
fn refuse_second_definition(counting: &Counting, conn: &mut AnyConnection) -> Result<()> {
    for other in trigger::definitions(conn)? {
        let name = other.name.clone();
        let Ok(other) = Counting::new(other, conn) else {
            continue;
        };
        if let Some((table, counter)) = counting.shared_counter(&other) {
            bail!(
                "the triggers {name} count in {table}.{counter} already, and a counter can have the rows \
                 of one table only: count in another counter, and add both up in the program"
            );
        }
    }
    Ok(())
}

/// Asks the database whether an expression can have another value at another time.
fn refuse_changing_expressions(counting: &Counting, conn: &mut AnyConnection) -> Result<()> {
    let [table, index, drop] = counting.database.facts().trigger.try_expression;
    let rows = counting.database.table_name(&counting.rows);
    for expression in counting
        .expressions()
        .filter(|expression| !expression.is_one())
    {
        let text = expression.text();
        let mut refused = None;
        let tried: QueryResult<()> = conn.transaction(|conn| {
            conn.batch_execute(&table.replace("{rows}", &rows))?;
            let index = index.replace("{expression}", text);
            refused = conn.batch_execute(&index).err();
            Err(Error::RollbackTransaction)
        });
        if !drop.is_empty() {
            conn.batch_execute(drop)?;
        }
        match (refused, tried) {
            (Some(error), _) => bail!(
                "the database refuses the SQL expression {text:?}: {error}. It must have the same value \
                 whenever it is evaluated"
            ),
            (None, Err(Error::RollbackTransaction)) => {}
            (None, tried) => {
                tried.with_context(|| format!("cannot check {text:?} in a temporary table"))?;
            }
        }
    }
    Ok(())
}

/// Counts the rows, as the migration will. It also finds expressions that the database refuses.
fn time(counting: &Counting, conn: &mut AnyConnection) -> Result<(i64, Duration)> {
    let rows = counting.database.count(&counting.rows, "1 = 1", conn)?;
    let begun = Instant::now();
    for target in &counting.targets {
        for counter in 0..target.names.len() {
            sql(counting.drift(target, counter, false)).execute(conn)?;
        }
    }
    Ok((rows, begun.elapsed()))
}

fn text(report: &Report) -> String {
    let Report {
        written, seconds, ..
    } = report;
    let mut text = format!(
        "Creating {}\nCreating {}\n\n{} has {} rows here. Counting them took {}. The migration blocks \
         writes to {2} for about as long.\n",
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
    text + "\nNext: diesel migration run\nThen: add counted_by_database = (…) to the counter_table! of the table, and remove incr_counter\n"
}
