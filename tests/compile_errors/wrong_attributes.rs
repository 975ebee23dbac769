//! Attributes that the derive refuses.

use diesel_counters::HasCounters;

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}

#[derive(HasCounters)]
struct NoTable {
    id: i64,
}

#[derive(HasCounters)]
#[counters]
struct NothingSaid {
    id: i64,
}

#[derive(HasCounters)]
#[counters(slots = 32)]
struct NoTableName {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = "article_counters")]
struct QuotedTableName {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, shards = 32)]
struct UnknownWord {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, slots = 0)]
struct NoSlots {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, slots = 32768)]
struct TooManySlots {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, slots = -1)]
struct NegativeSlots {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, slots = "32")]
struct QuotedSlots {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, period = "year")]
struct UnknownPeriod {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, period = Week)]
struct BarePeriod {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, slots = 1, slots = 2)]
struct SaidTwice {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, today = not_a_day)]
struct TodayOfAnotherType {
    id: i64,
}

fn not_a_day() -> &'static str {
    "today"
}

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
#[counters(table_name = article_counters)]
struct SameTableTwice {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, counted_by_database = views)]
struct CountersWithoutParentheses {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, counted_by_database("views"))]
struct QuotedCounter {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, counted_by_database())]
struct NoCounters {
    id: i64,
}

fn main() {}
