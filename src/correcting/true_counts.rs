//! The shapes that the source of a recount selects. The shape decides how the counts are grouped.

use chrono::NaiveDate;
use diesel::query_builder::AsQuery;
use diesel::sql_types::{BigInt, Date};

use crate::correcting::drift::{ByEntity, ByEntityAndDay, DriftBy};
use crate::counter::Counters;
use crate::key::KeyType;
use crate::reading::sums::{ByDay, Ungrouped};

/// The SQL type of a query of the true counts of `C`, for entities whose keys have the SQL types
/// `Key`: the columns of the key, a `BigInt` for each counter, and, for counts of single days, a `Date`
/// between them: `(BigInt, BigInt)`, `(BigInt, Date, BigInt)`.
#[diagnostic::on_unimplemented(
    message = "this is not a query of the true counts of `{C}`, whose keys have the SQL types `{Key}`",
    label = "this query selects `{Self}`",
    note = "help: select all columns of the key of an entity and a count for each counter, as in\n\
    `comments::table.group_by(comments::article_id).select((comments::article_id, count_star()))`",
    note = "help: or select the key, a day (`date(comments::created_at)`), and the counts of that day"
)]
pub trait TrueCounts<C, Key> {
    #[doc(hidden)]
    type By;
}

macro_rules! true_counts {
    ($($Value:ty: $counts:tt;)*) => {$(
        true_counts!(@keys $Value, $counts, [(K0) (K0 K1) (K0 K1 K2) (K0 K1 K2 K3) (K0 K1 K2 K3 K4)]);

        impl<C: Counters<Value = $Value>> TrueCounts<C, ()> for true_counts!(@row $counts) {
            type By = ByEntity;
        }
        true_counts!(@by_day $Value, $counts, ());
    )*};
    (@keys $Value:ty, $counts:tt, [$($key:tt)*]) => {$(
        true_counts!(@key $Value, $counts, $key);
        true_counts!(@by_day $Value, $counts, $key);
    )*};
    (@key $Value:ty, ($($Count:ident)*), ($($K:ident)*)) => {
        impl<C: Counters<Value = $Value>, $($K),*> TrueCounts<C, ($($K,)*)> for ($($K,)* $($Count,)*) {
            type By = ByEntity;
        }
    };
    (@by_day $Value:ty, ($($Count:ident)*), ($($K:ident)*)) => {
        impl<C: Counters<Value = $Value>, $($K),*> TrueCounts<C, ($($K,)*)>
            for ($($K,)* Date, $($Count,)*)
        {
            type By = ByEntityAndDay;
        }
    };
    (@row ($Count:ident)) => { $Count };
    (@row ($($Count:ident)*)) => { ($($Count,)*) };
}

true_counts! {
    i64: (BigInt);
    (i64, i64): (BigInt BigInt);
    (i64, i64, i64): (BigInt BigInt BigInt);
    (i64, i64, i64, i64): (BigInt BigInt BigInt BigInt);
    (i64, i64, i64, i64, i64): (BigInt BigInt BigInt BigInt BigInt);
    (i64, i64, i64, i64, i64, i64): (BigInt BigInt BigInt BigInt BigInt BigInt);
    (i64, i64, i64, i64, i64, i64, i64): (BigInt BigInt BigInt BigInt BigInt BigInt BigInt);
    (i64, i64, i64, i64, i64, i64, i64, i64):
        (BigInt BigInt BigInt BigInt BigInt BigInt BigInt BigInt);
}

/// How a recount from the source `S` groups the counts: by entity, or by entity and day.
pub type RecountBy<C, S> = <<S as AsQuery>::SqlType as TrueCounts<C, KeyType<C>>>::By;

/// How a recount of many entities groups the counts. `K` is the key of a group.
pub trait OfMany<K> {
    type Entity;
    fn entity(key: &K) -> &Self::Entity;
    fn day(key: &K) -> Option<NaiveDate>;
}

impl<K> OfMany<K> for ByEntity {
    type Entity = K;

    fn entity(key: &K) -> &K {
        key
    }

    fn day(_: &K) -> Option<NaiveDate> {
        None
    }
}

impl<K> OfMany<(K, NaiveDate)> for ByEntityAndDay {
    type Entity = K;

    fn entity((entity, _): &(K, NaiveDate)) -> &K {
        entity
    }

    fn day(&(_, day): &(K, NaiveDate)) -> Option<NaiveDate> {
        Some(day)
    }
}

/// How a recount of one entity groups the counts.
pub trait OfOne<C: Counters> {
    type OfOne: DriftBy<C>;
    type Row;
    fn split(row: Self::Row) -> (Option<NaiveDate>, C::Value, C::Value);
}

impl<C: Counters> OfOne<C> for ByEntity {
    type OfOne = Ungrouped;
    type Row = (C::Value, C::Value);

    fn split((stored, actual): Self::Row) -> (Option<NaiveDate>, C::Value, C::Value) {
        (None, stored, actual)
    }
}

impl<C: Counters> OfOne<C> for ByEntityAndDay {
    type OfOne = ByDay;
    type Row = (NaiveDate, C::Value, C::Value);

    fn split((day, stored, actual): Self::Row) -> (Option<NaiveDate>, C::Value, C::Value) {
        (Some(day), stored, actual)
    }
}
