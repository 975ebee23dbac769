//! How a database writes SQL: names, texts and keys.

use diesel_counters::Dialect;
use sqlparser::dialect::{self, MySqlDialect, PostgreSqlDialect, SQLiteDialect};

use crate::table::{Column, Kind, Table};

/// A database, as SQL is written for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Database(pub Dialect);

pub const POSTGRES: Database = Database(Dialect::PostgreSql);
pub const MYSQL: Database = Database(Dialect::MySql);
pub const SQLITE: Database = Database(Dialect::Sqlite);

/// Texts to join, such as the names of columns.
pub trait Joined: Iterator<Item: Into<String>> + Sized {
    fn joined(self, between: &str) -> String {
        self.map(Into::into).collect::<Vec<String>>().join(between)
    }
}

impl<I: Iterator<Item: Into<String>>> Joined for I {}

impl Database {
    pub fn grammar(self) -> &'static dyn dialect::Dialect {
        match self {
            POSTGRES => &PostgreSqlDialect {},
            MYSQL => &MySqlDialect {},
            _ => &SQLiteDialect {},
        }
    }

    pub fn quoted(self, name: &str) -> String {
        match self {
            MYSQL => format!("`{}`", name.replace('`', "``")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    pub fn literal(self, text: &str) -> String {
        let text = text.replace('\'', "''");
        match self {
            // A backslash begins an escape.
            MYSQL => format!("'{}'", text.replace('\\', "\\\\")),
            _ => format!("'{text}'"),
        }
    }

    /// SQL that reads a value as text.
    pub fn text(self, value: &str) -> String {
        match self {
            MYSQL => format!("CAST({value} AS CHAR)"),
            _ => format!("CAST({value} AS TEXT)"),
        }
    }

    /// The kind that a key of this kind is stored and bound as. On SQLite, all integers have 64 bits,
    /// and a UUID is bytes.
    pub fn stored_as(self, kind: Kind) -> Kind {
        match (self, kind) {
            (SQLITE, Kind::SmallInt | Kind::Integer) => Kind::BigInt,
            (SQLITE, Kind::Uuid) => Kind::Binary,
            (_, kind) => kind,
        }
    }

    /// SQL that reads a key as text, and bytes as hexadecimal digits.
    pub fn as_text(self, key: &Column) -> String {
        let name = self.quoted(&key.name);
        match (self.stored_as(key.kind), self) {
            (Kind::Binary, POSTGRES) => format!("encode({name}, 'hex')"),
            (Kind::Binary, _) => format!("lower(hex({name}))"),
            _ => self.text(&name),
        }
    }

    /// A column of the row `row`, or of the only row that it can be of.
    pub fn column(self, row: &str, name: &str) -> String {
        match row {
            "" => self.quoted(name),
            row => format!("{row}.{}", self.quoted(name)),
        }
    }

    pub fn columns<'c>(
        self,
        row: &str,
        columns: impl IntoIterator<Item = &'c Column>,
    ) -> Vec<String> {
        let name = |column: &Column| self.column(row, &column.name);
        columns.into_iter().map(name).collect()
    }

    /// A name in SQL, with a schema: `"a"."b"`.
    pub fn quoted_in(self, schema: Option<&str>, name: &str) -> String {
        let schema = schema.map(|schema| self.quoted(schema) + ".");
        schema.unwrap_or_default() + &self.quoted(name)
    }

    /// The schema of a table in SQL. On PostgreSQL it is always there, so that a name does not depend on the
    /// session. Elsewhere a dump may be restored in a database of another name.
    pub fn schema(self, table: &Table) -> Option<&str> {
        match self {
            POSTGRES => Some(&table.in_schema),
            _ => table.schema.as_deref(),
        }
    }

    pub fn table_name(self, table: &Table) -> String {
        self.quoted_in(self.schema(table), &table.name)
    }

    /// What a table is called in a query that uses it for something. LOCK TABLES of MySQL takes each alias
    /// once.
    pub fn alias(self, used_as: &str, table: &Table) -> String {
        match self {
            MYSQL => self.quoted(&format!("{used_as}_{}", table.name)),
            _ => used_as.to_owned(),
        }
    }

    /// A condition that is true if both are the same key. An operator of an extension's type, such as
    /// CITEXT, is not found by its name alone where generated SQL runs.
    pub fn is_same(self, column: &Column, one: &str, other: &str) -> String {
        match &column.equals_in {
            Some(schema) => format!("{one} OPERATOR({}.=) {other}", self.quoted(schema)),
            None => format!("{one} = {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_its_quotes() {
        assert_eq!(SQLITE.quoted(r#"a"b`c"#), r#""a""b`c""#);
        assert_eq!(MYSQL.quoted(r#"a"b`c"#), r#"`a"b``c`"#);
    }
}
