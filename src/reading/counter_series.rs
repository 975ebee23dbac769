//! Counts over time.

use std::iter;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_builder::AsQuery;
use diesel::query_dsl::methods::LoadQuery;
use diesel::result::Error;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::CounterBackend;
use crate::counter::{Counters, add, in_range, wide};
use crate::day::{DayRange, Period, UNDATED};
use crate::key::{AnyOf, Entities, KeyType, NotEmpty, Prefix, PrefixColumns, PrefixOf, StartOf};
use crate::reading::counter_value::ReadOn;
use crate::reading::sums::{ByDay, Many, NumberedSums, Sums};
use crate::settings::CounterSettings;

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
///
/// // A series for each of several entities, all over the same days.
/// let charts: Vec<Vec<(NaiveDate, i64)>> = counter_series(views).of_many([1_i64, 2]).load(conn)?;
/// assert_eq!(charts[1], [(day(0), 0), (day(1), 0), (day(2), 0)]);
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
    pub fn of<K, N>(self, id: K) -> Series<C, Prefix<K, N>>
    where
        K: PrefixOf<KeyType<C>, N>,
    {
        self.of_id(Prefix::new(id))
    }

    /// Sets the entities to those whose keys `query` selects, as
    /// [`Sums::of_any`](crate::dsl::Sums::of_any). It reads one series over all of them.
    pub fn of_any<Q>(self, query: Q) -> Series<C, AnyOf<Q::Query>>
    where
        Q: AsQuery<SqlType: StartOf<KeyType<C>>>,
    {
        self.of_id(AnyOf(query.as_query()))
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
    pub fn of_many<K, N>(self, ids: impl IntoIterator<Item = K>) -> Series<C, Many<K, N>>
    where
        K: PrefixOf<KeyType<C>, N, Types: NotEmpty>,
    {
        self.of_id(Many::new(ids))
    }
}

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
    /// If the range has no first day, the series begins with the first period that has a count. If
    /// it has no last day, the series ends with the last period that has a count. An end outside of
    /// 1000-01-01 to 9999-12-31 is ignored. An empty or reversed range has no periods.
    ///
    /// A series has an entry for each period between its ends. If a user of your program chooses the
    /// range, limit its length: 9,000 years have 3,287,182 days, which take 100 MB.
    ///
    /// A series does not include counts without a day, which are stored under 1970-01-01.
    pub fn between(mut self, days: impl RangeBounds<NaiveDate>) -> Self {
        self.axis = self.axis.between(days);
        self
    }

    /// Runs the query. Returns the first day and the count of each period. For many entities, returns a
    /// series for each key, in the order of the keys, all with the same periods.
    ///
    /// # Errors
    ///
    /// Those of [`counter_series`].
    pub fn load<'a, R, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<R>>
    where
        Self: ReadOn<'a, Conn, Vec<R>>,
    {
        self.read(conn)
    }
}

impl<'a, C, Id, Conn> ReadOn<'a, Conn, Counts<C>> for Series<C, Id>
where
    C: Counters,
    Id: Entities<KeyType<C>, Conn::Backend>,
    Conn: Connection,
    Sums<C, Id, ByDay, DayRange>: LoadQuery<'a, Conn, (NaiveDate, C::Value)>,
{
    fn read(self, conn: &mut Conn) -> QueryResult<Counts<C>> {
        let days = self.axis.days()?;
        if days.is_empty() {
            return Ok(Vec::new());
        }
        let query = Sums::<C, _, _, _>::new(self.entity, ByDay, days);
        let rows = query.load::<(NaiveDate, C::Value)>(conn)?.into_iter();
        let rows: Vec<_> = rows
            .filter(|(day, _)| *day != UNDATED)
            .map(|(day, value)| (day, C::amounts(value)))
            .collect();
        let starts = self.axis.starts(days, rows.iter().map(|(day, _)| *day));
        self.axis.counts::<C>(&starts, rows)
    }
}

impl<'a, C, K, N, Conn> ReadOn<'a, Conn, Vec<Counts<C>>> for Series<C, Many<K, N>>
where
    C: Counters,
    K: PrefixOf<KeyType<C>, N> + Clone,
    Conn: Connection<Backend: CounterBackend>,
    NumberedSums<C, PrefixColumns<K, C, N>, ByDay, DayRange>:
        LoadQuery<'a, Conn, (i64, (NaiveDate, C::Value))>,
{
    fn read(self, conn: &mut Conn) -> QueryResult<Vec<Counts<C>>> {
        let days = self.axis.days()?;
        let mut rows = vec![Vec::new(); self.entity.ids.len()];
        if days.is_empty() {
            return Ok(rows.iter().map(|_: &Vec<_>| Vec::new()).collect());
        }
        let query = Sums::<C, _, _, _>::new(self.entity, ByDay, days);
        query.read_numbered(conn, |key, (day, value)| {
            if day != UNDATED {
                rows[key].push((day, C::amounts(value)));
            }
        })?;
        let counted = rows.iter().flatten().map(|(day, _)| *day);
        let starts = self.axis.starts(days, counted);
        let series = rows.into_iter();
        series
            .map(|rows| self.axis.counts::<C>(&starts, rows))
            .collect()
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

    /// Returns the periods that begin on these days, with the sums of the rows.
    fn counts<C: Counters>(
        &self,
        starts: &[NaiveDate],
        rows: Vec<(NaiveDate, C::Amounts)>,
    ) -> QueryResult<Counts<C>> {
        let mut sums = vec![C::Sums::default(); starts.len()];
        for (day, amounts) in rows {
            // All rows are in the range of the periods.
            let next = starts.partition_point(|&start| start <= day);
            if let Some(sum) = next.checked_sub(1).and_then(|at| sums.get_mut(at)) {
                add::<C>(sum, &wide::<C>(amounts));
            }
        }
        let bars = starts.iter().zip(sums);
        bars.map(|(&start, sums)| Ok((start, C::value(in_range::<C>(sums)?))))
            .collect()
    }
}
