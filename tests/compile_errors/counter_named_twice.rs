//! A counter can be named once in a call.

use diesel::prelude::*;
use diesel_counters::prelude::*;

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(article_counters);

fn main() {
    use article_counters::views;

    let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    increment((views, views)).of(1_i64).execute(conn).unwrap();
}
