//! A `CountersOf` that is written by hand needs slots.

use diesel::prelude::*;
use diesel_counters::CountersOf;
use diesel_counters::prelude::*;

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}

struct Article {
    id: i64,
}

impl HasCounters for Article {
    type Key = i64;
    type KeyRef<'a> = &'a i64;
    type KeyColumns = diesel_counters::Columns<1>;
    type CounterTables = ();

    fn counter_key(&self) -> &i64 {
        &self.id
    }
}

impl CountersOf<Article> for article_counters::table {
    const SLOTS: i16 = 0;
}

fn main() {
    let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    let article = Article { id: 1 };
    article.incr_counter(article_counters::views, conn).unwrap();
}
