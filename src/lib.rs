//! Slotted, transactional counters for Diesel models.
//!
//! When many transactions count the same thing, they wait for one row lock. This crate stores
//! a counter as several rows, each for an entity, a day and a *slot*. A transaction adds to one of
//! them, and a read sums them. The count is part of the caller's transaction: it commits and rolls
//! back with the other rows of that transaction.
//!
//! ```
//! # include!("doctest_setup.rs");
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
//! The column identifies the table, so a counter of another model does not compile, and one
//! statement can increment several counters of an entity.
//!
//! # Writing
//!
//! [Derive](derive@HasCounters) [`HasCounters`](trait@HasCounters) on a model. It then has
//! methods such as `incr_counter` and `counter_value`.
//!
//! Without a model, use the functions of the [`dsl`] module, such as [`increment`]:
//! `increment(views).of(id)`.
//!
//! All of them run Diesel statements, so connection pools and instrumentation work as usual.
//! An [`increment`], a [`counter_value`] and a [`ranking`] are Diesel statements themselves, which
//! `debug_query` can print.
//!
//! On PostgreSQL, one statement can write a row and count it, without a transaction: see
//! [`CountingDsl`].
//!
//! A [`CounterBuffer`] counts in memory and writes every second, for page views and downloads.
//!
//! # Reading
//!
//! | to read | use |
//! | --- | --- |
//! | the counters of one model | [`counter_value`](HasCounters::counter_value), `counter_value_on` a day, `counter_value_between` days |
//! | the counters of all models on a page | [`counter_values`](HasCounters::counter_values), one query |
//! | a total in any query of the parent table | [`total`] |
//! | counts by day, week, month or year | [`daily_counts`](HasCounters::daily_counts), [`counter_series`](dsl::counter_series()) |
//! | the entities with the greatest totals | [`top`](HasCounters::top), and [`ranking`] to join them to models |
//!
//! A read sums rows; [`counter_value`] says what that costs. To sort or filter a large table by
//! a count, [`materialize`](HasCounters::materialize) the count into a column.
//!
//! # Correcting counts
//!
//! | to | use |
//! | --- | --- |
//! | set a counter to a value, or to 0 | [`set_counter`](HasCounters::set_counter), [`reset_counter`](HasCounters::reset_counter) |
//! | correct a model's counter from the rows that it counts | [`recount`](HasCounters::recount) |
//! | correct the counters of all models, report drift, or import counts | [`recount_all`](HasCounters::recount_all), [`recount`](dsl::recount()) |
//! | remove a model's counters | [`delete_counters`](HasCounters::delete_counters) |
//!
//! Other transactions can count at the same time. The command `diesel-counters recount` corrects the
//! counters of triggers.
//!
//! # Keeping tables small
//!
//! An entity has up to one row for each slot and day. [`compact`] merges the slots of each past day
//! into one row, and [`fold`] merges old days into one row without a day. Other transactions can
//! count at the same time. Run them from a [`Compactor`], which is a background thread, or with the
//! command `diesel-counters`, which also reports contention.
//!
//! # Transactions
//!
//! The caller owns the transaction. Counting and reading are one statement each, in the current
//! transaction or savepoint. A correction runs several statements in a transaction, or in a
//! savepoint if a transaction is open already. A merge runs many short transactions of its own,
//! and fails if a transaction is open.
//!
//! [`retry()`] runs a transaction again if it conflicts with others. [`counting_transaction`] gathers
//! the increments of a transaction, and writes them at its end in one order.
//!
//! On SQLite, use [`immediate_transaction`](diesel::SqliteConnection::immediate_transaction) for a
//! transaction that counts. Otherwise a transaction that reads before it writes fails at once with
//! "database is locked" if another connection has written in between.
//!
//! # Slots
//!
//! Each database connection counts in its own slot ([`Slot::Connection`]). Transactions that are
//! open at the same time then write different rows: they do not wait for each other's counters, and
//! do not deadlock on them, in whatever order they count. This requires as many slots as there are
//! connections that count: the size of the pool times the number of processes. Use twice as many,
//! because a pool renews connections and a deployment replaces processes. [`DEFAULT_SLOTS`] is 32.
//!
//! - PostgreSQL: nothing to configure.
//! - MySQL and MariaDB: run [`claim_slot`] on each new connection; for a pool, [`ClaimSlots`] does
//!   it. Without it, the slot is chosen by `CONNECTION_ID()`, and some connections share a slot.
//!   Counts stay exact, but transactions can wait for each other or deadlock.
//! - SQLite has one writer at a time. The slot is always 0.
//! - Several database nodes that accept writes, such as a Galera cluster: use [`Slot::Partition`].
//!
//! # Days
//!
//! A count is stored under a day: today in UTC, unless the table or the statement sets another one.
//! A table can also count by week, month or year, or in total; see [`Period`].
//!
//! # Range
//!
//! A count is an `i64`. An increment that would take a row out of this range fails with an
//! [overflow](is_overflow()), and so does reading a sum that is out of it. A count never wraps,
//! saturates or becomes a floating point number.
//!
//! # Databases
//!
//! PostgreSQL, MySQL 8.0, MariaDB 10.6 and SQLite 3.35, and later versions. For a
//! [`MultiConnection`](diesel::MultiConnection), write [`counter_backend!`].
//!
//! Statements that write are prepared once for each connection. Queries are too, except on MySQL
//! and MariaDB: MariaDB's client library hangs when it runs a prepared query again whose rows it
//! could not read, because of a deadlock, a timeout or a `KILL`. There, a query of more than one row
//! is prepared each time, which takes one more round trip. Your own queries have the same problem with
//! this library; [`CacheSize::Disabled`](diesel::connection::CacheSize::Disabled) avoids it.
//!
//! # Crate features
//!
//! No feature is enabled by default.
//!
//! - `postgres`, `mysql`, `sqlite`: the backends, through Diesel's. `postgres` and `mysql` link no
//!   client library; `sqlite` links libsqlite3, as Diesel's own does.
//! - `r2d2`: the [`CounterBuffer`], [`ClaimSlots`] and the [`Compactor`], for Diesel's pool.
//!
//! [`increment`]: dsl::increment()
//! [`counter_value`]: dsl::counter_value()
//! [`total`]: dsl::total()
//! [`ranking`]: dsl::ranking()
//! [`compact`]: dsl::compact()
//! [`fold`]: dsl::fold()
//! [`claim_slot`]: dsl::claim_slot()

