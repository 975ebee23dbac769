//! Columns that are counters, and tuples of them.

use std::fmt;

use diesel::deserialize;
use diesel::query_builder::QueryId;
use diesel::row::Row;
use diesel::sql_types::BigInt;
use diesel::{Column, Expression, QueryResult};

use crate::error::overflow;
use crate::shape::Name;
use crate::sql::CounterBackend;
use crate::typed::table::CounterTable;

/// One counter, or a tuple of two to eight counters of one table, for example `views` or
/// `(views, likes)`.
///
/// A counter is a `BigInt` column of a [`CounterTable`] that isn't part of the primary key. This
/// trait is implemented for every counter, and for tuples of counters. Don't implement it yourself.
pub trait Counters: Expression<SqlType: CounterType<Self>> + QueryId + Clone {
    /// The counter table.
    type Table: CounterTable;
    /// The type of an amount and of a count: `i64`, or a tuple with an `i64` for each counter.
    type Value: Copy + 'static;
    /// `Value` as an array.
    #[doc(hidden)]
    type Amounts: AsRef<[i64]> + AsMut<[i64]> + Copy + Default + fmt::Debug + Send + Sync + 'static;
    #[doc(hidden)]
    const NAMES: &'static [Name<'static>];
    /// Returns the value as an array.
    #[doc(hidden)]
    fn amounts(value: Self::Value) -> Self::Amounts;
    /// Returns the array as a value.
    #[doc(hidden)]
    fn value(amounts: Self::Amounts) -> Self::Value;
}

/// The SQL types of the entity's key in the table of the counters `C`.
pub type KeyType<C> = <<C as Counters>::Table as CounterTable>::KeyType;

/// Returns the sum for each counter, or an overflow if a sum doesn't fit an `i64`. A partial sum
/// doesn't have to fit: whether it does would depend on the order.
pub(crate) fn sum<'a, A>(amounts: impl IntoIterator<Item = &'a A>) -> QueryResult<A>
where
    A: AsRef<[i64]> + AsMut<[i64]> + Default + 'a,
{
    let mut sums = [0_i128; MAX_COUNTERS];
    for amounts in amounts {
        for (sum, amount) in sums.iter_mut().zip(amounts.as_ref()) {
            *sum += i128::from(*amount);
        }
    }
    let mut total = A::default();
    for (total, sum) in total.as_mut().iter_mut().zip(sums) {
        *total = i64::try_from(sum).map_err(|_| overflow())?;
    }
    Ok(total)
}

/// The maximum number of counters in a tuple.
const MAX_COUNTERS: usize = 8;

/// Returns whether all of these amounts are 0.
pub(crate) fn is_zero(amounts: &impl AsRef<[i64]>) -> bool {
    amounts.as_ref().iter().all(|&amount| amount == 0)
}

/// Returns the counts in a row's columns, starting with the column `first`.
pub(crate) fn amounts<'a, C: Counters, DB: CounterBackend>(
    row: &impl Row<'a, DB>,
    first: usize,
) -> deserialize::Result<C::Amounts> {
    let mut amounts = C::Amounts::default();
    for (column, amount) in (first..).zip(amounts.as_mut()) {
        *amount = DB::amount(row, column)?;
    }
    Ok(amounts)
}

/// Returns the amount to add to `from` to get `to`, for each counter, or an overflow.
pub(crate) fn difference<A: AsMut<[i64]>>(mut to: A, from: &impl AsRef<[i64]>) -> QueryResult<A> {
    for (to, from) in to.as_mut().iter_mut().zip(from.as_ref()) {
        *to = to.checked_sub(*from).ok_or_else(overflow)?;
    }
    Ok(to)
}

// The compiler rejects a blanket impl for columns next to one for tuples, because they could
// overlap. Impls for their SQL types don't overlap: there is one impl for all `C`, and
// `CounterType<C>` is implemented for `BigInt` and for tuples of it.
impl<C> Counters for C
where
    C: Expression + QueryId + Clone,
    C::SqlType: CounterType<C, Table: CounterTable>,
{
    type Table = TableOf<C>;
    type Value = <C::SqlType as CounterType<C>>::Value;
    type Amounts = <C::SqlType as CounterType<C>>::Amounts;
    const NAMES: &'static [Name<'static>] =
        assert_not_in_key::<TableOf<C>>(<C::SqlType as CounterType<C>>::NAMES);
    fn amounts(value: Self::Value) -> Self::Amounts {
        <C::SqlType as CounterType<C>>::amounts(value)
    }
    fn value(amounts: Self::Amounts) -> Self::Value {
        <C::SqlType as CounterType<C>>::value(amounts)
    }
}

/// The SQL type of the counter or counters `C`.
#[diagnostic::on_unimplemented(
    message = "`{C}` is not a `BigInt` column, and not a tuple of `BigInt` columns of one table",
    label = "its SQL type is `{Self}`",
    note = "help: a counter is a `BigInt` column of a counter table; a tuple of counters has two to eight, as in `(views, likes)`"
)]
pub trait CounterType<C> {
    #[doc(hidden)]
    type Table;
    #[doc(hidden)]
    type Value: Copy + 'static;
    #[doc(hidden)]
    type Amounts: AsRef<[i64]> + AsMut<[i64]> + Copy + Default + fmt::Debug + Send + Sync + 'static;
    #[doc(hidden)]
    const NAMES: &'static [Name<'static>];
    #[doc(hidden)]
    fn amounts(value: Self::Value) -> Self::Amounts;
    #[doc(hidden)]
    fn value(amounts: Self::Amounts) -> Self::Value;
}

