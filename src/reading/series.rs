//! Counts through time.

use std::collections::BTreeMap;
use std::iter;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_dsl::methods::LoadQuery;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, ManyRows};
use crate::counter::{Counters, checked_add};
use crate::days::DayRange;
use crate::key::{KeyExpression, KeyOf, KeyType};
use crate::keys::{Keys, ListKeys};
use crate::period::{Period, UNDATED};
use crate::reading::rows_by_key::rows_by_key;
use crate::reading::sums::{ByDay, ByEntityAndDay, Sums};
use crate::table::{EntityTable, NoEntity};

/// What was counted on each day, oldest first and without gaps: a day on which nothing
/// was counted has 0.
///
/// The entity is named with [`of`](Series::of), and several with
/// [`of_many`](Series::of_many); the days with [`between`](Series::between). It is one
/// query.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use chrono::{Days, NaiveDate};
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// let monday = NaiveDate::from_ymd_opt(2026, 11, 16).unwrap();
/// let day = |n| monday + Days::new(n);
/// increment(views).of(1_i64).by(3).on(day(0)).execute(conn)?;
/// increment(views).of(1_i64).by(5).on(day(2)).execute(conn)?;
///
/// let bars: Vec<(NaiveDate, i64)> =
///     daily_counts(views).of(1_i64).between(monday..=day(3)).load(conn)?;
/// assert_eq!(bars, [(day(0), 3), (day(1), 0), (day(2), 5), (day(3), 0)]);
///
/// // Several on one axis: for each entity a row of bars.
/// let charts: Vec<Vec<(NaiveDate, i64)>> =
///     daily_counts(views).of_many(&[1_i64, 2]).between(..).load(conn)?;
/// assert_eq!(charts[1], [(day(0), 0), (day(1), 0), (day(2), 0)]);
/// # Ok(())
/// # }
/// ```
pub fn daily_counts<C: Counters>(_counters: C) -> Series<C> {
    Series::new(NoEntity, Period::Day)
}

/// What was counted in each week, under its Monday; otherwise as [`daily_counts`].
///
/// Weeks are whole ones: those that the range touches.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # use chrono::NaiveDate;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// let monday = NaiveDate::from_ymd_opt(2026, 11, 16).unwrap();
/// let sunday = NaiveDate::from_ymd_opt(2026, 11, 22).unwrap();
/// increment(views).of(1_i64).by(3).on(monday).execute(conn)?;
/// increment(views).of(1_i64).by(5).on(sunday).execute(conn)?;
///
/// let bars = weekly_counts(views).of(1_i64).between(sunday..=sunday).load(conn)?;
/// assert_eq!(bars, [(monday, 8)]);
/// # Ok(())
/// # }
/// ```
pub fn weekly_counts<C: Counters>(_counters: C) -> Series<C> {
    Series::new(NoEntity, Period::Week)
}

/// What was counted in each month, under its first day; otherwise as [`daily_counts`].
///
/// Months are whole ones: those that the range touches.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # use chrono::NaiveDate;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// let day = |month, day| NaiveDate::from_ymd_opt(2026, month, day).unwrap();
/// increment(views).of(1_i64).by(3).on(day(9, 30)).execute(conn)?;
/// increment(views).of(1_i64).by(5).on(day(11, 21)).execute(conn)?;
///
/// let bars = monthly_counts(views).of(1_i64).load(conn)?;
/// assert_eq!(bars, [(day(9, 1), 3), (day(10, 1), 0), (day(11, 1), 5)]);
/// # Ok(())
/// # }
/// ```
pub fn monthly_counts<C: Counters>(_counters: C) -> Series<C> {
    Series::new(NoEntity, Period::Month)
}

/// The counters `C` of the entity `Id` through time; made by [`daily_counts`],
/// [`weekly_counts`] and [`monthly_counts`].
#[must_use = "a query reads nothing until it is loaded"]
pub struct Series<C, Id = NoEntity> {
    entity: Id,
    axis: Axis,
    counters: PhantomData<C>,
}

/// The counters `C` of many entities through time; made by [`Series::of_many`].
#[must_use = "a query reads nothing until it is loaded"]
pub struct SeriesOfMany<'a, C, K> {
    ids: Vec<&'a K>,
    axis: Axis,
    counters: PhantomData<C>,
}

/// What was counted in each period, by the period's first day.
pub type Counts<C> = Vec<(NaiveDate, <C as Counters>::Value)>;

impl<C: Counters, Id> Series<C, Id> {
    pub(crate) fn new(entity: Id, period: Period) -> Self {
        Series {
            entity,
            axis: Axis {
                days: DayRange::ALL,
                period,
            },
            counters: PhantomData,
        }
    }

