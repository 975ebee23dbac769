//! The table that is looked at.

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::report::{IndexFound, Layout};
#[cfg(feature = "mysql")]
use crate::catalogue::Kind;
use crate::catalogue::{Index, Table};
use crate::connection::AnyConnection;
use crate::entity::as_text;
use crate::sql::quoted;

/// A counter table, or one that would be if its key were its primary key.
pub struct Target {
    pub dialect: Dialect,
    /// As it is named on the command line.
    pub display: String,
    /// All these are quoted.
    pub sql_name: String,
    pub entity: Option<Entity>,
    pub day: String,
    pub slot: String,
    pub counters: Vec<String>,
    table: Table,
    key: Index,
}

pub struct Entity {
    pub sql_name: String,
    /// SQL that reads it as it is printed.
    pub as_text: String,
    #[cfg(feature = "mysql")]
    pub sql_type: String,
    #[cfg(feature = "mysql")]
    pub kind: Kind,
}

impl Target {
    pub fn of(table: Table, conn: &AnyConnection) -> Result<Self> {
        let dialect = conn.dialect();
        // The layout that is published elsewhere has its key in a second unique index.
        let unique = table.indexes.iter().filter(|index| index.unique);
        let primary_first = table
            .indexes
            .iter()
            .filter(|index| index.primary)
            .chain(unique);
        let Some(key) = primary_first
            .clone()
            .find(|index| is_key(&table, index))
            .cloned()
        else {
            bail!(
                "{table} has no key (entity, day DATE, slot SMALLINT) or (day, slot), \
                 so it counts in no slots; `diesel-counters check {table}` says what is wrong with it"
            );
        };
        let sql = |name: &str| quoted(dialect, name);
        let entity = key
            .columns
            .iter()
            .rev()
            .nth(2)
            .and_then(|name| table.column(name));
        let [.., day, slot] = &key.columns[..] else {
            bail!("{table} has a key of one column")
        };
        let counts = |name: &String| !key.columns.contains(name);
        Ok(Target {
            dialect,
            display: table.to_string(),
            sql_name: table.sql_name(dialect),
            entity: entity.map(|entity| Entity {
                sql_name: sql(&entity.name),
                as_text: as_text(dialect, entity),
                #[cfg(feature = "mysql")]
                kind: entity.kind,
                #[cfg(feature = "mysql")]
                sql_type: entity.sql_type.clone(),
            }),
            day: sql(day),
            slot: sql(slot),
            counters: table
                .counters()
                .filter(|c| counts(&c.name))
                .map(|c| sql(&c.name))
                .collect(),
            key,
            table,
        })
    }

    /// None where it is found without it.
    #[cfg(feature = "mysql")]
    pub fn schema(&self) -> Option<&str> {
        self.table.schema.as_deref()
    }

    /// Its name without its schema.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub fn name(&self) -> &str {
        &self.table.name
    }

    /// Whether a statement is about this table, as far as its text tells: a COMMIT may be.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub fn is_counted_by(&self, statement: &str) -> Option<bool> {
        let statement = statement.trim().trim_end_matches(';').to_lowercase();
        let ends = ["commit", "end"].contains(&statement.as_str());
        (!ends).then(|| statement.contains(&self.name().to_lowercase()))
    }

    /// What of its shape makes counting slower.
    pub fn layout(&self) -> Layout {
        let others = || {
            self.table
                .indexes
                .iter()
                .filter(|index| **index != self.key && !index.primary)
        };
        let on_counters = |index: &&Index| {
            let mut columns = index.holds();
            columns.any(|name| self.counters.contains(&quoted(self.dialect, name)))
        };
        let conflicts =
            |index: &Index| index.conflicts_besides(self.key.columns.iter().map(String::as_str));
        let found = |index: &Index| IndexFound {
            name: index.name.clone(),
            columns: index.columns.clone(),
            drop: self.table.drop_index(self.dialect, index),
        };
        Layout {
            indexes_on_counters: others().filter(on_counters).map(found).collect(),
            other_unique_indexes: others()
                .filter(|index| conflicts(index) && !on_counters(index))
                .map(found)
                .collect(),
            key_is_primary: self.key.primary,
            primary_key: self.table.primary_key.clone(),
            key: self.key.columns.clone(),
        }
    }
}

fn is_key(table: &Table, index: &Index) -> bool {
    let columns: Option<Vec<_>> = index
        .columns
        .iter()
        .map(|name| table.column(name))
        .collect();
    match columns.as_deref() {
        Some([day, slot] | [_, day, slot]) => table.holds_days(day) && table.holds_slots(slot),
        _ => false,
    }
}
