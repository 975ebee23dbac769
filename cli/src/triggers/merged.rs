//! Days that a `fold` has merged into the first day of a week, month or year, or into 1970-01-01,
//! as values for the templates.
//!
//! A fold doesn't record what it has merged, but you can tell: the merged days lack their counts,
//! and the first day of their period has just as many too many. Triggers keep it that way. For
//! example, if a row of a merged day is deleted, that day has one row less, and its count goes down
//! by one, too.
//!
//! So if the first day of a period has more than its rows, the period is right if its sum is right.
//! If the sum is wrong and no other day of the period has counts, the first day's row is corrected.
//! Otherwise every day is.

use serde::Serialize;

use super::counting::Counting;
use super::definition::Period;
use super::expression::Expression;
use super::target::Target;
use crate::database::{Joined, SQLITE};

/// What happens to counts that a fold has merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldedCounts {
    /// They stay, and are compared with the rows of their whole period.
    Stay,
    /// They return to the days of their rows.
    Return,
}

/// Every day's counts, and the day that a fold has merged them into, if it has.
#[derive(Debug, Clone, Serialize)]
pub struct MergedDays {
    pub day: String,
    pub undated: String,
    /// The entity, and its counts.
    pub columns: Vec<String>,
    /// Every day's counts, and the first days of the periods that it's in.
    pub columns_of_day: Vec<String>,
    pub group: Vec<String>,
    /// How many of an entity's days differ from their rows.
    pub wrong_days: String,
    /// Every period's sums. They are columns because MariaDB computes some of these windows wrongly
    /// inside an expression.
    pub columns_of_periods: Vec<String>,
    pub windows: Vec<String>,
    pub moves: Vec<Move>,
}

/// The first day of a period, and the condition for it to have the counts of a day.
#[derive(Debug, Clone, Serialize)]
pub struct Move {
    pub condition: String,
    pub first: String,
}

impl Counting {
    /// Returns the days that a fold may have merged, if the target's only counter counts by day.
    pub fn merged_days(&self, target: &Target) -> Option<MergedDays> {
        let slots = target.slots.as_ref()?;
        let [counter] = &*self.counter_names(target) else {
            return None;
        };
        if self.day.is_none() || self.period == Period::Total {
            return None;
        }
        let stored = self.stored_name(target, &target.names[0]);
        let day = self.database.quoted(&slots.day.name);
        let undated = self.sql.undated.to_owned();
        let entity = self.database.columns("", &target.entity);
        let group = self.group(target);
        let [negative, any_negative] =
            ["negative", "any_negative"].map(|name| self.unused_name(name));
        let mut columns_of_day = group.clone();
        columns_of_day.extend([counter, &stored].map(|name| format!("SUM({name}) AS {name}")));
        let wrong_days = self.unused_name("wrong_days");
        columns_of_day.push(format!(
            "SUM(CASE WHEN SUM({counter}) <> SUM({stored}) THEN 1 ELSE 0 END) OVER ({}) AS {wrong_days}",
            window_of(&entity, "")
        ));
        let can_be_negative = self.can_be_negative(target);
        if can_be_negative {
            columns_of_day.push(format!(
                "SUM(CASE WHEN {counter} < 0 THEN 1 ELSE 0 END) AS {negative}"
            ));
        }

        let lacks = format!("{counter} - {stored}");
        let mut columns_of_periods = Vec::new();
        let mut windows = Vec::new();
        let mut right = Vec::new();
        let mut merged = Vec::new();
        // Every period is part of the one before it, so the rows need to be sorted only once.
        let mut partition = entity.clone();
        for period in [Period::Total, Period::Year, Period::Month, Period::Week] {
            if period <= self.period {
                break;
            }
            let named = |what: &str| self.unused_name(&format!("{what}_{period}"));
            let [window, period_lacks, first_lacks, others] =
                ["in", "lacks_in", "lacks_on_first_of", "others_in"].map(named);
            let mut until = window.clone();
            let mut first = undated.clone();
            if period == Period::Total {
                // A fold into one row leaves later days as they are. The day needs its table's name
                // here, because MariaDB would otherwise take the day that it was moved to.
                until = self.unused_name("until_day");
                let order = format!("ORDER BY each_day.{day}");
                windows.push(format!("{until} AS ({})", window_of(&partition, &order)));
            } else {
                first = named("start_index");
                columns_of_day.push(format!("{} AS {first}", self.folded_day(period, &day)));
                partition.push(first.clone());
            }
            windows.push(format!("{window} AS ({})", window_of(&partition, "")));
            columns_of_periods.extend([
                format!("SUM({lacks}) OVER {window} AS {period_lacks}"),
                // MariaDB takes quadratic time for MAX over a window.
                format!(
                    "SUM(CASE WHEN {day} = {first} THEN {lacks} ELSE 0 END) OVER {window} AS {first_lacks}"
                ),
                format!(
                    "SUM(CASE WHEN {day} > {first} AND {stored} > 0 THEN {stored} ELSE 0 END) OVER {until} \
                     AS {others}"
                ),
            ]);
            let mut first_has_more = format!("{first_lacks} < 0");
            // If rows can add less than 0, the first day can also have less than its own rows.
            if can_be_negative {
                if period == Period::Total {
                    columns_of_periods
                        .push(format!("SUM({negative}) OVER {window} AS {any_negative}"));
                }
                first_has_more = format!("({first_has_more} OR {any_negative} > 0)");
            }
            right.push(Move {
                condition: format!("{period_lacks} = 0 AND {first_has_more}"),
                first: first.clone(),
            });
            merged.push(Move {
                condition: format!("{first_lacks} < 0 AND {others} = 0"),
                first,
            });
        }
        // The shortest period comes first.
        let moves = right.into_iter().rev().chain(merged.into_iter().rev());
        let mut columns = entity;
        columns.extend([counter.clone(), stored]);
        Some(MergedDays {
            day,
            undated,
            columns,
            columns_of_day,
            group,
            wrong_days,
            columns_of_periods,
            windows,
            moves: moves.collect(),
        })
    }

    /// Whether a row can add less than 0.
    fn can_be_negative(&self, target: &Target) -> bool {
        let mut weights = target.sources.iter().flat_map(|source| &source.weights);
        !weights.all(|weight| weight.as_ref().is_none_or(Expression::is_one))
    }

    /// The day under which a fold stores a day's count. A week that begins in the month before is
    /// stored under the first day of its month.
    fn folded_day(&self, period: Period, day: &str) -> String {
        let start = self.sql.start_of(period, day);
        if period != Period::Week {
            return start;
        }
        let later = match self.database {
            SQLITE => "max",
            _ => "GREATEST",
        };
        let first_of_month = self.sql.start_of(Period::Month, day);
        format!("{later}({start}, {first_of_month})")
    }
}

/// What goes between the parentheses of a window.
fn window_of(partition: &[String], order: &str) -> String {
    let by = match partition {
        [] => String::new(),
        columns => format!("PARTITION BY {}", columns.join(", ")),
    };
    [&*by, order]
        .into_iter()
        .filter(|part| !part.is_empty())
        .joined(" ")
}
