//! The period that a counter table counts by, and its stocks. They are stored in a comment on the
//! day column, which dumps keep. SQLite has no such comments, but it keeps the text of a `CREATE
//! TABLE` with the comments in it.

use std::fmt;

use chrono::NaiveDate;
use diesel_counters::Period;

use super::counter_table::CounterTable;
use crate::database::{Database, Joined, MYSQL, POSTGRES};

/// How a line for this command starts in a comment.
const MARK: &str = "diesel_counters:";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    pub period: Period,
    /// The counters that are a stock.
    pub stock: Vec<String>,
}

/// Writes the line: `diesel_counters: period = total, stock = (remaining)`.
impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK} period = {}", self.period)?;
        match &*self.stock {
            [] => Ok(()),
            stock => write!(f, ", stock = ({})", stock.join(", ")),
        }
    }
}

impl Mark {
    /// Returns the mark of a table with these stocks, which always counts in total.
    pub fn total(stock: Vec<String>) -> Self {
        let period = Period::Total;
        Mark { period, stock }
    }

    /// Reads the mark in a comment, if there is exactly one.
    fn in_comment(comment: &str) -> Option<Self> {
        Mark::in_lines(comment.lines())
    }

    /// Reads the mark in the comments of a `CREATE TABLE`, if there is exactly one.
    fn in_sql(create_table: &str) -> Option<Self> {
        let lines = create_table.lines();
        let comments = lines.filter_map(|line| line.split_once("--"));
        Mark::in_lines(comments.map(|(_sql, comment)| comment))
    }

    /// Reads the mark in the lines of a comment, if there is exactly one.
    fn in_lines<'l>(lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        let marks = lines.filter_map(|line| line.trim().strip_prefix(MARK));
        let [mark] = *marks.collect::<Vec<_>>() else {
            return None;
        };
        // A name can have a comma in it, so only the first comma separates the two keys.
        let (period, stock) = mark.split_once(',').unwrap_or((mark, "stock = ()"));
        let list = value_of("stock", stock)?.strip_prefix('(')?;
        let names = list.strip_suffix(')')?.split(',').map(str::trim);
        let names = names.filter(|name| !name.is_empty());
        Some(Mark {
            period: value_of("period", period)?.parse().ok()?,
            stock: names.map(str::to_owned).collect(),
        })
    }

    /// Whether the names can be written in a comment and read back.
    pub fn is_readable(&self) -> bool {
        Mark::in_comment(&self.to_string()).as_ref() == Some(self)
    }
}

/// Returns `total` for the key `period` in `period = total`.
fn value_of<'t>(key: &str, text: &'t str) -> Option<&'t str> {
    let value = text.trim().strip_prefix(key)?.trim_start();
    Some(value.strip_prefix('=')?.trim())
}

impl CounterTable {
    /// Returns the table's period and stocks, if a comment in the database says them.
    pub fn mark(&self) -> Option<Mark> {
        match &self.day.comment {
            Some(comment) => Mark::in_comment(comment),
            // Only SQLite has the CREATE TABLE here. Its columns have no comments.
            None => Mark::in_sql(&self.table.checks.concat()),
        }
    }
}

/// Returns the statement that writes a mark into the comment on the day column, and keeps the
/// comment's other lines. Returns `None` on SQLite, which can't change a comment.
pub fn mark_statement(counters: &CounterTable, mark: &Mark, database: Database) -> Option<String> {
    let day = &counters.day;
    let old_lines = day.comment.iter().flat_map(|comment| comment.lines());
    let lines_of_others = old_lines.filter(|line| !line.trim().starts_with(MARK));
    let lines = lines_of_others.map(str::to_owned).chain([mark.to_string()]);
    let text = database.literal(&lines.joined("\n"));
    let table = database.table_name(&counters.table);
    let name = database.quoted(&day.name);
    let statement = match database {
        POSTGRES => format!("COMMENT ON COLUMN {table}.{name} IS {text};"),
        // MODIFY repeats the whole column: what it leaves out, such as NOT NULL or the default, is
        // lost.
        MYSQL => {
            let default = day
                .default
                .as_deref()
                .map(default_of_mysql)
                .unwrap_or_default();
            format!("ALTER TABLE {table} MODIFY {name} DATE NOT NULL{default} COMMENT {text};")
        }
        _ => return None,
    };
    Some(statement)
}

/// Writes a day's default as SQL: ` DEFAULT '1970-01-01'`, with a space before it. The catalogue
/// has dates with or without quotes, and expressions without their parentheses. In an expression,
/// MySQL has `_utf8mb4\'a\'` for `'a'`.
fn default_of_mysql(default: &str) -> String {
    let day = default.trim_matches('\'');
    match day.parse::<NaiveDate>() {
        Ok(day) => format!(" DEFAULT '{day}'"),
        Err(_) => format!(" DEFAULT ({})", default.replace(r"\'", "'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_is_written() {
        let read = |line: &str| Mark::in_comment(line).map(|mark| mark.to_string());
        for period in ["day", "week", "month", "year", "total"] {
            for stock in ["", ", stock = (left)", ", stock = (left, a) (b \"c' = d)"] {
                let line = format!("{MARK} period = {period}{stock}");
                assert_eq!(read(&line), Some(line));
            }
        }
        let spaces = read("diesel_counters:period=total ,stock=( a,b )").unwrap();
        assert_eq!(spaces, format!("{MARK} period = total, stock = (a, b)"));
        let two_marks = format!("period = day\n{MARK} period = day");
        for wrong in [
            "period = ",
            "period = Week",
            "period = week;",
            "periods = week",
            "stock = (a)",
            "period = total, stock = a",
            "period = total, (a)",
            &two_marks,
        ] {
            assert_eq!(read(&format!("{MARK} {wrong}")), None, "{wrong}");
        }
    }
}
