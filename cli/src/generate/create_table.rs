//! The `CREATE TABLE` of a counter table. All its names are quoted, as `diesel migration generate
//! --diff-schema` does.

use std::str::FromStr;

use clap::ValueEnum;
use diesel_counters::Dialect;

use crate::catalogue::comment;
use crate::database::{Database, Joined, TELLS_TEXTS_APART};
use crate::period::Period;

/// A column of the key that is counted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    pub column: String,
    pub key_type: KeyType,
    /// A table and a column of it.
    pub refers_to: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub enum KeyType {
    SmallInt,
    Integer,
    BigInt,
    Text,
    Binary,
    Uuid,
}

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
        if column.is_empty()
            || refers_to.is_some_and(|(table, key)| table.is_empty() || key.is_empty())
        {
            return Err(HELP);
        }
        Ok(Entity {
            column: column.to_owned(),
            key_type: KeyType::from_str(key_type, true).map_err(|_| HELP)?,
            refers_to: refers_to.map(|(table, key)| (table.to_owned(), key.to_owned())),
        })
    }
}

impl KeyType {
    fn sql(self, dialect: Dialect) -> &'static str {
        use Dialect::{MySql, PostgreSql, Sqlite};
        match (self, dialect) {
            (KeyType::SmallInt, _) => "SMALLINT",
            (KeyType::Integer, _) => "INTEGER",
            (KeyType::BigInt, _) => "BIGINT",
            (KeyType::Text, MySql) => "VARCHAR(255)",
            (KeyType::Text, _) => "TEXT",
            (KeyType::Binary, PostgreSql) => "BYTEA",
            (KeyType::Binary, MySql) => "VARBINARY(255)",
            (KeyType::Uuid, PostgreSql) => "UUID",
            (KeyType::Uuid, MySql) => "BINARY(16)",
            (KeyType::Binary | KeyType::Uuid, Sqlite) => "BLOB",
        }
    }
}

/// The parts of a `CREATE TABLE` that depend on a column of the entity's key.
#[derive(Default)]
struct Parts {
    /// Lines of a comment above the statement.
    heading: String,
    /// Between the entity's type and its NOT NULL.
    collation: String,
    /// After its NOT NULL.
    references: String,
    /// After the primary key.
    foreign_key: String,
}

impl Entity {
    fn parts(&self, database: Database) -> Parts {
        let (column, mut parts) = (&self.column, Parts::default());
        let is_text = self.key_type == KeyType::Text;
        let Some((table, key)) = &self.refers_to else {
            if is_text && database.0 == Dialect::MySql {
                parts.heading = "-- The default collation takes 'Foo' and 'foo' as equal, and utf8mb4_bin \
                                 'foo ' and 'foo': it would\n-- count them as one. The collation here, one of \
                                 MySQL and one of MariaDB, does not.\n-- A column that it is joined to cannot \
                                 be utf8mb4_bin.\n"
                    .to_owned();
                parts.collation = format!("{TELLS_TEXTS_APART} ");
            }
            return parts;
        };
        let references = format!(
            " REFERENCES {} ({}) ON DELETE CASCADE",
            qualified(database, table),
            database.quoted(key)
        );
        match database.0 {
            Dialect::PostgreSql => parts.references = references,
            Dialect::Sqlite => {
                parts.heading = format!(
                    "-- The cascade takes effect on connections with PRAGMA foreign_keys = ON.\n-- On these, \
                     REPLACE INTO {table} deletes counts. Use on_conflict().do_update() instead.\n"
                );
                parts.references = references;
            }
            Dialect::MySql => {
                if is_text {
                    parts.heading = format!(
                        "-- {column} has the database's default collation. It must be the collation of \
                         {table}.{key}:\n-- name that here if it is another one.\n"
                    );
                }
                // MySQL ignores a REFERENCES of a column.
                parts.foreign_key = format!(
                    ",
    -- Optional. With it, a count locks the row that it refers to in share mode until its transaction
    -- ends. Without it, delete the counters in the transaction that deletes that row.
    -- REPLACE INTO {table} can delete counts, by the cascade. Use on_conflict().do_update() instead.
    FOREIGN KEY ({}){references}",
                    database.quoted(column),
                );
            }
        }
        parts
    }
}

