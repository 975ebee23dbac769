//! Slotted, transactional counters for Diesel models.
//!
//! Counting the same thing from many transactions at once makes them queue behind
//! one row lock. Here one counter is several rows, each of an entity, a day and a
//! *slot*; a transaction adds to one of them, and a read sums them. The count is
//! written inside the caller's own transaction, next to the business rows, and is
//! exactly what committed.
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
//! A counter table is an ordinary Diesel table whose primary key is
//! `(entity, day, slot)`; each other `BigInt` column of it is a counter. The source
//! has reference migrations for each database, in `migrations/`. Its `table!` is
//! what `diesel print-schema` prints, and has nothing of ours in it: the column
//! says which table it counts in, so a wrong pairing does not compile, and one
//! statement can move several counters of an entity.
//!
//! [Derive](derive@HasCounters) [`HasCounters`](trait@HasCounters) on a model, and it has
//! `incr_counter` and `counter_value`. With its key in hand rather than the model,
//! there is [`Article::increment(views).of(id)`](HasCounters::increment). All of them
//! are ordinary Diesel statements, so connection pools, instrumentation and
//! `debug_query` work as they do for any other.
//!
//! With no model at all there are [`increment`], [`increment_many`] and
//! [`counter_value`](counter_value()). They know of no `#[counters(…)]`: they count by
//! the day in UTC, over [`DEFAULT_SLOTS`].
//!
//! # Reading
//!
//! | to read | there is |
//! | --- | --- |
//! | the counters of one model | [`counter_value`](HasCounters::counter_value), `…_on` a day, `…_between` days |
//! | those of all models on a page | [`counter_values`](HasCounters::counter_values), one query |
//! | a total as an expression in any query of the counted table | [`total`](total()) |
//! | a chart | [`daily_counts`](HasCounters::daily_counts), [`counter_series`](HasCounters::counter_series) by week, month or year |
//! | the most counted | [`top`](HasCounters::top), and [`ranking`](ranking()) to join models to |
//!
//! A read sums rows: [`counter_value`](counter_value()) says what that costs. To sort or
//! filter a large table by a count, [`materialize`](HasCounters::materialize) it into a column.
//!
//! # Putting a count right
//!
//! [`set_counter`](HasCounters::set_counter) and
//! [`reset_counter`](HasCounters::reset_counter) give a counter another value,
//! [`recount`](HasCounters::recount) and [`recount_all`](HasCounters::recount_all) the one
//! that the counted rows have, in total or on each day, while others count on.
//! [`recount`](recount()) can tell what is wrong first, and imports old counts. [`delete_counters`](HasCounters::delete_counters) removes them.
//!
//! # Keeping tables small
//!
//! A day has up to as many rows of an entity as there are slots. Once it is over,
//! [`compact()`] merges them into one, and [`fold()`] merges old days into one row without a
//! day, both while others count. A [`Compactor`] does it in the background, and the command
//! `diesel-counters` from a terminal, which also says whether counters are what is slow.
//!
//! # The caller owns the transaction
//!
//! Counting and reading begin, commit and retry none: each is one statement in whatever
//! transaction or savepoint the connection is in. What puts counts right takes several
//! statements, and so a transaction, or a savepoint of the caller's. What keeps tables small
//! works in many short transactions of its own.
//!
//! On SQLite, begin a transaction that counts with
//! [`immediate_transaction`](diesel::SqliteConnection::immediate_transaction): one
//! that reads first, and finds that another has written meanwhile, fails at once
//! with "database is locked" when it comes to write.
//!
//! # Slots
//!
//! Each database connection counts in a slot of its own ([`Slot::Connection`]), so
//! transactions that are open at the same time write different rows: they neither wait for
//! each other's counters nor deadlock on them, in whatever order they count. That takes as
//! many slots as there are connections that count: the size of the pool times the number of
//! processes, and better twice as many, because a pool renews connections and a deployment
//! replaces processes. [`DEFAULT_SLOTS`] is 32.
//!
//! On PostgreSQL, nothing has to be configured. On MySQL and MariaDB, run [`claim_slot()`]
//! on each new connection, as [`ClaimSlots`] does for a pool. Without it, connections choose
//! by `CONNECTION_ID()`, and some can share a slot: counts stay exact, and transactions can
//! wait for each other or deadlock.
//!
//! Several database nodes that accept writes need [`Slot::Partition`].
//!
//! # Days
//!
//! A count is filed under a day: today in UTC, unless the model or the statement
//! says otherwise. A model can file by week, by month, or without any time; see
//! [`Period`].
//!
//! # Database support
//!
//! PostgreSQL, MySQL 8.0, MariaDB 10.6, SQLite 3.35, and later ones. SQLite has one
//! writer at a time, so there the slot is always 0. A
//! [`MultiConnection`](diesel::MultiConnection) over them needs an
//! `impl` of [`CounterBackend`].
//!
//! A count is an `i64`. An increment that would take its slot's row out of range is
//! [an error](is_overflow()) on each of them, and so is reading a sum that is out of range:
//! a count never wraps, saturates or turns into floating point.
//!
//! Statements that write are prepared once a connection, and so are queries on PostgreSQL
//! and SQLite. On MySQL and MariaDB a query is prepared each time it runs, which is one more
//! round trip: MariaDB's client library never returns from executing a kept one again after
//! its rows could not be read, because of a deadlock, a timeout or a `KILL`. Your own
//! queries have the same fault with that library; Diesel keeps none on a connection with
//! [`CacheSize::Disabled`](diesel::connection::CacheSize::Disabled).
//!
//! # Crate features
//!
//! - `postgres`, `mysql`, `sqlite`: the backends, through Diesel's. None is on by
//!   default. The first two link no client library; `sqlite` links libsqlite3, as
//!   Diesel's own does.
//! - `r2d2`: [`ClaimSlots`] and the [`Compactor`], on Diesel's pool.

