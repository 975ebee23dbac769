//! Counts over time.

use std::iter;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::LoadConnection;
use diesel::query_builder::AsQuery;
use diesel::result::Error;

use crate::day::{DayRange, Period, UNDATED};
use crate::read::sums::{ByDay, Many, Sums};
use crate::sql::{Binds as _, CounterBackend, One, load};
use crate::typed::counters::{Counters, KeyType, add, amounts};
use crate::typed::key::{AnyOf, BindKey, Entities, KeyOf, KeyTypes, StartOf};
use crate::typed::settings::CounterSettings;
use crate::typed::table::NotEmpty;

/// Reads the count of each day, or of each longer period, oldest first. A period in which nothing
/// was counted has 0.
///
/// - The entity is given with [`of`](Series::of), and several entities with
///   [`of_many`](Series::of_many).
/// - [`between`](Series::between) sets the range of days. Defaults to all days that have counts.
/// - [`per`](Series::per) sets the period. Defaults to that of the table.
///
/// It is one query. With `of_many`, databases other than PostgreSQL require one query for each
/// 1,000 entities.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use chrono::{Days, NaiveDate};
/// use diesel_counters::Period;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// let monday = NaiveDate::from_ymd_opt(2026, 11, 16).unwrap();
/// let day = |n| monday + Days::new(n);
/// increment(views).of(1_i64).by(3).on(day(0)).execute(conn)?;
/// increment(views).of(1_i64).by(5).on(day(2)).execute(conn)?;
///
/// let bars: Vec<(NaiveDate, i64)> = counter_series(views).of(1_i64).between(monday..=day(3)).load(conn)?;
/// assert_eq!(bars, [(day(0), 3), (day(1), 0), (day(2), 5), (day(3), 0)]);
///
/// let weeks = counter_series(views).of(1_i64).per(Period::Week).load(conn)?;
/// assert_eq!(weeks, [(monday, 8)]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`load`](Series::load) returns the errors of [`counter_value`](crate::dsl::counter_value()). It
/// also fails with:
///
/// - an [overflow](crate::is_overflow()), if the count of a period is out of the range of an `i64`;
/// - a [`QueryBuilderError`](Error::QueryBuilderError), if the period is [`Period::Total`], or is
///   shorter than the period that the table counts by.
pub fn counter_series<C: Counters>(_counters: C) -> Series<C> {
    Series {
        entity: (),
        axis: Axis {
            days: (Bound::Unbounded, Bound::Unbounded),
            period: C::Table::PERIOD,
            stored: C::Table::PERIOD,
        },
        counters: PhantomData,
    }
}

/// A query of the counters `C` of the entity `Id` over time; made by [`counter_series`].
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone)]
pub struct Series<C, Id = ()> {
    entity: Id,
    axis: Axis,
    counters: PhantomData<C>,
}

/// The first day and the count of each period.
pub type Counts<C> = Vec<(NaiveDate, <C as Counters>::Value)>;

impl<C: Counters> Series<C> {
    /// Sets the entity, by its key. With fewer values than the key has columns, reads one series over
    /// all entities whose keys begin with them. Defaults to all entities.
    pub fn of<K, N>(self, id: K) -> Series<C, One<K::Types, K::Value>>
    where
        K: KeyOf<KeyType<C>, N>,
    {
        self.of_id(One::new(id.into_value()))
    }

    /// Sets the entities to those whose keys `query` selects, as
    /// [`Sums::of_any`](crate::dsl::Sums::of_any). It reads one series over all of them.
    pub fn of_any<Q>(self, query: Q) -> Series<C, AnyOf<Q::Query>>
    where
        Q: AsQuery<SqlType: StartOf<KeyType<C>>>,
    {
        self.of_id(AnyOf::new::<KeyType<C>>(query.as_query()))
    }

    pub(crate) fn of_id<Id>(self, id: Id) -> Series<C, Id> {
        Series {
            entity: id,
            axis: self.axis,
            counters: PhantomData,
        }
    }

    /// Sets many entities, by their keys, owned or borrowed. Their series all have the same
    /// periods.
    pub fn of_many<K, N>(
        self,
        ids: impl IntoIterator<Item = K>,
    ) -> SeriesOfMany<C, K::Types, K::Value>
    where
        K: KeyOf<KeyType<C>, N, Types: NotEmpty>,
    {
        SeriesOfMany(self.of_id(Many::new(ids.into_iter().map(K::into_value))))
    }
}

/// A query of the counters `C` of many entities over time; made by [`Series::of_many`].
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone)]
pub struct SeriesOfMany<C, Types, K>(Series<C, Many<Types, K>>);

impl<C: Counters, Id> Series<C, Id> {
    /// Sets the period of the series. Defaults to that of the table.
    ///
    /// If the table counts by week, the count of a week is part of the month or the year of its
    /// Monday.
    pub fn per(mut self, period: Period) -> Self {
        self.axis.period = period;
        self
    }

