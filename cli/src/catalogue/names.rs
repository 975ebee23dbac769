//! How a database's SQL names tables, columns and keys.

use anyhow::{Result, bail};

use super::table::{Column, Kind, Table};
use crate::database::{Database, MYSQL, POSTGRES, SQLITE};

impl Database {
    /// Writes a table's name. It has a schema only if the table isn't found without it. So the same
    /// SQL works for every tenant, and after a dump is restored into a database with another name.
    pub fn table_name(self, table: &Table) -> String {
        self.quoted_in(table.schema.as_deref(), &table.name)
    }

    /// Writes columns of the row `row`, as [`Database::column`] does: `new.id` for the row `new`.
    pub fn columns<'c>(
        self,
        row: &str,
        columns: impl IntoIterator<Item = &'c Column>,
    ) -> Vec<String> {
        let name = |column: &Column| self.column(row, &column.name);
        columns.into_iter().map(name).collect()
    }

    /// Returns the kind that a key is stored and bound as. On SQLite, all integers have 64 bits,
    /// and a UUID is bytes.
    pub fn stored_as(self, kind: Kind) -> Kind {
        match (self, kind) {
            (SQLITE, Kind::SmallInt | Kind::Integer) => Kind::BigInt,
            (SQLITE, Kind::Uuid) => Kind::Binary,
            // Keep the text as it was written. Diesel might write it differently.
            (SQLITE, Kind::Timestamp) => Kind::Text,
            (_, kind) => kind,
        }
    }

    /// Writes a key as a literal. `text` has the form that [`Database::as_text`] reads. On MySQL
    /// it's in hexadecimal, because session settings decide whether a backslash is an escape.
    pub fn key_literal(self, key: &Column, text: &str) -> Result<String> {
        let name = &key.name;
        if self.stored_as(key.kind) == Kind::Binary {
            let is_hexadecimal = text.chars().all(|c| c.is_ascii_hexdigit());
            if !is_hexadecimal || text.len() % 2 == 1 {
                bail!("{name} has bytes: write them as hexadecimal digits, as in 00ff");
            }
            return Ok(match self {
                POSTGRES => format!("decode('{text}', 'hex')"),
                _ => format!("X'{text}'"),
            });
        }
        Ok(match self {
            MYSQL => {
                let digits = text.bytes().map(|byte| format!("{byte:02X}"));
                format!("_utf8mb4 X'{}'", digits.collect::<String>())
            }
            _ => self.literal(text),
        })
    }

    /// Returns SQL that reads a key as text, and bytes as hexadecimal digits:
    /// `CAST(article_id AS TEXT)`, or `lower(hex(id))`.
    pub fn as_text(self, key: &Column) -> String {
        let name = self.quoted(&key.name);
        match (self.stored_as(key.kind), self) {
            (Kind::Binary, POSTGRES) => format!("encode({name}, 'hex')"),
            (Kind::Binary, _) => format!("lower(hex({name}))"),
            _ => self.text(&name),
        }
    }
}
