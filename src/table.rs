//! Counter tables.

use diesel::associations::HasTable;
use diesel::sql_types::is_nullable::NotNull;
use diesel::sql_types::{Date, SingleValue, SmallInt, SqlType};
use diesel::{Column, Table};

use crate::key::{KeyTypes, NotEmpty};
use crate::settings::CounterSettings;

/// A table that stores counters: its primary key is a key of up to five columns, the day and the
/// slot.
///
/// [`counter_table!`](crate::counter_table) declares it. Do not implement this trait yourself.
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
/// diesel_counters::counter_table!(article_counters);
///
/// fn is_a_counter_table<T: diesel_counters::CounterTable>() {}
/// is_a_counter_table::<article_counters::table>();
/// ```
///
/// # Columns
///
/// The names of the columns do not matter. Their types do:
///
/// - The first columns of the primary key, up to five, are the key of the entity: `(article_id)`, or
///   `(article_id, emoji)`. They are `NOT NULL`, and have any types that the database can index. Leave
///   them out for counters without an entity, such as those of a whole site: then the primary key is
///   `(day, slot)`.
/// - The day is a `Date`, and the slot is a `SmallInt`.
/// - Every other `BigInt` column is a counter.
/// - Every column that is not part of the primary key requires a default, because an increment
///   inserts values only for the counters that it adds to.
///
/// Diesel supports UUIDs on PostgreSQL only. On the other databases, use a type of your own that is
/// stored as `Binary`.
///
/// # Text keys
///
/// Two texts are the same entity if the collation of the column treats them as equal:
///
/// - On MySQL and MariaDB, the default collation treats `Foo` and `foo` as equal. `utf8mb4_bin`
///   treats `foo` and `foo` with a space at the end as equal. `utf8mb4_0900_bin` (MySQL) and
///   `utf8mb4_nopad_bin` (MariaDB) distinguish all texts.
/// - On PostgreSQL, all collations distinguish all texts, except nondeterministic ones.
///
/// A text that is too long for the column is an error. On MySQL and MariaDB without the strict mode
/// (`sql_mode`), the server cuts it off instead, and the count is that of the shorter text.
///
/// [`compact`](crate::dsl::compact()) does not merge rows of one entity whose texts differ.
///
/// On MySQL and MariaDB, a column with a foreign key requires the collation of the column that it
/// refers to. Without a foreign key, it requires that collation if both collations are binary and
/// a query joins the two columns. A [`total`](crate::dsl::total()) does.
///
/// On PostgreSQL, a statement fails if it has two texts of one entity: that of
/// [`increment_many`](crate::dsl::increment_many()), of
/// [`counting_transaction`](crate::counting_transaction()), or of a recount of all entities by day.
/// Give each entity's key in one spelling only, such as in lower case.
///
/// On PostgreSQL, use `TEXT` or `VARCHAR(n)`, not `CHAR(n)`. Diesel binds a `TEXT`, and PostgreSQL
/// then compares the column as `TEXT`, for which it has no index. Each read would scan the whole
/// table.
///
/// # Binary keys
///
/// On MySQL and MariaDB, use `VARBINARY(n)`, or `BINARY(n)` if all keys have exactly `n` bytes. The
/// server pads a shorter key with zeros when it stores it, and not when it compares it: the count is
/// that of the padded key, and a read by the shorter key returns 0.
///
/// # Partitions
///
/// A counter table can be partitioned, by day for example. It requires a partition for
/// 1970-01-01, because counts without a day are stored under this day. These write rows there:
///
/// - `set_counter`, `recount`, `delete_counters` and [`fold`](crate::dsl::fold());
/// - each increment of a table with `period = Total`.
///
/// A `DEFAULT` partition includes it. With `RANGE (day)`, this one does too:
///
/// ```sql
/// CREATE TABLE article_counters_no_day PARTITION OF article_counters
///     FOR VALUES FROM ('1970-01-01') TO ('1970-01-02');
/// ```
pub trait CounterTable: Table + HasTable<Table = Self> + CounterSettings + KeyNames {
    /// The SQL types of the columns of the entity's key: `(BigInt,)`, or `(BigInt, Text)`; `()` for a
    /// table without entities.
    type KeyType: KeyTypes;
}

impl<T> CounterTable for T
where
    T: Table + HasTable<Table = T> + CounterSettings,
    T::PrimaryKey: CounterKey<T>,
{
    type KeyType = <T::PrimaryKey as CounterKey<T>>::KeyType;
}