    /// Reads only these days: `monday..=today`, `monday..`, `..today`.
    ///
    /// Where the range has no end, the series begins with the first day that has a
    /// count in it, and ends with the last. An empty or a reversed range has nothing.
    ///
    /// What has no day is in no series: what a model with `period = "total"` counts,
    /// and what else is filed under 1970-01-01.
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.axis = self.axis.between(days);
        self
    }

    /// Reads the series.
    ///
    /// # Errors
    ///
    /// Those of [`counter_value`](crate::counter_value()), and an
    /// [overflow](crate::is_overflow()) when a week's or a month's days do not add up to an
    /// `i64`.
    pub fn load<'a, Conn>(self, conn: &mut Conn) -> QueryResult<Counts<C>>
    where
        Sums<C, Id, ByDay, DayRange>: LoadQuery<'a, Conn, (NaiveDate, C::Value)>,
    {
        if self.axis.days.is_empty() {
            return Ok(Vec::new());
        }
        let query = Sums::<C, _, ByDay, _>::new(self.entity, self.axis.days);
        let mut rows = query.load::<(NaiveDate, C::Value)>(conn)?;
        rows.retain(|(day, _)| *day != UNDATED);
        let mut bars = self.axis.bars::<C>(rows.iter().map(|(day, _)| *day));
        for (day, value) in rows {
            self.axis.add::<C>(&mut bars, day, C::amounts(value))?;
        }
        Ok(counts::<C>(bars))
    }
}

impl<C: Counters> Series<C> {
    /// Names the entity by its key.
    pub fn of<K: KeyOf<KeyType<C>>>(self, id: K) -> Series<C, KeyExpression<K, C>> {
        Series {
            entity: id.into_id(),
            axis: self.axis,
            counters: PhantomData,
        }
    }

    /// Names many entities by their keys: they share one axis.
    pub fn of_many<'a, K>(self, ids: impl IntoIterator<Item = &'a K>) -> SeriesOfMany<'a, C, K>
    where
        C::Table: EntityTable,
    {
        SeriesOfMany {
            ids: ids.into_iter().collect(),
            axis: self.axis,
            counters: PhantomData,
        }
    }
}

impl<'a, C: Counters, K> SeriesOfMany<'a, C, K> {
    /// As [`Series::between`].
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.axis = self.axis.between(days);
        self
    }

    /// Reads the series: one for each of the keys, in their order, all over the same
    /// days.
    ///
    /// # Errors
    ///
    /// Those of [`Series::load`].
    pub fn load<Conn>(self, conn: &mut Conn) -> QueryResult<Vec<Counts<C>>>
    where
        K: Ord,
        Conn: Connection<Backend: CounterBackend<ManyRows: ListKeys>>,
        Sums<C, Keys<&'a K>, ByEntityAndDay, DayRange>:
            LoadQuery<'a, Conn, (K, NaiveDate, C::Value)>,
    {
        if self.axis.days.is_empty() {
            return Ok(self.ids.iter().map(|_| Vec::new()).collect());
        }
        let rows = rows_by_key::<KeyType<C>, ManyRows<Conn>, _, _>(self.ids.clone(), |keys| {
            let query = Sums::<C, _, ByEntityAndDay, _>::new(keys, self.axis.days);
            let rows = query.load::<(K, NaiveDate, C::Value)>(conn)?.into_iter();
            let dated = rows.filter(|(_, day, _)| *day != UNDATED);
            Ok(dated
                .map(|(id, day, value)| (id, (day, C::amounts(value))))
                .collect())
        })?;
        let empty = self
            .axis
            .bars::<C>(rows.values().flatten().map(|(day, _)| *day));
        let series_of = |id: &&K| {
            let mut bars = empty.clone();
            for &(day, amounts) in rows.get(id).into_iter().flatten() {
                self.axis.add::<C>(&mut bars, day, amounts)?;
            }
            Ok(counts::<C>(bars))
        };
        self.ids.iter().map(series_of).collect()
    }
}

/// The periods of a series.
#[derive(Debug, Clone, Copy)]
struct Axis {
    days: DayRange,
    period: Period,
}

/// Amounts by the first day of their period.
type Bars<C> = BTreeMap<NaiveDate, <C as Counters>::Amounts>;

impl Axis {
    fn between(self, days: impl RangeBounds<NaiveDate>) -> Self {
        Axis {
            days: DayRange::whole(days, self.period),
            period: self.period,
        }
    }

    /// Each period that is asked for, with 0. Where the range has no end, it ends with
    /// the first or the last day that is `counted`.
    fn bars<C: Counters>(&self, counted: impl Iterator<Item = NaiveDate> + Clone) -> Bars<C> {
        let (first, last) = self.days.ends();
        let first = first.or_else(|| counted.clone().min());
        let last = last.or_else(|| counted.max());
        let (Some(first), Some(last)) = (first, last) else {
            return Bars::<C>::new();
        };
        iter::successors(Some(self.period.start(first)), |&start| {
            self.period.next(start)
        })
        .take_while(|&start| start <= last)
        .map(|start| (start, C::ZERO))
        .collect()
    }

    fn add<C: Counters>(
        &self,
        bars: &mut Bars<C>,
        day: NaiveDate,
        amounts: C::Amounts,
    ) -> QueryResult<()> {
        let bar = bars.entry(self.period.start(day)).or_insert(C::ZERO);
        *bar = checked_add::<C>(*bar, amounts)?;
        Ok(())
    }
}

fn counts<C: Counters>(bars: Bars<C>) -> Counts<C> {
    bars.into_iter()
        .map(|(start, amounts)| (start, C::value(amounts)))
        .collect()
}
