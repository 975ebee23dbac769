//! `generate migration`: a Diesel migration that creates a counter table.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use diesel_counters::Dialect;
use serde_json::json;

use super::Entity;
use super::create_table::create_table;
use super::folder::Folder;
use crate::catalogue::MAX_COLUMNS;
use crate::connection::{self, dialect_of, option};
use crate::options::Options;
use crate::period::Period;

/// Write a Diesel migration that creates a counter table.
///
/// The migration is named as `diesel migration generate` names it. Connects to no database.
#[derive(Args)]
#[command(after_help = "Example:
  diesel-counters generate migration create_article_counters \\
      --entity article_id:bigint:articles.id --counters views,likes --backend postgres")]
pub struct Migration {
    /// The name of the migration, such as create_article_counters.
    name: String,
    /// The names of the counters, such as views,likes.
    #[arg(long, value_delimiter = ',', required = true, value_name = "NAME,…")]
    counters: Vec<String>,
    /// A column of the key to count by, its type, and the column that it refers to, such as
    /// article_id:bigint:articles.id. The types are smallint, integer, bigint, text,
    /// binary and uuid. Repeat it for a key of several columns, in their order. Without it, the table
    /// counts for one thing, such as a whole site.
    #[arg(long, value_name = "COLUMN:TYPE[:TABLE.COLUMN]")]
    entity: Vec<Entity>,
    /// The period of the counters, as in counter_table!. A comment of the table has it, for the other
    /// commands.
    #[arg(long, value_enum, default_value_t)]
    period: Period,
    /// The name of the table [default: the migration's name without create_].
    #[arg(long)]
    table: Option<String>,
    /// The database, where mysql includes MariaDB [default: that of DATABASE_URL].
    #[arg(long, value_parser = PossibleValuesParser::new(ALL.map(option)))]
    backend: Option<String>,
    #[command(flatten)]
    folder: Folder,
}

const ALL: [Dialect; 3] = [Dialect::PostgreSql, Dialect::MySql, Dialect::Sqlite];

/// The names of the columns.
const DAY: &str = "day";
const SLOT: &str = "slot";

pub fn run(args: Migration, options: &Options) -> Result<()> {
    let table = match (&args.table, args.name.strip_prefix("create_")) {
        (Some(table), _) => table,
        (None, Some(table)) if !table.is_empty() => table,
        _ => bail!("which table is it? Call the migration create_TABLE, or give --table TABLE"),
    };
    validate(&args, table)?;
    let (entity, period) = (&*args.entity, args.period);
    let dialect = dialect(args.backend.as_deref(), options)?;
    let [create, drop] = create_table(table, entity, [DAY, SLOT], &args.counters, period, dialect);
    let names: Vec<_> = entity.iter().map(|entity| &*entity.column).collect();
    let of = match &*names {
        [] => "one thing".to_owned(),
        names => format!("each {}", names.join(", ")),
    };
    let by = match period {
        Period::Total => "in total".to_owned(),
        period => format!("by {period}"),
    };
    let create = format!("-- A counter table: the counts of {of}, {by}.\n{create}");
    let Some(folder) = args.folder.write(&args.name, [&create, &drop])? else {
        return Ok(());
    };
    let report = json!({
        "table": table,
        "migration": folder,
        "up": folder.join("up.sql"),
        "down": folder.join("down.sql"),
    });
    options.print(&report, || {
        let table = table.rsplit('.').next().unwrap_or(table);
        let declared = match period {
            Period::Day => format!("counter_table!({table})"),
            period => format!("counter_table!({table} {{ period = {period:?} }})"),
        };
        format!(
            "Creating {}\n\nNext: diesel migration run\nThen: diesel_counters::{declared} in the file of the \
             model, and #[derive(HasCounters)] and #[counters(table_name = {table})] on it\n",
            folder.display(),
        )
    })
}

fn dialect(option: Option<&str>, options: &Options) -> Result<Dialect> {
    let mut all = ALL.into_iter();
    let named = all.find(|dialect| Some(connection::option(*dialect)) == option);
    match (named, options.url()) {
        (Some(dialect), _) => Ok(dialect),
        (None, Some(url)) => dialect_of(url),
        (None, None) => {
            bail!("which database? Give --backend postgres, mysql or sqlite, or set DATABASE_URL")
        }
    }
}

fn validate(args: &Migration, table: &str) -> Result<()> {
    if args.entity.len() > MAX_COLUMNS {
        bail!("a key has up to five columns besides the day and the slot");
    }
    let entity = args.entity.iter().flat_map(|entity| {
        let refers_to = entity.refers_to.iter();
        let refers_to = refers_to.flat_map(|(table, column)| [table, column]);
        [&entity.column].into_iter().chain(refers_to)
    });
    let names = entity.chain(&args.counters).map(String::as_str);
    // A new line would end the comment that the name is in.
    match names
        .chain([table])
        .find(|name| name.contains(char::is_control))
    {
        Some(name) => bail!("the name {name:?} has a control character: give it another name"),
        None => Ok(()),
    }
}