/// `schema.table`, or `table`.
fn qualified(database: Database, name: &str) -> String {
    let names = name.split('.').map(|name| database.quoted(name));
    names.joined(".")
}

/// The statement that creates the table, and the one that drops it.
pub fn create_table(
    table: &str,
    entity: &[Entity],
    [day, slot]: [&str; 2],
    counters: &[String],
    period: Period,
    dialect: Dialect,
) -> [String; 2] {
    let database = Database(dialect);
    let quoted = |name: &str| database.quoted(name);
    let table = qualified(database, table);
    let (mut key, mut heading, mut foreign_keys) = (Vec::new(), String::new(), String::new());
    for entity in entity {
        let parts = entity.parts(database);
        let rest = format!("{}NOT NULL{}", parts.collation, parts.references);
        key.push((quoted(&entity.column), entity.key_type.sql(dialect), rest));
        heading += &parts.heading;
        foreign_keys += &parts.foreign_key;
    }
    let comment = comment(period);
    let literal = database.literal(&comment);
    let (mut above_day, mut of_day, mut then) = (String::new(), String::new(), String::new());
    let (mut above_counters, mut options) = ("", "");
    let above_key = match dialect {
        Dialect::PostgreSql => {
            then = format!("COMMENT ON COLUMN {table}.{} IS {literal};\n", quoted(day));
            "    -- The only index, in this order. An index on a counter would make each increment \
             write it too,\n    -- and end PostgreSQL's heap-only updates.\n"
        }
        Dialect::MySql => {
            of_day = format!(" COMMENT {literal}");
            "    -- The only unique index, in this order: ON DUPLICATE KEY UPDATE acts on any.\n"
        }
        Dialect::Sqlite => {
            above_day = format!("    -- {comment}\n");
            above_counters = "    -- The checks keep other programs from storing anything but integers. SQLite \
                              would accept them, and\n    -- its own arithmetic turns into floating point when \
                              it overflows.\n";
            options = " WITHOUT ROWID";
            "    -- WITHOUT ROWID keeps rows in the order of this key: half the bytes, and faster \
             reads.\n"
        }
    };
    key.push((quoted(day), "DATE", format!("NOT NULL{of_day}")));
    key.push((quoted(slot), "SMALLINT", "NOT NULL".to_owned()));
    let counters = counters.iter().map(|counter| {
        let name = quoted(counter);
        let check = match dialect {
            Dialect::Sqlite => format!(" CHECK (typeof({name}) = 'integer')"),
            _ => String::new(),
        };
        (name, "BIGINT", format!("NOT NULL DEFAULT 0{check}"))
    });
    let counters: Vec<_> = counters.collect();

    let columns = || key.iter().chain(&counters);
    let names = columns().map(|(name, ..)| name.chars().count());
    let name_width = names.max().unwrap_or(0);
    let types = columns().map(|(_, sql_type, _)| sql_type.len());
    let type_width = types.max().unwrap_or(0);
    let lines = |columns: &[(String, &str, String)]| {
        let lines = columns.iter().map(|(name, sql_type, rest)| {
            format!("    {name:name_width$} {sql_type:type_width$} {rest},\n")
        });
        lines.collect::<String>()
    };
    let create = format!(
        "{heading}CREATE TABLE {table} (\n{}{above_day}{}{above_counters}{}{above_key}    \
         PRIMARY KEY ({}){foreign_keys}\n){options};\n{then}",
        lines(&key[..entity.len()]),
        lines(&key[entity.len()..]),
        lines(&counters),
        key.iter().map(|(name, ..)| &**name).joined(", "),
    );
    [create, format!("DROP TABLE {table};\n")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_is_a_column_a_type_and_what_it_refers_to() {
        let entity: Entity = "article_id:bigint:blog.articles.id".parse().unwrap();
        let expected = Entity {
            column: "article_id".to_owned(),
            key_type: KeyType::BigInt,
            refers_to: Some(("blog.articles".to_owned(), "id".to_owned())),
        };
        assert_eq!(entity, expected);
        for wrong in [
            "",
            "id",
            ":bigint",
            "id:int4",
            "id:bigint:articles",
            "id:bigint:.id",
        ] {
            assert!(wrong.parse::<Entity>().is_err(), "{wrong}");
        }
    }
}
