//! How every database writes names and texts in SQL.

use sqlparser::dialect::{self, MySqlDialect, PostgreSqlDialect, SQLiteDialect};

use crate::keywords::is_keyword;
pub use Database::{MySql as MYSQL, Postgres as POSTGRES, Sqlite as SQLITE};

/// A database that SQL is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    Postgres,
    /// MySQL or MariaDB.
    MySql,
    Sqlite,
}

/// The `sql_mode` of this command, and of triggers on MySQL and MariaDB, which keep the mode they
/// were created in. It decides, for example, whether `||` means OR or joins texts.
pub const SQL_MODE: &str = "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION";

/// Joins texts, for example the names of columns.
pub trait Joined: Iterator<Item: Into<String>> + Sized {
    fn joined(self, between: &str) -> String {
        self.map(Into::into).collect::<Vec<String>>().join(between)
    }
}

impl<I: Iterator<Item: Into<String>>> Joined for I {}

impl Database {
    /// Returns the SQL dialect to parse this database's SQL with.
    pub fn grammar(self) -> &'static dyn dialect::Dialect {
        match self {
            POSTGRES => &PostgreSqlDialect {},
            MYSQL => &MySqlDialect {},
            _ => &SQLiteDialect {},
        }
    }

    /// Whether two names mean the same trigger. SQLite and MySQL ignore case, whatever the
    /// collation, and so does MariaDB on some systems.
    pub fn is_same_trigger(self, one: &str, other: &str) -> bool {
        match self {
            POSTGRES => one == other,
            MYSQL | SQLITE => one.to_lowercase() == other.to_lowercase(),
        }
    }

    /// Writes a name in SQL. It gets quotes only if it needs them: `likes`, but `"order"`.
    pub fn quoted(self, name: &str) -> String {
        if self.is_plain(name) && !is_keyword(self, name) {
            return name.to_owned();
        }
        match self {
            MYSQL => format!("`{}`", name.replace('`', "``")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// Returns the statement that a session runs before it creates triggers, because they keep its
    /// settings. On PostgreSQL, they then never find their tables among temporary ones.
    pub fn trigger_session(self) -> String {
        match self {
            POSTGRES => "SELECT set_config('search_path', (SELECT string_agg(quote_ident(name), \
                         ', ') FROM unnest(current_schemas(false)) AS name) || ', pg_temp', false);"
                .to_owned(),
            MYSQL => format!("SET sql_mode = '{SQL_MODE}';"),
            SQLITE => String::new(),
        }
    }

    /// Whether a name has only characters that need no quotes. PostgreSQL would lower-case
    /// capitals, and MySQL could read a leading underscore as a character set, as in
    /// `_utf8mb4'text'`.
    fn is_plain(self, name: &str) -> bool {
        let is_letter = |c: char| match self {
            POSTGRES => c.is_ascii_lowercase(),
            MYSQL | SQLITE => c.is_ascii_alphabetic(),
        };
        let is_first = |c: char| is_letter(c) || c == '_' && self != MYSQL;
        let is_other = |c: char| is_letter(c) || c == '_' || c.is_ascii_digit();
        name.starts_with(is_first) && name.chars().all(is_other)
    }

    /// Writes a text as an SQL literal: `'it''s'`.
    pub fn literal(self, text: &str) -> String {
        let doubled = text.replace('\'', "''");
        match self {
            // A backslash starts an escape.
            MYSQL => format!("'{}'", doubled.replace('\\', "\\\\")),
            _ => format!("'{doubled}'"),
        }
    }

    /// Returns SQL that reads a value as text: `CAST(day AS TEXT)`.
    pub fn text(self, value: &str) -> String {
        match self {
            MYSQL => format!("CAST({value} AS CHAR)"),
            _ => format!("CAST({value} AS TEXT)"),
        }
    }

    /// Writes a column of the row `row`: `new.likes`. Pass an empty `row` for the column alone.
    pub fn column(self, row: &str, name: &str) -> String {
        match row {
            "" => self.quoted(name),
            row => format!("{row}.{}", self.quoted(name)),
        }
    }

    /// Returns SQL that is true if two values are equal, or both NULL.
    pub fn are_same(self, one: &str, other: &str) -> String {
        match self {
            POSTGRES => format!("{one} IS NOT DISTINCT FROM {other}"),
            MYSQL => format!("{one} <=> {other}"),
            SQLITE => format!("{one} IS {other}"),
        }
    }

    /// Writes a name in SQL with its schema: `blog.articles`.
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

    const ALL: [Database; 3] = [POSTGRES, MYSQL, SQLITE];

    #[test]
    fn a_plain_name_has_no_quotes() {
        for name in ["likes", "article_id", "e1", "count", "x"] {
            assert_eq!(ALL.map(|database| database.quoted(name)), [name; 3]);
        }
    }

    #[test]
    fn a_keyword_has_quotes() {
        let quoted = ALL.map(|database| database.quoted("order"));
        assert_eq!(quoted, [r#""order""#, "`order`", r#""order""#]);
        assert_eq!(MYSQL.quoted("Order"), "`Order`");
        // Only PL/pgSQL reserves it.
        assert_eq!(POSTGRES.quoted("loop"), r#""loop""#);
        assert_eq!(SQLITE.quoted("loop"), "loop");
    }

    /// Without quotes, PostgreSQL would read another name.
    #[test]
    fn a_name_with_capitals_has_quotes_on_postgresql() {
        let quoted = ALL.map(|database| database.quoted("articleId"));
        assert_eq!(quoted, [r#""articleId""#, "articleId", "articleId"]);
    }

    #[test]
    fn a_name_with_other_characters_has_quotes() {
        for name in ["", "a b", "a-b", "a.b", "a$b", "1e5", "café"] {
            let [double, back] = [format!("\"{name}\""), format!("`{name}`")];
            let quoted = ALL.map(|database| database.quoted(name));
            assert_eq!(quoted, [&*double, &*back, &*double]);
        }
    }

    #[test]
    fn a_name_with_a_schema_has_quotes_in_its_parts() {
        let name = POSTGRES.quoted_in(Some("public"), "user");
        assert_eq!(name, r#"public."user""#);
    }

    /// Without quotes, MySQL could read it as a character set.
    #[test]
    fn a_name_that_begins_with_an_underscore_has_quotes_on_mysql() {
        let quoted = ALL.map(|database| database.quoted("_utf8mb4"));
        assert_eq!(quoted, ["_utf8mb4", "`_utf8mb4`", "_utf8mb4"]);
    }

    #[test]
    fn a_name_cannot_end_its_quotes() {
        assert_eq!(SQLITE.quoted(r#"a"b`c"#), r#""a""b`c""#);
        assert_eq!(MYSQL.quoted(r#"a"b`c"#), r#"`a"b``c`"#);
    }
}
