//! `generate migration`: the migration of a counter table. All its names are quoted, as `diesel migration
//! generate --diff-schema` does.

use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use diesel_counters::{Dialect, Period};

use crate::catalogue::{MAX_COLUMNS, Mark};
use crate::connection::option;
use crate::database::{Database, Joined};
use crate::options;
use crate::period;

/// Print the migration of a counter table. Connects to no database.
#[derive(Args)]
#[command(after_help = "Example:
  diesel migration generate create_article_counters
  cd migrations/*_create_article_counters
  diesel-counters generate migration article_counters \\
      --entity article_id:bigint:articles.id --counters views,likes --backend postgres > up.sql
  diesel-counters generate migration article_counters \\
      --counters views,likes --backend postgres --down > down.sql")]
pub struct Migration {
    /// The name of the table, such as article_counters.
    #[arg(value_parser = options::name)]
    table: String,
    /// The names of the counters, such as views,likes.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = options::name)]
    #[arg(required_unless_present = "stock")]
    counters: Vec<String>,
    /// A column of the key to count by, its type, and the column that it refers to, such as
    /// article_id:bigint:articles.id. The types are smallint, integer, bigint, text,
    /// binary and uuid. Repeat it for a key of several columns, in their order. Without it, the table
    /// counts for one thing, such as a whole site.
    #[arg(long, value_name = "COLUMN:TYPE[:TABLE.COLUMN]")]
    entity: Vec<Entity>,
    /// The counters that are a stock, as in counter_table!, such as remaining: a CHECK keeps them from going
    /// below 0. They need not be in --counters. The period is total then.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = options::name)]
    stock: Vec<String>,
    /// The period of the counters, as in counter_table!. A comment of the table has it, for the other
    /// commands [default: day].
    #[arg(long, value_parser = period::parser())]
    period: Option<Period>,
    /// The database, where mysql includes MariaDB.
    #[arg(long, value_parser = backend())]
    backend: Dialect,
}

fn backend() -> impl TypedValueParser<Value = Dialect> {
    let all = [Dialect::PostgreSql, Dialect::MySql, Dialect::Sqlite];
    let named = move |name: String| all.into_iter().find(|dialect| option(*dialect) == name);
    PossibleValuesParser::new(all.map(option)).try_map(move |name| named(name).ok_or("unknown"))
}

/// A column of the key that is counted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    pub column: String,
    pub key_type: &'static KeyType,
    /// A table and a column of it.
    pub refers_to: Option<(String, String)>,
}

/// The name of a type, and the type on PostgreSQL, MySQL and SQLite.
type KeyType = (&'static str, [&'static str; 3]);

const KEY_TYPES: [KeyType; 6] = [
    ("smallint", ["SMALLINT"; 3]),
    ("integer", ["INTEGER"; 3]),
    ("bigint", ["BIGINT"; 3]),
    ("text", ["TEXT", "VARCHAR(255)", "TEXT"]),
    ("binary", ["BYTEA", "VARBINARY(255)", "BLOB"]),
    ("uuid", ["UUID", "BINARY(16)", "BLOB"]),
];

impl FromStr for Entity {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const HELP: &str = "write COLUMN:TYPE or COLUMN:TYPE:TABLE.COLUMN, such as \
                            article_id:bigint:articles.id. The types are smallint, integer, bigint, \
                            text, binary and uuid";
        let (column, rest) = text.split_once(':').ok_or(HELP)?;
        let (key_type, refers_to) = match rest.split_once(':') {
            Some((key_type, key)) => (key_type, Some(key.rsplit_once('.').ok_or(HELP)?)),
            None => (rest, None),
        };
        let (table, key) = refers_to.unwrap_or((column, column));
        if [column, table, key]
            .iter()
            .any(|name| name.trim().is_empty())
        {
            return Err(HELP);
        }
        let mut types = KEY_TYPES.iter();
        Ok(Entity {
            column: column.to_owned(),
            key_type: types
                .find(|(name, _)| name.eq_ignore_ascii_case(key_type))
                .ok_or(HELP)?,
            refers_to: refers_to.map(|(table, key)| (table.to_owned(), key.to_owned())),
        })
    }
}

/// `schema.table`, or `table`.
fn qualified(database: Database, name: &str) -> String {
    let names = name.split('.').map(|name| database.quoted(name));
    names.joined(".")
}

/// Of MySQL 8.0.17 and later, and of MariaDB.
const TELLS_TEXTS_APART: &str =
    "CHARACTER SET utf8mb4 COLLATE /*!80017 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */";

