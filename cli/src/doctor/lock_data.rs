//! A row's key, as InnoDB prints it.

use chrono::NaiveDate;

use crate::catalogue::Kind;

/// Reads `7, 1037685, 3`: the columns of the key, of which the entity may be text
/// with a comma in it.
pub fn row(lock_data: &str, entity: &[Kind]) -> Option<String> {
    let mut parts = lock_data.rsplitn(3, ", ");
    let slot: i16 = parts.next()?.trim().parse().ok()?;
    let packed: u32 = parts.next()?.trim().parse().ok()?;
    // A DATE is stored as year, month and day in 15, 4 and 5 bits.
    let day = NaiveDate::from_ymd_opt((packed >> 9) as i32, packed >> 5 & 15, packed & 31)?;
    let entity = match (parts.next(), entity) {
        (Some(key), [Kind::Binary]) => Some(key.strip_prefix("0x")?.to_lowercase()),
        (Some(key), [_]) => Some(unquoted(key)),
        (Some(key), [_, ..]) => Some(key.to_owned()),
        (None, []) => None,
        _ => return None,
    };
    let entity = entity.map_or(String::new(), |entity| format!("entity {entity}, "));
    Some(format!("{entity}day {day}, slot {slot}"))
}

fn unquoted(entity: &str) -> String {
    let text = entity.strip_prefix('\'').and_then(|e| e.strip_suffix('\''));
    text.map_or(entity.to_owned(), |text| text.replace("''", "'"))
}
