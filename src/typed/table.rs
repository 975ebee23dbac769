//! Counter tables.

use diesel::associations::HasTable;
use diesel::sql_types::is_nullable::NotNull;
use diesel::sql_types::{Date, SingleValue, SmallInt, SqlType};
use diesel::{Column, Table};

use std::any::TypeId;

use diesel::sql_types::{BigInt, Nullable};

use crate::shape::{Name, Shape, TableName};
use crate::typed::key::KeyTypes;
use crate::typed::settings::CounterSettings;

/// A table that stores counters: its primary key is a key of up to five columns, the day and the
/// slot.
///
/// [`counter_table!`](crate::counter_table) declares it. Do not implement this trait yourself.
///
/// # Columns
///
/// The names of the columns do not matter. Their types do:
///
/// - The first columns of the primary key, up to five, are the key of the entity: `(article_id)`,
///   or `(article_id, emoji)`. They are `NOT NULL`, and have any types that the database can index.
///   Leave them out for counters without an entity, such as those of a whole site: then the primary
///   key is `(day, slot)`.
/// - The day is a `Date`, and the slot is a `SmallInt`.
/// - Every other `BigInt` column is a counter.
/// - Every column that is not part of the primary key requires a default, because an increment
///   inserts values only for the counters that it adds to.
///
/// Diesel supports UUIDs on PostgreSQL only. On the other databases, use a type of your own that is
/// stored as `Binary`: on MySQL and MariaDB `VARBINARY(n)`, or `BINARY(n)` if all keys have exactly
/// `n` bytes, because the server pads a shorter key when it stores it, and not when it compares it.
///
/// # Text keys
///
/// Two texts are the same entity if the collation of the column treats them as equal. On MySQL and
/// MariaDB, the default collation treats `Foo` and `foo` as equal; `utf8mb4_0900_bin` (MySQL) and
/// `utf8mb4_nopad_bin` (MariaDB) distinguish all texts. On PostgreSQL, all collations do, except
/// nondeterministic ones.
///
/// - Give each key in one spelling only, such as in lower case. [`compact`](crate::dsl::compact())
///   does not merge rows of one entity whose texts differ, and on PostgreSQL a statement fails if
///   it has two texts of one entity.
/// - A text that is too long for the column is an error, except on MySQL and MariaDB without the
///   strict mode (`sql_mode`): there the server cuts it off, and the count is that of the shorter
///   text.
/// - On MySQL and MariaDB, the column requires the collation of the parent's key if it has a
///   foreign key, or if a query such as a [`total`](crate::dsl::total()) joins the two columns.
/// - On PostgreSQL, use `TEXT` or `VARCHAR(n)`, not `CHAR(n)`: Diesel binds a `TEXT`, and each read
///   would scan the whole table.
///
/// # Partitions
///
/// A counter table can be partitioned, by day for example. It requires a partition for 1970-01-01,
/// under which corrections, [`fold`](crate::dsl::fold()) and tables with `period = Total` write
/// rows: a `DEFAULT` partition, or with `RANGE (day)`:
///
/// ```sql
/// CREATE TABLE article_counters_no_day PARTITION OF article_counters
///     FOR VALUES FROM ('1970-01-01') TO ('1970-01-02');
/// ```
pub trait CounterTable: Table + HasTable<Table = Self> + CounterSettings {
    /// The SQL types of the columns of the entity's key: `(BigInt,)`, or `(BigInt, Text)`; `()` for a
    /// table without entities.
    type KeyType: KeyTypes;
    /// The columns of the primary key.
    #[doc(hidden)]
    const KEY: &'static [Name<'static>];
    /// The columns of the entity's key.
    #[doc(hidden)]
    const ENTITY: &'static [Name<'static>];
}

impl<T> CounterTable for T
where
    T: Table<AllColumns: ColumnNames> + HasTable<Table = T> + CounterSettings,
    T::PrimaryKey: CounterKey<T>,
{
    type KeyType = <T::PrimaryKey as CounterKey<T>>::KeyType;
    const KEY: &'static [Name<'static>] = <T::PrimaryKey as CounterKey<T>>::NAMES;
    const ENTITY: &'static [Name<'static>] = Self::KEY.split_at(Self::KEY.len() - 2).0;
}

