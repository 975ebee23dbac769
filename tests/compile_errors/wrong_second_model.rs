//! Two models that both say of which rows totals are.

use diesel_counters::HasCounters;

diesel::table! {
    articles (id) {
        id -> BigInt,
    }
}
diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}

#[derive(HasCounters)]
#[diesel(table_name = articles)]
#[counters(table_name = article_counters)]
struct Article {
    id: i64,
}

#[derive(HasCounters)]
#[diesel(table_name = articles)]
#[counters(table_name = article_counters)]
struct ArticleSummary {
    id: i64,
}

fn main() {}
