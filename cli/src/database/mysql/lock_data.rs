//! A row's key, as InnoDB prints it.

use chrono::NaiveDate;

use crate::catalogue::Kind;
use crate::doctor::report::Row;
use crate::entity;

/// Reads `7, 1037685, 3`: the columns of the key, of which the entity may be text
/// with a comma in it.
pub fn row(lock_data: &str, entity: &[Kind]) -> Option<Row> {
    let mut parts = lock_data.rsplitn(3, ", ");
    let slot = parts.next()?.trim().parse().ok()?;
    let day = day(parts.next()?.trim().parse().ok()?)?;
    let entity = match (parts.next(), entity) {
        (Some(key), [Kind::Binary]) => Some(key.strip_prefix("0x")?.to_lowercase()),
        (Some(key), [_]) => Some(unquoted(key)),
        (Some(key), [_, ..]) => Some(key.to_owned()),
        (None, []) => None,
        _ => return None,
    };
    Some(Row { entity, day, slot })
}

/// A DATE is stored as year, month and day in 15, 4 and 5 bits.
fn day(packed: u32) -> Option<String> {
    let date = NaiveDate::from_ymd_opt((packed >> 9) as i32, packed >> 5 & 15, packed & 31)?;
    Some(date.to_string())
}

fn unquoted(entity: &str) -> String {
    let text = entity.strip_prefix('\'').and_then(|e| e.strip_suffix('\''));
    text.map_or(entity.to_owned(), |text| text.replace("''", "'"))
}

/// Reads the fields of a record in InnoDB's status, in hex: whole numbers have their
/// sign bit turned over, so that they sort as bytes.
pub fn row_of_fields(fields: &[&str], entity: &[Kind]) -> Option<Row> {
    let (of_entity, fields) = fields.split_at_checked(entity.len())?;
    let keys = of_entity.iter().zip(entity);
    let keys = keys.map(|(key, kind)| self::key(key, *kind));
    let keys: Vec<_> = keys.collect::<Option<_>>()?;
    let entity = (!keys.is_empty()).then(|| keys.join(", "));
    let [date, slot, ..] = fields else {
        return None;
    };
    Some(Row {
        entity,
        day: day(u32::from_str_radix(date, 16).ok()? & 0x7f_ffff)?,
        slot: signed(slot)?,
    })
}

fn signed(hex: &str) -> Option<i64> {
    let bits = 4 * hex.len() as u32;
    let stored = i128::from_str_radix(hex, 16).ok()?;
    let zero = 1_i128.checked_shl(bits.checked_sub(1)?)?;
    stored.checked_sub(zero)?.try_into().ok()
}

fn key(hex: &str, kind: Kind) -> Option<String> {
    match kind {
        Kind::Unsigned => Some(u64::from_str_radix(hex, 16).ok()?.to_string()),
        kind if kind.is_integer() => Some(signed(hex)?.to_string()),
        Kind::Text => String::from_utf8(entity::bytes(hex).ok()?).ok(),
        _ => Some(hex.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(row: Option<Row>) -> String {
        let entity = |row: &Row| row.entity.clone().unwrap_or_default();
        let told = |row: Row| format!("{} {} {}", entity(&row), row.day, row.slot);
        row.map_or(String::new(), told)
    }

    #[test]
    fn a_key_is_read_from_lock_data() {
        for (data, kind, expected) in [
            ("7, 1037685, 3", &[Kind::BigInt][..], "7 2026-11-21 3"),
            (
                "'it''s, b', 1037685, 3",
                &[Kind::Text][..],
                "it's, b 2026-11-21 3",
            ),
            (
                "0x00FFAB27, 1037685, 3",
                &[Kind::Binary][..],
                "00ffab27 2026-11-21 3",
            ),
            (
                "7, 'it''s', 1037685, 3",
                &[Kind::BigInt, Kind::Text],
                "7, 'it''s' 2026-11-21 3",
            ),
            ("1037685, 3", &[], " 2026-11-21 3"),
            ("1037685, 3", &[Kind::BigInt][..], ""),
            ("supremum pseudo-record", &[Kind::BigInt][..], ""),
        ] {
            assert_eq!(told(row(data, kind)), expected);
        }
    }

    #[test]
    fn a_key_is_read_from_the_fields_of_a_record() {
        let fields = ["8000000000000007", "8fd575", "8003", "000000000882"];
        let text = ["666f6f", "8fd574", "8020"];
        for (fields, kind, expected) in [
            (&fields[..], &[Kind::BigInt][..], "7 2026-11-21 3"),
            (
                &fields,
                &[Kind::Unsigned][..],
                "9223372036854775815 2026-11-21 3",
            ),
            (&fields[1..], &[], " 2026-11-21 3"),
            (&text, &[Kind::Text][..], "foo 2026-11-20 32"),
            (&text, &[Kind::Binary][..], "666f6f 2026-11-20 32"),
            (
                &["7fffffff", "8fd574", "8000"],
                &[Kind::Integer][..],
                "-1 2026-11-20 0",
            ),
            (
                &["80000007", "666f6f", "8fd574", "8000"],
                &[Kind::Integer, Kind::Text],
                "7, foo 2026-11-20 0",
            ),
            (&["80"], &[Kind::Integer][..], ""),
            // Longer than any integer.
            (
                &[&"7".repeat(32), "8fd574", "8000"],
                &[Kind::Integer][..],
                "",
            ),
        ] {
            assert_eq!(told(row_of_fields(fields, kind)), expected);
        }
    }
}
