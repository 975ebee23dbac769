//! The period that a counter table counts by.

use std::fmt;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::catalogue::{CounterTable, comment, statement_of};
use crate::database::{Database, SQLITE};

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
        f.write_str(match self {
            Period::Day => "day",
            Period::Week => "week",
            Period::Month => "month",
            Period::Year => "year",
            Period::Total => "total",
        })
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

impl Period {
    /// `counts by month`
    pub fn counted(self) -> String {
        match self {
            Period::Total => "counts in total".to_owned(),
            period => format!("counts by {period}"),
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
    /// The table's period, if the database or the option has it.
    ///
    /// # Errors
    ///
    /// If that of the database cannot be read, or is not that of the option. On SQLite, the option
    /// overrides it.
    pub fn of(&self, table: &CounterTable, database: Database) -> Result<Option<Period>> {
        // A comment of SQLite cannot be changed, when the table counts by another period from then on.
        if let (Some(given), SQLITE) = (self.period, database) {
            return Ok(Some(given));
        }
        let name = &table.table;
        match (table.period(), self.period) {
            (Ok(Some(stored)), Some(given)) if stored != given => {
                bail!(
                    "--period {given}: {name} {}, as the database says",
                    stored.counted()
                )
            }
            (Ok(stored), given) => Ok(stored.or(given)),
            (Err(unreadable), _) => bail!(
                "the comment {unreadable:?} of {name}.{} is not a period: {}",
                table.day.name,
                advice(table, database)
            ),
        }
    }

    /// The table's period.
    ///
    /// # Errors
    ///
    /// Those of [`of`](PeriodArg::of), and if neither has it.
    pub fn required(&self, table: &CounterTable, database: Database) -> Result<Period> {
        let Some(period) = self.of(table, database)? else {
            bail!(
                "the database does not say by which period {} counts, which this depends on: give \
                 --period, as in its counter_table!, or {}",
                table.table,
                advice(table, database)
            );
        };
        Ok(period)
    }
}

/// How to write the period into the database.
fn advice(table: &CounterTable, database: Database) -> String {
    const OTHERS: &str = "(or week, month, year, total in place of day)";
    match statement_of(&table.table, &table.day, Period::Day, database) {
        Some(statement) => format!("run {statement} {OTHERS}"),
        None => format!(
            "have the line `-- {}` {OTHERS} in its CREATE TABLE, as `generate migration` writes it",
            comment(Period::Day)
        ),
    }
}
