//! Slotted, transactional counters for Diesel models.
//!
//! When many transactions count the same thing, they wait for one row lock. This crate stores
//! a counter as several rows, each for an entity, a day and a *slot*. A transaction adds to one of
//! them, and a read sums them. The count is part of the caller's transaction: it commits and rolls
//! back with the other rows of that transaction.
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
//! # A counter is a Diesel column
//!
//! A [counter table](CounterTable) is an ordinary Diesel table whose primary key is
//! `(entity, day, slot)`. Each of its other `BigInt` columns is a counter. Its `table!` is what
//! `diesel print-schema` prints, and [`counter_table!`] declares it. The repository has a reference
//! migration for each database, in `migrations/`.
//!
//! # Writing
//!
//! [Derive](derive@HasCounters) [`HasCounters`](trait@HasCounters) on a model. It then has methods such
//! as `incr_counter` and `counter_value`. Without a model, use the functions of the [`dsl`] module, such
//! as [`increment`]: `increment(views).of(id)`. All of them run Diesel statements, so connection pools
//! and instrumentation work as usual. `debug_query` prints those that are one statement.
//!
//! On PostgreSQL, one statement can write a row and count it, without a transaction: see [`CountingDsl`].
//! A [`CounterBuffer`] counts in memory and writes every second, for page views and downloads.
//!
//! # Reading
//!
//! | to read | use |
//! | --- | --- |
//! | the counters of one model | [`counter_value`](HasCounters::counter_value), [`counter_value_between`](HasCounters::counter_value_between) |
//! | the counters of all models on a page | [`counter_values`](HasCounters::counter_values), one query for up to 1,000 |
//! | a total in any query of the parent table | [`total`] |
//! | counts by day, week, month or year | [`daily_counts`](HasCounters::daily_counts), [`counter_series`](dsl::counter_series()) |
//! | the entities with the greatest totals | [`ranking`] |
//!
//! To sort or filter a large table by a count, [`materialize`](HasCounters::materialize) it into a column.
//!
//! # Correcting counts, and keeping tables small
//!
//! | to | use |
//! | --- | --- |
//! | set a counter to a value, or import counts | [`set_counter`](dsl::set_counter()) |
//! | correct counters from the rows that they count, or report drift | [`recount`](dsl::recount()) |
//! | remove counters | [`delete_counters`](dsl::delete_counters()) |
//! | merge the slots of each past day into one row | [`compact`] |
//! | merge old days into months or years, or into one row without a day | [`fold`] |
//!
//! Other transactions can count at the same time. A [`Compactor`] is a background thread that merges; the
//! command `diesel-counters` merges too, reports contention, and corrects the counters of triggers.
//!
//! # Transactions
//!
//! The caller owns the transaction. Counting or reading one entity is one statement, in the current
//! transaction or savepoint. A correction runs several statements in a transaction, or in a savepoint if
//! a transaction is open already. A merge runs many short transactions of its own, and fails if a
//! transaction is open.
//!
//! [`retry()`] runs a transaction again if it conflicts with others. [`counting_transaction`] gathers
//! the increments of a transaction, and writes them at its end in one order.
//!
//! On SQLite, use [`immediate_transaction`](diesel::SqliteConnection::immediate_transaction) for a
//! transaction that counts. Otherwise a transaction that reads before it writes fails at once with
//! "database is locked" if another connection has written in between.
//!
//! # Slots, days, range
//!
//! Each database connection counts in its own [`Slot`], so that transactions that are open at the same
//! time write different rows. This requires twice as many slots as there are connections that count;
//! [`DEFAULT_SLOTS`] is 32. On MySQL and MariaDB, add [`ClaimSlots`] to the pool, or run [`claim_slot`]
//! on each new connection.
//!
//! A count is stored under a day: today in UTC, unless the table or the statement sets another one. A
//! table can also count by week, month or year, or in total; see [`Period`].
//!
//! A count is an `i64`. A write or a read that would leave this range fails with an
//! [overflow](is_overflow()). A count never wraps, saturates or becomes a floating point number.
//!
//! # Databases
//!
//! PostgreSQL, MySQL 8.0, MariaDB 10.6 and SQLite 3.35, and later versions. For a
//! [`MultiConnection`](diesel::MultiConnection), write [`counter_backend!`].
//!
//! Hot statements are prepared once for each connection, except queries of several rows on MySQL and
//! MariaDB: MariaDB's client library hangs when it runs a prepared query again whose rows it could not
//! read, because of a deadlock, a timeout or a `KILL`. Your own queries have the same problem with this
//! library; [`CacheSize::Disabled`](diesel::connection::CacheSize::Disabled) avoids it.
//!
//! # Crate features
//!
//! No feature is enabled by default.
//!
//! - `postgres`, `mysql`, `sqlite`: the backends, through Diesel's. `postgres` and `mysql` link no
//!   client library; `sqlite` links libsqlite3, as Diesel's own does.
//! - `r2d2`: [`ClaimSlots`], for Diesel's pool.
//!
//! [`CountingDsl`]: prelude::CountingDsl
//! [`increment`]: dsl::increment()
//! [`counter_value`]: dsl::counter_value()
//! [`total`]: dsl::total()
//! [`ranking`]: dsl::ranking()
//! [`compact`]: dsl::compact()
//! [`fold`]: dsl::fold()
//! [`claim_slot`]: dsl::claim_slot()