const ABOVE_TEXT: &str = "\
-- The default collation takes 'Foo' and 'foo' as equal, and utf8mb4_bin 'foo ' and 'foo': it would
-- count them as one. The collation here, one of MySQL and one of MariaDB, does not.
-- A column that it is joined to cannot be utf8mb4_bin.
";

const ABOVE_TEXT_THAT_REFERS: &str = "\
-- A text key has the database's default collation. It must be the collation of the column that it
-- refers to: name that here if it is another one.
";

const ABOVE_CASCADE: &str = "\
-- The cascade takes effect on connections with PRAGMA foreign_keys = ON.
-- On these, REPLACE INTO that table deletes counts. Use on_conflict().do_update() instead.
";

const ABOVE_FOREIGN_KEY: &str = ",
    -- Optional. With it, a count locks the row that it refers to in share mode until its transaction
    -- ends. Without it, delete the counters in the transaction that deletes that row.
    -- REPLACE INTO that table can delete counts, by the cascade. Use on_conflict().do_update() instead.
";

const ABOVE_KEY_OF_POSTGRES: &str = "    \
    -- The only index, in this order. An index on a counter would make each increment write it too,
    -- and end PostgreSQL's heap-only updates.
";

const ABOVE_KEY_OF_MYSQL: &str = "    \
    -- The only unique index, in this order: ON DUPLICATE KEY UPDATE acts on any.
";

const ABOVE_KEY_OF_SQLITE: &str = "    \
    -- WITHOUT ROWID keeps rows in the order of this key: half the bytes, and faster reads.
";

const ABOVE_COUNTERS: &str = "    \
    -- The checks keep other programs from storing anything but integers. SQLite would accept them, and
    -- its own arithmetic turns into floating point when it overflows.
";

