//! Models without a key of a single column.

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
#[diesel(primary_key(year, number))]
#[counters(table_name = article_counters)]
struct CompositeKey {
    year: i64,
    number: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
struct NoId {
    title: String,
}

#[derive(HasCounters)]
#[diesel(primary_key(number))]
#[counters(table_name = article_counters)]
struct NoSuchField {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
enum NotAStruct {
    Article,
}

fn main() {}
