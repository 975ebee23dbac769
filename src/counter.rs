//! Columns that are counters, and tuples of them.

use diesel::sql_types::BigInt;
use diesel::{Column, Expression, QueryResult};

use crate::error::overflow;
use crate::table::{CounterTable, KeyNames};

/// One counter, or a tuple of two to eight counters of one table: `views`, or
/// `(views, likes)`.
///
/// A counter is a `BigInt` column of a [`CounterTable`] that is not part of the primary key. This
/// trait is implemented for every counter, and for tuples of counters. Do not implement it
/// yourself.
pub trait Counters: Expression {
    /// The counter table.
    type Table: CounterTable;
    /// The type of an amount and of a count: `i64`, or a tuple with an `i64` for each counter.
    type Value: 'static;
    #[doc(hidden)]
    type Amounts: AsRef<[i64]> + AsMut<[i64]> + Copy + std::fmt::Debug + Send + 'static;
    /// The sum for each counter. In an `i128`, so that it does not overflow because of the order of
    /// the amounts.
    #[doc(hidden)]
    type Sums: AsRef<[i128]> + AsMut<[i128]> + Copy + Default + std::fmt::Debug;
    #[doc(hidden)]
    const NAMES: &'static [&'static str];
    #[doc(hidden)]
    const ONE_EACH: Self::Amounts;
    #[doc(hidden)]
    const ZERO: Self::Amounts;
    #[doc(hidden)]
    fn amounts(value: Self::Value) -> Self::Amounts;
    #[doc(hidden)]
    fn value(amounts: Self::Amounts) -> Self::Value;
}

/// Returns the sum for each counter, or an overflow.
pub(crate) fn sum<C: Counters>(
    all: impl IntoIterator<Item = C::Amounts>,
) -> QueryResult<C::Amounts> {
    in_range::<C>(sums::<C>(all))
}

/// Returns the sums as amounts, or an overflow.
pub(crate) fn in_range<C: Counters>(sums: C::Sums) -> QueryResult<C::Amounts> {
    let mut amounts = C::ZERO;
    for (amount, sum) in amounts.as_mut().iter_mut().zip(sums.as_ref()) {
        *amount = i64::try_from(*sum).map_err(|_| overflow())?;
    }
    Ok(amounts)
}

/// Returns the sum for each counter, or the nearest `i64`.
pub(crate) fn nearest_sum<C: Counters>(all: impl IntoIterator<Item = C::Amounts>) -> C::Amounts {
    let mut amounts = C::ZERO;
    let sums = sums::<C>(all);
    for (amount, sum) in amounts.as_mut().iter_mut().zip(sums.as_ref()) {
        *amount = (*sum).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    }
    amounts
}

fn sums<C: Counters>(all: impl IntoIterator<Item = C::Amounts>) -> C::Sums {
    let mut sums = C::Sums::default();
    for amounts in all {
        add::<C>(&mut sums, &wide::<C>(amounts));
    }
    sums
}

/// Returns the amounts as sums.
pub(crate) fn wide<C: Counters>(amounts: C::Amounts) -> C::Sums {
    let mut sums = C::Sums::default();
    for (sum, amount) in sums.as_mut().iter_mut().zip(amounts.as_ref()) {
        *sum = i128::from(*amount);
    }
    sums
}

/// Adds `more` to the sum of each counter.
pub(crate) fn add<C: Counters>(sums: &mut C::Sums, more: &C::Sums) {
    for (sum, more) in sums.as_mut().iter_mut().zip(more.as_ref()) {
        *sum += more;
    }
}

/// Returns the difference for each counter, or an overflow: the amount to add to `from` to get
/// `to`.
pub(crate) fn difference<C: Counters>(
    mut to: C::Amounts,
    from: C::Amounts,
) -> QueryResult<C::Amounts> {
    for (to, from) in to.as_mut().iter_mut().zip(from.as_ref()) {
        *to = to.checked_sub(*from).ok_or_else(overflow)?;
    }
    Ok(to)
}

/// Returns whether one of these counts, each of which is the nearest `i64`, can be out of the range of
/// an `i64`.
pub(crate) fn can_be_beyond(nearest: &impl AsRef<[i64]>) -> bool {
    let mut counts = nearest.as_ref().iter();
    counts.any(|count| [i64::MIN, i64::MAX].contains(count))
}