#![deny(missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
mod statement;

mod backend;
#[cfg(feature = "r2d2")]
mod background;
#[cfg(feature = "r2d2")]
mod buffering;
mod claim;
mod correcting;
mod counter;
mod counting;
mod day;
mod error;
mod key;
mod layout;
mod maintaining;
mod model;
mod reading;
mod retry;
mod settings;
mod slot;
mod table;
mod transaction;
mod with_key;

pub use backend::{CounterBackend, Dialect};
#[cfg(feature = "r2d2")]
pub use buffering::counter_buffer::{Bufferable, CounterBuffer};
#[cfg(feature = "r2d2")]
pub use buffering::write::{BufferError, IfUnknown, Pending, Refused, Write, WriteError};
#[cfg(feature = "r2d2")]
pub use claim::ClaimSlots;
pub use correcting::recount::Drift;
pub use correcting::set_days::CountsSet;
pub use counter::Counters;
#[cfg(feature = "postgres")]
pub use counting::counting_statement::{CountingDsl, StatementIncrement};
pub use counting::counting_transaction::{Countable, CountingTransaction, counting_transaction};
pub use counting::deltas::{CounterColumn, Deltas};
pub use day::Period;
pub use error::{is_overflow, is_retryable};
pub use key::{KeyOf, PrefixOf};
pub use layout::Layout;
pub use maintaining::compact::{Compact, Compacted};
#[cfg(feature = "r2d2")]
pub use maintaining::compactor::{Compactor, Done, Run, RunError};
pub use maintaining::materialize::{Materialize, Materialized, TotalColumn};
pub use model::{CountersOf, HasCounters};
pub use retry::{Retry, retry, retry_if};
pub use settings::{ChildOf, CounterSettings, HasParent, counter_table};
pub use slot::{DEFAULT_SLOTS, SetDefaultSlotError, Slot, set_default_slot, with_default_slot};
pub use table::{CounterTable, EntityTable};
pub use with_key::WithKey;