#![deny(unnameable_types)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
mod claim;
mod correcting;
mod counter;
mod counting;
mod day;
mod entity;
mod error;
mod layout;
mod maintaining;
mod model;
mod reading;
mod slot;
mod table;
mod transaction;

#[doc(hidden)]
pub use chrono;

#[cfg(feature = "postgres")]
pub use backend::UnnestedRows;
pub use backend::{CounterBackend, Dialect, ListedRows};
#[cfg(feature = "r2d2")]
pub use claim::ClaimSlots;
pub use correcting::recount::Drift;
pub use counter::Counters;
pub use counting::deltas::{CounterColumn, Deltas};
pub use day::Period;
pub use entity::KeyOf;
#[doc(hidden)]
pub use entity::assert_key;
pub use error::{is_overflow, is_retryable};
pub use layout::Layout;
pub use maintaining::compact::{Compact, Compacted};
#[cfg(feature = "r2d2")]
pub use maintaining::compactor::{Compactor, Run, RunError};
pub use maintaining::materialize::{Materialize, Materialized, TotalColumn};
pub use model::{CountersOf, HasCounters};
pub use slot::{DEFAULT_SLOTS, SetDefaultSlotError, Slot, set_default_slot};
pub use table::{CounterTable, EntityTable, HasParent, NoEntity};

#[doc(hidden)]
pub use reading::ranking::{RankedRow, Ranking};

/// The functions that build statements and queries, and the types that they return.
///
/// As in [`diesel::dsl`], a program imports from here what is not in the
/// [`prelude`](crate::prelude). Only generic code has to name the types.
pub mod dsl {
    pub use crate::backend::StoredKey;
    pub use crate::claim::{ClaimSlot, claim_slot};
    pub use crate::correcting::delete::{DeleteCounters, DeleteManyCounters, delete_counters};
    pub use crate::correcting::recount::{Recount, RecountOne, recount};
    pub use crate::correcting::set::{SetCounter, set_counter};
    pub use crate::correcting::true_counts::{RecountBy, TrueCounts};
    pub use crate::counting::deltas::Delta;
    pub use crate::counting::increment::{Increment, increment};
    pub use crate::counting::increment_many::{IncrementMany, increment_many};
    pub use crate::day::{AllDays, DayRange};
    pub use crate::entity::{KeyExpression, KeyType};
    pub use crate::maintaining::compact::{Fold, StoredTable, compact, fold};
    #[cfg(feature = "r2d2")]
    pub use crate::maintaining::compactor::CompactorBuilder;
    pub use crate::maintaining::materialize::{MaterializeOf, MaterializeOn};
    pub use crate::maintaining::merge::MergeOn;
    pub use crate::reading::counter_series::{Counts, Series, SeriesOfMany, counter_series};
    pub use crate::reading::counter_value::{CounterValue, CounterValues, counter_value};
    pub use crate::reading::layout_sums::{LayoutSum, LayoutSums};
    pub use crate::reading::ranking::{RankedEntity, RankedTotal, Ranking, ranking};
    pub use crate::reading::sums::{Sums, Ungrouped};
    pub use crate::reading::total::{ParentRow, Total, total};
}

/// Types and traits that stand in `where` clauses only, so that generic code can name them.
#[doc(hidden)]
pub mod bounds {
    pub use crate::backend::listed_rows::*;
    #[cfg(feature = "postgres")]
    pub use crate::backend::stored_key::UuidBytes;
    #[cfg(feature = "postgres")]
    pub use crate::backend::unnested_rows::*;
    pub use crate::correcting::delete::*;
    pub use crate::correcting::drift::*;
    pub use crate::correcting::set::*;
    pub use crate::correcting::true_counts::*;
    pub use crate::counter::*;
    pub use crate::counting::increment::*;
    pub use crate::counting::increment_many::*;
    pub use crate::day::*;
    pub use crate::entity::*;
    pub use crate::layout::*;
    pub use crate::maintaining::materialize::*;
    pub use crate::reading::layout_sums::*;
    pub use crate::reading::ranking::*;
    pub use crate::reading::sums::*;
    pub use crate::reading::total::*;
    pub use crate::table::*;

    /// The statements of a merge.
    pub mod merge {
        pub use crate::maintaining::statements::*;
    }
}

/// The traits and functions that most programs need.
pub mod prelude {
    pub use crate::dsl::{
        counter_series, counter_value, increment, increment_many, ranking, total,
    };
    pub use crate::{CounterColumn, HasCounters};
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
