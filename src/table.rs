//! What makes a table a counter table.

use diesel::associations::HasTable;
use diesel::sql_types::is_nullable::NotNull;
use diesel::sql_types::{Date, SingleValue, SmallInt, SqlType};
use diesel::{Column, Table};

/// A table whose primary key is `(entity, day, slot)`.
///
/// Implemented for every such table; never by hand. What the three columns are
/// called does not matter: the first may have any type that a database can
/// index and that is not NULL, the second is a `Date`, the third a `SmallInt`. Each
/// other `BigInt` column is a counter, and each other column must have a default.
///
/// Text in the first column needs a collation that tells apart what your program
/// tells apart: `utf8mb4_bin`, say, where MySQL's default takes `Foo` for `foo`, and
/// on PostgreSQL a deterministic one. Diesel has UUIDs on PostgreSQL only; elsewhere
/// it takes a type of your own that is stored as `Binary`.
///
/// ```
/// diesel::table! {
///     article_counters (article_id, day, slot) {
///         article_id -> BigInt,
///         day -> Date,
///         slot -> SmallInt,
///         views -> BigInt,
///         likes -> BigInt,
///     }
/// }
///
/// fn is_a_counter_table<T: diesel_counters::CounterTable>() {}
/// is_a_counter_table::<article_counters::table>();
/// ```
pub trait CounterTable: Table + HasTable<Table = Self> {
    /// The SQL type of the entity's key.
    type KeyType: SingleValue;
    /// The names of the key's three columns: entity, day, slot.
    const KEY: [&'static str; 3];
}

impl<T> CounterTable for T
where
    T: Table + HasTable<Table = T>,
    T::PrimaryKey: CounterKey<T>,
{
    type KeyType = <T::PrimaryKey as CounterKey<T>>::KeyType;
    const KEY: [&'static str; 3] = <T::PrimaryKey as CounterKey<T>>::NAMES;
}

/// A primary key `(entity, day, slot)` of the table `T`.
#[diagnostic::on_unimplemented(
    message = "`{T}` is not a counter table: its primary key is not (entity, day, slot)",
    label = "this table's primary key must be three columns: entity, day, slot",
    note = "help: the correct format looks like\n\
    `table! {{ article_counters (article_id, day, slot) {{ article_id -> BigInt, day -> Date, slot -> SmallInt, views -> BigInt, }} }}`"
)]
pub trait CounterKey<T> {
    type KeyType: SingleValue;
    const NAMES: [&'static str; 3];
}

impl<T, E, D, S> CounterKey<T> for (E, D, S)
where
    E: Column<Table = T, SqlType: EntityType<T>>,
    D: Column<Table = T, SqlType: DayType<T>>,
    S: Column<Table = T, SqlType: SlotType<T>>,
{
    type KeyType = E::SqlType;
    const NAMES: [&'static str; 3] = [E::NAME, D::NAME, S::NAME];
}

/// The type of a counter table's first key column.
#[diagnostic::on_unimplemented(
    message = "`{T}` is not a counter table: the first column of its primary key may be NULL",
    label = "the entity's column in this table must be `NOT NULL`"
)]
pub trait EntityType<T>: SingleValue {}
#[diagnostic::do_not_recommend]
impl<T, ST: SingleValue + SqlType<IsNull = NotNull>> EntityType<T> for ST {}

/// The type of a counter table's second key column.
#[diagnostic::on_unimplemented(
    message = "`{T}` is not a counter table: the second column of its primary key is not a `Date`",
    label = "the day's column in this table must be `Date`"
)]
pub trait DayType<T> {}
impl<T> DayType<T> for Date {}

/// The type of a counter table's third key column.
#[diagnostic::on_unimplemented(
    message = "`{T}` is not a counter table: the third column of its primary key is not a `SmallInt`",
    label = "the slot's column in this table must be `SmallInt`"
)]
pub trait SlotType<T> {}
impl<T> SlotType<T> for SmallInt {}
