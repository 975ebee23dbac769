//! A counter table by the names of all its columns.

use std::any::TypeId;
use std::borrow::Cow;

use diesel::query_source::QuerySource;
use diesel::sql_types::{BigInt, Nullable};
use diesel::{Column, Table};

use crate::table::CounterTable;

type Name = Cow<'static, str>;

/// A counter table by the names of all its columns: what merging its rows needs to know.
///
/// [`compact`](crate::compact()) and [`fold`](crate::fold()) make their own from a
/// `table!`. A program that learns of tables only as it runs, such as the
/// `diesel-counters` command, writes one down. `F` is what the table is called in a
/// `FROM`, a Diesel [`QueryFragment`](diesel::query_builder::QueryFragment).
#[derive(Debug, Clone)]
pub struct Layout<F> {
    /// The table in a `FROM`.
    pub table: F,
    /// The table's name, for messages and for the lock that lets one merge run at a time.
    pub name: Name,
    /// The first column of the key; `None` where the key is `(day, slot)`.
    pub entity: Option<Name>,
    /// The key's column of days.
    pub day: Name,
    /// The key's column of slots.
    pub slot: Name,
    /// The counters.
    pub counters: Vec<Name>,
    /// Columns that may be lost with a row.
    pub others: Vec<Name>,
}

impl<F> Layout<F> {
    /// That of a `table!`.
    pub(crate) fn of<T>() -> Self
    where
        T: CounterTable + QuerySource<FromClause = F>,
        <T as Table>::AllColumns: ColumnNames,
    {
        let (mut counters, mut others) = (Vec::new(), Vec::new());
        for (name, kind) in T::AllColumns::column_names() {
            match kind {
                _ if T::KEY.contains(&name) => {}
                Kind::Counter => counters.push(name.into()),
                Kind::NoCounter => others.push(name.into()),
                // Then it is known to none, and merging refuses to lose it.
                Kind::Nullable => {}
            }
        }
        Layout {
            table: T::table().from_clause(),
            name: module_name::<T>().into(),
            entity: T::ENTITY.map(Name::from),
            day: T::DAY.into(),
            slot: T::SLOT.into(),
            counters,
            others,
        }
    }

    /// The columns of the key, in order.
    pub(crate) fn key(&self) -> Vec<&str> {
        let entity = self.entity.as_deref();
        entity
            .into_iter()
            .chain([&*self.day, &*self.slot])
            .collect()
    }

    pub(crate) fn counters(&self) -> Vec<&str> {
        self.counters.iter().map(|name| &**name).collect()
    }

    /// Whether what the column holds is kept, or may be lost.
    pub(crate) fn knows(&self, column: &str) -> bool {
        // The databases themselves tell them apart by case at most.
        let is = |name: &str| name.eq_ignore_ascii_case(column);
        self.key().into_iter().any(is)
            || self
                .counters
                .iter()
                .chain(&self.others)
                .any(|name| is(name))
    }
}

/// The module that `table!` made, which has the table's name.
fn module_name<T>() -> &'static str {
    let path = std::any::type_name::<T>();
    path.rsplit("::").nth(1).unwrap_or(path)
}

/// What a column holds.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Counter,
    Nullable,
    NoCounter,
}

/// The columns of a table: a tuple of up to 32.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a counter table of so many columns cannot be merged",
    label = "it may have up to 32 columns"
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
