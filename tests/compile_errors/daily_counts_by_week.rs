//! A model that counts by week has no daily counts.

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

#[derive(HasCounters)]
#[counters(table_name = article_counters, period = "week")]
struct Article {
    id: i64,
}

fn main() {
    let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    let article = Article { id: 1 };
    article.daily_counts(article_counters::views, .., conn).unwrap();
}
