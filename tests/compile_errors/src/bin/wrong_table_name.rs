//! A table that is not there.

use diesel_counters::HasCounters;

#[derive(HasCounters)]
#[counters(table_name = no_such_table)]
struct NoSuchTable {
    id: i64,
}

fn main() {}
