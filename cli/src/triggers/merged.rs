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
use super::target::Target;
use crate::database::SQLITE;

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

/// The names of every day's columns.
struct DayColumns {
    day: String,
    /// The true count, under the counter's own name.
    counter: String,
    stored: String,
    /// `None` if no row can add less than 0.
    negative: Option<NegativeColumns>,
}

/// The names of the columns that count the rows that add less than 0.
struct NegativeColumns {
    on_day: String,
    on_all_days: String,
}

/// The names of a period's columns and windows.
struct PeriodColumns {
    period: Period,
    /// The first day of the period, or 1970-01-01.
    first: String,
    /// The window of the days in the period.
    window: String,
    /// The window of the days that a fold may have merged with a day: those in the period, or, for
    /// a fold into 1970-01-01, those until this day.
    folded_window: String,
    /// What the period lacks.
    lacks: String,
    /// What its first day lacks.
    first_lacks: String,
    /// What its other days have.
    others: String,
}

impl Counting {
    /// Returns the days that a fold may have merged, if the target's only counter counts by day.
    pub fn merged_days(&self, target: &Target) -> Option<MergedDays> {
        if self.period == Period::Total {
            return None;
        }
        let names = self.day_columns(target)?;
        let wrong_days = self.unused_name("wrong_days");
        let mut columns_of_day = self.sums_of_day(target, &names, &wrong_days);
        let mut columns_of_periods = Vec::new();
        let mut windows = Vec::new();
        let longest_first = [Period::Total, Period::Year, Period::Month, Period::Week];
        let longer_periods = longest_first
            .into_iter()
            .filter(|period| *period > self.period);
        let periods: Vec<_> = longer_periods
            .map(|period| self.period_columns(period))
            .collect();
        let entity = self.database.columns("", &target.entity);
        // Every period is part of the one before it, so the rows need to be sorted only once.
        let mut partition = entity.clone();
        for columns in &periods {
            let PeriodColumns { period, first, .. } = columns;
            if *period != Period::Total {
                let folded_day = self.folded_day(*period, &names.day);
                columns_of_day.push(format!("{folded_day} AS {first}"));
                partition.push(first.clone());
            }
            windows.extend(columns.windows(&partition, &names.day));
            columns_of_periods.extend(columns.sums(&names));
        }
        let shortest_first = || periods.iter().rev();
        let right = shortest_first().map(|columns| columns.move_if_right(names.negative.as_ref()));
        let alone = shortest_first().map(PeriodColumns::move_if_alone);
        Some(MergedDays {
            moves: right.chain(alone).collect(),
            undated: self.sql.undated.to_owned(),
            columns: [entity, vec![names.counter, names.stored]].concat(),
            day: names.day,
            columns_of_day,
            group: self.group(target),
            wrong_days,
            columns_of_periods,
            windows,
        })
    }

    /// Names the columns of the target's only counter. Returns `None` if there are several
    /// counters, or if they don't count by day.
    fn day_columns(&self, target: &Target) -> Option<DayColumns> {
        let (Some(slots), Some(_), [counter]) = (&target.slots, &self.day, &*target.names) else {
            return None;
        };
        let can_be_negative = self.can_be_negative(target);
        Some(DayColumns {
            day: self.database.quoted(&slots.day.name),
            counter: self.database.quoted(counter),
            stored: self.stored_name(target, counter),
            negative: can_be_negative.then(|| NegativeColumns {
                on_day: self.unused_name("negative"),
                on_all_days: self.unused_name("any_negative"),
            }),
        })
    }

    /// Returns the columns of every day: its key, its counts, the number of its entity's days that
    /// are wrong, and the number of rows that add less than 0 if there can be any.
    fn sums_of_day(&self, target: &Target, names: &DayColumns, wrong_days: &str) -> Vec<String> {
        let DayColumns {
            counter, stored, ..
        } = names;
        let entity_window = partition_by(&self.database.columns("", &target.entity));
        let mut columns = self.group(target);
        columns.extend([counter, stored].map(|name| format!("SUM({name}) AS {name}")));
        columns.push(format!(
            "SUM(CASE WHEN SUM({counter}) <> SUM({stored}) THEN 1 ELSE 0 END) OVER ({entity_window}) \
             AS {wrong_days}"
        ));
        if let Some(NegativeColumns { on_day, .. }) = &names.negative {
            columns.push(format!(
                "SUM(CASE WHEN {counter} < 0 THEN 1 ELSE 0 END) AS {on_day}"
            ));
        }
        columns
    }

