//! What an application declares about a counter table: its settings and its parent tables.

use chrono::NaiveDate;
use diesel::associations::HasTable;
use diesel::{Column, Expression, Table};

use crate::day::{Period, utc_today};
use crate::shape::{Name, Shape};
use crate::slot::DEFAULT_SLOTS;
use crate::typed::counters::{Counters, has};
use crate::typed::key::StartOf;
use crate::typed::table::{CounterTable, NotEmpty};

/// Declares a counter table: its settings and its parent tables.
///
/// Write it once for each counter table, in the crate that has its `table!` and those of its
/// parents. If another crate has them, write a `table!` of your own with `#[sql_name = "…"]`. All
/// settings are optional, as in `counter_table!(site_counters)`:
///
/// ```
/// # mod schema {
/// #     diesel::table! { articles (id) { id -> BigInt, title -> Text, } }
/// #     diesel::table! {
/// #         article_counters (article_id, day, slot) {
/// #             article_id -> BigInt, day -> Date, slot -> SmallInt, views -> BigInt, likes -> BigInt,
/// #         }
/// #     }
/// diesel_counters::counter_table! {
///     article_counters {
///         parent = articles::id,
///         slots = 64,
///         period = Week,
///         counted_by_database = (likes),
///     }
/// }
/// # }
/// ```
///
/// - `parent = articles::id`: the key of the parent table, whose rows are the entities. The first
///   column of the counter table's key refers to it. A key of several columns is a tuple: `parent =
///   (versions::crate_id, versions::number)`. It can have fewer columns than the counter table's
///   key: with `parent = crates::id`, the count of a crate is that of all its versions. Write
///   `parent` once for each parent table. A [`total`](crate::dsl::total()) and
///   [`materialize`](crate::HasCounters::materialize) require it.
/// - `slots = 32`: the number of slots, from 1 to 32,767. Defaults to [`DEFAULT_SLOTS`], 32. Use at
///   least as many as there are database connections that count: the size of the pool times the
///   number of processes (see [`Slot`](crate::Slot)).
/// - `period = Day`, `Week`, `Month`, `Year` or `Total`: the [`Period`] that counts are stored by.
///   Defaults to `Day`.
/// - `today = path::to::function`: a `fn() -> chrono::NaiveDate` that returns the day to count on.
///   Defaults to today in UTC.
/// - `counted_by_database = (likes, comments)`: the counters that triggers of the database count,
///   as of `diesel-counters generate trigger`. A program that increments or sets them does not
///   compile with `cargo build`, because each row would be counted twice. (`cargo check` does not
///   find it.)
pub use diesel_counters_derive::counter_table;

/// The settings of a counter table. Declare them with [`counter_table!`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not declared as a counter table",
    label = "this requires a counter table",
    note = "help: write `diesel_counters::counter_table!(article_counters);` with the name of your table, in the file of its model"
)]
pub trait CounterSettings: Sized + 'static {
    /// The table's names and settings.
    #[doc(hidden)]
    fn shape() -> &'static Shape<'static>;

    /// The number of slots of a counter, 1 or more.
    const SLOTS: i16 = DEFAULT_SLOTS;

    /// The period that counts are stored by.
    const PERIOD: Period = Period::Day;

    /// The counters that triggers of the database count.
    #[doc(hidden)]
    const COUNTED_BY_DATABASE: &'static [Name<'static>] = &[];

    /// Returns the day to count on, unless a statement sets another one. Defaults to today in UTC.
    fn today() -> NaiveDate {
        utc_today()
    }
}

/// A counter table with a parent table. Declare it with [`counter_table!`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no parent table",
    label = "this requires a counter table with a parent table",
    note = "help: add the parent to the declaration of the table: `counter_table! {{ article_counters {{ parent = articles::id }} }}`",
    note = "help: for a total, you can give the key of the entity instead: `total(…).of(articles::id)`"
)]
pub trait HasParent: ChildOf<Self::Parent> {
    /// The parent table; if there are several, the first one.
    type Parent: Table + HasTable<Table = Self::Parent>;
}

/// A counter table whose entities are rows of the table `P`. Declare it with [`counter_table!`].
#[diagnostic::on_unimplemented(
    message = "`{P}` is not a parent table of `{Self}`",
    label = "this requires a parent table of the counter table",
    note = "help: add the parent to the declaration of the table: `counter_table! {{ article_counters {{ parent = articles::id }} }}`"
)]
pub trait ChildOf<P>: CounterTable<KeyType: NotEmpty> {
    /// The columns of `P` that the first columns of this table's key refer to, as a tuple.
    type ParentKey: ParentColumns<Self::KeyType, Table = P> + 'static;
    #[doc(hidden)]
    const PARENT_KEY: &'static Self::ParentKey;
}

/// Columns of a parent table that the first columns of a counter table's key refer to. The key of the
/// counter table has the SQL types `Key`.
pub trait ParentColumns<Key>: Expression<SqlType: StartOf<Key>> {
    type Table: Table + HasTable<Table = Self::Table>;
    const NAMES: &'static [Name<'static>];
}

macro_rules! parent_columns {
    ($($First:ident $($C:ident)*;)*) => {$(
        impl<Key, $First, $($C),*> ParentColumns<Key> for ($First, $($C,)*)
        where
            Self: Expression<SqlType: StartOf<Key>>,
            $First: Column<Table: HasTable<Table = $First::Table>>,
            $($C: Column<Table = $First::Table>,)*
        {
            type Table = $First::Table;
            const NAMES: &'static [Name<'static>] = &[Name($First::NAME), $(Name($C::NAME)),*];
        }
    )*};
}

parent_columns! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
}

/// Fails to compile if the database counts one of the counters `C`. Every function that writes calls
/// it itself, so that the compiler names the line of the caller.
pub(crate) const fn assert_program_counts<C: Counters>() {
    let mut i = 0;
    while i < C::NAMES.len() {
        assert!(
            !has(C::Table::COUNTED_BY_DATABASE, C::NAMES[i].0),
            "a counter of this statement is counted by the database: insert or delete the row that it \
             counts, or correct the count with `recount`"
        );
        i += 1;
    }
}
