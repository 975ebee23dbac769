//! The period that a counter table counts by. It stands in the comment of its column of days, which
//! dumps keep. SQLite has no such comments, but keeps the text of a `CREATE TABLE` with the comments
//! in it.

use clap::ValueEnum;

use super::{Column, CounterTable, Table};
use crate::database::{Database, MYSQL, POSTGRES};
use crate::period::Period;

/// What a line of a comment begins with that is not for people.
const MARK: &str = "diesel_counters:";

/// The line that says a period.
pub fn comment(period: Period) -> String {
    format!("{MARK} period = {period}")
}

fn read(line: &str) -> Option<Period> {
    let value = line.strip_prefix(MARK)?.trim_start();
    let value = value.strip_prefix("period")?.trim_start();
    Period::from_str(value.strip_prefix('=')?.trim_start(), false).ok()
}

impl Table {
    /// The period that the table counts by, if the database has it. `day` is its column of days.
    ///
    /// # Errors
    ///
    /// The lines that should say it, if they do not say one period.
    pub fn period(&self, day: &Column) -> Result<Option<Period>, String> {
        let comments: Vec<&str> = match &self.definition {
            Some(create_table) => {
                let lines = create_table.lines();
                lines
                    .filter_map(|line| Some(line.split_once("--")?.1))
                    .collect()
            }
            None => day
                .comment
                .iter()
                .flat_map(|comment| comment.lines())
                .collect(),
        };
        let lines = comments.into_iter().map(str::trim);
        let lines: Vec<&str> = lines.filter(|line| line.starts_with(MARK)).collect();
        match *lines {
            [] => Ok(None),
            [line] => read(line).map(Some).ok_or_else(|| line.to_owned()),
            _ => Err(lines.join("\n")),
        }
    }
}

impl CounterTable {
    /// [`Table::period`]
    pub fn period(&self) -> Result<Option<Period>, String> {
        self.table.period(&self.day)
    }
}

/// The statement that writes the period into the database, or `None` on SQLite, which cannot change a
/// comment. Other lines of the comment stay.
pub fn statement_of(
    table: &Table,
    day: &Column,
    period: Period,
    database: Database,
) -> Option<String> {
    let lines = day.comment.iter().flat_map(|comment| comment.lines());
    let others = lines.filter(|line| !line.trim().starts_with(MARK));
    let lines: Vec<_> = others.map(str::to_owned).chain([comment(period)]).collect();
    let text = database.literal(&lines.join("\n"));
    let (table, name) = (database.table_name(table), database.quoted(&day.name));
    match database {
        POSTGRES => Some(format!("COMMENT ON COLUMN {table}.{name} IS {text};")),
        MYSQL => Some(format!(
            "ALTER TABLE {table} MODIFY {name} DATE NOT NULL COMMENT {text};"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_read_as_it_is_written() {
        for period in Period::value_variants() {
            assert_eq!(read(&comment(*period)), Some(*period));
        }
        assert_eq!(read("diesel_counters:period=week"), Some(Period::Week));
        for wrong in [
            "diesel_counters: period = ",
            "diesel_counters: period = Week",
            "diesel_counters: period = week;",
            "diesel_counters: periods = week",
            "diesel_counters: slots = 3",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
