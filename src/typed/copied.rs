//! What `materialize` copies, and the columns that it copies into.

use diesel::sql_types::{BigInt, Integer, Nullable};
use diesel::{Column, Expression};

use crate::day::DayRange;
use crate::shape::Name;
use crate::typed::counters::{Counters, assert_different};
use crate::typed::table::CounterTable;

/// What [`materialize`](crate::HasCounters::materialize) copies. It's a counter, for example
/// `views`, or a counter's [`total`](crate::dsl::total()), for example
/// `total(views).between(first..)`, or a tuple of two to eight of them.
///
/// This trait is implemented for all of these. Don't implement it yourself.
pub trait Copied: Expression<SqlType: CopiedType<Self>> + Sized {
    /// The counter table.
    type Table: CounterTable;
    /// An `i64`, or a tuple with an `i64` for each count.
    type Value;
    /// Returns the counts to copy, in the order of the tuple.
    #[doc(hidden)]
    fn counts(&self) -> Vec<CopiedCount>;
}

impl<C> Copied for C
where
    C: Expression,
    C::SqlType: CopiedType<C, Table: CounterTable>,
{
    type Table = <C::SqlType as CopiedType<C>>::Table;
    type Value = <C::SqlType as CopiedType<C>>::Value;
    fn counts(&self) -> Vec<CopiedCount> {
        <C::SqlType as CopiedType<C>>::counts(self)
    }
}

/// The SQL type of what is copied.
#[diagnostic::on_unimplemented(
    message = "`{C}` is not a counter, not a `total`, and not a tuple of them",
    label = "its SQL type is `{Self}`",
    note = "a counter is a `BigInt` column of a counter table; a tuple has two to eight counters or totals of one table, as in `(views, total(views).between(first..))`"
)]
pub trait CopiedType<C> {
    #[doc(hidden)]
    type Table;
    #[doc(hidden)]
    type Value;
    /// Returns the counts that `copied` is or has, in the order of the tuple.
    #[doc(hidden)]
    fn counts(copied: &C) -> Vec<CopiedCount>;
}

/// A counter, or the total of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a counter nor a `total` of the row's own entity",
    label = "`materialize` copies a counter, or a `total` without `of`, such as `total(views).between(first..)`"
)]
pub trait CopiedOne {
    #[doc(hidden)]
    type Table;
    /// Returns the count to copy.
    #[doc(hidden)]
    fn count(&self) -> CopiedCount;
}

/// A count to copy, of some days or of all.
#[derive(Debug, Clone)]
pub struct CopiedCount {
    pub(crate) counter: Name<'static>,
    pub(crate) days: Option<DayRange>,
}

#[diagnostic::do_not_recommend]
impl<C> CopiedOne for C
where
    C: Column<SqlType = BigInt> + Counters<Value = i64>,
{
    type Table = <C as Counters>::Table;
    fn count(&self) -> CopiedCount {
        CopiedCount {
            counter: C::NAMES[0],
            days: None,
        }
    }
}

/// Columns of a parent table that totals are copied into: a `BigInt` or `Integer` column, which can
/// be `Nullable`, or a tuple of two to eight of them.
///
/// This trait is implemented for all of these. Don't implement it yourself.
pub trait TotalColumns: Expression<SqlType: TotalColumnsType<Self>> + Sized {
    /// The parent table.
    type Table;
    /// An `i64`, or a tuple with an `i64` for each column.
    type Value;
    #[doc(hidden)]
    const COLUMNS: &'static [TotalColumn];
}

impl<C> TotalColumns for C
where
    C: Expression,
    C::SqlType: TotalColumnsType<C>,
{
    type Table = <C::SqlType as TotalColumnsType<C>>::Table;
    type Value = <C::SqlType as TotalColumnsType<C>>::Value;
    const COLUMNS: &'static [TotalColumn] = <C::SqlType as TotalColumnsType<C>>::COLUMNS;
}

/// The SQL type of columns that totals are copied into.
#[diagnostic::on_unimplemented(
    message = "totals are copied into `BigInt` or `Integer` columns of one table, and `{C}` is something else",
    label = "its SQL type is `{Self}`",
    note = "give a column of the parent table for each count: a column, or a tuple of two to eight, as in `(articles::total_views, articles::recent_views)`"
)]
pub trait TotalColumnsType<C> {
    #[doc(hidden)]
    type Table;
    #[doc(hidden)]
    type Value;
    #[doc(hidden)]
    const COLUMNS: &'static [TotalColumn];
}

