//! A row's key, as InnoDB prints it.

use chrono::NaiveDate;

use super::seen::Row;
use crate::catalogue::Kind;

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
}
