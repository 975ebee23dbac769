//! The period that a counter table counts by. It stands in the comment of its column of days, which
//! dumps keep. SQLite has no such comments, but keeps the text of a `CREATE TABLE` with the comments
//! in it.

use std::fmt;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::catalogue::CounterTable;
use crate::database::{Database, MYSQL, POSTGRES, SQLITE};

/// The period of a counter, as in `counter_table!`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Period {
    #[default]
    Day,
    Week,
    Month,
    Year,
    Total,
}

/// As the comment and the options have it.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl From<Period> for diesel_counters::Period {
    fn from(period: Period) -> Self {
        match period {
            Period::Day => diesel_counters::Period::Day,
            Period::Week => diesel_counters::Period::Week,
            Period::Month => diesel_counters::Period::Month,
            Period::Year => diesel_counters::Period::Year,
            Period::Total => diesel_counters::Period::Total,
        }
    }
}

#[derive(Args)]
pub struct PeriodArg {
    /// The period that the table counts by, as in counter_table! [default: that of the database; see
    /// `diesel-counters check`].
    #[arg(long)]
    period: Option<Period>,
}

impl PeriodArg {
    /// The table's period, or days if neither the database nor the option has it.
    ///
    /// # Errors
    ///
    /// If that of the database is not that of the option. On SQLite, the option overrides it. If it
    /// `is_needed`, also if neither has it.
    pub fn of(&self, table: &CounterTable, database: Database, is_needed: bool) -> Result<Period> {
        let name = &table.table;
        match (table.period(), self.period) {
            // A comment of SQLite cannot be changed, when the table counts by another period from then on.
            (_, Some(given)) if database == SQLITE => Ok(given),
            (Some(stored), Some(given)) if stored != given => {
                bail!("--period {given}: {name} has the period {stored}, as the database says")
            }
            (None, None) if is_needed => {
                let advice = advice(table, database);
                bail!(
                    "the database does not say by which period {name} counts, which this depends on: give \
                     --period, as in its counter_table!, or {advice}"
                )
            }
            (stored, given) => Ok(stored.or(given).unwrap_or_default()),
        }
    }
}

/// How to write the period into the database.
fn advice(table: &CounterTable, database: Database) -> String {
    const OTHERS: &str = "(or week, month, year, total in place of day)";
    let line = comment(Period::Day);
    match statement_of(table, Period::Day, database) {
        Some(statement) => format!("run {statement} {OTHERS}"),
        None => format!(
            "have the line `-- {line}` {OTHERS} in its CREATE TABLE, as `generate migration` writes it"
        ),
    }
}

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

impl CounterTable {
    /// The period that the table counts by, if the database has it.
    pub fn period(&self) -> Option<Period> {
        let (create_table, comment) = (&self.table.definition, &self.day.comment);
        let text = create_table.as_ref().or(comment.as_ref())?;
        let is_sql = create_table.is_some();
        let begin = if is_sql { "--" } else { "" };
        let lines = text.lines().filter_map(|line| line.split_once(begin));
        let lines = lines.map(|(_, line)| line.trim());
        let lines: Vec<&str> = lines.filter(|line| line.starts_with(MARK)).collect();
        match *lines {
            [line] => read(line),
            _ => None,
        }
    }
}

/// The statement that writes the period into the database, or `None` on SQLite, which cannot change a
/// comment. Other lines of the comment stay.
pub fn statement_of(counters: &CounterTable, period: Period, database: Database) -> Option<String> {
    let (table, day) = (&counters.table, &counters.day);
    let lines = day.comment.iter().flat_map(|comment| comment.lines());
    let others = lines.filter(|line| !line.trim().starts_with(MARK));
    let lines: Vec<_> = others.map(str::to_owned).chain([comment(period)]).collect();
    let text = database.literal(&lines.join("\n"));
    let (table, name) = (database.table_name(table), database.quoted(&day.name));
    let statement = match database {
        POSTGRES => format!("COMMENT ON COLUMN {table}.{name} IS {text};"),
        MYSQL => format!("ALTER TABLE {table} MODIFY {name} DATE NOT NULL COMMENT {text};"),
        _ => return None,
    };
    Some(statement)
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
        for wrong in "period = |period = Week|period = week;|periods = week".split('|') {
            assert_eq!(read(&format!("{MARK} {wrong}")), None, "{wrong}");
        }
    }
}
