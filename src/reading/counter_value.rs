//! Reading the counters of one entity, or of many.

use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_dsl::methods::LoadQuery;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, ListRows, ManyRows};
use crate::counter::Counters;
use crate::day::DayRange;
use crate::entity::{KeyExpression, KeyOf, KeyType, Keys};
use crate::reading::days::AllDays;
use crate::reading::sums::{NumberedSums, Sums, Ungrouped};
use crate::table::{EntityTable, NoEntity};

/// Reads the total of one or more counters of an entity.
///
/// The entity is given with [`of`](CounterValue::of), and several entities with
/// [`of_many`](CounterValue::of_many). It reads all days, unless a day is given with
/// [`on`](CounterValue::on) or a range with [`between`](CounterValue::between). It is a Diesel
/// query of one row, with a `BigInt` for each counter: load it with
/// [`get_result`](diesel::RunQueryDsl::get_result). An entity that was never counted has 0.
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
/// Give the variables other names than the columns. While the columns `views` and `likes` are in
/// scope, Rust takes `let (views, likes) = …` as a pattern of the two columns.
///
/// # Cost
///
/// It reads one row for each slot and day that the entity was counted in. If a counter is read with
/// every page, and has been counted by day for years, do one of these:
///
/// - merge its slots with [`compact`](crate::dsl::compact());
/// - count by a longer period, with `period = "month"` or `"total"`;
/// - [materialize](crate::HasCounters::materialize) the counter.
///
/// The table shows the duration of a read, as a multiple of the time to read one `BIGINT` of one row
/// by its primary key, on the same connection in the same run. "Merged" means that each day before
/// today has one row.
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
/// Measured with `bench/` on two cores, with client and server together: PostgreSQL 15.18,
/// MySQL 9.7, MariaDB 10.11, SQLite 3.53 in a file. SQLite always has one slot. It reads a row by
/// its key in 3 µs, because it has no server. The others take 100 µs.
///
/// # Errors
///
/// The query returns the database's own errors. It fails with:
///
/// - an [overflow](crate::is_overflow()), if a sum is out of the range of an `i64`. On SQLite, it
///   also does if the sum of some of the rows is out of this range;
/// - a [`SerializationError`](diesel::result::Error::SerializationError), if the day of
///   [`on`](CounterValue::on) is outside of 1000-01-01 to 9999-12-31.
pub fn counter_value<C: Counters>(_counters: C) -> CounterValue<C> {
    Sums::new(NoEntity, AllDays)
}

/// A query of the counters `C` of the entity `Id`; made by [`counter_value`].
pub type CounterValue<C, Id = NoEntity, Days = AllDays> = Sums<C, Id, Ungrouped, Days>;

impl<C: Counters, Days> CounterValue<C, NoEntity, Days> {
    /// Sets the entity, by its key.
    pub fn of<K: KeyOf<KeyType<C>>>(self, id: K) -> CounterValue<C, KeyExpression<K, C>, Days> {
        self.of_id(id.into_id())
    }

    pub(crate) fn of_id<Id>(self, id: Id) -> CounterValue<C, Id, Days> {
        Sums::new(id, self.days)
    }

    /// Sets many entities, by their keys, owned or borrowed.
    pub fn of_many<K>(self, ids: impl IntoIterator<Item = K>) -> CounterValues<C, K, Days>
    where
        C::Table: EntityTable,
    {
        CounterValues {
            ids: ids.into_iter().collect(),
            query: self,
        }
    }
}

impl<C: Counters, Id, Days> CounterValue<C, Id, Days> {
    /// Reads only the count that is stored under `day`. If a model counts by another
    /// [`Period`](crate::Period) than the day, give the first day of the period:
    /// `Period::Week.start(day)`.
    pub fn on(self, day: NaiveDate) -> CounterValue<C, Id, DayRange> {
        self.days(DayRange::one(day))
    }