/// The names of the columns of a counter table's primary key.
pub trait KeyNames {
    /// The columns of the entity's key.
    const ENTITY: &'static [&'static str];
    const DAY: &'static str;
    const SLOT: &'static str;
    /// All columns.
    const KEY: &'static [&'static str];
}

impl<T: Table<PrimaryKey: CounterKey<T>>> KeyNames for T {
    const ENTITY: &'static [&'static str] = <T::PrimaryKey as CounterKey<T>>::ENTITY;
    const DAY: &'static str = <T::PrimaryKey as CounterKey<T>>::DAY;
    const SLOT: &'static str = <T::PrimaryKey as CounterKey<T>>::SLOT;
    const KEY: &'static [&'static str] = <T::PrimaryKey as CounterKey<T>>::NAMES;
}

/// The name of the module that `table!` makes. It is the table's name.
pub(crate) fn module_name<T>() -> &'static str {
    let path = std::any::type_name::<T>();
    path.rsplit("::").nth(1).unwrap_or(path)
}

/// A primary key of the table `T`: `(entity, day, slot)`, with up to five columns for the entity.
#[diagnostic::on_unimplemented(
    message = "`{T}` is not a counter table: its primary key is not (entity, day, slot)",
    label = "this table's primary key must be the columns of the entity, up to five, and then day, slot",
    note = "help: the correct format looks like\n\
    `table! {{ article_counters (article_id, day, slot) {{ article_id -> BigInt, day -> Date, slot -> SmallInt, views -> BigInt, }} }}`",
    note = "help: for counters without an entity, such as those of a whole site, the primary key is (day, slot)"
)]
pub trait CounterKey<T> {
    type KeyType: KeyTypes;
    const ENTITY: &'static [&'static str];
    const DAY: &'static str;
    const SLOT: &'static str;
    const NAMES: &'static [&'static str];
}

macro_rules! counter_keys {
    ($(($($E:ident)*),)*) => {$(
        impl<T, $($E,)* D, S> CounterKey<T> for ($($E,)* D, S)
        where
            $($E: Column<Table = T, SqlType: EntityType<T>>,)*
            D: Column<Table = T, SqlType: DayType<T>>,
            S: Column<Table = T, SqlType: SlotType<T>>,
        {
            type KeyType = ($($E::SqlType,)*);
            const ENTITY: &'static [&'static str] = &[$($E::NAME),*];
            const DAY: &'static str = D::NAME;
            const SLOT: &'static str = S::NAME;
            const NAMES: &'static [&'static str] = &[$($E::NAME,)* D::NAME, S::NAME];
        }
    )*};
}

counter_keys! {
    (),
    (A),
    (A B),
    (A B C),
    (A B C E),
    (A B C E F),
}

/// The type of a column of an entity's key.
#[diagnostic::on_unimplemented(
    message = "`{T}` is not a counter table: a column of its primary key is `Nullable`",
    label = "the columns of this table's primary key must be `NOT NULL`"
)]
pub trait EntityType<T>: SingleValue + 'static {}
#[diagnostic::do_not_recommend]
impl<T, ST: SingleValue + SqlType<IsNull = NotNull> + 'static> EntityType<T> for ST {}

/// The type of a counter table's column of days.
#[diagnostic::on_unimplemented(
    message = "`{T}` is not a counter table: the day in its primary key is not a `Date`",
    label = "the primary key must be (entity, day, slot) or (day, slot), with a day of the type `Date`"
)]
pub trait DayType<T> {}
impl<T> DayType<T> for Date {}

/// The type of a counter table's column of slots.
#[diagnostic::on_unimplemented(
    message = "`{T}` is not a counter table: the slot in its primary key is not a `SmallInt`",
    label = "the primary key must be (entity, day, slot) or (day, slot), with a slot of the type `SmallInt`"
)]
pub trait SlotType<T> {}
impl<T> SlotType<T> for SmallInt {}

/// A counter table with entities: its primary key is `(entity, day, slot)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a counter table without entities: its primary key is (day, slot)",
    label = "this requires a counter table whose primary key is (entity, day, slot)"
)]
pub trait EntityTable: CounterTable<KeyType: NotEmpty> {}
#[diagnostic::do_not_recommend]
impl<T: CounterTable<KeyType: NotEmpty>> EntityTable for T {}
