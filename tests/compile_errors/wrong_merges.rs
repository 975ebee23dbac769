//! What cannot be merged.

use diesel_counters::dsl::{compact, fold};

diesel::table! {
    articles (id) {
        id -> BigInt,
        title -> Text,
    }
}

diesel::table! {
    // No key that a program without a model could read.
    hour_counters (hour, day, slot) {
        hour -> Time,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(hour_counters);

fn main() {
    let _ = compact(articles::table);
    let _ = fold(articles::table);
    let _ = compact(hour_counters::table);
}
