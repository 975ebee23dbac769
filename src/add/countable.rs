//! The increments that a transaction or a buffer gathers.

use std::collections::HashMap;
use std::hash::Hash;

use chrono::NaiveDate;
use diesel::connection::Connection;
use foldhash::fast::RandomState;

use crate::add::gathered::GatherKey;
use crate::add::increment::Increment;
use crate::add::many::IncrementMany;
use crate::sql::CounterBackend;
use crate::typed::counters::{Counters, KeyType};
use crate::typed::key::LoadKey;

/// An increment that a [`CountingTransaction`](crate::CountingTransaction) or a
/// [`CounterBuffer`](crate::CounterBuffer) counts: an [`Increment`] of an entity or without one, or an
/// [`IncrementMany`]. The compiler infers `Of`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an increment that can be gathered",
    label = "this requires an increment with the key of its entity, such as `increment(views).of(id)`",
    note = "a key is `Hash + Ord + Clone + Debug + Send`, and can be loaded; of several columns, it is owned: `(i64, String)`"
)]
pub trait Countable<Conn, Of>: Sealed {
    #[doc(hidden)]
    type Counters: Counters<Table: 'static> + 'static;
    #[doc(hidden)]
    type Key: GatherKey<<Self::Counters as Counters>::Table, Conn>;
    #[doc(hidden)]
    type Found: FindKey<Self::Key>;
    #[doc(hidden)]
    type Counts: AsRef<[Count<Self::Found, Self::Counters>]>
        + IntoIterator<Item = Count<Self::Found, Self::Counters>>;
    /// Returns the day, if the increment has one, and the amounts of each key.
    #[doc(hidden)]
    fn into_counts(self) -> (Option<NaiveDate>, Self::Counts);
}

/// A key and an amount for each of the counters `C`.
pub type Count<Key, C> = (Key, <C as Counters>::Amounts);

/// Nobody else implements [`Countable`].
pub trait Sealed {}
impl<C: Counters, K> Sealed for Increment<C, K> {}
impl<C: Counters, K> Sealed for IncrementMany<C, K> {}

/// Keys that are owned.
#[derive(Debug)]
pub struct OfOwned;

/// A key that is a reference.
#[derive(Debug)]
pub struct OfBorrowed;

/// A key to find in a map of keys `K`.
pub trait FindKey<K> {
    fn find<'m, V>(&self, map: &'m mut HashMap<K, V, RandomState>) -> Option<&'m mut V>;
    fn into_key(self) -> K;
}

#[derive(Debug)]
pub struct OwnedKey<K>(pub(crate) K);

impl<K: Hash + Eq> FindKey<K> for OwnedKey<K> {
    #[inline]
    fn find<'m, V>(&self, map: &'m mut HashMap<K, V, RandomState>) -> Option<&'m mut V> {
        map.get_mut(&self.0)
    }

    fn into_key(self) -> K {
        self.0
    }
}

/// It is copied only if it is new.
impl<Q: ToOwned<Owned: Hash + Eq> + Hash + Eq + ?Sized> FindKey<Q::Owned> for &Q {
    #[inline]
    fn find<'m, V>(&self, map: &'m mut HashMap<Q::Owned, V, RandomState>) -> Option<&'m mut V> {
        map.get_mut(*self)
    }

    fn into_key(self) -> Q::Owned {
        self.to_owned()
    }
}

// A reference cannot be loaded, so the compiler infers which of the two impls is meant.
#[diagnostic::do_not_recommend]
impl<C, K, Conn> Countable<Conn, OfOwned> for Increment<C, K>
where
    C: Counters<Table: 'static> + 'static,
    K: GatherKey<C::Table, Conn> + LoadKey<KeyType<C>, Conn::Backend>,
    Conn: Connection<Backend: CounterBackend>,
{
    type Counters = C;
    type Key = K;
    type Found = OwnedKey<K>;
    type Counts = [Count<OwnedKey<K>, C>; 1];

    #[inline]
    fn into_counts(self) -> (Option<NaiveDate>, Self::Counts) {
        let day = self.day.get().map(|day| day.0);
        (day, [(OwnedKey(self.id.0), self.amounts)])
    }
}

#[diagnostic::do_not_recommend]
impl<'k, C, Q, Conn> Countable<Conn, OfBorrowed> for Increment<C, &'k Q>
where
    C: Counters<Table: 'static> + 'static,
    Q: ToOwned<Owned: GatherKey<C::Table, Conn>> + Hash + Eq + ?Sized,
{
    type Counters = C;
    type Key = Q::Owned;
    type Found = &'k Q;
    type Counts = [Count<&'k Q, C>; 1];

    #[inline]
    fn into_counts(self) -> (Option<NaiveDate>, Self::Counts) {
        let day = self.day.get().map(|day| day.0);
        (day, [(self.id.0, self.amounts)])
    }
}

#[diagnostic::do_not_recommend]
impl<C, K, Conn> Countable<Conn, OfOwned> for IncrementMany<C, K>
where
    C: Counters<Table: 'static> + 'static,
    K: GatherKey<C::Table, Conn>,
{
    type Counters = C;
    type Key = K;
    type Found = OwnedKey<K>;
    type Counts = Vec<Count<OwnedKey<K>, C>>;

    fn into_counts(self) -> (Option<NaiveDate>, Self::Counts) {
        let counts = self.counts.into_iter();
        let counts = counts
            .map(|(key, amounts)| (OwnedKey(key), amounts))
            .collect();
        (self.increment.day.get().map(|day| day.0), counts)
    }
}
