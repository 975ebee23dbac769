//! The period of counters, as an option and in a file: `day`, `week`, `month`, `year` or `total`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use diesel_counters::Period;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

const NAMES: [&str; 5] = ["day", "week", "month", "year", "total"];

/// Parses the value of an option.
pub fn parser() -> impl TypedValueParser<Value = Period> {
    PossibleValuesParser::new(NAMES).try_map(|name| name.parse())
}

/// Parses a period that is longer than a day.
pub fn parser_of_longer() -> impl TypedValueParser<Value = Period> {
    PossibleValuesParser::new(&NAMES[1..]).try_map(|name| name.parse())
}

/// For `#[serde(with)]`.
pub fn serialize<S: Serializer>(period: &Period, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(period)
}

/// For `#[serde(with)]`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Period, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map_err(D::Error::custom)
}
