//! The tables of the programs in `src/bin`.
// Diesel's macros generate items without documentation.
#![allow(missing_docs)]

/// As `diesel print-schema` prints it.
pub mod schema {
    diesel::table! {
        articles (id) {
            id -> BigInt,
            title -> Text,
            total_views -> BigInt,
        }
    }
    diesel::table! {
        comments (id) {
            id -> BigInt,
            article_id -> BigInt,
            body -> Text,
        }
    }
    diesel::table! {
        article_counters (article_id, day, slot) {
            article_id -> BigInt,
            day -> Date,
            slot -> SmallInt,
            views -> BigInt,
            comments -> BigInt,
        }
    }
    diesel_counters::counter_table!(article_counters { parent = articles::id });
}
