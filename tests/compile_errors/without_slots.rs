//! `CounterSettings` that are written by hand need slots.

use diesel::prelude::*;
use diesel_counters::CounterSettings;
use diesel_counters::prelude::*;

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}

impl CounterSettings for article_counters::table {
    const TABLE: &'static Self = &article_counters::table;
    const SLOTS: i16 = 0;
}

fn main() {
    let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    increment(article_counters::views).of(1_i64).execute(conn).unwrap();
}
