//! Texts of a server, which the command reads.

use crate::catalogue::{Kind, Parent, is_zero};
use crate::output::{columns, printable, wrapped};
use crate::{lock_data, replace};

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
        let _ = lock_data::row(text, kind);
        let _ = lock_data::row_of_fields(&text.split(';').collect::<Vec<_>>(), kind);
    }
    let parent = Parent {
        in_schema: "blog".to_owned(),
        table: "articles".to_owned(),
        column: "id".to_owned(),
        on_delete: "CASCADE".to_owned(),
        on_update: "NO ACTION".to_owned(),
        deferrable: "NOT DEFERRABLE".to_owned(),
    };
    replace::replaces(text, "blog", &parent);
    replace::replaces_on_conflict(text);
    // A comment before a statement changes nothing.
    let replaces = replace::replaces(text, "blog", &parent);
    let commented = format!("/* replace */ {text}");
    assert_eq!(replace::replaces(&commented, "blog", &parent), replaces);
    is_zero(text);

    assert!(!printable(text).contains(char::is_control));
    let table = columns(&["column"], &[], vec![vec![text.to_owned()]]);
    assert!(!table.contains(|c: char| c.is_control() && c != '\n'));
    assert_eq!(wrapped(text, 20).join(" "), text);
}

/// A key as InnoDB prints it is the key that was stored.
pub fn check_key(key: &str, day: u32, slot: i16) {
    let (year, month) = (day % 9999 + 1, day / 9999 % 12 + 1);
    let day = day / 9999 / 12 % 28 + 1;
    let packed = year << 9 | month << 5 | day;
    let data = format!("'{}', {packed}, {slot}", key.replace('\'', "''"));
    let row = lock_data::row(&data, &[Kind::Text]).unwrap();
    assert_eq!(row.entity.as_deref(), Some(key));
    assert_eq!(row.day, format!("{year:04}-{month:02}-{day:02}"));
    assert_eq!(row.slot, i64::from(slot));
}
