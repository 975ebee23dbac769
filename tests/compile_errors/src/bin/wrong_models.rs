//! Models that the derive refuses.

use diesel_counters::HasCounters;
use diesel_counters_tests::schema::article_counters;

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
#[counters()]
struct NoTableName {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = "article_counters")]
struct QuotedTableName {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, slots = 32)]
struct SettingOfTheTable {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters, table_name = article_counters)]
struct NamedTwice {
    id: i64,
}

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
#[counters(table_name = article_counters)]
struct SameTableTwice {
    id: i64,
}

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