    /// Reads only the periods that overlap these days: `monday..=today`, `monday..`, `..today`.
    ///
    /// If the range has no first or no last day, the series begins or ends with the first or the
    /// last period that has a count. An end outside of 1000-01-01 to 9999-12-31 is ignored. An
    /// empty or reversed range has no periods. Counts without a day, which are stored under
    /// 1970-01-01, are in no series.
    ///
    /// A series has an entry for each period between its ends. If a user of your program chooses
    /// the range, limit its length: 9,000 years have 3,287,182 days, which take 100 MB.
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.axis = self.axis.between(days);
        self
    }

    /// Runs the query. Returns the first day and the count of each period.
    ///
    /// # Errors
    ///
    /// Those of [`counter_series`].
    pub fn load<Conn>(self, conn: &mut Conn) -> QueryResult<Counts<C>>
    where
        Id: Entities<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let days = self.axis.days()?;
        if days.is_empty() {
            return Ok(Vec::new());
        }
        let sums = Sums::<C, _, _, _>::new(self.entity, ByDay, days);
        let mut rows = load(
            conn,
            |db| sums.sql(db),
            |row| {
                let day = Conn::Backend::day(row, 0)?;
                Ok((day, amounts::<C, Conn::Backend>(row, 1)?))
            },
        )?;
        rows.retain(|(day, _)| *day != UNDATED);
        let starts = self.axis.starts(days, rows.iter().map(|(day, _)| *day));
        counts::<C>(&starts, rows)
    }
}

impl<C: Counters, Types, K> SeriesOfMany<C, Types, K> {
    /// Sets the period, as [`Series::per`].
    pub fn per(self, period: Period) -> Self {
        SeriesOfMany(self.0.per(period))
    }

    /// Sets the days, as [`Series::between`].
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> Self {
        SeriesOfMany(self.0.between(days))
    }

    /// Runs the query. Returns a series for each key, in the order of the keys, all with the same
    /// periods.
    ///
    /// # Errors
    ///
    /// Those of [`counter_series`].
    pub fn load<Conn>(self, conn: &mut Conn) -> QueryResult<Vec<Counts<C>>>
    where
        Types: KeyTypes,
        K: BindKey<Types, Conn::Backend> + Clone,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let Series { entity, axis, .. } = self.0;
        let days = axis.days()?;
        let mut rows = vec![Vec::new(); entity.ids.len()];
        if !days.is_empty() {
            let sums = Sums::<C, _, _, _>::new(entity, ByDay, days);
            sums.read_numbered(
                conn,
                |row| {
                    let day = Conn::Backend::day(row, 1)?;
                    Ok((day, amounts::<C, Conn::Backend>(row, 2)?))
                },
                |key, (day, amounts)| {
                    if day != UNDATED {
                        rows[key].push((day, amounts));
                    }
                },
            )?;
        }
        let counted = rows.iter().flatten().map(|(day, _)| *day);
        let starts = match days.is_empty() {
            true => Vec::new(),
            false => axis.starts(days, counted),
        };
        let rows = rows.into_iter();
        rows.map(|rows| counts::<C>(&starts, rows)).collect()
    }
}

/// The periods of a series.
#[derive(Debug, Clone, Copy)]
struct Axis {
    days: (Bound<NaiveDate>, Bound<NaiveDate>),
    period: Period,
    /// The period that counts are stored by.
    stored: Period,
}

impl Axis {
    fn between(self, days: impl RangeBounds<NaiveDate>) -> Self {
        Axis {
            days: (days.start_bound().cloned(), days.end_bound().cloned()),
            ..self
        }
    }

    /// The days to read.
    fn days(&self) -> QueryResult<DayRange> {
        let Axis { period, stored, .. } = *self;
        let message = match (stored, period) {
            (Period::Total, _) => {
                "this table stores its counts without a day: read them with `counter_value`".into()
            }
            (_, Period::Total) => {
                "a series by `Period::Total` is not possible: read the total with `counter_value`"
                    .into()
            }
            _ if period < stored => {
                format!("this table counts by {stored:?}, so it has no counts by {period:?}")
            }
            _ => return Ok(DayRange::whole(self.days, period)),
        };
        Err(Error::QueryBuilderError(message.into()))
    }

    /// Returns each period of the range, with 0. An open end of the range is the first or the last
    /// day of `counted`.
    fn starts(
        &self,
        days: DayRange,
        counted: impl Iterator<Item = NaiveDate> + Clone,
    ) -> Vec<NaiveDate> {
        let (first, last) = days.ends_in(self.days);
        let first = first.or_else(|| counted.clone().min());
        let last = last.or_else(|| counted.max());
        let (Some(first), Some(last)) = (first, last) else {
            return Vec::new();
        };
        let start = Some(self.period.start(first));
        iter::successors(start, |&start| self.period.next(start))
            .take_while(|&start| start <= last)
            .collect()
    }
}

/// Returns the periods that begin on these days, with the sums of the rows.
fn counts<C: Counters>(
    starts: &[NaiveDate],
    rows: Vec<(NaiveDate, C::Amounts)>,
) -> QueryResult<Counts<C>> {
    let mut sums = vec![C::ZERO; starts.len()];
    for (day, amounts) in rows {
        // All rows are in the range of the periods.
        let next = starts.partition_point(|&start| start <= day);
        if let Some(sum) = next.checked_sub(1).and_then(|at| sums.get_mut(at)) {
            add(sum, &amounts)?;
        }
    }
    let bars = starts.iter().zip(sums);
    Ok(bars.map(|(&start, sums)| (start, C::value(sums))).collect())
}
