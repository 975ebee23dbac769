//! Names for generated SQL that no table and no column has.

use super::counting::Counting;
use super::statement::numbered;
use crate::catalogue::Table;

impl Counting {
    /// Returns this name, or this name with a number, so that no table's or column's name begins
    /// with it. Longer names are made from it too, for example `stored_likes` from `stored`.
    pub fn unused_name(&self, name: &str) -> String {
        let is_taken = |candidate: &str| {
            let mut tables = self.tables();
            tables.any(|table| has_name_that_begins_with(candidate, table))
        };
        let mut tries = 0;
        while is_taken(&numbered(name, tries)) {
            tries += 1;
        }
        numbered(name, tries)
    }
}

/// Whether the name of the table, or of one of its columns, begins with this text, in any case.
fn has_name_that_begins_with(text: &str, table: &Table) -> bool {
    let columns = table.columns.iter().map(|column| &column.name);
    let mut names = [&table.name].into_iter().chain(columns);
    names.any(|name| {
        let begin = name.get(..text.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(text))
    })
}
