//! The period of counters as an option: `day`, `week`, `month`, `year` or `total`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use diesel_counters::Period;

const NAMES: [&str; 5] = ["day", "week", "month", "year", "total"];

/// Parses any period.
pub fn parser() -> impl TypedValueParser<Value = Period> {
    PossibleValuesParser::new(NAMES).try_map(|name| name.parse())
}

/// Parses a period that is longer than a day.
pub fn longer_period_parser() -> impl TypedValueParser<Value = Period> {
    PossibleValuesParser::new(&NAMES[1..]).try_map(|name| name.parse())
}
