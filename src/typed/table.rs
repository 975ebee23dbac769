//! Counter tables.

use std::any::TypeId;

use chrono::NaiveDate;
use diesel::Table;
use diesel::associations::HasTable;
use diesel::sql_types::{BigInt, Nullable};

use crate::day::{Period, utc_today};
use crate::key::CounterKey;
use crate::key::KeyTypes;
use crate::shape::{Name, Shape};
use crate::slot::{DEFAULT_SLOTS, Slot};
use crate::typed::names::{ColumnNames, RenderName, module_name, table_name};

/// Declares a counter table: its settings and its parent tables.
///
/// Write it once for each counter table, in the crate that has the `table!` of the counter table
/// and of its parents. If these are in another crate, write a `table!` of your own with
/// `#[sql_name = "…"]`. All settings are optional:
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
/// - `parent = articles::id`: the key of the parent table, whose rows are the entities. If the key
///   has several columns, write a tuple. The first columns of the counter table's key refer to it.
///   That key can have more columns: with `parent = crates::id` and a key of crate and version, for
///   example, a crate's count is that of all its versions. Write `parent` once for each parent
///   table. You need it for a [`total`](crate::dsl::total()) and for
///   [`materialize`](crate::HasCounters::materialize).
/// - `slots = 32`: the [number of slots](crate::guide::pools#how-many-slots), from 1 to
///   32,767. Defaults to 32.
/// - `slot = Connection` or `Random`: how an increment chooses its [`Slot`]. Defaults to
///   `Connection`.
/// - `period = Day`, `Week`, `Month`, `Year` or `Total`: the [`Period`] that counts are stored
///   by. Defaults to `Day`.
/// - `today = path::to::function`: a `fn() -> chrono::NaiveDate` that returns the day to count
///   on. Defaults to today in UTC.
/// - `counted_by_database = (likes, comments)`: the counters that
///   [triggers](crate::guide::triggers) count. If your program increments or sets them, it doesn't
///   compile, because every row would be counted twice. (`cargo build` finds this, but
///   `cargo check` doesn't.)
/// - `stock = (remaining)`: the counters that never go below 0, for [`take`](crate::dsl::take()).
///   They require `period = Total`, and a `CHECK (remaining >= 0)` on the column.
pub use diesel_counters_derive::counter_table;