impl<C> CounterType<C> for BigInt
where
    C: Column<SqlType = BigInt>,
{
    type Table = C::Table;
    type Value = i64;
    type Amounts = [i64; 1];
    const NAMES: &'static [Name<'static>] = &[Name(C::NAME)];
    fn amounts(value: i64) -> [i64; 1] {
        [value]
    }
    fn value([value]: [i64; 1]) -> i64 {
        value
    }
}

/// The table of the `BigInt` column or columns `C`.
type TableOf<C> = <<C as Expression>::SqlType as CounterType<C>>::Table;

/// Returns these names. Fails to compile if one of the columns is part of the primary key.
const fn assert_not_in_key<T: CounterTable>(
    names: &'static [Name<'static>],
) -> &'static [Name<'static>] {
    assert!(
        !have_common(names, T::KEY),
        "this column is not a counter: it is part of the primary key of the counter table"
    );
    names
}

/// Returns these names. Fails to compile if a name occurs twice: SQLite would write only one of the
/// two amounts.
pub(crate) const fn assert_different(names: &'static [Name<'static>]) -> &'static [Name<'static>] {
    let mut i = 0;
    while i < names.len() {
        let earlier = names.split_at(i).0;
        assert!(
            !contains(earlier, names[i]),
            "this tuple has a column twice"
        );
        i += 1;
    }
    names
}

/// Returns whether a name is in both lists.
const fn have_common(names: &[Name<'static>], others: &[Name<'static>]) -> bool {
    let mut i = 0;
    while i < names.len() {
        if contains(others, names[i]) {
            return true;
        }
        i += 1;
    }
    false
}

/// Returns whether `name` is one of these names.
const fn contains(names: &[Name<'static>], Name(name): Name<'static>) -> bool {
    let mut i = 0;
    while i < names.len() {
        let Name(other) = names[i];
        if are_equal(other.as_bytes(), name.as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}

/// Returns whether the texts are equal. In a `const fn`, `==` doesn't work.
const fn are_equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Returns whether one of the counters `C` is a stock: a counter that never goes below 0.
pub(crate) const fn has_stock<C: Counters>() -> bool {
    have_common(C::NAMES, C::Table::STOCK)
}

/// Fails to compile if the counter `C` isn't a stock.
pub(crate) const fn assert_is_stock<C: Counters>() {
    assert!(
        has_stock::<C>(),
        "this counter is not a stock: declare it with `stock = (…)` in the `counter_table!`"
    );
}

/// Fails to compile if the program can't set the counters `C` together. It can set a single stock,
/// but a tuple can't have one.
pub(crate) const fn assert_program_sets<C: Counters>() {
    let is_single_stock = has_stock::<C>() && C::NAMES.len() == 1;
    if !is_single_stock {
        assert_program_counts::<C>();
    }
}

/// Fails to compile if the program doesn't count the counters `C` itself: if the database counts one
/// of them, or if one is a stock. Every function that writes calls this itself, so that the compiler
/// names the caller's line.
pub(crate) const fn assert_program_counts<C: Counters>() {
    assert!(
        !has_stock::<C>(),
        "a counter of this statement is a stock: write `take`, `put_back`, or `set_counter` of it alone"
    );
    assert!(
        !have_common(C::NAMES, C::Table::COUNTED_BY_DATABASE),
        "a counter of this statement is counted by the database: insert or delete the row that it \
         counts, or correct the count with `recount`"
    );
}

/// Returns the SQL name of a counter, for the derive.
pub const fn name_of<C: Counters<Value = i64> + Copy>(_counter: C) -> Name<'static> {
    C::NAMES[0]
}

macro_rules! counter_tuples {
    ($($n:literal: $First:ident $($C:ident $value:ident)*;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$First, $($C),*> CounterType<($First, $($C),*)> for counter_tuples!(@types $First $($C)*)
        where
            $First: Column<SqlType = BigInt>,
            $($C: Column<SqlType = BigInt, Table = $First::Table>,)*
        {
            type Table = $First::Table;
            type Value = counter_tuples!(@values $First $($C)*);
            type Amounts = [i64; $n];
            const NAMES: &'static [Name<'static>] =
                assert_different(&[Name($First::NAME), $(Name($C::NAME)),*]);
            fn amounts((first, $($value),*): Self::Value) -> [i64; $n] {
                [first, $($value),*]
            }
            fn value([first, $($value),*]: [i64; $n]) -> Self::Value {
                (first, $($value),*)
            }
        }
    )*};
    (@types $($C:ident)*) => { ($(counter_tuples!(@as $C BigInt),)*) };
    (@values $($C:ident)*) => { ($(counter_tuples!(@as $C i64),)*) };
    (@as $C:ident $T:ty) => { $T };
}

counter_tuples! {
    2: A B b;
    3: A B b C c;
    4: A B b C c D d;
    5: A B b C c D d E e;
    6: A B b C c D d E e F f;
    7: A B b C c D d E e F f G g;
    8: A B b C c D d E e F f G g H h;
}
