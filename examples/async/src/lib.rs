//! The tables and the model of the examples in docs/pools.md.

use diesel::prelude::*;
use diesel_counters::HasCounters;

/// As `diesel print-schema` prints it.
#[allow(missing_docs)]
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
            likes -> BigInt,
            comments -> BigInt,
        }
    }
    diesel_counters::counter_table!(article_counters { parent = articles::id });
}

/// A model with counters.
#[derive(Debug, Clone, PartialEq, Queryable, Selectable, HasCounters)]
#[diesel(table_name = schema::articles)]
#[counters(table_name = schema::article_counters)]
pub struct Article {
    /// The key.
    pub id: i64,
    /// The headline.
    pub title: String,
}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/pools.md")]
struct Documentation;
