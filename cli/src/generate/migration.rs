//! `generate migration`: a Diesel migration that creates a counter table.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use diesel_counters::Dialect;
use serde::Serialize;

use super::create_table::{Entity, create_indexes, create_table};
use super::folder::{Folder, Written};
use super::parse_entity;
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
    #[arg(long, value_name = "COLUMN:TYPE[:TABLE.COLUMN]", value_parser = parse_entity)]
    entity: Vec<Entity>,
    /// Count for one thing, which is the default without --entity.
    #[arg(long, conflicts_with = "entity")]
    no_entity: bool,
    /// The period of the counters, as in counter_table!. A comment of the table has it, for the other
    /// commands.
    #[arg(long, value_enum, default_value_t)]
    period: Period,
    /// Create optional indexes too, for a table of millions of rows: of the rows that are not merged
    /// yet, and on PostgreSQL of the day, for rankings of recent days.
    #[arg(long)]
    indexes: bool,
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

#[derive(Serialize)]
struct Report {
    table: String,
    #[serde(flatten)]
    written: Written,
}

pub fn run(migration: Migration, options: &Options) -> Result<()> {
    let has_entity = !migration.entity.is_empty();
    let period = migration.period;
    let (table, written) = write(migration, options)?;
    let report = Report { table, written };
    let written = &report.written;
    options.print(&report, || {
        let model = match has_entity {
            true => "the model that is counted for",
            false => "a unit struct, such as `struct Site;`",
        };
        let table = &report.table;
        let table = table.rsplit('.').next().unwrap_or(table);
        let declared = match period {
            Period::Day => format!("counter_table!({table})"),
            period => format!("counter_table!({table} {{ period = {period:?} }})"),
        };
        format!(
            "Creating {}\nCreating {}\n\nNext: {}\nThen: \
             diesel_counters::{declared} in the file of the model, and #[derive(HasCounters)] \
             and #[counters(table_name = {table})] on {model}\n",
            written.up.display(),
            written.down.display(),
            written.next,
        )
    })?;
    Ok(())
}

fn write(args: Migration, options: &Options) -> Result<(String, Written)> {
    let table = match (&args.table, args.name.strip_prefix("create_")) {
        (Some(table), _) => table.clone(),
        (None, Some(table)) if !table.is_empty() => table.to_owned(),
        _ => bail!("which table is it? Call the migration create_TABLE, or give --table TABLE"),
    };
    validate(&args, &table)?;
    let dialect = dialect(args.backend.as_deref(), options)?;
    let names: Vec<_> = args.entity.iter().map(|entity| &*entity.column).collect();
    let of = match &*names {
        [] => "one thing".to_owned(),
        names => format!("each {}", names.join(", ")),
    };
    let columns = [DAY, SLOT];
    let [create, drop] = create_table(
        &table,
        &args.entity,
        columns,
        &args.counters,
        args.period,
        dialect,
    );
    let indexes = match args.indexes {
        true => create_indexes(&table, &args.entity, columns, dialect),
        false => String::new(),
    };
    let by = match args.period {
        Period::Total => "in total".to_owned(),
        period => format!("by {period}"),
    };
    let create = format!("-- A counter table: the counts of {of}, {by}.\n{create}{indexes}");
    let written = args.folder.write(&args.name, &create, &drop)?;
    Ok((table, written))
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
    let mut names = vec![DAY, SLOT];
    if args.entity.len() > MAX_COLUMNS {
        bail!("a key has up to five columns besides the day and the slot");
    }
    names.extend(args.entity.iter().map(|entity| &*entity.column));
    names.extend(args.counters.iter().map(String::as_str));
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            bail!("a counter has no name: write --counters views,likes");
        }
        let is_same = |other: &&str| other.to_lowercase() == name.to_lowercase();
        if names[..i].iter().any(is_same) {
            bail!(
                "two columns would be named {name}: day, slot, the entity and the counters differ"
            );
        }
    }
    let parent = args.entity.iter().flat_map(|entity| &entity.refers_to);
    names.extend(parent.flat_map(|(table, column)| [&**table, column]));
    names.push(table);
    // A new line would end the comment that the name is in.
    match names.iter().find(|name| name.contains(char::is_control)) {
        Some(name) => bail!("the name {name:?} has a control character: give it another name"),
        None => Ok(()),
    }
}