/// A column that totals are copied into.
#[derive(Debug, Clone, Copy)]
pub struct TotalColumn {
    pub(crate) name: Name<'static>,
    pub(crate) holds: ColumnInteger,
}

/// The values that a column can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnInteger {
    I32,
    I64,
}

impl ColumnInteger {
    /// Returns whether the column can hold the value.
    pub(crate) fn includes(self, value: i64) -> bool {
        match self {
            ColumnInteger::I32 => i32::try_from(value).is_ok(),
            ColumnInteger::I64 => true,
        }
    }
}

/// The SQL type of one column that totals are copied into.
pub trait TotalType {
    #[doc(hidden)]
    const INTEGER: ColumnInteger;
}

impl TotalType for BigInt {
    const INTEGER: ColumnInteger = ColumnInteger::I64;
}

impl TotalType for Integer {
    const INTEGER: ColumnInteger = ColumnInteger::I32;
}

impl TotalType for Nullable<BigInt> {
    const INTEGER: ColumnInteger = ColumnInteger::I64;
}

impl TotalType for Nullable<Integer> {
    const INTEGER: ColumnInteger = ColumnInteger::I32;
}

#[diagnostic::do_not_recommend]
impl<C: CopiedOne> CopiedType<C> for BigInt {
    type Table = C::Table;
    type Value = i64;
    fn counts(copied: &C) -> Vec<CopiedCount> {
        vec![copied.count()]
    }
}

macro_rules! one_column {
    ($($ST:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<C: Column<SqlType = $ST>> TotalColumnsType<C> for $ST {
            type Table = C::Table;
            type Value = i64;
            const COLUMNS: &'static [TotalColumn] = &[TotalColumn::of::<C>()];
        }
    )*};
}

one_column!(BigInt Integer Nullable<BigInt> Nullable<Integer>);

impl TotalColumn {
    /// Returns the name of the column `C`, and which values it can hold.
    const fn of<C: Column<SqlType: TotalType>>() -> Self {
        TotalColumn {
            name: Name(C::NAME),
            holds: C::SqlType::INTEGER,
        }
    }
}

macro_rules! tuples {
    ($([$First:ident $FirstType:ident $first:ident] $([$C:ident $ST:ident $c:ident])*;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$First, $($C),*> CopiedType<($First, $($C),*)> for tuples!(@types $First $($C)*)
        where
            $First: CopiedOne,
            $($C: CopiedOne<Table = $First::Table>,)*
        {
            type Table = $First::Table;
            type Value = tuples!(@values $First $($C)*);
            fn counts(($first, $($c),*): &($First, $($C),*)) -> Vec<CopiedCount> {
                vec![$first.count(), $($c.count()),*]
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$First, $($C,)* $FirstType, $($ST),*> TotalColumnsType<($First, $($C),*)> for ($FirstType, $($ST),*)
        where
            $FirstType: TotalType,
            $First: Column<SqlType = $FirstType>,
            $($ST: TotalType, $C: Column<SqlType = $ST, Table = $First::Table>,)*
        {
            type Table = $First::Table;
            type Value = tuples!(@values $First $($C)*);
            const COLUMNS: &'static [TotalColumn] = {
                assert_different(&[Name($First::NAME), $(Name($C::NAME)),*]);
                &[TotalColumn::of::<$First>(), $(TotalColumn::of::<$C>()),*]
            };
        }
    )*};
    (@types $($C:ident)*) => { ($(tuples!(@as $C BigInt),)*) };
    (@values $($C:ident)*) => { ($(tuples!(@as $C i64),)*) };
    (@as $C:ident $T:ty) => { $T };
}

tuples! {
    [A SA a] [B SB b];
    [A SA a] [B SB b] [C SC c];
    [A SA a] [B SB b] [C SC c] [D SD d];
    [A SA a] [B SB b] [C SC c] [D SD d] [E SE e];
    [A SA a] [B SB b] [C SC c] [D SD d] [E SE e] [F SF f];
    [A SA a] [B SB b] [C SC c] [D SD d] [E SE e] [F SF f] [G SG g];
    [A SA a] [B SB b] [C SC c] [D SD d] [E SE e] [F SF f] [G SG g] [H SH h];
}
