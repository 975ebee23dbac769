//! What an index means for those who count, and how to be rid of it.

use diesel_counters::Dialect;

use super::{Index, Table};
use crate::sql::quoted;

impl Index {
    /// Its columns, and what it holds besides.
    pub fn holds(&self) -> impl Iterator<Item = &str> {
        let columns = self.columns.iter().chain(&self.included);
        columns.map(String::as_str)
    }

    /// Whether an increment can conflict in it, and not in the key. One that holds the whole
    /// key is never the only one to conflict.
    pub fn conflicts_besides<'k>(&self, key: impl IntoIterator<Item = &'k str>) -> bool {
        let is_in_it = |name: &str| self.columns.iter().any(|column| column == name);
        self.unique && !key.into_iter().all(is_in_it)
    }
}

impl Table {
    /// The statement that removes an index; none for what SQLite made for a constraint.
    pub fn drop_index(&self, dialect: Dialect, index: &Index) -> Option<String> {
        let (table, name) = (self.sql_name(dialect), quoted(dialect, &index.name));
        let schema = self.schema.as_ref();
        let schema = schema.map_or(String::new(), |schema| quoted(dialect, schema) + ".");
        match dialect {
            Dialect::MySql => Some(format!("ALTER TABLE {table} DROP INDEX {name}")),
            Dialect::PostgreSql if index.of_constraint => {
                Some(format!("ALTER TABLE {table} DROP CONSTRAINT {name}"))
            }
            // Otherwise every increment would wait for its lock; PostgreSQL does not take it
            // of an index that is divided as its table is.
            Dialect::PostgreSql if !self.partitioned => {
                Some(format!("DROP INDEX CONCURRENTLY {schema}{name}"))
            }
            Dialect::Sqlite if index.of_constraint => None,
            Dialect::PostgreSql | Dialect::Sqlite => Some(format!("DROP INDEX {schema}{name}")),
        }
    }
}
