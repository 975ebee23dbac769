//! The increments that a transaction or a buffer gathers.

use std::fmt::Debug;
use std::hash::Hash;

use diesel::connection::Connection;

use crate::add::increment::Increment;
use crate::add::many::IncrementMany;
use crate::day::Day;
use crate::sql::CounterBackend;
use crate::typed::counters::{Counters, KeyType};
use crate::typed::key::{BindKey, OwnedKey};
use crate::typed::table::CounterTable;

/// An increment that a [`CountingTransaction`](crate::CountingTransaction) or a
/// [`CounterBuffer`](crate::CounterBuffer) counts: an [`Increment`] of an entity or without one, or
/// an [`IncrementMany`]. The compiler infers `Of`.
///
/// A key is owned, such as an `i64` or a `String`, or a reference, such as a `&str`, which is
/// copied. Give all keys of a table as one Rust type: each type has statements of its own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an increment with an owned key: write `increment(views).of(id)`, or `.of((id, name.to_owned()))` for several columns",
    label = "this requires an increment with the key of its entity",
    note = "a key is `Hash + Ord + Clone + Debug + Send`, and can be loaded",
    note = "help: if the connection is generic, add the bound `String: OwnedKey<(Text,), Conn::Backend>`, with the owned type of your key and its SQL types"
)]
pub trait Countable<Conn: Connection, Of> {
    #[doc(hidden)]
    type Counters: Counters<Table: 'static> + 'static;
    #[doc(hidden)]
    type Key: GatherKey<<Self::Counters as Counters>::Table, Conn>;
    #[doc(hidden)]
    type Counts: AsRef<[Count<Self::Key, Self::Counters>]>
        + IntoIterator<Item = Count<Self::Key, Self::Counters>>;
    /// Returns the day, if the increment has one, and the amounts of each key.
    #[doc(hidden)]
    fn into_counts(self) -> (Option<Day>, Self::Counts);
}

/// A key and an amount for each of the counters `C`.
pub type Count<Key, C> = (Key, <C as Counters>::Amounts);

/// Keys that are owned.
#[derive(Debug)]
pub struct OfOwned;

/// A key that is a reference.
#[derive(Debug)]
pub struct OfBorrowed;

// A reference cannot be loaded, so the compiler infers which of the two impls is meant.
impl<C, K, Conn> Countable<Conn, OfOwned> for Increment<C, K>
where
    C: Counters<Table: 'static> + 'static,
    K: OwnedKey<KeyType<C>, Conn::Backend> + Hash + Send + 'static,
    Conn: Connection<Backend: CounterBackend>,
{
    type Counters = C;
    type Key = K;
    type Counts = [Count<K, C>; 1];

    #[inline]
    fn into_counts(self) -> (Option<Day>, Self::Counts) {
        (self.day.get().copied(), [(self.id.0, self.amounts)])
    }
}

#[diagnostic::do_not_recommend]
impl<C, Q, Conn> Countable<Conn, OfBorrowed> for Increment<C, &Q>
where
    C: Counters<Table: 'static> + 'static,
    Q: ToOwned<Owned: OwnedKey<KeyType<C>, Conn::Backend> + Hash + Send + 'static> + ?Sized,
    Conn: Connection<Backend: CounterBackend>,
{
    type Counters = C;
    type Key = Q::Owned;
    type Counts = [Count<Q::Owned, C>; 1];

    #[inline]
    fn into_counts(self) -> (Option<Day>, Self::Counts) {
        let key = self.id.0.to_owned();
        (self.day.get().copied(), [(key, self.amounts)])
    }
}

impl<C, K, Conn> Countable<Conn, OfOwned> for IncrementMany<C, K>
where
    C: Counters<Table: 'static> + 'static,
    K: GatherKey<C::Table, Conn>,
    Conn: Connection<Backend: CounterBackend>,
{
    type Counters = C;
    type Key = K;
    type Counts = Vec<Count<K, C>>;

    fn into_counts(self) -> (Option<Day>, Self::Counts) {
        (self.increment.day.get().copied(), self.counts)
    }
}

/// A key of the table `T` whose counts can be gathered, and written on the connection `Conn`.
#[diagnostic::on_unimplemented(
    message = "this requires an owned key of `{T}`, as in `(id, name.to_owned())`; if the connection is generic, add the bound `{Self}: GatherKey<{T}, Conn>`",
    label = "`{Self}` is not known to be an owned key of this table",
    note = "a key is `Hash + Ord + Clone + Debug + Send`"
)]
pub trait GatherKey<T: CounterTable, Conn: Connection>:
    BindKey<T::KeyType, Conn::Backend> + Hash + Ord + Clone + Debug + Send + 'static
{
}
impl<T, K, Conn> GatherKey<T, Conn> for K
where
    T: CounterTable,
    K: BindKey<T::KeyType, Conn::Backend> + Hash + Ord + Clone + Debug + Send + 'static,
    Conn: Connection,
{
}