    /// Names the columns and windows of a period, for example `lacks_in_month`.
    fn period_columns(&self, period: Period) -> PeriodColumns {
        let name = |what: &str| self.unused_name(&format!("{what}_{period}"));
        let window = name("in");
        let (first, folded_window) = if period == Period::Total {
            (self.sql.undated.to_owned(), self.unused_name("until_day"))
        } else {
            (name("start_index"), window.clone())
        };
        PeriodColumns {
            period,
            first,
            window,
            folded_window,
            lacks: name("lacks_in"),
            first_lacks: name("lacks_on_first_of"),
            others: name("others_in"),
        }
    }

    /// Whether a row can add less than 0.
    fn can_be_negative(&self, target: &Target) -> bool {
        let weights = target.sources.iter().flat_map(|source| &source.weights);
        weights.flatten().any(|weight| !weight.is_one())
    }

    /// Returns SQL for the day under which a fold stores a day's count. A week that begins in the
    /// month before is stored under the first day of its month.
    fn folded_day(&self, period: Period, day: &str) -> String {
        let start = self.sql.start_of(period, day);
        if period != Period::Week {
            return start;
        }
        let greatest = match self.database {
            SQLITE => "max",
            _ => "GREATEST",
        };
        let first_of_month = self.sql.start_of(Period::Month, day);
        format!("{greatest}({start}, {first_of_month})")
    }
}

impl PeriodColumns {
    /// Returns the definitions of the period's windows: `in_month AS (PARTITION BY …)`. `partition`
    /// is the entity, and the first days of this period and of longer ones.
    fn windows(&self, partition: &[String], day: &str) -> Vec<String> {
        let mut windows = Vec::new();
        let by_period = partition_by(partition);
        if self.period == Period::Total {
            // A fold into one row leaves later days as they are. The day needs its table's name
            // here, because MariaDB would otherwise take the day that it was moved to.
            let until_day = format!("{by_period} ORDER BY each_day.{day}");
            windows.push(format!(
                "{} AS ({})",
                self.folded_window,
                until_day.trim_start()
            ));
        }
        windows.push(format!("{} AS ({by_period})", self.window));
        windows
    }

    /// Returns the columns with the period's sums.
    fn sums(&self, names: &DayColumns) -> Vec<String> {
        let DayColumns {
            day,
            counter,
            stored,
            negative,
        } = names;
        let PeriodColumns {
            first,
            window,
            folded_window,
            ..
        } = self;
        let lacks = format!("{counter} - {stored}");
        let mut sums = vec![
            format!("SUM({lacks}) OVER {window} AS {}", self.lacks),
            // MariaDB takes quadratic time for MAX over a window.
            format!(
                "SUM(CASE WHEN {day} = {first} THEN {lacks} ELSE 0 END) OVER {window} AS {}",
                self.first_lacks
            ),
            format!(
                "SUM(CASE WHEN {day} > {first} AND {stored} > 0 THEN {stored} ELSE 0 END) OVER \
                 {folded_window} AS {}",
                self.others
            ),
        ];
        if let (Period::Total, Some(negative)) = (self.period, negative) {
            let NegativeColumns {
                on_day,
                on_all_days,
            } = negative;
            sums.push(format!("SUM({on_day}) OVER {window} AS {on_all_days}"));
        }
        sums
    }

    /// Returns the move that treats all days of the period as its first day, if their sum is right
    /// and the first day has more than its own rows. A fold has then merged them.
    fn move_if_right(&self, negative: Option<&NegativeColumns>) -> Move {
        let PeriodColumns {
            first,
            lacks,
            first_lacks,
            ..
        } = self;
        let can_be_merged = match negative {
            None => format!("{first_lacks} < 0"),
            // If rows can add less than 0, the first day can also have less than its own rows.
            Some(NegativeColumns { on_all_days, .. }) => {
                format!("({first_lacks} < 0 OR {on_all_days} > 0)")
            }
        };
        Move {
            condition: format!("{lacks} = 0 AND {can_be_merged}"),
            first: first.clone(),
        }
    }

    /// Returns the move that treats all days of the period as its first day, if that has more than
    /// its own rows and no other day has counts. A fold has then merged them, although their sum is
    /// wrong.
    fn move_if_alone(&self) -> Move {
        Move {
            condition: format!("{} < 0 AND {} = 0", self.first_lacks, self.others),
            first: self.first.clone(),
        }
    }
}

/// Returns `PARTITION BY article_id` for a window, or nothing if there are no columns.
pub fn partition_by(columns: &[String]) -> String {
    if columns.is_empty() {
        return String::new();
    }
    format!("PARTITION BY {}", columns.join(", "))
}
