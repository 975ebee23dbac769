//! Reading the counters of one entity.

use std::ops::RangeBounds;

use chrono::NaiveDate;

use crate::counter::Counters;
use crate::days::{AllDays, DayRange};
use crate::key::{KeyExpression, KeyOf, KeyType};
use crate::reading::sums::{Sums, Whole};
use crate::reading::values::CounterValues;
use crate::table::{EntityTable, NoEntity};

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
/// # What it costs
///
/// It reads one row for each slot and day that the entity was counted in. The table has
/// what that takes, as a multiple of reading one `BIGINT` of one row by its key, on the
/// same connection in the same run. "Merged" has each day before today in one slot.
///
/// | days | slots | rows | PostgreSQL | MySQL | MariaDB | SQLite |
/// | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
/// | 1 | 1 | 1 | 1.08 | 1.22 | 1.25 | 3.30 |
/// | 1 | 16 | 16 | 1.36 | 1.31 | 1.34 | 6.56 |
/// | 1 | 32 | 32 | 1.66 | 1.33 | 1.35 | 10.1 |
/// | 30 | 1 | 30 | 1.58 | 1.32 | 1.36 | 9.48 |
/// | 30 | 16 | 480 | 5.06 | 2.33 | 2.18 | 96.7 |
/// | 30 | 32 | 960 | 6.85 | 3.21 | 3.06 | 224 |
/// | 30 | 16, merged | 45 | 1.70 | 1.37 | 1.43 | 12.6 |
/// | 30 | 32, merged | 61 | 1.75 | 1.42 | 1.43 | 15.9 |
/// | 365 | 1 | 365 | 3.79 | 1.90 | 1.91 | 86.1 |
/// | 365 | 16 | 5,840 | 43.7 | 10.4 | 9.45 | 1643 |
/// | 365 | 32 | 11,680 | 90.3 | 17.5 | 20.7 | 3821 |
/// | 365 | 16, merged | 380 | 4.20 | 1.87 | 2.01 | 83.9 |
/// | 365 | 32, merged | 396 | 4.33 | 1.89 | 1.99 | 88.9 |
///
/// (Measured by `bench/`, which says how, on two cores with client and server together:
/// PostgreSQL 15.18, MySQL 9.7, MariaDB 10.11, SQLite 3.53 in a file. On SQLite nothing
/// is counted in any slot but the first, and a row by its key takes 3 µs rather than 100,
/// as there is no server to ask.)
///
/// So a counter that is read with every page and counted by the day for years wants its
/// slots merged, or `period = "month"` or `"total"`, or to be
/// [materialized](crate::HasCounters::materialize).
///
/// # Errors
///
/// The database's own. A sum that leaves the range of an `i64` is an
/// [overflow](crate::is_overflow()); on SQLite it is enough that a part of the sum does. A
/// day given to [`on`](CounterValue::on) that is outside 1000-01-01 to 9999-12-31 is a
/// [`SerializationError`](diesel::result::Error::SerializationError).
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
