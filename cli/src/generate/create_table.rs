//! The `CREATE TABLE` of a counter table. All its names are quoted, as `diesel migration generate
//! --diff-schema` does.

use diesel_counters::Dialect;

use crate::catalogue::comment;
use crate::database::{Database, TELLS_TEXTS_APART};
use crate::period::Period;

/// A column of the key that is counted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    pub column: String,
    pub key_type: KeyType,
    /// A table and a column of it.
    pub refers_to: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lower")]
pub enum KeyType {
    SmallInt,
    Integer,
    BigInt,
    Text,
    Binary,
    Uuid,
}

/// What the statement of a database has.
struct Sql {
    /// The types of keys, in the order of [`KeyType`].
    key_types: [&'static str; 6],
    /// The check of a counter, which is `{}`.
    check: &'static str,
    above_counters: &'static str,
    above_key: &'static str,
    /// Follows the last parenthesis.
    options: &'static str,
}

fn of(dialect: Dialect) -> Sql {
    match dialect {
        Dialect::PostgreSql => Sql {
            key_types: ["SMALLINT", "INTEGER", "BIGINT", "TEXT", "BYTEA", "UUID"],
            check: "",
            above_counters: "",
            above_key: "    -- The only index, in this order. An index on a counter would make each increment \
                        write it too,\n    -- and end PostgreSQL's heap-only updates.\n",
            options: "",
        },
        Dialect::MySql => Sql {
            #[rustfmt::skip]
            key_types: ["SMALLINT", "INTEGER", "BIGINT", "VARCHAR(255)", "VARBINARY(255)", "BINARY(16)"],
            check: "",
            above_counters: "",
            above_key: "    -- The only unique index, in this order: ON DUPLICATE KEY UPDATE acts on any.\n",
            options: "",
        },
        Dialect::Sqlite => Sql {
            key_types: ["SMALLINT", "INTEGER", "BIGINT", "TEXT", "BLOB", "BLOB"],
            check: " CHECK (typeof({}) = 'integer')",
            above_counters: "    -- The checks keep other programs from storing anything but integers. SQLite \
                             would accept them, and\n    -- its own arithmetic turns into floating point when \
                             it overflows.\n",
            above_key: "    -- WITHOUT ROWID keeps rows in the order of this key: half the bytes, and faster \
                        reads.\n",
            options: " WITHOUT ROWID",
        },
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
    foreign_keys: String,
}

impl Entity {
    /// ` REFERENCES articles (id) ON DELETE CASCADE`, or nothing.
    fn references(&self, database: Database) -> String {
        let refers_to = self.refers_to.as_ref().map(|(table, column)| {
            let (table, column) = (qualified(database, table), database.quoted(column));
            format!(" REFERENCES {table} ({column}) ON DELETE CASCADE")
        });
        refers_to.unwrap_or_default()
    }

    fn parts(&self, dialect: Dialect) -> Parts {
        let database = Database(dialect);
        let mut parts = Parts::default();
        match (dialect, &self.refers_to) {
            (Dialect::MySql, _) => self.parts_of_mysql(database, &mut parts),
            (Dialect::Sqlite, Some((table, _))) => {
                parts.heading = format!(
                    "-- The cascade takes effect on connections with PRAGMA foreign_keys = ON.\n-- On these, \
                     REPLACE INTO {table} deletes counts. Use on_conflict().do_update() instead.\n"
                );
                parts.references = self.references(database);
            }
            (_, _) => parts.references = self.references(database),
        }
        parts
    }

    fn parts_of_mysql(&self, database: Database, parts: &mut Parts) {
        let column = &self.column;
        let is_text = self.key_type == KeyType::Text;
        match &self.refers_to {
            Some((table, key)) => {
                if is_text {
                    parts.heading = format!(
                        "-- {column} has the database's default collation. It must be the collation of \
                     {table}.{key}:\n-- name that here if it is another one.\n"
                    );
                }
                // MySQL ignores a REFERENCES of a column.
                parts.foreign_keys = format!(
                ",
    -- Optional. With it, a count locks the row that it refers to in share mode until its transaction
    -- ends. Without it, delete the counters in the transaction that deletes that row.
    -- REPLACE INTO {table} can delete counts, by the cascade. Use on_conflict().do_update() instead.
    FOREIGN KEY ({}){}",
                database.quoted(column),
                self.references(database),
            );
            }
            None if is_text => {
                parts.heading = "-- The default collation takes 'Foo' and 'foo' as equal, and utf8mb4_bin \
                             'foo ' and 'foo': it would\n-- count them as one. The collation here, one of \
                             MySQL and one of MariaDB, does not.\n-- A column that it is joined to cannot \
                             be utf8mb4_bin.\n"
                .to_owned();
                parts.collation = format!("{TELLS_TEXTS_APART} ");
            }
            None => {}
        }
    }
}

/// `schema.table`, or `table`.
fn qualified(database: Database, name: &str) -> String {
    let names: Vec<_> = name.split('.').map(|name| database.quoted(name)).collect();
    names.join(".")
}

/// The statements that create the optional indexes of a table: for rankings of recent days, and for the
/// rows that are not merged yet. Neither holds a counter.
pub fn create_indexes(
    table: &str,
    entity: &[Entity],
    [day, slot]: [&str; 2],
    dialect: Dialect,
) -> String {
    let database = Database(dialect);
    let name = |of: &str| {
        let table = table.rsplit('.').next().unwrap_or(table);
        database.quoted(&format!("{table}_{of}"))
    };
    let on = qualified(database, table);
    let entity = entity.iter().map(|entity| &*entity.column);
    let key: Vec<_> = entity
        .chain([day, slot])
        .map(|column| database.quoted(column))
        .collect();
    let (key, day, slot) = (key.join(", "), database.quoted(day), database.quoted(slot));
    let to_merge = match dialect {
        Dialect::MySql => format!("({slot}, {day})"),
        Dialect::PostgreSql | Dialect::Sqlite => format!("({key}) WHERE {slot} > 0"),
    };
    let mut sql = format!(
        "\n-- A merge that finds nothing reads only this index.\n\
         CREATE INDEX {} ON {on} {to_merge};\n",
        name("to_merge")
    );
    if dialect == Dialect::PostgreSql {
        sql += &format!(
            "\n-- Rankings of recent days read few blocks, as long as days are stored in their order.\n\
             CREATE INDEX {} ON {on} USING brin ({day}) WITH (pages_per_range = 16);\n",
            name("by_day")
        );
    }
    sql
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
    let (database, of) = (Database(dialect), of(dialect));
    let quoted = |name: &str| database.quoted(name);
    let table = qualified(database, table);
    let (mut key, mut heading, mut foreign_keys) = (Vec::new(), String::new(), String::new());
    for entity in entity {
        let parts = entity.parts(dialect);
        let rest = format!("{}NOT NULL{}", parts.collation, parts.references);
        key.push((
            quoted(&entity.column),
            of.key_types[entity.key_type as usize],
            rest,
        ));
        heading += &parts.heading;
        foreign_keys += &parts.foreign_keys;
    }
    let comment = comment(period);
    let [above_day, of_day, then] = match dialect {
        Dialect::PostgreSql => {
            let day = quoted(day);
            let comment = database.literal(&comment);
            let statement = format!("COMMENT ON COLUMN {table}.{day} IS {comment};\n");
            [String::new(), String::new(), statement]
        }
        Dialect::MySql => {
            let of_day = format!(" COMMENT {}", database.literal(&comment));
            [String::new(), of_day, String::new()]
        }
        Dialect::Sqlite => [format!("    -- {comment}\n"), String::new(), String::new()],
    };
    key.push((quoted(day), "DATE", format!("NOT NULL{of_day}")));
    key.push((quoted(slot), "SMALLINT", "NOT NULL".to_owned()));
    let counters = counters.iter().map(|counter| {
        let name = quoted(counter);
        let rest = format!("NOT NULL DEFAULT 0{}", of.check.replace("{}", &name));
        (name, "BIGINT", rest)
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
    let names: Vec<_> = key.iter().map(|(name, ..)| &**name).collect();
    let create = format!(
        "{heading}CREATE TABLE {table} (\n{}{above_day}{}{}{}{}    PRIMARY KEY ({}){foreign_keys}\n){};\n{then}",
        lines(&key[..entity.len()]),
        lines(&key[entity.len()..]),
        of.above_counters,
        lines(&counters),
        of.above_key,
        names.join(", "),
        of.options,
    );
    [create, format!("DROP TABLE {table};\n")]
}