// The compiler rejects a blanket impl for columns next to one for tuples, because they could
// overlap. Impls for their SQL types do not overlap.
impl<C> Counters for C
where
    C: Expression,
    C::SqlType: CounterType<C>,
{
    type Table = <C::SqlType as CounterType<C>>::Table;
    type Value = <C::SqlType as CounterType<C>>::Value;
    type Amounts = <C::SqlType as CounterType<C>>::Amounts;
    type Sums = <C::SqlType as CounterType<C>>::Sums;
    const NAMES: &'static [&'static str] = <C::SqlType as CounterType<C>>::NAMES;
    const ONE_EACH: Self::Amounts = <C::SqlType as CounterType<C>>::ONE_EACH;
    const ZERO: Self::Amounts = <C::SqlType as CounterType<C>>::ZERO;
    fn amounts(value: Self::Value) -> Self::Amounts {
        <C::SqlType as CounterType<C>>::amounts(value)
    }
    fn value(amounts: Self::Amounts) -> Self::Value {
        <C::SqlType as CounterType<C>>::value(amounts)
    }
}

/// The SQL type of the counter or counters `C`.
#[diagnostic::on_unimplemented(
    message = "`{C}` is not a counter, and not a tuple of counters of one table",
    label = "its SQL type is `{Self}`; a counter is a `BigInt` column of a counter table",
    note = "a tuple of counters has two to eight counters of one table, as in `(views, likes)`"
)]
pub trait CounterType<C> {
    type Table: CounterTable;
    type Value: 'static;
    type Amounts: AsRef<[i64]> + AsMut<[i64]> + Copy + std::fmt::Debug + Send + 'static;
    type Sums: AsRef<[i128]> + AsMut<[i128]> + Copy + Default + std::fmt::Debug;
    const NAMES: &'static [&'static str];
    const ONE_EACH: Self::Amounts;
    const ZERO: Self::Amounts;
    fn amounts(value: Self::Value) -> Self::Amounts;
    fn value(amounts: Self::Amounts) -> Self::Value;
}

impl<C> CounterType<C> for BigInt
where
    C: Column<SqlType = BigInt>,
    C::Table: CounterTable,
{
    type Table = C::Table;
    type Value = i64;
    type Amounts = [i64; 1];
    type Sums = [i128; 1];
    const NAMES: &'static [&'static str] = &[counter_name::<C>()];
    const ONE_EACH: [i64; 1] = [1];
    const ZERO: [i64; 1] = [0];
    fn amounts(value: i64) -> [i64; 1] {
        [value]
    }
    fn value([value]: [i64; 1]) -> i64 {
        value
    }
}

/// Returns the column's name. Fails to compile if the column is part of the primary key.
const fn counter_name<C: Column<Table: CounterTable>>() -> &'static str {
    let mut key = 0;
    let columns = <C::Table as KeyNames>::KEY;
    while key < columns.len() {
        assert!(
            !same(C::NAME, columns[key]),
            "this column is not a counter: it is part of the primary key of the counter table"
        );
        key += 1;
    }
    C::NAME
}

/// Returns these names. Fails to compile if a name occurs twice: SQLite would add only one of the
/// two amounts.
const fn different(names: &'static [&'static str]) -> &'static [&'static str] {
    let mut i = 0;
    while i < names.len() {
        let mut j = 0;
        while j < i {
            assert!(!same(names[i], names[j]), "this tuple has a counter twice");
            j += 1;
        }
        i += 1;
    }
    names
}

/// Returns the first of `names` that is one of `others` too.
pub(crate) const fn first_common(
    names: &'static [&'static str],
    others: &[&str],
) -> Option<&'static str> {
    let mut i = 0;
    while i < names.len() {
        let mut j = 0;
        while j < others.len() {
            if same(names[i], others[j]) {
                return Some(names[i]);
            }
            j += 1;
        }
        i += 1;
    }
    None
}

/// Returns the SQL name of a counter, for the derive.
pub const fn name_of<C: Counters<Value = i64> + Copy>(_counter: C) -> &'static str {
    C::NAMES[0]
}

/// Returns whether two strings are equal, in a `const fn`, where `==` does not work.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
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

macro_rules! counter_tuples {
    ($($n:literal: $First:ident $($C:ident $value:ident)*;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$First, $($C),*> CounterType<($First, $($C),*)> for counter_tuples!(@types $First $($C)*)
        where
            $First: Column<SqlType = BigInt>,
            $First::Table: CounterTable,
            $($C: Column<SqlType = BigInt, Table = $First::Table>,)*
        {
            type Table = $First::Table;
            type Value = counter_tuples!(@values $First $($C)*);
            type Amounts = [i64; $n];
            type Sums = [i128; $n];
            const NAMES: &'static [&'static str] =
                different(&[counter_name::<$First>(), $(counter_name::<$C>()),*]);
            const ONE_EACH: [i64; $n] = [1; $n];
            const ZERO: [i64; $n] = [0; $n];
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
