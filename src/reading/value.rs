//! Reading the counters of one entity.

use std::ops::RangeBounds;

use chrono::NaiveDate;

use crate::counter::Counters;
use crate::days::{AllDays, DayRange};
use crate::key::{KeyExpression, KeyOf, KeyType, NoEntity};
use crate::reading::sums::{Sums, Whole};
use crate::reading::values::CounterValues;
use crate::table::EntityTable;

/// Reads one or more counters of an entity, with no model in hand.
///
/// The entity is named with [`of`](CounterValue::of), and several with
/// [`of_many`](CounterValue::of_many); a day with [`on`](CounterValue::on), several
/// with [`between`](CounterValue::between). It is a Diesel query of one row, a `BigInt`
/// for each counter: load it with [`get_result`](diesel::RunQueryDsl::get_result). An
/// entity that was never counted has 0.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let (article_id, today) = (1_i64, chrono::Utc::now().date_naive());
/// # let monday = today - chrono::Days::new(3);
/// use diesel_counters::prelude::*;
/// use schema::article_counters::{likes, views};
///
/// increment(views).of(article_id).by(3).on(today).execute(conn)?;
///
/// let n: i64 = counter_value(views).of(article_id).get_result(conn)?;
/// let (v, l): (i64, i64) = counter_value((views, likes)).of(article_id).on(today).get_result(conn)?;
/// let week: i64 = counter_value(views).of(article_id).between(monday..=today).get_result(conn)?;
/// assert_eq!((n, v, l, week), (3, 3, 0, 3));
/// # Ok(())
/// # }
/// ```
///
/// (Rust takes `let (views, likes) = …` for a pattern of the columns' own types
/// while those are in scope: call the values otherwise, or name the columns with
/// their table.)
///
/// # Errors
///
/// The database's own, among them one for a sum that leaves the range of an `i64`
/// (on MySQL and MariaDB that is a
/// [`DeserializationError`](diesel::result::Error::DeserializationError); on SQLite
/// it is enough that a part of the sum does), and a
/// [`SerializationError`](diesel::result::Error::SerializationError) for a day given
/// to [`on`](CounterValue::on) that is outside 1000-01-01 to 9999-12-31.
pub fn counter_value<C: Counters>(_counters: C) -> CounterValue<C> {
    Sums::new(NoEntity, AllDays)
}

/// A query of the counters `C` of the entity `Id`; made by [`counter_value`].
pub type CounterValue<C, Id = NoEntity, Days = AllDays> = Sums<C, Id, Whole, Days>;

impl<C: Counters, Days> CounterValue<C, NoEntity, Days> {
    /// Names the entity by its key.
    pub fn of<K: KeyOf<KeyType<C>>>(self, id: K) -> CounterValue<C, KeyExpression<K, C>, Days> {
        Sums::new(id.into_id(), self.days)
    }

    /// Names many entities by their keys.
    pub fn of_many<'a, K>(
        self,
        ids: impl IntoIterator<Item = &'a K>,
    ) -> CounterValues<'a, C, K, Days>
    where
        C::Table: EntityTable,
    {
        CounterValues::new(ids, self.days)
    }
}

impl<C: Counters, Id, Days> CounterValue<C, Id, Days> {
    /// Reads only what is filed under `day`. Where a model counts by another
    /// [`Period`](crate::Period) than the day, that is the first of it:
    /// `Period::Week.start(day)`.
    pub fn on(self, day: NaiveDate) -> CounterValue<C, Id, DayRange> {
        self.days(DayRange::one(day))
    }

    /// Reads only what is filed under these days: `monday..=today`, `monday..`,
    /// `..today`. What has no day is filed under 1970-01-01.
    ///
    /// An empty or a reversed range has 0. Where a model counts by another
    /// [`Period`](crate::Period) than the day, begin with the first of it, or ask the
    /// model, which does:
    /// [`counter_value_between`](crate::HasCounters::counter_value_between).
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> CounterValue<C, Id, DayRange> {
        self.days(DayRange::new(days))
    }

    pub(crate) fn days(self, days: DayRange) -> CounterValue<C, Id, DayRange> {
        Sums::new(self.entities, days)
    }
}
