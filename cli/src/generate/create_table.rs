//! The SQL of a counter table.

use std::collections::HashSet;

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::entity::{Entity, KeyType};
use super::identifier::{identifier, qualified};

pub struct CreateTable<'a> {
    pub dialect: Dialect,
    /// In SQL.
    pub table: &'a str,
    pub entity: Option<&'a Entity>,
    pub day: &'a str,
    pub slot: &'a str,
    pub counters: &'a [String],
    /// In SQL, besides the entity's.
    pub foreign_keys: &'a [String],
}

/// A column, before it is put in line with the others.
struct Definition {
    name: String,
    sql_type: &'static str,
    rest: String,
}

const ONE_UNIQUE: &str =
    "    -- The only unique index there is, in this order: ON DUPLICATE KEY UPDATE acts on any.\n";
const ONE_INDEX: &str = "    -- The only index there is, in this order. An index on a counter would make each increment write
    -- it too, and end PostgreSQL's heap-only updates.\n";
const CHECKS: &str = "    -- The checks keep other programs from storing anything but integers: SQLite would take them, and
    -- its own arithmetic turns into floating point when it overflows.\n";

/// The one of MySQL, from 8.0.17 on, and the one of MariaDB. utf8mb4_bin, which both have, takes
/// 'foo ' for 'foo'.
pub const TELLS_TEXTS_APART: &str =
    "CHARACTER SET utf8mb4 COLLATE /*!80017 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */";

