//! A counter table, by the names of its columns.

use std::any::TypeId;
use std::borrow::Cow;

use diesel::Column;
use diesel::sql_types::{BigInt, Nullable};

use crate::day::Period;
use crate::table::{CounterTable, module_name};

type Name = Cow<'static, str>;

/// The columns of a counter table, by name.
///
/// It is for programs that have no `table!` of the table, and read its columns from the database
/// at run time, such as the command `diesel-counters`. Use it with
/// [`Compact::new`](crate::Compact::new), [`Compact::folding`],
/// [`Materialize::of_layout`](crate::Materialize::of_layout) and [`Layout::sums`].
///
/// `F` is the table's name as a Diesel [`QueryFragment`](diesel::query_builder::QueryFragment).
///
/// [`Compact::folding`]: crate::Compact::folding
#[derive(Debug, Clone)]
pub struct Layout<F> {
    /// The table's name, as SQL.
    pub table: F,
    /// The table's name, for messages.
    pub name: Name,
    /// The period that the table counts by.
    pub period: Period,
    /// The primary key's columns of the entity; empty if the primary key is `(day, slot)`.
    pub entity: Vec<Name>,
    /// The primary key's column of days.
    pub day: Name,
    /// The primary key's column of slots.
    pub slot: Name,
    /// The columns that are counters.
    pub counters: Vec<Name>,
    /// Other columns. A merge discards their values in the rows that it merges. If the table has a
    /// column that the layout does not have, a merge fails.
    pub others: Vec<Name>,
}

impl<T: CounterTable> Layout<T> {
    /// The layout of a `table!`.
    pub(crate) fn of_table() -> Self
    where
        T::AllColumns: ColumnNames,
    {
        let (mut counters, mut others) = (Vec::new(), Vec::new());
        for (name, kind) in T::AllColumns::column_names() {
            match kind {
                _ if T::KEY.contains(&name) => {}
                Kind::Counter => counters.push(name),
                Kind::NoCounter => others.push(name.into()),
                // A number that can be NULL is not a counter, but could be meant as one. It is left
                // out, so that a merge fails and names the column.
                Kind::Nullable => {}
            }
        }
        Layout {
            others,
            ..Layout::of_counters(&counters)
        }
    }

    pub(crate) fn of_counters(counters: &[&'static str]) -> Self {
        let names = |names: &[&'static str]| names.iter().copied().map(Name::from).collect();
        Layout {
            table: T::table(),
            name: module_name::<T>().into(),
            period: T::PERIOD,
            entity: names(T::ENTITY),
            day: T::DAY.into(),
            slot: T::SLOT.into(),
            counters: names(counters),
            others: Vec::new(),
        }
    }
}

impl<F> Layout<F> {
    /// The columns of the primary key, in order.
    pub(crate) fn key(&self) -> Vec<&str> {
        let mut key = self.entity();
        key.extend([&*self.day, &*self.slot]);
        key
    }

    /// The columns of the entity's key, in order.
    pub(crate) fn entity(&self) -> Vec<&str> {
        self.entity.iter().map(|name| &**name).collect()
    }

    pub(crate) fn counters(&self) -> Vec<&str> {
        self.counters.iter().map(|name| &**name).collect()
    }

    /// Returns whether the layout has this column, which is one of `columns`, the columns of the
    /// table. A merge fails on other columns.
    pub(crate) fn knows(&self, column: &str, columns: &[String]) -> bool {
        // Names can differ in case from those of the database. Only PostgreSQL allows two columns
        // whose names differ in nothing but case. There, the layout has the exact name.
        let is = |name: &str| {
            name == column
                || name.eq_ignore_ascii_case(column) && !columns.iter().any(|other| other == name)
        };
        self.key().into_iter().any(is)
            || self
                .counters
                .iter()
                .chain(&self.others)
                .any(|name| is(name))
    }
}

/// The kind of a column.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Counter,
    Nullable,
    NoCounter,
}

/// The names of the counters of a `table!`.
pub(crate) fn counters_of<T>() -> impl Iterator<Item = &'static str>
where
    T: CounterTable<AllColumns: ColumnNames>,
{
    let columns = T::AllColumns::column_names().into_iter();
    let is_counter =
        |(name, kind): &(_, _)| matches!(kind, Kind::Counter) && !T::KEY.contains(name);
    columns.filter(is_counter).map(|(name, _)| name)
}

/// The columns of a table: a tuple of up to 32.
#[diagnostic::on_unimplemented(
    message = "a counter table with more than 32 columns cannot be merged",
    label = "this counter table has more than 32 columns"
)]
pub trait ColumnNames {
    fn column_names() -> Vec<(&'static str, Kind)>;
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
            fn column_names() -> Vec<(&'static str, Kind)> {
                vec![($First::NAME, kind::<$First>()), $(($C::NAME, kind::<$C>())),*]
            }
        }
        column_names!($($C)*);
    };
}

column_names! {
    A B C D E F G H I J K L M N O P Q R S T U V W X Y Z Aa Ab Ac Ad Ae Af
}
