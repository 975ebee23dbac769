//! Reading the counters of many entities.

use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_dsl::methods::LoadQuery;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, ManyRows};
use crate::counter::Counters;
use crate::days::{AllDays, DayRange};
use crate::key::KeyType;
use crate::keys::{Keys, ListKeys};
use crate::reading::rows_by_key::rows_by_key;
use crate::reading::sums::{ByEntity, Sums};

/// The counters `C` of many entities; made by
/// [`counter_value(…).of_many(…)`](crate::CounterValue::of_many).
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// increment_many(views, [(1_i64, 10), (2, 20)], conn)?;
///
/// let ids = vec![2_i64, 7, 1, 2];
/// let totals: Vec<i64> = counter_value(views).of_many(&ids).load(conn)?;
/// assert_eq!(totals, [20, 0, 10, 20]);
/// # Ok(())
/// # }
/// ```
#[must_use = "a query reads nothing until it is loaded"]
pub struct CounterValues<'a, C, K, Days = AllDays> {
    ids: Vec<&'a K>,
    days: Days,
    counters: std::marker::PhantomData<C>,
}

impl<'a, C: Counters, K, Days> CounterValues<'a, C, K, Days> {
    pub(crate) fn new(ids: impl IntoIterator<Item = &'a K>, days: Days) -> Self {
        CounterValues {
            ids: ids.into_iter().collect(),
            days,
            counters: std::marker::PhantomData,
        }
    }

    /// As [`CounterValue::on`](crate::CounterValue::on).
    pub fn on(self, day: NaiveDate) -> CounterValues<'a, C, K, DayRange> {
        CounterValues::new(self.ids, DayRange::one(day))
    }

    /// As [`CounterValue::between`](crate::CounterValue::between).
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> CounterValues<'a, C, K, DayRange> {
        CounterValues::new(self.ids, DayRange::new(days))
    }

    /// Reads them: one value for each of the keys, in their order. A key may be there
    /// more than once; one that was never counted has 0.
    ///
    /// It is one query for any number of keys on PostgreSQL, prepared once, and one
    /// for each 32,764 of them on the others, which have to list them. There the
    /// number is filled up to a power of two with the last key, so that few texts
    /// are prepared.
    ///
    /// A database may take two texts for one key, by their case or for spaces at their end.
    /// So for keys of text it is a second query, for the keys that the first did not return.
    /// If the second returns rows, but none of these keys, it takes up to two more queries for
    /// each key.
    ///
    /// # Errors
    ///
    /// Those of [`counter_value`](crate::counter_value()).
    pub fn load<Conn>(self, conn: &mut Conn) -> QueryResult<Vec<C::Value>>
    where
        K: Ord,
        Conn: Connection<Backend: CounterBackend<ManyRows: ListKeys>>,
        Days: Copy,
        Sums<C, Keys<&'a K>, ByEntity, Days>: LoadQuery<'a, Conn, (K, C::Value)>,
    {
        let values = rows_by_key::<KeyType<C>, ManyRows<Conn>, _, _>(self.ids.clone(), |keys| {
            let query = Sums::<C, _, ByEntity, _>::new(keys, self.days);
            let rows = query.load::<(K, C::Value)>(conn)?.into_iter();
            Ok(rows.map(|(id, value)| (id, C::amounts(value))).collect())
        })?;
        let amounts_of = |id: &&K| values.get(id).map_or(C::ZERO, |amounts| amounts[0]);
        Ok(self.ids.iter().map(|id| C::value(amounts_of(id))).collect())
    }
}
