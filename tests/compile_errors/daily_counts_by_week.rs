//! A table that counts by week has no daily counts.

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
diesel_counters::counter_table!(article_counters { period = Week });

#[derive(HasCounters)]
#[counters(table_name = article_counters)]
struct Article {
    id: i64,
}

fn main() {
    let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    let article = Article { id: 1 };
    article.daily_counts(article_counters::views, .., conn).unwrap();
}