    /// Reads only the counts that are stored under a range of days: `monday..=today`, `monday..`,
    /// `..today`. An empty or reversed range has 0.
    ///
    /// Counts without a day are stored under 1970-01-01. A range that contains this day includes
    /// them.
    ///
    /// If a model counts by another [`Period`](crate::Period) than the day, begin the range with the
    /// first day of a period. The model's
    /// [`counter_value_between`](crate::HasCounters::counter_value_between) does this.
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> CounterValue<C, Id, DayRange> {
        self.days(DayRange::new(days))
    }

    pub(crate) fn days(self, days: DayRange) -> CounterValue<C, Id, DayRange> {
        Sums::new(self.entities, days)
    }
}

/// A query of the counters `C` of many entities; made by
/// [`counter_value(…).of_many(…)`](CounterValue::of_many).
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
/// let totals: Vec<i64> = counter_value(views).of_many([2_i64, 7, 1, 2]).load(conn)?;
/// assert_eq!(totals, [20, 0, 10, 20]);
/// # Ok(())
/// # }
/// ```
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone)]
pub struct CounterValues<C: Counters, K, Days = AllDays> {
    ids: Vec<K>,
    query: CounterValue<C, NoEntity, Days>,
}

impl<C: Counters, K, Days> CounterValues<C, K, Days> {
    /// Reads only the counts that are stored under `day`, as [`CounterValue::on`].
    pub fn on(self, day: NaiveDate) -> CounterValues<C, K, DayRange> {
        CounterValues {
            ids: self.ids,
            query: self.query.on(day),
        }
    }

    /// Reads only the counts that are stored under a range of days, as [`CounterValue::between`].
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> CounterValues<C, K, DayRange> {
        CounterValues {
            ids: self.ids,
            query: self.query.between(days),
        }
    }

    /// Runs the query. Returns a value for each key, in the order of the keys. A key can be given
    /// more than once. An entity that was never counted has 0.
    ///
    /// On PostgreSQL, it is one query for any number of keys. On the other databases, it is one
    /// query for each 1,000 keys. There the number of keys in a query is a power of two or 1,000, so
    /// that there are few texts to prepare; the last key is repeated to fill up the list.
    ///
    /// # Errors
    ///
    /// Those of [`counter_value`].
    pub fn load<'a, Conn>(self, conn: &mut Conn) -> QueryResult<Vec<C::Value>>
    where
        Self: ReadOn<'a, Conn, Vec<C::Value>>,
    {
        self.read(conn)
    }
}

/// A query that runs on the connection `Conn`, and returns `Returned`: counts of many entities, or a
/// series.
#[diagnostic::on_unimplemented(
    message = "these counters cannot be read on a `{Conn}`",
    label = "this requires a connection of Diesel's, and keys of the counter table's type"
)]
pub trait ReadOn<'a, Conn, Returned> {
    #[doc(hidden)]
    fn read(self, conn: &mut Conn) -> QueryResult<Returned>;
}

impl<'a, C, K, Days, Conn> ReadOn<'a, Conn, Vec<C::Value>> for CounterValues<C, K, Days>
where
    C: Counters,
    K: Clone,
    Conn: Connection<Backend: CounterBackend<ManyRows: ListRows>>,
    Days: Copy,
    NumberedSums<C, K, Ungrouped, Days>: LoadQuery<'a, Conn, (i64, C::Value)>,
{
    fn read(self, conn: &mut Conn) -> QueryResult<Vec<C::Value>> {
        let mut values = vec![C::ZERO; self.ids.len()];
        let size = ManyRows::<Conn>::NUMBERED_LIMIT;
        for (keys, values) in self.ids.chunks(size).zip(values.chunks_mut(size)) {
            let keys = Keys::numbered::<ManyRows<Conn>>(keys);
            let query = NumberedSums::<C, K, Ungrouped, Days>::new(keys, self.query.days);
            for (number, value) in query.load::<(i64, C::Value)>(conn)? {
                // The keys that fill up the list have greater numbers.
                if let Some(of_key) = values.get_mut(number as usize - 1) {
                    *of_key = C::amounts(value);
                }
            }
        }
        Ok(values.into_iter().map(C::value).collect())
    }
}
