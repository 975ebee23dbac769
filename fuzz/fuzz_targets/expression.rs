#![no_main]

use diesel_counters::Dialect;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for dialect in [Dialect::PostgreSql, Dialect::MySql, Dialect::Sqlite] {
        fuzz::expression::check(text, dialect);
    }
});
