//! The tables that are measured.

diesel::table! {
    bench_articles (id) {
        id -> BigInt,
        title -> Text,
        total_views -> BigInt,
    }
}

macro_rules! comments {
    ($name:ident) => {
        diesel::table! {
            $name (id) { id -> BigInt, article_id -> BigInt, body -> Text }
        }
    };
}
comments!(bench_comments);
comments!(bench_counted_comments);
comments!(bench_hot_comments);

/// The text of each comment.
pub const BODY: &str = "What is counted is a comment like this one.";

diesel::table! {
    bench_article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
        likes -> BigInt,
        comments -> BigInt,
    }
}
diesel_counters::counter_table!(bench_article_counters { slots = 64 });

// The same table, in which an increment writes a random slot.
diesel::table! {
    #[sql_name = "bench_article_counters"]
    bench_random_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(bench_random_counters { slots = 64, slot = Random });

diesel::table! {
    bench_tickets (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        remaining -> BigInt,
    }
}
diesel_counters::counter_table!(bench_tickets { slots = 64, period = Total, stock = (remaining) });

diesel::table! {
    bench_hits (article_id) {
        article_id -> BigInt,
        views -> BigInt,
    }
}
