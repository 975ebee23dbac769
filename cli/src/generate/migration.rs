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
use crate::connection::backend_name;
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

/// Parses `postgres`, `mysql` or `sqlite`.
fn backend() -> impl TypedValueParser<Value = Database> {
    let names = [POSTGRES, MYSQL, SQLITE].map(backend_name);
    PossibleValuesParser::new(names).map(|name| match &*name {
        "postgres" => POSTGRES,
        "mysql" => MYSQL,
        _ => SQLITE,
    })
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
        let (column_type, refers_to) = match rest.split_once(':') {
            Some((column_type, parent)) => {
                // The table may have a schema, so the column comes after the last dot.
                let table_and_column = parent.rsplit_once('.').ok_or(HELP)?;
                (column_type, Some(table_and_column))
            }
            None => (rest, None),
        };
        let mut names = vec![column];
        if let Some((table, column)) = refers_to {
            names.extend([table, column]);
        }
        if names.iter().any(|name| name.trim().is_empty()) {
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
    trim_names(&mut args.counters);
    trim_names(&mut args.stock);
    if args.entity.len() > MAX_COLUMNS {
        bail!("a key has up to five columns besides the day and the slot");
    }
    let mark = mark(&args)?;
    refuse_empty_names(&args)?;
    // A stock is a counter too, and doesn't need to be named twice.
    let mut counters = args.counters.clone();
    for name in &mark.stock {
        if !counters.contains(name) {
            counters.push(name.clone());
        }
    }
    let database = args.backend;
    refuse_same_names(&args.entity, &counters, database)?;
    if database == MYSQL {
        refuse_long_key(&args.entity)?;
    }
    let values = template_values(&args, &counters, &mark);
    let down = format!("DROP TABLE {};\n", values.table);
    let template = format!("{}/counter_table.sql", backend_name(database));
    Ok(Written {
        up: render(&template, values)?,
        down,
        ..Written::default()
    })
}

/// Removes the spaces around the commas of a list. A single name keeps its spaces, because it may
/// begin with one.
fn trim_names(list: &mut [String]) {
    if list.len() > 1 {
        for name in list {
            *name = name.trim().to_owned();
        }
    }
}

/// Refuses the names of tables in which a part is empty, such as `blog.`.
fn refuse_empty_names(args: &Migration) -> Result<()> {
    let parents = args.entity.iter().flat_map(|column| &column.refers_to);
    let tables = parents.map(|parent| &parent.table).chain([&args.table]);
    for table in tables {
        if table.split('.').any(|name| name.trim().is_empty()) {
            bail!("{table} is not the name of a table, such as articles or blog.articles");
        }
    }
    Ok(())
}

/// Refuses two columns of the same name.
fn refuse_same_names(entity: &[Entity], counters: &[String], database: Database) -> Result<()> {
    let entity_names = entity.iter().map(|column| &column.column);
    let mut names: Vec<&str> = vec!["day", "slot"];
    for name in entity_names.chain(counters) {
        let is_same = |other: &&str| match database {
            POSTGRES => *other == name,
            _ => other.eq_ignore_ascii_case(name),
        };
        if names.iter().any(is_same) {
            bail!("the table would have two columns named {name}: it also has day and slot");
        }
        names.push(name);
    }
    Ok(())
}

/// Returns the values to fill the template in with.
fn template_values(args: &Migration, counters: &[String], mark: &Mark) -> CounterTable {
    let database = args.backend;
    let key_columns = args
        .entity
        .iter()
        .map(|column| key_column(column, database));
    let entity: Vec<KeyColumn> = key_columns.collect();
    let counter = |name: &String| Counter {
        name: database.quoted(name),
        is_stock: mark.stock.contains(name),
    };
    let counters: Vec<Counter> = counters.iter().map(counter).collect();
    let day = database.quoted("day");
    let slot = database.quoted("slot");
    // The primary key: the entity, the day and the slot.
    let entity_names = entity.iter().map(|column| &*column.name);
    let key: Vec<&str> = entity_names.chain([&*day, &*slot]).collect();
    // The widths that the template aligns its columns to.
    let counter_names = counters.iter().map(|counter| &*counter.name);
    let names = key.iter().copied().chain(counter_names);
    let name_width = names.map(|name| name.chars().count()).max();
    let entity_types = entity.iter().map(|column| column.sql_type);
    let type_width = entity_types.chain(OTHER_TYPES).map(str::len).max();
    CounterTable {
        key: key.join(", "),
        name_width: name_width.unwrap_or(0),
        type_width: type_width.unwrap_or(0),
        table: qualified(database, &args.table),
        day,
        slot,
        mark: mark.to_string(),
        mark_literal: database.literal(&mark.to_string()),
        entity,
        counters,
    }
}

/// Returns the values for a column of the entity's key.
fn key_column(column: &Entity, database: Database) -> KeyColumn {
    let parent_key = |parent: &RefersTo| ParentKey {
        table: qualified(database, &parent.table),
        column: database.quoted(&parent.column),
    };
    KeyColumn {
        name: database.quoted(&column.column),
        sql_type: column.column_type.sql_type(database),
        is_text: column.column_type.name == "text",
        refers_to: column.refers_to.as_ref().map(parent_key),
    }
}

/// Refuses a primary key that is too long for InnoDB.
fn refuse_long_key(entity: &[Entity]) -> Result<()> {
    const LONGEST: usize = 3072;
    const DAY: usize = 3;
    const SLOT: usize = 2;
    // A text in the key is a VARCHAR(255).
    const CHARACTERS: usize = 255;
    let bytes = |column: &Entity| {
        // A text that refers to another table has the database's character set. In some of these,
        // every character is a byte.
        let has_database_charset = column.column_type.name == "text" && column.refers_to.is_some();
        if has_database_charset {
            CHARACTERS
        } else {
            column.column_type.mysql_bytes
        }
    };
    let length = entity.iter().map(bytes).sum::<usize>() + DAY + SLOT;
    if length > LONGEST {
        bail!(
            "the primary key would have {length} bytes, and MySQL and MariaDB allow {LONGEST}: \
             count by numbers instead of some of the texts"
        );
    }
    Ok(())
}

/// Returns the period and the stocks, which a comment in the database keeps. Fails if they don't go
/// together, or couldn't be read back. A stock without --period counts in total.
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