/// Returns the shape of a table, for `counter_table!`, which keeps it in a static.
pub fn shape<T>() -> Shape<'static>
where
    T: CounterTable + RenderName,
    T::AllColumns: ColumnNames,
{
    let (mut counters, mut others) = (Vec::new(), Vec::new());
    for (name, kind) in T::AllColumns::column_names() {
        match kind {
            _ if T::KEY.contains(&name) => {}
            Kind::Counter => counters.push(name),
            Kind::NoCounter => others.push(name),
            // A number that can be NULL is not a counter, but could be meant as one. It is left
            // out, so that a merge fails and names the column.
            Kind::Nullable => {}
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
        today: T::today,
    }
}

/// Returns the name of a table. It is kept for as long as the program runs.
pub(crate) fn table_name(table: impl RenderName) -> TableName<'static> {
    let (quote, sql) = table.render();
    let mut names = vec![String::new()];
    let mut is_quoted = false;
    let mut chars = sql.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            _ if char == quote && is_quoted && chars.peek() == Some(&quote) => {
                names
                    .last_mut()
                    .into_iter()
                    .for_each(|name| name.push(quote));
                chars.next();
            }
            _ if char == quote => is_quoted = !is_quoted,
            '.' if !is_quoted => names.push(String::new()),
            _ => names
                .last_mut()
                .into_iter()
                .for_each(|name| name.push(char)),
        }
    }
    let mut names = names.into_iter().map(|name| Name(name.leak()));
    match (names.next(), names.next()) {
        (Some(schema), Some(name)) => TableName {
            schema: Some(schema),
            name,
        },
        (name, _) => TableName {
            schema: None,
            name: name.unwrap_or(Name("")),
        },
    }
}

/// A table whose name one of the enabled backends writes.
pub trait RenderName {
    /// Returns the quote of the backend, and the name as SQL.
    fn render(&self) -> (char, String);
}

#[cfg(any(feature = "sqlite", feature = "mysql", feature = "postgres"))]
macro_rules! render_name {
    ($quote:literal, $Backend:expr, $DB:ty) => {
        impl<T: diesel::query_builder::QueryFragment<$DB>> RenderName for T {
            fn render(&self) -> (char, String) {
                use diesel::query_builder::QueryBuilder;
                let mut sql = <$DB as diesel::backend::Backend>::QueryBuilder::default();
                let rendered = self.to_sql(&mut sql, &$Backend);
                rendered.expect("the name of a table is SQL");
                ($quote, sql.finish())
            }
        }
    };
}

#[cfg(feature = "postgres")]
render_name!('"', diesel::pg::Pg, diesel::pg::Pg);
#[cfg(all(feature = "mysql", not(feature = "postgres")))]
render_name!('`', diesel::mysql::Mysql, diesel::mysql::Mysql);
#[cfg(all(feature = "sqlite", not(any(feature = "mysql", feature = "postgres"))))]
render_name!('`', diesel::sqlite::Sqlite, diesel::sqlite::Sqlite);
#[cfg(not(any(feature = "sqlite", feature = "mysql", feature = "postgres")))]
impl<T> RenderName for T {
    fn render(&self) -> (char, String) {
        ('"', String::new())
    }
}

/// The name of the module that `table!` makes. It is the table's name.
pub(crate) fn module_name<T>() -> &'static str {
    let path = std::any::type_name::<T>();
    path.rsplit("::").nth(1).unwrap_or(path)
}

/// The kind of a column.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Counter,
    Nullable,
    NoCounter,
}

/// The columns of a table: a tuple of up to 32.
#[diagnostic::on_unimplemented(
    message = "a counter table has up to 32 columns",
    label = "this table has more than 32 columns"
)]
pub trait ColumnNames {
    fn column_names() -> Vec<(Name<'static>, Kind)>;
}

fn kind<C: Column<SqlType: 'static>>() -> Kind {
    let sql_type = TypeId::of::<C::SqlType>();
    if sql_type == TypeId::of::<BigInt>() {
        Kind::Counter
    } else if sql_type == TypeId::of::<Nullable<BigInt>>() {
        Kind::Nullable
    } else {
        Kind::NoCounter
    }
}

macro_rules! column_names {
    () => {};
    ($First:ident $($C:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<$First, $($C),*> ColumnNames for ($First, $($C,)*)
        where
            $First: Column<SqlType: 'static>,
            $($C: Column<SqlType: 'static>,)*
        {
            fn column_names() -> Vec<(Name<'static>, Kind)> {
                vec![(Name($First::NAME), kind::<$First>()), $((Name($C::NAME), kind::<$C>())),*]
            }
        }
        column_names!($($C)*);
    };
}

column_names! {
    A B C D E F G H I J K L M N O P Q R S T U V W X Y Z Aa Ab Ac Ad Ae Af
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
    const NAMES: &'static [Name<'static>];
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
            const NAMES: &'static [Name<'static>] = &[$(Name($E::NAME),)* Name(D::NAME), Name(S::NAME)];
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
    message = "this counter table has no entities: its primary key is (day, slot)",
    label = "this requires a counter table whose primary key is (entity, day, slot)"
)]
pub trait NotEmpty: KeyTypes {}
