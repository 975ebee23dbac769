//! A row's key, as InnoDB prints it.

use chrono::NaiveDate;

use crate::catalogue::Kind;
use crate::doctor::report::Row;

/// Reads `7, 1037685, 3`: the columns of the key, of which the entity may be text
/// with a comma in it.
pub fn row(lock_data: &str, entity: Option<Kind>) -> Option<Row> {
    let mut parts = lock_data.rsplitn(3, ", ");
    let slot = parts.next()?.trim().parse().ok()?;
    let day = day(parts.next()?.trim().parse().ok()?)?;
    let entity = match (parts.next(), entity) {
        (Some(key), Some(Kind::Binary)) => Some(key.strip_prefix("0x")?.to_lowercase()),
        (Some(key), Some(_)) => Some(unquoted(key)),
        (None, None) => None,
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
pub fn row_of_fields(fields: &[&str], entity_type: Option<&str>) -> Option<Row> {
    let [entity, day_and_slot @ ..] = fields else {
        return None;
    };
    let (entity, [date, slot, ..]) = (match entity_type {
        Some(data_type) => (Some(entity_of_hex(entity, data_type)?), day_and_slot),
        None => (None, fields),
    }) else {
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
    (stored - (1 << bits.checked_sub(1)?)).try_into().ok()
}

fn entity_of_hex(hex: &str, data_type: &str) -> Option<String> {
    let data_type = data_type.to_lowercase();
    if data_type.contains("int") {
        return if data_type.contains("unsigned") {
            Some(u64::from_str_radix(hex, 16).ok()?.to_string())
        } else {
            Some(signed(hex)?.to_string())
        };
    }
    if data_type.contains("char") || data_type.contains("text") {
        let bytes =
            (0..hex.len() / 2).map(|i| u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok());
        return String::from_utf8(bytes.collect::<Option<_>>()?).ok();
    }
    Some(hex.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(entity: Option<&str>, day: &str, slot: i64) -> Option<Row> {
        Some(Row {
            entity: entity.map(str::to_owned),
            day: day.to_owned(),
            slot,
        })
    }

    #[test]
    fn a_key_is_read_from_lock_data() {
        assert_eq!(
            row("7, 1037685, 3", Some(Kind::BigInt)),
            key(Some("7"), "2026-11-21", 3)
        );
        assert_eq!(
            row("'it''s, b', 1037685, 3", Some(Kind::Text)),
            key(Some("it's, b"), "2026-11-21", 3)
        );
        assert_eq!(row("1037685, 3", None), key(None, "2026-11-21", 3));
        assert_eq!(row("1037685, 3", Some(Kind::BigInt)), None);
        assert_eq!(row("supremum pseudo-record", Some(Kind::BigInt)), None);
        assert_eq!(
            row("0x00FFAB27, 1037685, 3", Some(Kind::Binary)),
            key(Some("00ffab27"), "2026-11-21", 3)
        );
    }

    #[test]
    fn a_key_is_read_from_the_fields_of_a_record() {
        let fields = ["8000000000000007", "8fd575", "8003", "000000000882"];
        assert_eq!(
            row_of_fields(&fields, Some("bigint")),
            key(Some("7"), "2026-11-21", 3)
        );
        assert_eq!(
            row_of_fields(&fields[1..], None),
            key(None, "2026-11-21", 3)
        );
        let text = ["666f6f", "8fd574", "8020"];
        assert_eq!(
            row_of_fields(&text, Some("varchar(20)")),
            key(Some("foo"), "2026-11-20", 32)
        );
        assert_eq!(
            row_of_fields(&text, Some("varbinary(20)")),
            key(Some("666f6f"), "2026-11-20", 32)
        );
        assert_eq!(
            row_of_fields(&["7fffffff", "8fd574", "8000"], Some("int")),
            key(Some("-1"), "2026-11-20", 0)
        );
        assert_eq!(row_of_fields(&["80"], Some("int")), None);
    }
}