impl CreateTable<'_> {
    pub fn validate(&self) -> Result<()> {
        let mut names: HashSet<String> = [self.day, self.slot].map(str::to_lowercase).into();
        let entity = self.entity.map(|entity| &entity.column);
        let parent = self.entity.and_then(|entity| entity.refers_to.as_ref());
        let all = [self.table].into_iter();
        let all = all.chain(parent.into_iter().flat_map(|(t, c)| [t.as_str(), c]));
        let columns = entity.into_iter().chain(self.counters);
        for name in all.chain(columns.map(String::as_str)) {
            // In a comment a new line would end it.
            if name.contains(char::is_control) {
                bail!("the name {name:?} has a control character: give it another one");
            }
        }
        for name in entity.into_iter().chain(self.counters) {
            if name.is_empty() {
                bail!("a counter has no name: write --counters views,likes");
            }
            if !names.insert(name.to_lowercase()) {
                bail!(
                    "there would be two columns {name}: the others are day, slot, the entity and the counters"
                );
            }
        }
        Ok(())
    }

    pub fn down(&self) -> String {
        format!("DROP TABLE {};\n", self.table)
    }

    pub fn up(&self) -> String {
        self.heading() + &self.statement()
    }

    pub fn statement(&self) -> String {
        let (key, counters) = (self.key(), self.counters());
        let name_width = width(
            key.iter()
                .chain(&counters)
                .map(|column| column.name.as_str()),
        );
        let type_width = width(key.iter().chain(&counters).map(|column| column.sql_type));
        let line = |column: &Definition| {
            let Definition {
                name,
                sql_type,
                rest,
            } = column;
            format!("    {name:name_width$} {sql_type:type_width$} {rest},\n")
        };

        let mut sql = format!("CREATE TABLE {} (\n", self.table);
        sql.extend(key.iter().map(line));
        if self.dialect == Dialect::Sqlite {
            sql += CHECKS;
        }
        sql.extend(counters.iter().map(line));
        sql += match self.dialect {
            Dialect::PostgreSql => ONE_INDEX,
            Dialect::MySql => ONE_UNIQUE,
            Dialect::Sqlite => "",
        };
        let key: Vec<_> = key.iter().map(|column| column.name.as_str()).collect();
        sql += &format!("    PRIMARY KEY ({})", key.join(", "));
        sql += &self.foreign_key();
        for foreign_key in self.foreign_keys {
            sql += &format!(",\n    {foreign_key}");
        }
        sql + "\n);\n"
    }

    fn heading(&self) -> String {
        let mut heading = match self.entity {
            Some(entity) => format!(
                "-- A counter table: the counts of each {}, by day.\n",
                entity.column
            ),
            None => "-- A counter table: the counts of one thing, by day.\n".to_owned(),
        };
        let parent = self.entity.and_then(|entity| entity.refers_to.as_ref());
        if let (Dialect::Sqlite, Some((table, _))) = (self.dialect, parent) {
            heading += &format!(
                "-- The cascade takes effect on connections with PRAGMA foreign_keys = ON.
-- There, REPLACE INTO {table} deletes counts. Use on_conflict().do_update() instead.\n"
            );
        }
        if self.dialect == Dialect::MySql && self.has_text() {
            heading += &match parent {
                Some((table, column)) => format!(
                    "-- {} has the database's default collation, and must have that of {table}.{column}:
-- name it here, where that is another one.\n",
                    self.entity.map_or("", |entity| &entity.column),
                ),
                None => "-- The default collation takes 'Foo' for 'foo', and utf8mb4_bin 'foo ' for 'foo', and would
-- count them as one. This is the collation of MySQL, and the one of MariaDB, that does not.
-- A column that it is joined to cannot be utf8mb4_bin.\n"
                    .to_owned(),
            };
        }
        heading
    }

    fn has_text(&self) -> bool {
        self.entity
            .is_some_and(|entity| entity.key_type == KeyType::Text)
    }

    fn key(&self) -> Vec<Definition> {
        let plain = |name: &str, sql_type| Definition {
            name: identifier(self.dialect, name),
            sql_type,
            rest: "NOT NULL".to_owned(),
        };
        let entity = self.entity.map(|entity| Definition {
            name: identifier(self.dialect, &entity.column),
            sql_type: entity.key_type.sql(self.dialect),
            rest: self.rest_of(entity),
        });
        let mut key: Vec<_> = entity.into_iter().collect();
        key.extend([plain(self.day, "DATE"), plain(self.slot, "SMALLINT")]);
        key
    }

    fn rest_of(&self, entity: &Entity) -> String {
        match (self.dialect, &entity.refers_to) {
            (Dialect::MySql, None) if self.has_text() => format!("{TELLS_TEXTS_APART} NOT NULL"),
            // MySQL takes a reference of a column for a remark.
            (Dialect::MySql, _) | (_, None) => "NOT NULL".to_owned(),
            (dialect, Some((table, column))) => format!(
                "NOT NULL REFERENCES {} ({}) ON DELETE CASCADE",
                qualified(dialect, table),
                identifier(dialect, column)
            ),
        }
    }

    fn counters(&self) -> Vec<Definition> {
        let definition = |counter: &String| {
            let name = identifier(self.dialect, counter);
            let check = match self.dialect {
                Dialect::Sqlite => format!(" CHECK (typeof({name}) = 'integer')"),
                Dialect::PostgreSql | Dialect::MySql => String::new(),
            };
            Definition {
                name,
                sql_type: "BIGINT",
                rest: format!("NOT NULL DEFAULT 0{check}"),
            }
        };
        self.counters.iter().map(definition).collect()
    }

    /// Of MySQL, where it is not part of the column.
    fn foreign_key(&self) -> String {
        match self.entity {
            Some(Entity {
                column,
                refers_to: Some((table, parent)),
                ..
            }) if self.dialect == Dialect::MySql => {
                format!(
                    ",
    -- Optional. With it, a slot's first count of a day waits for whoever has the row that it refers
    -- to locked. Without it, delete its counters in the transaction that deletes that row.
    -- The cascade: REPLACE INTO {table} can delete counts. Use on_conflict().do_update() instead.
    FOREIGN KEY ({}) REFERENCES {} ({}) ON DELETE CASCADE",
                    identifier(self.dialect, column),
                    qualified(self.dialect, table),
                    identifier(self.dialect, parent)
                )
            }
            _ => String::new(),
        }
    }
}

fn width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}
