//! Names for generated SQL that no table and no column has.

use super::counting::Counting;
use super::statement::numbered;
use crate::catalogue::Table;

impl Counting {
    /// Returns this name, or this name with a number, so that no table's or column's name begins
    /// with it.
    pub fn unused_name(&self, name: &str) -> String {
        // Longer names are made from it too, for example `stored_likes` from `stored`.
        let begins = |other: &str, name: &str| {
            let begin = other.get(..name.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(name))
        };
        let has_column = |table: &Table, name: &str| {
            let mut columns = table.columns.iter();
            columns.any(|column| begins(&column.name, name))
        };
        let is_taken = |name: &str| {
            let mut tables = self.tables();
            tables.any(|table| begins(&table.name, name) || has_column(table, name))
        };
        let mut number = 0;
        while is_taken(&numbered(name, number)) {
            number += 1;
        }
        numbered(name, number)
    }
}
