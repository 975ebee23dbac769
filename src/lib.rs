//! Slotted, transactional counters for Diesel models.
//!
//! An `UPDATE` of a counter locks its row until the transaction commits, so transactions that count
//! the same thing wait for each other. This crate spreads a counter over several rows, called
//! *slots*: there's a row for each entity, day and slot. Each database connection adds to its own
//! slot, and reading adds the rows up. Counting is part of your transaction: it commits or rolls
//! back together with your other rows.
//!
//! To begin, read [Getting started](guide::start) in the [`guide`].
//!
//! ```
//! # include!("../docs/doctest_setup.rs");
//! # fn main() -> diesel::QueryResult<()> {
//! # let conn = &mut establish_connection();
//! # let new_comment = (schema::comments::article_id.eq(1), schema::comments::body.eq("Nice."));
//! use diesel_counters::prelude::*;
//! use schema::article_counters::{comments, views};
//!
//! # let article: Article = articles::table.find(1).first(conn)?;
//! article.incr_counter(views, conn)?;
//! conn.transaction(|conn| {
//!     diesel::insert_into(schema::comments::table).values(&new_comment).execute(conn)?;
//!     article.incr_counter(comments, conn)
//! })?;
//!
//! let (v, c): (i64, i64) = article.counter_value((views, comments), conn)?;
//! assert_eq!((v, c), (1, 1));
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! | to | use |
//! | --- | --- |
//! | declare a [counter table](CounterTable), and a model that has counters | [`counter_table!`], [`derive(HasCounters)`](derive@HasCounters) |
//! | count | [`incr_counter`](HasCounters::incr_counter), [`increment`] |
//! | count in memory, for page views and downloads | [`CounterBuffer`] |
//! | write a row and count it in one statement, on PostgreSQL | [`CountingDsl`] |
//! | take units of a stock that never goes below 0 | [`take`](dsl::take()) |
//! | read counters | [`counter_value`](HasCounters::counter_value), [`counter_values`](HasCounters::counter_values) for a page of models |
//! | use a total in any query on the parent table | [`total`] |
//! | read counts by day, week, month or year | [`counter_series`](dsl::counter_series()) |
//! | find the entities with the highest totals | [`ranking`] |
//! | sort a large table by a count | [`materialize`](HasCounters::materialize) |
//! | correct, import or remove counts | [`set_counter`](dsl::set_counter()), [`recount`](dsl::recount()), [`delete_counters`](dsl::delete_counters()) |
//! | merge old rows | [`compact`], [`fold`], a [`Compactor`] thread |
//! | retry transactions, or write their counts in one order | [`retry()`], [`counting_transaction`] |
//! | choose slots | [`Slot`], [`claim_slot`], [`ClaimSlots`] |
//!
//! Counts are `i64`s. A write or a read that would leave this range fails with an
//! [overflow](is_overflow()). A stored count never wraps, saturates or turns into a floating-point
//! number.
//!
//! # Databases
//!
//! You can use PostgreSQL, MySQL 8.0, MariaDB 10.6 and SQLite 3.35, and later versions. For a
//! [`MultiConnection`](diesel::MultiConnection), call [`counter_backend!`].
//!
//! Statements that run often are prepared once per connection, except for queries that read several
//! rows on MySQL and MariaDB. MariaDB's client library hangs if it runs a prepared query again
//! after it failed to read the rows, because of a deadlock, a timeout or a `KILL`. Your own queries
//! have the same problem with this library;
//! [`CacheSize::Disabled`](diesel::connection::CacheSize::Disabled) avoids it.
//!
//! # Crate features
//!
//! No feature is enabled by default.
//!
//! - `postgres`, `mysql`, `sqlite`: the backends. `postgres` and `mysql` link no client library;
//!   `sqlite` links libsqlite3, as Diesel's own feature does.
//! - `r2d2`: adds [`ClaimSlots`] for Diesel's pool.
//!
//! [`CountingDsl`]: prelude::CountingDsl
//! [`increment`]: dsl::increment()
//! [`total`]: dsl::total()
//! [`ranking`]: dsl::ranking()
//! [`compact`]: dsl::compact()
//! [`fold`]: dsl::fold()
//! [`claim_slot`]: dsl::claim_slot()

#![deny(missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// Implements `Debug` for a type that holds closures or a connection. It prints only the type's
/// name.
macro_rules! opaque_debug {
    ($Name:ident<$($parameter:tt),*>) => {
        impl<$($parameter),*> std::fmt::Debug for $Name<$($parameter),*> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($Name)).finish_non_exhaustive()
            }
        }
    };
}

mod add;
mod background;
pub mod bounds;
pub mod buffer;
mod claim;
pub mod compactor;
mod correct;
mod day;
mod error;
mod key;
mod merge;
mod model;
mod read;
mod retry;
mod shape;
mod slot;
mod sql;
mod typed;

pub use add::transaction::{CountingTransaction, counting_transaction};
pub use background::BackgroundError;
pub use buffer::counter_buffer::CounterBuffer;
#[cfg(feature = "r2d2")]
pub use claim::ClaimSlots;
pub use compactor::thread::Compactor;
pub use correct::recount::Drift;
pub use day::{ParsePeriodError, Period};
pub use error::{is_overflow, is_retryable};
pub use merge::compact::Compacted;
pub use model::HasCounters;
pub use retry::{Retry, retry, retry_if};
pub use slot::Slot;
pub use sql::backend::{CounterBackend, Dialect};
pub use typed::table::{CounterTable, counter_table};

/// Used by the macros and by the command `diesel-counters`. It can change in any release.
#[doc(hidden)]
pub mod __private {
    pub use crate::buffer::writer::write_once;
    pub use crate::key::{BindKey, Columns, LoadKey};
    pub use crate::model::assert_key;
    pub use crate::shape::{Name, Shape, TableName};
    pub use crate::slot::DEFAULT_SLOTS;
    pub use crate::sql::Values;
    pub use crate::typed::counters::name_of;
    pub use crate::typed::table::{KeyTypeOf, shape};
    pub use chrono::NaiveDate;
}

/// The functions that build statements and queries, and the types they return.
///
/// Import the functions that aren't in the [`prelude`] from here, as you would from
/// [`diesel::dsl`]. [`bounds`] explains the parameters of the types.
pub mod dsl {
    pub use crate::add::increment::{Increment, increment};
    pub use crate::add::many::IncrementMany;
    #[cfg(feature = "postgres")]
    pub use crate::add::statement::CountingStatement;
    pub use crate::claim::{ClaimSlot, claim_slot};
    pub use crate::correct::delete::{DeleteCounters, delete_counters};
    pub use crate::correct::recount::{Recount, recount};
    pub use crate::correct::set::{SetCounter, set_counter};
    pub use crate::correct::set_days::SetDays;
    pub use crate::correct::stock::{Take, put_back, take};
    pub use crate::merge::compact::{Compact, CompactOf, Fold, compact, fold};
    pub use crate::merge::materialize::{Materialize, MaterializeOf};
    pub use crate::read::ranking::{Ranking, ranking};
    pub use crate::read::series::{PeriodCounts, Series, counter_series};
    pub use crate::read::sums::Sums;
    pub use crate::read::total::{Total, TotalBetween, total};
    pub use crate::read::value::{CounterValue, GroupedCounts, counter_value};
}

/// The traits and functions that most programs need.
pub mod prelude {
    pub use crate::HasCounters;
    #[cfg(feature = "postgres")]
    pub use crate::add::statement::CountingDsl;
    pub use crate::dsl::{counter_series, counter_value, increment, ranking};
}

#[cfg(any(doc, doctest))]
pub mod guide;
