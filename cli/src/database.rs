//! How a database writes SQL: names and texts.

use sqlparser::dialect::{self, MySqlDialect, PostgreSqlDialect, SQLiteDialect};

pub use Database::{MySql as MYSQL, Postgres as POSTGRES, Sqlite as SQLITE};

/// A database, as SQL is written for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    Postgres,
    /// MySQL or MariaDB.
    MySql,
    Sqlite,
}

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

    /// Whether two names of triggers are the same one. SQLite and MySQL ignore their case, in any
    /// collation, and MariaDB on some systems.
    pub fn is_same_trigger(self, one: &str, other: &str) -> bool {
        match self {
            POSTGRES => one == other,
            MYSQL | SQLITE => one.to_lowercase() == other.to_lowercase(),
        }
    }

    pub fn quoted(self, name: &str) -> String {
        match self {
            MYSQL => format!("`{}`", name.replace('`', "``")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    pub fn literal(self, text: &str) -> String {
        let doubled = text.replace('\'', "''");
        match self {
            // A backslash begins an escape.
            MYSQL => format!("'{}'", doubled.replace('\\', "\\\\")),
            _ => format!("'{doubled}'"),
        }
    }

    /// A literal that stands in several lines. SQLite keeps the line breaks of the text. The others
    /// join literals that are below each other, and have the text without line breaks.
    pub fn literal_of_lines(self, text: &str) -> String {
        let literal = self.literal(text);
        match self {
            SQLITE => literal.replace('\n', "\n    "),
            _ => literal.replace('\n', "'\n    '"),
        }
    }

    /// SQL that reads a value as text.
    pub fn text(self, value: &str) -> String {
        match self {
            MYSQL => format!("CAST({value} AS CHAR)"),
            _ => format!("CAST({value} AS TEXT)"),
        }
    }

    /// A column of the row `row`, or of the only row that it can be of.
    pub fn column(self, row: &str, name: &str) -> String {
        match row {
            "" => self.quoted(name),
            row => format!("{row}.{}", self.quoted(name)),
        }
    }

    /// A name in SQL, with a schema: `"a"."b"`.
    pub fn quoted_in(self, schema: Option<&str>, name: &str) -> String {
        match schema {
            Some(schema) => format!("{}.{}", self.quoted(schema), self.quoted(name)),
            None => self.quoted(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_end_its_quotes() {
        assert_eq!(POSTGRES.literal(r"it's \"), r"'it''s \'");
        assert_eq!(MYSQL.literal(r"it's \"), r"'it''s \\'");
    }

    #[test]
    fn a_literal_of_lines_is_one_literal() {
        assert_eq!(POSTGRES.literal_of_lines("a\nb'"), "'a'\n    'b'''");
        assert_eq!(SQLITE.literal_of_lines("a\nb'"), "'a\n    b'''");
    }

    #[test]
    fn a_name_cannot_end_its_quotes() {
        assert_eq!(SQLITE.quoted(r#"a"b`c"#), r#""a""b`c""#);
        assert_eq!(MYSQL.quoted(r#"a"b`c"#), r#"`a"b``c`"#);
    }
}