/// The statement that creates the table, and the one that drops it.
pub fn up_and_down(args: Migration) -> Result<[String; 2]> {
    let (database, dialect) = (Database(args.backend), args.backend);
    if args.entity.len() > MAX_COLUMNS {
        bail!("a key has up to five columns besides the day and the slot");
    }
    let of_stock = (!args.stock.is_empty()).then_some(Period::Total);
    let period = args.period.or(of_stock).unwrap_or_default();
    let mut counters = args.counters;
    for name in &args.stock {
        if !counters.contains(name) {
            counters.push(name.clone());
        }
    }
    let stock = args.stock;
    let mark = Mark { period, stock };
    let comment = mark.to_string();
    if !mark.stock.is_empty() && period != Period::Total {
        bail!("--stock: a stock has no days. Give --period total");
    }
    if !mark.is_readable() {
        bail!("--stock: name it in one line, and without spaces around it: a comment has it");
    }
    // The last one is the place in KEY_TYPES.
    let (above_key, options, place) = match dialect {
        Dialect::PostgreSql => (ABOVE_KEY_OF_POSTGRES, "", 0),
        Dialect::MySql => (ABOVE_KEY_OF_MYSQL, "", 1),
        Dialect::Sqlite => (ABOVE_KEY_OF_SQLITE, " WITHOUT ROWID", 2),
    };
    let (mut heading, mut foreign_keys) = (String::new(), String::new());
    // What is above a column, its name, its type and the rest.
    let mut columns: Vec<(String, String, &str, String)> = Vec::new();
    for entity in &args.entity {
        let column = database.quoted(&entity.column);
        let (name, types) = entity.key_type;
        let is_text = *name == "text";
        let mut rest = "NOT NULL".to_owned();
        let references = entity.refers_to.as_ref().map(|(table, key)| {
            let (table, key) = (qualified(database, table), database.quoted(key));
            format!(" REFERENCES {table} ({key}) ON DELETE CASCADE")
        });
        match (dialect, references) {
            // MySQL ignores a REFERENCES of a column.
            (Dialect::MySql, Some(references)) => {
                heading += if is_text { ABOVE_TEXT_THAT_REFERS } else { "" };
                foreign_keys += ABOVE_FOREIGN_KEY;
                foreign_keys += &format!("    FOREIGN KEY ({column}){references}");
            }
            (Dialect::MySql, None) if is_text => {
                heading += ABOVE_TEXT;
                rest = format!("{TELLS_TEXTS_APART} {rest}");
            }
            (_, references) => {
                let cascades = references.is_some() && dialect == Dialect::Sqlite;
                heading += if cascades { ABOVE_CASCADE } else { "" };
                rest += &references.unwrap_or_default();
            }
        }
        columns.push((String::new(), column, types[place], rest));
    }
    let [table, day] = [qualified(database, &args.table), database.quoted("day")];
    let literal = database.literal(&comment);
    let (mut above_day, mut of_day, mut then) = Default::default();
    match dialect {
        Dialect::PostgreSql => then = format!("COMMENT ON COLUMN {table}.{day} IS {literal};\n"),
        Dialect::MySql => of_day = format!(" COMMENT {literal}"),
        Dialect::Sqlite => above_day = format!("    -- {comment}\n"),
    }
    columns.push((above_day, day, "DATE", format!("NOT NULL{of_day}")));
    let (slot, not_null) = (database.quoted("slot"), "NOT NULL".to_owned());
    columns.push((String::new(), slot, "SMALLINT", not_null));
    let key = columns.iter().map(|(_, name, ..)| name).joined(", ");
    for (i, counter) in counters.iter().enumerate() {
        let (name, mut above, mut checks) = (database.quoted(counter), String::new(), Vec::new());
        let mut rest = "NOT NULL DEFAULT 0".to_owned();
        if dialect == Dialect::Sqlite {
            above += if i == 0 { ABOVE_COUNTERS } else { "" };
            checks.push(format!("typeof({name}) = 'integer'"));
        }
        if mark.stock.contains(counter) {
            above += "    -- A stock: no row goes below 0.\n";
            checks.push(format!("{name} >= 0"));
        }
        if !checks.is_empty() {
            rest += &format!(" CHECK ({})", checks.join(" AND "));
        }
        columns.push((above, name, "BIGINT", rest));
    }
    let names = columns.iter().map(|(_, name, ..)| name.chars().count());
    let types = columns.iter().map(|(_, _, sql_type, _)| sql_type.len());
    let [name_width, type_width] = [names.max(), types.max()].map(Option::unwrap_or_default);
    let mut lines = String::new();
    for (above, name, sql_type, rest) in &columns {
        lines += &format!("{above}    {name:name_width$} {sql_type:type_width$} {rest},\n");
    }
    let up = format!(
        "-- A counter table.\n{heading}CREATE TABLE {table} (\n{lines}{above_key}    \
         PRIMARY KEY ({key}){foreign_keys}\n){options};\n{then}"
    );
    Ok([up, format!("DROP TABLE {table};\n")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_is_a_column_a_type_and_what_it_refers_to() {
        let entity: Entity = "article_id:bigint:blog.articles.id".parse().unwrap();
        let expected = Entity {
            column: "article_id".to_owned(),
            key_type: &KEY_TYPES[2],
            refers_to: Some(("blog.articles".to_owned(), "id".to_owned())),
        };
        assert_eq!(entity, expected);
        for wrong in ["", "id", ":bigint", "id:int4", "id:uuid:a", "id:uuid:.id"] {
            assert!(wrong.parse::<Entity>().is_err(), "{wrong}");
        }
    }
}
