//! The increments that a transaction or a buffer gathers.

use std::hash::Hash;

use chrono::NaiveDate;
use diesel::connection::Connection;

use crate::add::increment::Increment;
use crate::add::many::IncrementMany;
use crate::add::table_rows::TableRows;
use crate::day::Day;
use crate::key::OwnedKey;
use crate::sql::CounterBackend;
use crate::typed::counters::{Counters, KeyType, is_zero};

/// An increment that a [`CountingTransaction`](crate::CountingTransaction) or a
/// [`CounterBuffer`](crate::CounterBuffer) can count: an [`Increment`], with or without an entity,
/// or an [`IncrementMany`]. The compiler infers `Of`.
///
/// The key is owned, such as an `i64` or a `String`, or a reference, such as a `&str`, which is
/// copied if it's new. Always give a table's keys as the same Rust type, because each type gets its
/// own statements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an increment with an owned key: write `increment(views).of(id)`, or `.of((id, name.to_owned()))` for several columns",
    label = "this requires an increment with the key of its entity",
    note = "help: a key is `Hash + Ord + Clone + Debug + Send`, and can be loaded",
    note = "help: if the connection is generic, add the bound `String: OwnedKey<(Text,), Conn::Backend>`, with the owned type of your key and its SQL types"
)]
pub trait Countable<Conn: Connection, Of> {
    #[doc(hidden)]
    type Counters: Counters<Table: 'static>;
    #[doc(hidden)]
    type Key: OwnedKey<KeyType<Self::Counters>, Conn::Backend> + Hash + Send + 'static;
    /// Returns the day, if one was set.
    #[doc(hidden)]
    fn day_if_set(&self) -> Option<Day>;
    /// Adds the increment, and returns how many of its keys are new. Adds nothing and returns
    /// `None` if there isn't enough `room` for them.
    #[doc(hidden)]
    fn add_to(
        self,
        rows: &mut TableRows<<Self::Counters as Counters>::Table, Self::Key>,
        day: NaiveDate,
        room: usize,
    ) -> Option<usize>;
}

/// Marks increments with owned keys.
#[derive(Debug)]
pub struct Owned;

/// Marks an increment whose key is a reference.
#[derive(Debug)]
pub struct Borrowed;

const NO_NEW_KEY: usize = 0;
const ONE_NEW_KEY: usize = 1;

// References can't be loaded, so the compiler can infer which of the two impls is meant.
impl<C, K, Conn> Countable<Conn, Owned> for Increment<C, K>
where
    C: Counters<Table: 'static>,
    K: OwnedKey<KeyType<C>, Conn::Backend> + Hash + Send + 'static,
    Conn: Connection<Backend: CounterBackend>,
{
    type Counters = C;
    type Key = K;

    #[inline]
    fn day_if_set(&self) -> Option<Day> {
        self.target.day_if_set()
    }

    #[inline]
    fn add_to(
        self,
        rows: &mut TableRows<C::Table, K>,
        day: NaiveDate,
        room: usize,
    ) -> Option<usize> {
        let (key, amounts) = (self.target.entity.0, self.amounts.as_ref());
        if is_zero(&amounts) || rows.add_if_known(day, &key, C::NAMES, amounts) {
            return Some(NO_NEW_KEY);
        }
        if room == 0 {
            return None;
        }
        rows.insert(day, key, C::NAMES, amounts);
        Some(ONE_NEW_KEY)
    }
}

#[diagnostic::do_not_recommend]
impl<C, Q, Conn> Countable<Conn, Borrowed> for Increment<C, &Q>
where
    C: Counters<Table: 'static>,
    Q: ToOwned<Owned: OwnedKey<KeyType<C>, Conn::Backend> + Hash + Send + 'static>
        + Hash
        + Eq
        + ?Sized,
    Conn: Connection<Backend: CounterBackend>,
{
    type Counters = C;
    type Key = Q::Owned;

    #[inline]
    fn day_if_set(&self) -> Option<Day> {
        self.target.day_if_set()
    }

    #[inline]
    fn add_to(
        self,
        rows: &mut TableRows<C::Table, Q::Owned>,
        day: NaiveDate,
        room: usize,
    ) -> Option<usize> {
        let (key, amounts) = (self.target.entity.0, self.amounts.as_ref());
        if is_zero(&amounts) || rows.add_if_known(day, key, C::NAMES, amounts) {
            return Some(NO_NEW_KEY);
        }
        if room == 0 {
            return None;
        }
        rows.insert(day, key.to_owned(), C::NAMES, amounts);
        Some(ONE_NEW_KEY)
    }
}

impl<C, K, Conn> Countable<Conn, Owned> for IncrementMany<C, K>
where
    C: Counters<Table: 'static>,
    K: OwnedKey<KeyType<C>, Conn::Backend> + Hash + Send + 'static,
    Conn: Connection<Backend: CounterBackend>,
{
    type Counters = C;
    type Key = K;

    fn day_if_set(&self) -> Option<Day> {
        self.increment.target.day_if_set()
    }

    /// Adds all keys, or none.
    fn add_to(
        mut self,
        rows: &mut TableRows<C::Table, K>,
        day: NaiveDate,
        room: usize,
    ) -> Option<usize> {
        self.counts.retain(|(_, amounts)| !is_zero(amounts));
        let counts = self.counts.iter();
        let with_new_key = counts.filter(|(key, _)| !rows.contains(day, key));
        if with_new_key.count() > room {
            return None;
        }
        let mut new_keys = 0;
        for (key, amounts) in self.counts {
            if !rows.add_if_known(day, &key, C::NAMES, amounts.as_ref()) {
                rows.insert(day, key, C::NAMES, amounts.as_ref());
                new_keys += 1;
            }
        }
        Some(new_keys)
    }
}