/// A table that stores counters. Its primary key is the entity's key, of up to five columns, and
/// then the day and the slot.
///
/// Declare it with [`counter_table!`]. Don't implement this trait yourself.
///
/// # Columns
///
/// The columns can have any names, but their types matter:
///
/// - The first columns of the primary key, up to five, are the entity's key, for example
///   `(article_id)` or `(article_id, emoji)`. They are `NOT NULL`, and can have any types that the
///   database can index. [Counters without an
///   entity](crate::guide::reading#counters-without-an-entity) have none.
/// - The day is a `Date`, and the slot is a `SmallInt`.
/// - Every other `BigInt` column is a counter. Counters need a default, and so do any other
///   columns, because an increment inserts values only for the counters that it adds to.
///
/// Diesel supports UUIDs on PostgreSQL only. On the other databases, use a type of your own that is
/// stored as `Binary`. On MySQL and MariaDB, that's `VARBINARY(n)`, or `BINARY(n)` if every key has
/// exactly `n` bytes: the server pads a shorter key when it stores it, but not when it compares it.
///
/// # Text keys
///
/// Two texts are the same entity if the column's collation treats them as equal. On MySQL and
/// MariaDB, the default collation treats `Foo` and `foo` as equal, while `utf8mb4_0900_bin` (MySQL)
/// and `utf8mb4_nopad_bin` (MariaDB) distinguish all texts. On PostgreSQL, deterministic collations
/// do.
///
/// - Always spell a key the same way, for example in lower case. [`compact`](crate::dsl::compact())
///   doesn't merge an entity's rows if their texts differ, and on PostgreSQL a statement that adds
///   to counters fails if it has two texts for the same entity.
/// - A text that is too long for the column is an error, except on MySQL and MariaDB without strict
///   mode (`sql_mode`), where the server cuts it off.
/// - On MySQL and MariaDB, the column needs the same collation as the parent's key if it has a
///   foreign key, or if a query joins the two columns, as a [`total`](crate::dsl::total()) does.
/// - On PostgreSQL, use `TEXT` or `VARCHAR(n)`: with `CHAR(n)`, every read would scan the whole
///   table.
///
/// # Partitions
///
/// You can partition a counter table, for example by day. It needs a partition for 1970-01-01,
/// because corrections, [`fold`](crate::dsl::fold()) and tables with `period = Total` write rows
/// under that day. This can be a `DEFAULT` partition, or with `RANGE (day)`:
///
/// ```sql
/// CREATE TABLE article_counters_no_day PARTITION OF article_counters
///     FOR VALUES FROM ('1970-01-01') TO ('1970-01-02');
/// ```
///
/// # Triggers, rules and policies of your own
///
/// What your own triggers and rules do with a counter table's rows is up to you. But if one skips a
/// row, the database reports one row fewer:
///
/// - Merges, corrections, deletions and [`incr_counter`](crate::HasCounters::incr_counter) fail.
/// - An increment that you run yourself, with [`execute`](diesel::RunQueryDsl::execute) or
///   [`counting`](crate::prelude::CountingDsl::counting), returns 0.
/// - [`materialize`](crate::HasCounters::materialize) returns how many rows it wrote.
///
/// On PostgreSQL, row level security hides rows. Merges and recounts that begin their own
/// transaction fail under any policy. Other corrections, deletions, and recounts in your own
/// transaction see what the caller sees, so a policy should depend on nothing but the entity.
///
/// `diesel-counters check` lists such triggers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not declared as a counter table",
    label = "this requires a counter table",
    note = "help: write `diesel_counters::counter_table!(article_counters {{ parent = articles::id }});` with the names of your tables, in the file of the model"
)]
pub trait CounterTable:
    Table<PrimaryKey: CounterKey<Self>, AllColumns: ColumnNames> + HasTable<Table = Self> + 'static
{
    /// The SQL types of the entity's key columns, for example `(BigInt,)` or `(BigInt, Text)`, or
    /// `()` for a table without entities.
    type KeyType: KeyTypes;

    /// How many slots a counter has, 1 or more.
    const SLOTS: i16 = DEFAULT_SLOTS;

    /// How an increment chooses its slot.
    const SLOT: Slot = Slot::Connection;

    /// The period that counts are stored by.
    const PERIOD: Period = Period::Day;

    /// The counters that database triggers count.
    #[doc(hidden)]
    const COUNTED_BY_DATABASE: &'static [Name<'static>] = &[];

    /// The counters that never go below 0.
    #[doc(hidden)]
    const STOCK: &'static [Name<'static>] = &[];

    /// The columns of the primary key.
    #[doc(hidden)]
    const KEY: &'static [Name<'static>] = <Self::PrimaryKey as CounterKey<Self>>::NAMES;

    /// The table's names and settings.
    #[doc(hidden)]
    fn shape() -> &'static Shape<'static>;

    /// Returns the day to count on, unless a statement sets another one. Defaults to today in UTC.
    fn today() -> NaiveDate {
        utc_today()
    }
}

/// The SQL types of the table `T`'s key, for `counter_table!`.
pub type KeyTypeOf<T> = <<T as Table>::PrimaryKey as CounterKey<T>>::KeyType;

/// The columns of the entity's key in the table `T`.
pub(crate) type EntityOf<T> = <<T as Table>::PrimaryKey as CounterKey<T>>::Entity;

/// Returns a table's shape, for `counter_table!`, which keeps it in a static.
pub fn shape<T>() -> Shape<'static>
where
    T: CounterTable + RenderName,
{
    let mut counters = Vec::new();
    let mut others = Vec::new();
    for (name, sql_type) in T::AllColumns::column_names() {
        if T::KEY.contains(&name) {
            continue;
        }
        if sql_type == TypeId::of::<BigInt>() {
            counters.push(name);
        } else if sql_type != TypeId::of::<Nullable<BigInt>>() {
            // A number that can be NULL isn't a counter, but could be meant as one. It's left out,
            // so that a merge fails and names the column.
            others.push(name);
        }
    }
    Shape {
        table: table_name(T::table()),
        label: module_name::<T>(),
        key: T::KEY.to_vec(),
        counters,
        others,
        period: T::PERIOD,
        slots: T::SLOTS,
        choice: T::SLOT,
        today: T::today,
    }
}