/// What the macros and the command `diesel-counters` use. It can change in any release.
#[doc(hidden)]
pub mod __private {
    pub use crate::backend::ListedRows;
    #[cfg(feature = "r2d2")]
    pub use crate::buffering::counter_buffer::write_once;
    pub use crate::correcting::set_days::Spellings;
    pub use crate::counter::name_of;
    pub use crate::key::{BindKey, Columns, KeyTypes, LoadKey, assert_key};
    pub use crate::reading::ranking::{IsParent, RankBy, RankingTable, join_parent};
    pub use crate::settings::assert_counter_table;
    pub use chrono::NaiveDate;
}

/// The functions that build statements and queries, and the types that they return.
///
/// Import from here the functions that are not in the [`prelude`], as from [`diesel::dsl`]. Only
/// generic code has to name the types.
pub mod dsl {
    pub use crate::backend::StoredKey;
    #[cfg(feature = "r2d2")]
    pub use crate::buffering::counter_buffer::CounterBufferBuilder;
    pub use crate::claim::{ClaimSlot, claim_slot};
    pub use crate::correcting::delete::{DeleteCounters, DeleteOn, Listed, Under, delete_counters};
    pub use crate::correcting::recount::{Recount, RecountOn, RecountOne, recount};
    pub use crate::correcting::set::{SetCounter, SetOn, set_counter};
    pub use crate::correcting::set_days::{SetDays, SetDaysOf, SetDaysOn};
    pub use crate::correcting::true_counts::{RecountBy, TrueCounts};
    #[cfg(feature = "postgres")]
    pub use crate::counting::counting_statement::{CountingQuery, CountingStatement};
    pub use crate::counting::deltas::Delta;
    pub use crate::counting::increment::{CountOn, Increment, increment};
    pub use crate::counting::increment_many::{IncrementMany, increment_many};
    pub use crate::day::DayRange;
    pub use crate::key::{AnyOf, KeyType, One, Prefix};
    pub use crate::maintaining::compact::{Fold, StoredTable, compact, fold};
    #[cfg(feature = "r2d2")]
    pub use crate::maintaining::compactor::CompactorBuilder;
    pub use crate::maintaining::materialize::{MaterializeOf, MaterializeOn};
    pub use crate::maintaining::merge::MergeOn;
    pub use crate::reading::counter_series::{Counts, Series, counter_series};
    pub use crate::reading::counter_value::{
        CounterValue, CounterValues, GroupedCounts, ReadOn, counter_value,
    };
    pub use crate::reading::days::AllDays;
    pub use crate::reading::layout_sums::{LayoutSum, LayoutSums};
    pub use crate::reading::ranking::{RankedEntity, RankedTotal, Ranking, ranking};
    pub use crate::reading::sums::{Grouped, Many, Sums, Ungrouped};
    pub use crate::reading::total::{ParentRow, Total, total};
}

/// The traits and functions that most programs need.
pub mod prelude {
    #[cfg(feature = "postgres")]
    pub use crate::CountingDsl;
    pub use crate::dsl::{counter_series, counter_value, increment, increment_many, ranking};
    pub use crate::{CounterColumn, HasCounters};
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../docs/guide.md")]
struct Guide;

#[cfg(doctest)]
#[doc = include_str!("../docs/counting.md")]
struct Counting;

#[cfg(doctest)]
#[doc = include_str!("../docs/keys.md")]
struct Keys;

#[cfg(doctest)]
#[doc = include_str!("../docs/transactions.md")]
struct Transactions;

#[cfg(doctest)]
#[doc = include_str!("../docs/reading.md")]
struct Reading;

#[cfg(doctest)]
#[doc = include_str!("../docs/years.md")]
struct Years;

#[cfg(doctest)]
#[doc = include_str!("../docs/operations.md")]
struct Operations;

#[cfg(doctest)]
#[doc = include_str!("../docs/scaling.md")]
struct Scaling;

#[cfg(doctest)]
#[doc = include_str!("../docs/triggers.md")]
struct Triggers;

#[cfg(doctest)]
#[doc = include_str!("../docs/nodes.md")]
struct Nodes;

#[cfg(doctest)]
#[doc = include_str!("../docs/testing.md")]
struct Testing;

#[cfg(doctest)]
#[doc = include_str!("../docs/coming-from.md")]
struct ComingFrom;
