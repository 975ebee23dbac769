//! An entity's key, given as text on the command line.

use anyhow::{Context, Result, bail};
use chrono::NaiveDate;

use crate::catalogue::{Column, Kind};
use crate::database::Database;
use crate::sql::{Sql, sql};

/// `key = text`, bound as the type of the column.
pub fn equal(database: Database, key: &Column, text: &str) -> Result<Sql> {
    let is_not = |what| format!("{} is {what}, and {text} is not", key.name);
    let equals = sql(format!("{} = ", database.quoted(&key.name)));
    Ok(match database.stored_as(key.kind) {
        Kind::SmallInt | Kind::Integer | Kind::BigInt | Kind::OtherInteger => {
            equals.bind(text.parse::<i64>().with_context(|| is_not("an integer"))?)
        }
        // No backend binds it.
        Kind::Unsigned => {
            let number = text.parse::<u64>();
            let number = number.with_context(|| is_not("an integer without a sign"))?;
            equals.sql(number.to_string())
        }
        Kind::Date => {
            let day = text.parse::<NaiveDate>();
            equals.bind(day.with_context(|| is_not("a date"))?)
        }
        Kind::Binary => equals.bind(bytes(text).with_context(|| is_not("hexadecimal digits"))?),
        Kind::Text => equals.bind(text),
        Kind::Uuid | Kind::Real | Kind::Other => database.is_text(key, text),
    })
}

/// Reads hexadecimal digits.
pub fn bytes(digits: &str) -> Result<Vec<u8>> {
    if digits.len() % 2 == 1 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        bail!("it is not an even number of hexadecimal digits");
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| Ok(u8::from_str_radix(&digits[at..at + 2], 16)?))
        .collect()
}
