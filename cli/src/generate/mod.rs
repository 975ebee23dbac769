//! `generate migration`: a Diesel migration that makes a counter table.

mod create_table;
mod entity;
mod identifier;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use chrono::Utc;
use clap::{Args, Subcommand, ValueEnum};
use diesel_counters::Dialect;
use serde::Serialize;

use crate::connection::dialect_of;
use crate::options::{Options, Outcome};

pub use create_table::{CreateTable, TELLS_TEXTS_APART};
pub use entity::{Entity, KeyType};
use identifier::qualified;

/// Write what a counter table needs.
#[derive(Args)]
pub struct Generate {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Migration(Migration),
}

/// Write a Diesel migration that makes a counter table.
///
/// It goes where `diesel migration generate` would put it, by the same kind of name.
/// No database is connected to.
#[derive(Args)]
struct Migration {
    /// The name of the migration, such as create_article_counters.
    name: String,
    /// The counters: views,likes.
    #[arg(long, value_delimiter = ',', required = true, value_name = "NAME,…")]
    counters: Vec<String>,
    /// What is counted for, the type of its key, and the column that this refers to:
    /// article_id:bigint:articles.id. The types are smallint, integer, bigint, text,
    /// binary and uuid. Without it the table counts for one thing, such as a whole site.
    #[arg(long, value_name = "COLUMN:TYPE[:TABLE.COLUMN]")]
    entity: Option<Entity>,
    /// Count for one thing, as without --entity.
    #[arg(long, conflicts_with = "entity")]
    no_entity: bool,
    /// The counter table [default: what comes after create_ in the migration's name].
    #[arg(long)]
    table: Option<String>,
    /// The database [default: that of DATABASE_URL].
    #[arg(long)]
    backend: Option<Backend>,
    /// The folder of all migrations.
    #[arg(
        long,
        env = "MIGRATION_DIRECTORY",
        default_value = "migrations",
        value_name = "FOLDER"
    )]
    migration_dir: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Backend {
    Postgres,
    /// And MariaDB.
    Mysql,
    Sqlite,
}

#[derive(Serialize)]
struct Written {
    table: String,
    migration: PathBuf,
    up: PathBuf,
    down: PathBuf,
}

pub fn run(args: Generate, options: &Options) -> Result<Outcome> {
    let What::Migration(migration) = args.what;
    let has_entity = migration.entity.is_some();
    let written = write(migration, options)?;
    options.print(&written, || {
        let model = match has_entity {
            true => "the model that is counted for",
            false => "a unit struct, such as `struct Site;`",
        };
        format!(
            "Creating {}\nCreating {}\n\nNext: diesel migration run\nThen: #[derive(HasCounters)] \
             and #[counters(table_name = {})] on {model}\n",
            written.up.display(),
            written.down.display(),
            written.table.rsplit('.').next().unwrap_or(&written.table),
        )
    })?;
    Ok(Outcome::Good)
}

fn write(args: Migration, options: &Options) -> Result<Written> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-".contains(c);
    if args.name.is_empty() || !args.name.chars().all(is_plain) {
        bail!(
            "a migration's name has letters, digits, _ and - only, and {:?} has others",
            args.name
        );
    }
    let table = match (&args.table, args.name.strip_prefix("create_")) {
        (Some(table), _) => table.clone(),
        (None, Some(table)) if !table.is_empty() => table.to_owned(),
        _ => bail!("which table is it? Call the migration create_TABLE, or give --table TABLE"),
    };
    let dialect = dialect(args.backend, options)?;
    let create = CreateTable {
        dialect,
        table: &qualified(dialect, &table),
        entity: args.entity.as_ref(),
        day: "day",
        slot: "slot",
        counters: &args.counters,
        foreign_keys: &[],
    };
    create.validate()?;

    let migration = new_folder(&args.migration_dir, &args.name)?;
    let (up, down) = (migration.join("up.sql"), migration.join("down.sql"));
    for (file, sql) in [(&up, create.up()), (&down, create.down())] {
        fs::write(file, sql).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(Written {
        table,
        migration,
        up,
        down,
    })
}

fn dialect(backend: Option<Backend>, options: &Options) -> Result<Dialect> {
    match (backend, options.url()) {
        (Some(Backend::Postgres), _) => Ok(Dialect::PostgreSql),
        (Some(Backend::Mysql), _) => Ok(Dialect::MySql),
        (Some(Backend::Sqlite), _) => Ok(Dialect::Sqlite),
        (None, Some(url)) => dialect_of(url),
        (None, None) => {
            bail!("which database? Give --backend postgres, mysql or sqlite, or set DATABASE_URL")
        }
    }
}

/// Makes the folder of a migration, named as diesel_cli 2.3 names it: a time of UTC, and
/// a number for those of one second.
fn new_folder(migrations: &Path, name: &str) -> Result<PathBuf> {
    let cannot = || format!("cannot make a migration in {}", migrations.display());
    fs::create_dir_all(migrations).with_context(cannot)?;
    let mut present = Vec::new();
    for entry in fs::read_dir(migrations).with_context(cannot)? {
        present.push(
            entry
                .with_context(cannot)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    let same_name = |folder: &&String| folder.split_once('_').is_some_and(|(_, of)| of == name);
    if let Some(folder) = present.iter().find(same_name) {
        bail!(
            "there is {} already: give this migration another name, or remove that one",
            migrations.join(folder).display()
        );
    }
    let second = Utc::now().format("%Y-%m-%d-%H%M%S").to_string();
    let version = (0..=u16::MAX)
        .map(|number| format!("{second}-{number:04x}"))
        .find(|version| !present.iter().any(|folder| folder.starts_with(version)))
        .with_context(cannot)?;
    let folder = migrations.join(format!("{version}_{name}"));
    fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}