#![deny(missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// `Debug` of a type that has closures or a connection: its name.
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
mod buffer;
mod claim;
mod compactor;
mod correct;
mod day;
mod error;
mod merge;
mod model;
mod read;
mod retry;
mod shape;
mod slot;
mod sql;
mod typed;

pub use add::countable::Countable;
pub use add::transaction::{CountingTransaction, counting_transaction};
pub use background::BackgroundError;
pub use buffer::counter_buffer::CounterBuffer;
pub use buffer::write::{BufferError, Dropped, Write};
#[cfg(feature = "r2d2")]
pub use claim::ClaimSlots;
pub use compactor::{Compactor, Done, Run};
pub use correct::recount::Drift;
pub use day::Period;
pub use error::{is_overflow, is_retryable};
pub use merge::compact::{Compact, Compacted};
pub use merge::materialize::Materialize;
pub use model::{CountersOf, HasCounters};
pub use retry::{Retry, retry, retry_if};
pub use slot::{DEFAULT_SLOTS, SetDefaultSlotError, Slot, set_default_slot, with_default_slot};
pub use sql::backend::{CounterBackend, Dialect};
pub use typed::counters::Counters;
pub use typed::key::KeyOf;
pub use typed::parent::{ChildOf, HasParent};
pub use typed::table::{CounterTable, counter_table};

/// What the macros and the command `diesel-counters` use. It can change in any release.
#[doc(hidden)]
pub mod __private {
    pub use crate::buffer::writer::write_once;
    pub use crate::model::assert_key;
    pub use crate::shape::{Name, Shape, TableName};
    pub use crate::sql::Values;
    pub use crate::typed::counters::name_of;
    pub use crate::typed::key::{BindKey, Columns, KeyTypes, OwnedKey};
    pub use crate::typed::table::{KeyTypeOf, shape};
    pub use chrono::NaiveDate;
}

/// The functions that build statements and queries, and the types that they return.
///
/// Import from here the functions that are not in the [`prelude`], as from [`diesel::dsl`]. Only
/// generic code has to name the types.
pub mod dsl {
    pub use crate::add::increment::{Increment, increment};
    pub use crate::add::many::IncrementMany;
    #[cfg(feature = "postgres")]
    pub use crate::add::statement::CountingStatement;
    pub use crate::buffer::counter_buffer::CounterBufferBuilder;
    pub use crate::claim::{ClaimSlot, claim_slot};
    pub use crate::compactor::CompactorBuilder;
    pub use crate::correct::delete::{DeleteCounters, delete_counters};
    pub use crate::correct::recount::{Recount, recount};
    pub use crate::correct::set::{SetCounter, set_counter};
    pub use crate::correct::set_days::SetDays;
    pub use crate::merge::compact::{CompactOf, Fold, compact, fold};
    pub use crate::merge::materialize::MaterializeOf;
    pub use crate::read::ranking::{Ranking, ranking};
    pub use crate::read::series::{Counts, Series, counter_series};
    pub use crate::read::sums::Sums;
    pub use crate::read::total::{Total, total};
    pub use crate::read::value::{CounterValue, GroupedCounts, counter_value};
    pub use crate::typed::counters::KeyType;
    pub use crate::typed::stored_key::StoredKey;
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
