//! Days that a `fold` has merged into the first day of a week, month or year, or into 1970-01-01, as
//! values of the templates.
//!
//! A fold leaves no note of what it has merged. But its days lack their counts, and the first day of
//! their period has just as many too many. Triggers don't change that: if a row of a merged day is
//! deleted, that day has one row less, and its count is one less, too. So a period whose first day has
//! more than its rows is right if its sum is. If its sum is wrong, and none of its other days has
//! counts, the row of its first day is corrected; otherwise each day is.

use serde::Serialize;

use super::counting::Counting;
use super::definition::Period;
use super::expression::Expression;
use super::target::Target;
use crate::database::{Joined, SQLITE};

/// What becomes of counts that a fold has merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merged {
    /// They stay, and are compared with the rows of their whole period.
    Stay,
    /// They return to the days of their rows.
    Return,
}

/// The counts of each day, with the day that a fold has merged them into, if it has.
#[derive(Debug, Clone, Serialize)]
pub struct MergedDays {
    pub day: String,
    pub undated: String,
    /// The entity, and its counts.
    pub columns: Vec<String>,
    /// The counts of each day, and the first days of the periods that it is in.
    pub columns_of_day: Vec<String>,
    pub group: Vec<String>,
    pub moves: Vec<Move>,
    pub windows: Vec<String>,
}

/// The first day of a period, and the conditions on which it has the counts of a day.
#[derive(Debug, Clone, Serialize)]
pub struct Move {
    pub conditions: Vec<String>,
    pub first: String,
}

/// A period that can be folded into, such as the month of a day.
struct Whole {
    /// The name of its first day, or 1970-01-01.
    first: String,
    /// Its days of an entity, and those of them that aren't after a day; names of windows.
    window: String,
    until: String,
}

impl Counting {
    /// The days that a fold can have merged, if the only counter of a target counts by day.
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
        let entity = self.database.columns("", &target.entity);
        let group = self.group(target);
        let sums = [counter, &stored].map(|name| format!("SUM({name}) AS {name}"));

        let mut columns_of_day = group.clone();
        let mut windows = Vec::new();
        let mut periods = Vec::new();
        // A database that sorts the days by these columns once has the days of all periods.
        let mut partition = entity.clone();
        for period in [Period::Total, Period::Year, Period::Month, Period::Week] {
            if period <= self.period {
                break;
            }
            let window = self.free(&format!("in_{period}"));
            let mut until = window.clone();
            let mut first = self.sql.undated.to_owned();
            if period == Period::Total {
                // A fold into one row leaves the days after a border as they are.
                until = self.free("until_day");
                windows.push(format!(
                    "{until} AS ({})",
                    window_of(&partition, &format!("ORDER BY {day}"))
                ));
            } else {
                first = self.free(&format!("first_of_{period}"));
                columns_of_day.push(format!("{} AS {first}", self.folded_day(period, &day)));
                partition.push(first.clone());
            }
            windows.push(format!("{window} AS ({})", window_of(&partition, "")));
            periods.push(Whole {
                first,
                window,
                until,
            });
        }
        // The shortest period comes first.
        periods.reverse();

        let lacks = format!("{counter} - {stored}");
        let mut is_right = Vec::new();
        let mut is_merged = Vec::new();
        columns_of_day.extend(sums);
        let of_all = periods.last().map(|whole| whole.window.clone())?;
        let negative = self.can_be_negative(target).then(|| {
            let lowest = self.free("lowest");
            columns_of_day.push(format!("MIN({counter}) AS {lowest}"));
            format!(" OR MIN({lowest}) OVER {of_all} < 0")
        });
        for Whole {
            first,
            window,
            until,
        } in periods
        {
            let has_more =
                format!("MAX(CASE WHEN {day} = {first} THEN {lacks} END) OVER {window} < 0");
            let sum_is_right = format!("SUM({lacks}) OVER {window} = 0");
            let has_no_other = format!(
                "MAX(CASE WHEN {day} > {first} THEN {stored} END) OVER {until} <= 0"
            );
            // Rows that add less than 0 can leave the first day with less than its rows.
            let can_be_first = match &negative {
                Some(negative) => format!("({has_more}{negative})"),
                None => has_more.clone(),
            };
            is_right.push(Move {
                conditions: vec![sum_is_right, can_be_first],
                first: first.clone(),
            });
            is_merged.push(Move {
                conditions: vec![has_more, has_no_other],
                first,
            });
        }
        is_right.append(&mut is_merged);
        let mut columns = entity;
        columns.extend([counter.clone(), stored]);
        Some(MergedDays {
            day,
            undated: self.sql.undated.to_owned(),
            columns,
            columns_of_day,
            group,
            moves: is_right,
            windows,
        })
    }

    /// Whether a row can add less than 0.
    fn can_be_negative(&self, target: &Target) -> bool {
        let mut weights = target.sources.iter().flat_map(|source| &source.weights);
        !weights.all(|weight| weight.as_ref().is_none_or(Expression::is_one))
    }

    /// The day under which a fold stores the count of a day. A week that begins in the month before
    /// is stored under the first day of its month.
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

/// What stands in the parentheses of a window.
fn window_of(partition: &[String], order: &str) -> String {
    let by = match partition {
        [] => String::new(),
        columns => format!("PARTITION BY {}", columns.join(", ")),
    };
    [&*by, order].into_iter().filter(|part| !part.is_empty()).joined(" ")
}
