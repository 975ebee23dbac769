//! A model whose key is of another type than its counter table's.

use diesel_counters::HasCounters;

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(article_counters);

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
struct Article {
    id: String,
}

fn main() {}
