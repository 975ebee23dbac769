//! The tables of the shop and of the examples in docs/pools.md, and what the shop reads and writes.

mod cancel;
mod product;
mod sell;

use diesel::prelude::*;
use diesel_counters::HasCounters;

pub use cancel::cancel;
pub use product::product;
pub use sell::sell;

/// As `diesel print-schema` prints it.
// Diesel's macros generate items without documentation.
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

    diesel::table! {
        products (id) {
            id -> BigInt,
            name -> Text,
        }
    }

    diesel::table! {
        orders (id) {
            id -> BigInt,
            product_id -> BigInt,
            units -> BigInt,
        }
    }

    diesel::table! {
        product_counters (product_id, day, slot) {
            product_id -> BigInt,
            day -> Date,
            slot -> SmallInt,
            views -> BigInt,
            sold -> BigInt,
        }
    }
    diesel_counters::counter_table!(product_counters {
        parent = products::id,
        counted_by_database = (sold),
    });

    diesel::table! {
        stock (product_id, day, slot) {
            product_id -> BigInt,
            day -> Date,
            slot -> SmallInt,
            remaining -> BigInt,
        }
    }
    diesel_counters::counter_table!(stock {
        parent = products::id,
        period = Total,
        stock = (remaining),
    });
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
