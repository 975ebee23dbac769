//! Amounts for several counters in one call: `(views.by(1), likes.by(2))`.

use diesel::Column;

use crate::counter::Counters;

/// What [`incr_counters`](crate::HasCounters::incr_counters) adds to one counter;
/// made by [`by`](CounterColumn::by).
#[derive(Debug, Clone, Copy)]
pub struct By<C> {
    counter: C,
    amount: i64,
}

/// Says how much to add to a counter, next to others: `(views.by(1), likes.by(2))`.
pub trait CounterColumn: Column + Counters<Value = i64> + Sized {
    /// This counter, and `amount` to add to it.
    fn by(self, amount: i64) -> By<Self> {
        By {
            counter: self,
            amount,
        }
    }
}

impl<C: Column + Counters<Value = i64>> CounterColumn for C {}

/// One [`By`], or a tuple of up to eight for counters of one table.
pub trait Changes {
    /// The counter, or the tuple of counters, that changes.
    type Counters: Counters;
    #[doc(hidden)]
    fn split(self) -> (Self::Counters, <Self::Counters as Counters>::Value);
}

impl<C: Counters<Value = i64>> Changes for By<C> {
    type Counters = C;
    fn split(self) -> (C, i64) {
        (self.counter, self.amount)
    }
}

macro_rules! change_tuples {
    ($($First:ident $first:ident $($C:ident $c:ident)*;)*) => {$(
        impl<$First, $($C),*> Changes for (By<$First>, $(By<$C>,)*)
        where
            ($First, $($C,)*): Counters<Value = change_tuples!(@values $First $($C)*)>,
        {
            type Counters = ($First, $($C,)*);
            fn split(self) -> (Self::Counters, <Self::Counters as Counters>::Value) {
                let ($first, $($c,)*) = self;
                (
                    ($first.counter, $($c.counter,)*),
                    ($first.amount, $($c.amount,)*),
                )
            }
        }
    )*};
    (@values $($C:ident)*) => { ($(change_tuples!(@i64 $C),)*) };
    (@i64 $C:ident) => { i64 };
}

change_tuples! {
    A a B b;
    A a B b C c;
    A a B b C c D d;
    A a B b C c D d E e;
    A a B b C c D d E e F f;
    A a B b C c D d E e F f G g;
    A a B b C c D d E e F f G g H h;
}
