//! How a database writes SQL: names, texts and keys.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::BigInt;
use diesel_counters::Dialect;

use crate::connection::AnyConnection;
use crate::sql::{Sql, sql};
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

impl AnyConnection {
    pub(crate) fn database(&self) -> Database {
        Database(self.dialect())
    }
}

/// The collation of MySQL 8.0.17 and later, and the one of MariaDB. Both have utf8mb4_bin, which
/// takes 'foo ' and 'foo' as equal.
pub const TELLS_TEXTS_APART: &str =
    "CHARACTER SET utf8mb4 COLLATE /*!80017 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */";

impl Database {
    /// A name as an SQL identifier.
    pub fn quoted(self, name: &str) -> String {
        match self {
            MYSQL => format!("`{}`", name.replace('`', "``")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// A text as SQL.
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

    /// A condition that is true for the key that is printed as this text, and for no other.
    pub fn is_text(self, key: &Column, text: &str) -> Sql {
        let name = self.quoted(&key.name);
        match self {
            // It compares a bound text with nothing but a text.
            POSTGRES => {
                let cast = sql(format!("{name} = CAST(")).bind(text);
                cast.sql(format!(" AS {})", of_any_length(&key.sql_type)))
            }
            // It compares a number with the number that a text begins with, or with 0.
            MYSQL => {
                let equals = sql(format!("{name} = ")).bind(text);
                let equals = equals.sql(format!(" AND {} = ", self.as_text(key)));
                equals.bind(text)
            }
            _ => sql(format!("{name} = ")).bind(text),
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

    /// SQL that reads a key of several columns as one text: `7, 👍`.
    pub fn key_as_text(self, key: &[Column]) -> String {
        let columns = key.iter().map(|column| self.as_text(column));
        match (key.len(), self) {
            (0, _) => self.text("NULL"),
            (2.., MYSQL) => format!("CONCAT({})", columns.joined(", ', ', ")),
            _ => columns.joined(" || ', ' || "),
        }
    }

    /// A column of the row `row`, or of the only row that it can be of.
    pub fn column(self, row: &str, name: &str) -> String {
        match row {
            "" => self.quoted(name),
            row => format!("{row}.{}", self.quoted(name)),
        }
    }

    /// These columns of the row `row`.
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

    /// A table's name in SQL.
    pub fn table_name(self, table: &Table) -> String {
        self.quoted_in(table.sql_schema.as_deref(), &table.name)
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

    /// Names in SQL: `"a", "b"`.
    pub fn quoted_list(self, names: &[&str]) -> String {
        names.iter().map(|name| self.quoted(name)).joined(", ")
    }

    /// The number of rows that fulfil a condition.
    pub fn count(self, table: &Table, condition: &str, conn: &mut AnyConnection) -> Result<i64> {
        let table = self.table_name(table);
        let count = sql(format!("SELECT COUNT(*) FROM {table} WHERE {condition}"));
        Ok(count.typed::<BigInt>().get_result(conn)?)
    }
}

/// The type without its length or precision. A cast to a type with one cuts a text off, or rounds a
/// number, to what may be another key.
fn of_any_length(sql_type: &str) -> String {
    match sql_type.split_once('(') {
        Some(("character", _)) => "bpchar".to_owned(),
        Some(("bit", _)) => "varbit".to_owned(),
        Some((name, rest)) if !name.contains('"') => {
            let (_length, rest) = rest.split_once(')').unwrap_or_default();
            format!("{name}{rest}")
        }
        _ => sql_type.to_owned(),
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
