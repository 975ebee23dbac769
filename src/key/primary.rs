//! The primary keys of counter tables.

use diesel::Column;
use diesel::sql_types::is_nullable::NotNull;
use diesel::sql_types::{Date, SingleValue, SmallInt, SqlType};

use crate::key::types::KeyTypes;
use crate::shape::Name;

/// A primary key of the table `T`: `(entity, day, slot)`, with up to five columns for the entity.
#[diagnostic::on_unimplemented(
    message = "`{T}` is not a counter table: its primary key is not (entity, day, slot)",
    label = "this table's primary key must be the columns of the entity, up to five, and then day, slot",
    note = "help: the correct format looks like\n\
    `table! {{ article_counters (article_id, day, slot) {{ article_id -> BigInt, day -> Date, slot -> SmallInt, views -> BigInt, }} }}`",
    note = "help: for counters without an entity, for example for a whole site, the primary key is (day, slot)"
)]
pub trait CounterKey<T> {
    /// The columns of the entity.
    #[doc(hidden)]
    type Entity;
    /// Their SQL types.
    #[doc(hidden)]
    type KeyType: KeyTypes;
    #[doc(hidden)]
    const NAMES: &'static [Name<'static>];
}

macro_rules! counter_keys {
    ($($number:literal: $([$i:tt $E:ident $K:ident])*;)*) => {$(
        impl<T, $($E,)* D, S> CounterKey<T> for ($($E,)* D, S)
        where
            $($E: Column<Table = T, SqlType: KeyColumnType<T, EntityColumn>>,)*
            D: Column<Table = T, SqlType: KeyColumnType<T, DayColumn>>,
            S: Column<Table = T, SqlType: KeyColumnType<T, SlotColumn>>,
        {
            type Entity = ($($E,)*);
            type KeyType = ($($E::SqlType,)*);
            const NAMES: &'static [Name<'static>] = &[$(Name($E::NAME),)* Name(D::NAME), Name(S::NAME)];
        }
    )*};
}

each_key!(counter_keys);

/// The SQL type of a primary key column. `Of` says what the column is for: `EntityColumn`,
/// `DayColumn` or `SlotColumn`. `T` is the table, for the error message.
#[diagnostic::on_unimplemented(
    message = "`{T}` is not a counter table: a column of its primary key has the SQL type `{Self}`",
    label = "the primary key must be (entity, day, slot) or (day, slot)",
    note = "help: the columns of the entity are `NOT NULL`, the day is a `Date`, and the slot is a `SmallInt`"
)]
pub trait KeyColumnType<T, Of>: SingleValue + 'static {}

/// A column of the entity's key.
#[derive(Debug)]
pub struct EntityColumn;
/// The day column.
#[derive(Debug)]
pub struct DayColumn;
/// The slot column.
#[derive(Debug)]
pub struct SlotColumn;

#[diagnostic::do_not_recommend]
impl<T, ST> KeyColumnType<T, EntityColumn> for ST where
    ST: SingleValue + SqlType<IsNull = NotNull> + 'static
{
}
#[diagnostic::do_not_recommend]
impl<T> KeyColumnType<T, DayColumn> for Date {}
#[diagnostic::do_not_recommend]
impl<T> KeyColumnType<T, SlotColumn> for SmallInt {}
