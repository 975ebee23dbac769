//! What `counted_by_database` refuses.

use diesel_counters::HasCounters;

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
        likes -> BigInt,
        note -> Text,
    }
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, counted_by_database(views, lieks))]
struct Misspelt {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, counted_by_database(likes, note))]
struct NotACounter {
    id: i64,
}

fn main() {}
