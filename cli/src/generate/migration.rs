//! `generate migration`: prints the migration of a counter table. Its SQL quotes all names, as
//! `diesel migration generate --diff-schema` does.

use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use diesel_counters::Period;
use serde::Serialize;

use super::Written;
use crate::catalogue::{MAX_COLUMNS, Mark};
use crate::connection::option;
use crate::database::{Database, Joined, MYSQL, POSTGRES, SQLITE};
use crate::options;
use crate::period;
use crate::template::render;

/// Print a migration that creates a counter table. Doesn't connect to a database.
#[derive(Args)]
#[command(after_help = "Example:
  diesel migration generate create_article_counters
  cd migrations/*_create_article_counters
  diesel-counters generate migration article_counters \\
      --entity article_id:bigint:articles.id --counters views,likes --backend postgres > up.sql
  diesel-counters generate migration article_counters \\
      --counters views,likes --backend postgres --down > down.sql")]
pub struct Migration {
    /// The name of the table, for example article_counters.
    #[arg(value_parser = options::name)]
    table: String,
    /// The names of the counters, for example views,likes.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = options::name)]
    #[arg(required_unless_present = "stock")]
    counters: Vec<String>,
    /// A column of the key to count by, its type, and the column that it refers to, for example
    /// article_id:bigint:articles.id. The types are smallint, integer, bigint, text, binary, uuid,
    /// date and timestamp. Repeat the option, in order, if the key has several columns. Without it,
    /// the table counts for a single thing, such as a whole site.
    #[arg(long, value_name = "COLUMN:TYPE[:TABLE.COLUMN]")]
    entity: Vec<Entity>,
    /// The counters that are a stock in counter_table!, for example remaining. A CHECK keeps them
    /// from going below 0, and the period is total. You don't need to repeat them in --counters.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = options::name)]
    stock: Vec<String>,
    /// The period of the counters, as in counter_table!. It's stored in a comment in the database,
    /// where the other commands find it [default: day].
    #[arg(long, value_parser = period::parser())]
    period: Option<Period>,
    /// The database. Use mysql for MariaDB, too.
    #[arg(long, value_parser = backend())]
    backend: Database,
}

fn backend() -> impl TypedValueParser<Value = Database> {
    let all = [POSTGRES, MYSQL, SQLITE];
    let named = move |name: String| all.into_iter().find(|database| option(*database) == name);
    PossibleValuesParser::new(all.map(option)).try_map(move |name| named(name).ok_or("unknown"))
}

/// A key column that names what is counted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    pub column: String,
    pub column_type: &'static ColumnType,
    pub refers_to: Option<RefersTo>,
}

/// What a key column refers to, as named on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefersTo {
    /// May include a schema, as in `blog.articles`.
    pub table: String,
    pub column: String,
}

/// A type of a key column: its name on the command line, and in each database.
#[derive(Debug, PartialEq, Eq)]
pub struct ColumnType {
    name: &'static str,
    postgres: &'static str,
    mysql: &'static str,
    sqlite: &'static str,
    /// How many bytes it uses in a key on MySQL and MariaDB.
    mysql_bytes: usize,
}

impl ColumnType {
    const fn new(
        name: &'static str,
        postgres: &'static str,
        mysql: &'static str,
        sqlite: &'static str,
        mysql_bytes: usize,
    ) -> Self {
        ColumnType {
            name,
            postgres,
            mysql,
            sqlite,
            mysql_bytes,
        }
    }

    fn sql_type(&self, database: Database) -> &'static str {
        match database {
            POSTGRES => self.postgres,
            MYSQL => self.mysql,
            SQLITE => self.sqlite,
        }
    }
}

const COLUMN_TYPES: [ColumnType; 8] = [
    ColumnType::new("smallint", "SMALLINT", "SMALLINT", "SMALLINT", 2),
    ColumnType::new("integer", "INTEGER", "INTEGER", "INTEGER", 4),
    ColumnType::new("bigint", "BIGINT", "BIGINT", "BIGINT", 8),
    // In utf8mb4.
    ColumnType::new("text", "TEXT", "VARCHAR(255)", "TEXT", 4 * 255),
    ColumnType::new("binary", "BYTEA", "VARBINARY(255)", "BLOB", 255),
    ColumnType::new("uuid", "UUID", "BINARY(16)", "BLOB", 16),
    ColumnType::new("date", "DATE", "DATE", "DATE", 3),
    ColumnType::new("timestamp", "TIMESTAMP", "DATETIME(6)", "TIMESTAMP", 8),
];

impl FromStr for Entity {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const HELP: &str = "write COLUMN:TYPE or COLUMN:TYPE:TABLE.COLUMN, such as \
                            article_id:bigint:articles.id. The types are smallint, integer, \
                            bigint, text, binary, uuid, date and timestamp";
        let (column, rest) = text.split_once(':').ok_or(HELP)?;
        // The table may have a schema, so the column comes after the last dot.
        let (column_type, refers_to) = match rest.split_once(':') {
            Some((column_type, key)) => (column_type, Some(key.rsplit_once('.').ok_or(HELP)?)),
            None => (rest, None),
        };
        let (table, key) = refers_to.unwrap_or((column, column));
        let is_empty = |name: &&str| name.trim().is_empty();
        if [column, table, key].iter().any(is_empty) {
            return Err(HELP);
        }
        let known_type = COLUMN_TYPES
            .iter()
            .find(|known| known.name.eq_ignore_ascii_case(column_type));
        Ok(Entity {
            column: column.to_owned(),
            column_type: known_type.ok_or(HELP)?,
            refers_to: refers_to.map(|(table, column)| RefersTo {
                table: table.to_owned(),
                column: column.to_owned(),
            }),
        })
    }
}

/// Quotes `schema.table`, or `table`.
fn qualified(database: Database, name: &str) -> String {
    let names = name.split('.').map(|name| database.quoted(name));
    names.joined(".")
}

/// The values of the template `counter_table.sql`. All names are quoted.
#[derive(Serialize)]
struct CounterTable {
    table: String,
    entity: Vec<KeyColumn>,
    day: String,
    slot: String,
    counters: Vec<Counter>,
    /// The columns of the primary key, as a list.
    key: String,
    /// What a comment in the database says about the table, for the other commands.
    mark: String,
    /// The mark as an SQL literal.
    mark_literal: String,
    /// The width of the longest column name.
    name_width: usize,
    /// The width of the longest column type.
    type_width: usize,
}

/// A column of the entity's key.
#[derive(Serialize)]
struct KeyColumn {
    name: String,
    sql_type: &'static str,
    is_text: bool,
    refers_to: Option<ParentKey>,
}

/// The column that a foreign key refers to.
#[derive(Serialize)]
struct ParentKey {
    table: String,
    column: String,
}

#[derive(Serialize)]
struct Counter {
    name: String,
    is_stock: bool,
}

/// The types of the day, the slot and the counters in all databases.
const OTHER_TYPES: [&str; 3] = ["DATE", "SMALLINT", "BIGINT"];

/// Returns the statement that creates the table, and the one that drops it.
pub(super) fn up_and_down(mut args: Migration) -> Result<Written> {
    for list in [&mut args.counters, &mut args.stock] {
        // A list may have spaces around its commas. A single name keeps its spaces, because it may
        // begin with one.
        if list.len() > 1 {
            for name in list {
                *name = name.trim().to_owned();
            }
        }
    }
    if args.entity.len() > MAX_COLUMNS {
        bail!("a key has up to five columns besides the day and the slot");
    }
    let mark = mark(&args)?;
    let parents = args
        .entity
        .iter()
        .filter_map(|entity| entity.refers_to.as_ref());
    let tables = parents.map(|parent| &parent.table).chain([&args.table]);
    for table in tables {
        if table.split('.').any(|name| name.trim().is_empty()) {
            bail!("{table} is not the name of a table, such as articles or blog.articles");
        }
    }
    let database = args.backend;
    let table = qualified(database, &args.table);
    let down = format!("DROP TABLE {table};\n");
    // The entity's columns in the key.
    let key_column = |entity: &Entity| KeyColumn {
        name: database.quoted(&entity.column),
        sql_type: entity.column_type.sql_type(args.backend),
        is_text: entity.column_type.name == "text",
        refers_to: entity.refers_to.as_ref().map(|parent| ParentKey {
            table: qualified(database, &parent.table),
            column: database.quoted(&parent.column),
        }),
    };
    let entity: Vec<KeyColumn> = args.entity.iter().map(key_column).collect();
    // A stock is a counter too, and doesn't need to be named twice.
    let mut counter_names = args.counters;
    for name in &mark.stock {
        if !counter_names.contains(name) {
            counter_names.push(name.clone());
        }
    }
    let columns = args.entity.iter().map(|entity| &*entity.column);
    let mut names: Vec<&str> = vec!["day", "slot"];
    for name in columns.chain(counter_names.iter().map(|name| &**name)) {
        let is_same = |other: &&str| match database {
            POSTGRES => *other == name,
            _ => other.eq_ignore_ascii_case(name),
        };
        if names.iter().any(is_same) {
            bail!("the table would have two columns named {name}: it also has day and slot");
        }
        names.push(name);
    }
    if database == MYSQL {
        refuse_long_key(&args.entity)?;
    }
    let counter = |name: &String| Counter {
        name: database.quoted(name),
        is_stock: mark.stock.contains(name),
    };
    let counters: Vec<Counter> = counter_names.iter().map(counter).collect();
    let day = database.quoted("day");
    let slot = database.quoted("slot");
    // The primary key: the entity, the day and the slot.
    let entity_names = entity.iter().map(|column| &*column.name);
    let key: Vec<&str> = entity_names.chain([&*day, &*slot]).collect();
    // The widths that the template aligns its columns to.
    let quoted_counters = counters.iter().map(|counter| &*counter.name);
    let names = key.iter().copied().chain(quoted_counters);
    let name_width = names.map(|name| name.chars().count()).max();
    let entity_types = entity.iter().map(|column| column.sql_type);
    let type_width = entity_types.chain(OTHER_TYPES).map(str::len).max();
    let template = format!("{}/counter_table.sql", option(args.backend));
    let values = CounterTable {
        key: key.join(", "),
        name_width: name_width.unwrap_or(0),
        type_width: type_width.unwrap_or(0),
        table,
        day,
        slot,
        mark: mark.to_string(),
        mark_literal: database.literal(&mark.to_string()),
        entity,
        counters,
    };
    Ok(Written {
        up: render(&template, values)?,
        down,
        ..Written::default()
    })
}

/// Refuses a primary key that is too long for InnoDB.
fn refuse_long_key(entity: &[Entity]) -> Result<()> {
    const LONGEST: usize = 3072;
    const DAY_AND_SLOT: usize = 3 + 2;
    let bytes = |column: &Entity| {
        // This text has the database's character set, and in some of these every character is a
        // byte.
        let has_database_charset = column.column_type.name == "text" && column.refers_to.is_some();
        if has_database_charset {
            255
        } else {
            column.column_type.mysql_bytes
        }
    };
    let length = entity.iter().map(bytes).sum::<usize>() + DAY_AND_SLOT;
    if length > LONGEST {
        bail!(
            "the primary key would have {length} bytes, and MySQL and MariaDB allow {LONGEST}: \
             count by numbers instead of some of the texts"
        );
    }
    Ok(())
}

/// Returns what a comment in the database says about the table. Fails if that's not possible, or
/// couldn't be read back. A stock without --period counts in total.
fn mark(args: &Migration) -> Result<Mark> {
    let default = match &*args.stock {
        [] => Period::Day,
        _ => Period::Total,
    };
    let mark = Mark {
        period: args.period.unwrap_or(default),
        stock: args.stock.clone(),
    };
    if !mark.stock.is_empty() && mark.period != Period::Total {
        bail!("--stock: a stock has no days. Give --period total");
    }
    if !mark.is_readable() {
        bail!(
            "--stock: write the name in one line, without spaces around it: it is stored in a \
             comment"
        );
    }
    Ok(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_is_a_column_a_type_and_what_it_refers_to() {
        let entity: Entity = "article_id:bigint:blog.articles.id".parse().unwrap();
        let expected = Entity {
            column: "article_id".to_owned(),
            column_type: &COLUMN_TYPES[2],
            refers_to: Some(RefersTo {
                table: "blog.articles".to_owned(),
                column: "id".to_owned(),
            }),
        };
        assert_eq!(entity, expected);
        for wrong in ["", "id", ":bigint", "id:int4", "id:uuid:a", "id:uuid:.id"] {
            assert!(wrong.parse::<Entity>().is_err(), "{wrong}");
        }
    }
}
