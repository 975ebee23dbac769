//! A setting of counters that names a column of the key.

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(article_counters { counted_by_database = (views, article_id) });

fn main() {}
