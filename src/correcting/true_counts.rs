//! The shapes that the source of a recount selects. The shape decides how the counts are grouped.

use chrono::NaiveDate;
use diesel::query_builder::AsQuery;
use diesel::sql_types::{BigInt, Date};

use crate::correcting::drift::{ByEntity, ByEntityAndDay, DriftBy};
use crate::counter::Counters;
use crate::entity::KeyType;
use crate::reading::sums::{ByDay, Ungrouped};
use crate::table::NoEntity;

/// The SQL type of a query of the true counts of `C`, for entities with keys of the SQL type
/// `K`: `(K, BigInt)` or `(K, Date, BigInt)`, with another `BigInt` for each further counter.
#[diagnostic::on_unimplemented(
    message = "this is not a query of the true counts of `{C}`",
    label = "this query selects `{Self}`",
    note = "help: select the key of an entity and a count for each counter, as in\n\
    `comments::table.group_by(comments::article_id).select((comments::article_id, count_star()))`",
    note = "help: or select the key, a day (`date(comments::created_at)`), and the counts of that day"
)]
pub trait TrueCounts<C, K> {
    #[doc(hidden)]
    type By;
}

macro_rules! true_counts {
    ($($Value:ty: $($Count:ident)*;)*) => {$(
        impl<C: Counters<Value = $Value>, K> TrueCounts<C, K> for (K, $($Count,)*) {
            type By = ByEntity;
        }
        impl<C: Counters<Value = $Value>, K> TrueCounts<C, K> for (K, Date, $($Count,)*) {
            type By = ByEntityAndDay;
        }
        impl<C: Counters<Value = $Value>> TrueCounts<C, NoEntity> for true_counts!(@row $($Count)*) {
            type By = ByEntity;
        }
        impl<C: Counters<Value = $Value>> TrueCounts<C, NoEntity> for (Date, $($Count,)*) {
            type By = ByEntityAndDay;
        }
    )*};
    (@row $Count:ident) => { $Count };
    (@row $($Count:ident)*) => { ($($Count,)*) };
}

true_counts! {
    i64: BigInt;
    (i64, i64): BigInt BigInt;
    (i64, i64, i64): BigInt BigInt BigInt;
    (i64, i64, i64, i64): BigInt BigInt BigInt BigInt;
    (i64, i64, i64, i64, i64): BigInt BigInt BigInt BigInt BigInt;
    (i64, i64, i64, i64, i64, i64): BigInt BigInt BigInt BigInt BigInt BigInt;
    (i64, i64, i64, i64, i64, i64, i64): BigInt BigInt BigInt BigInt BigInt BigInt BigInt;
    (i64, i64, i64, i64, i64, i64, i64, i64): BigInt BigInt BigInt BigInt BigInt BigInt BigInt BigInt;
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
