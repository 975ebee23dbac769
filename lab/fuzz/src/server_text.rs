//! Texts of a server, which the command reads.

use crate::catalogue::{Kind, is_zero};
use crate::doctor::mysql::lock_row;
use crate::output::{printable, wrapped};

/// A text is read or not, and what is shown of it cannot steer a terminal.
pub fn check(text: &str) {
    for kind in [
        &[][..],
        &[Kind::BigInt],
        &[Kind::Unsigned],
        &[Kind::Text],
        &[Kind::Binary],
        &[Kind::Uuid],
        &[Kind::BigInt, Kind::Text],
    ] {
        let _ = lock_row(text, kind);
    }
    is_zero(text);

    assert!(!printable(text).contains(char::is_control));
    assert_eq!(wrapped(text, 20).join(" "), text);
}

/// A key as InnoDB prints it is the key that was stored.
pub fn check_key(key: &str, day: u32, slot: i16) {
    let (year, month) = (day % 9999 + 1, day / 9999 % 12 + 1);
    let day = day / 9999 / 12 % 28 + 1;
    let packed = year << 9 | month << 5 | day;
    let data = format!("'{}', {packed}, {slot}", key.replace('\'', "''"));
    let row = lock_row(&data, &[Kind::Text]).unwrap();
    assert_eq!(
        row,
        format!("entity {key}, day {year:04}-{month:02}-{day:02}, slot {slot}")
    );
}
