//! Amounts for several counters in one call: `(views.by(1), likes.by(2))`.

use std::marker::PhantomData;

use diesel::Column;

use crate::counter::Counters;

/// A counter and the amount to add to it; made by [`by`](CounterColumn::by).
#[derive(Debug, Clone, Copy)]
pub struct Delta<C> {
    amount: i64,
    counter: PhantomData<C>,
}

/// Adds the method [`by`](CounterColumn::by) to the columns that are counters.
pub trait CounterColumn: Column + Counters<Value = i64> + Sized {
    /// Returns this counter with the amount to add to it, which may be negative. Use it in a tuple:
    /// `(views.by(1), likes.by(2))`.
    fn by(self, amount: i64) -> Delta<Self> {
        Delta {
            amount,
            counter: PhantomData,
        }
    }
}

impl<C: Column + Counters<Value = i64>> CounterColumn for C {}

/// A tuple of two to eight [`Delta`]s of counters of one table, such as
/// `(views.by(1), likes.by(2))`: the argument of
/// [`incr_counters`](crate::HasCounters::incr_counters).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tuple of counters with their amounts",
    label = "this requires two to eight counters of one table, each with its amount",
    note = "help: write `(views.by(1), likes.by(2))`",
    note = "help: for one counter, write `incr_counter_by(views, 3, conn)`"
)]
pub trait Deltas {
    /// The tuple of counters.
    type Counters: Counters;
    #[doc(hidden)]
    fn amounts(self) -> <Self::Counters as Counters>::Amounts;
}

macro_rules! delta_tuples {
    ($($($C:ident $c:ident)*;)*) => {$(
        impl<$($C),*> Deltas for ($(Delta<$C>,)*)
        where
            ($($C,)*): Counters<Value = ($(delta_tuples!(@i64 $C),)*)>,
        {
            type Counters = ($($C,)*);
            fn amounts(self) -> <Self::Counters as Counters>::Amounts {
                let ($($c,)*) = self;
                <Self::Counters as Counters>::amounts(($($c.amount,)*))
            }
        }
    )*};
    (@i64 $C:ident) => { i64 };
}

delta_tuples! {
    A a B b;
    A a B b C c;
    A a B b C c D d;
    A a B b C c D d E e;
    A a B b C c D d E e F f;
    A a B b C c D d E e F f G g;
    A a B b C c D d E e F f G g H h;
}
