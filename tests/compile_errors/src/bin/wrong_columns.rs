//! Keys of several columns, and what stands where a key or an amount should.

use diesel::prelude::*;
use diesel_counters::HasCounters as DeriveHasCounters;
use diesel_counters::dsl::{set_counter, total};
use diesel_counters::prelude::*;

diesel::table! {
    reaction_counters (article_id, emoji, day, slot) {
        article_id -> BigInt,
        emoji -> Text,
        day -> Date,
        slot -> SmallInt,
        given -> BigInt,
        taken -> BigInt,
    }
}
diesel_counters::counter_table!(reaction_counters);

diesel::table! {
    articles (id) { id -> BigInt }
}

use reaction_counters::given;

#[derive(DeriveHasCounters)]
#[counters(table_name = reaction_counters)]
struct Article {
    id: i64,
}

/// A connection of another crate.
struct AsyncConnection;

fn main() {
    let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    let article = Article { id: 1 };

    // A column of the key is missing.
    increment(given).of(1).execute(conn).unwrap();
    let _ = set_counter(given).of(1);
    article.incr_counter(given, conn).unwrap();

    // A column has another type, or there are too many.
    let _ = counter_value(given).of((1, 2));
    let _ = counter_value(given).of((1, "a", "b"));
    let _ = total(given).of((articles::id, 3));
    let _ = counter_value(given).of_any(reaction_counters::table.select(reaction_counters::emoji));

    // A column of another table.
    let _ = counter_value(given).group_by(articles::id);

    // A connection that is not Diesel's.
    set_counter(given).of((1, "a")).execute(&mut AsyncConnection).unwrap();
}
