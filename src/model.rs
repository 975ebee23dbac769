//! The methods of a model that has counters.

use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::associations::HasTable;
use diesel::connection::{Connection, LoadConnection};
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};
use diesel::{QueryResult, RunQueryDsl};

use crate::add::increment::Increment;
use crate::day::{DayRange, Period};
use crate::error::not_written;
use crate::key::Entities;
use crate::key::KeyPrefix;
use crate::key::{BindKey, HasColumns, KeyOf, WholeKey};
use crate::merge::materialize::{self, MaterializeOf};
use crate::read::series::{PeriodCounts, counter_series};
use crate::read::value::{CounterValue, counter_value};
use crate::sql::CounterBackend;
use crate::typed::copied::{Copied, TotalColumns};
use crate::typed::counters::{Counters, KeyType, assert_program_counts, is_zero};
use crate::typed::names::RenderName;
use crate::typed::parent::ChildOf;
use crate::typed::table::CounterTable;

/// Attaches counters to a Diesel model: implements [`HasCounters`](trait@HasCounters) for the
/// model, and [`CountersOf`] for each of its counter tables.
///
/// ```
/// # include!("../docs/doctest_setup.rs");
/// # fn main() {
/// use diesel_counters::HasCounters;
///
/// #[derive(Identifiable, Queryable, Selectable, HasCounters)]
/// #[diesel(table_name = articles)]
/// #[counters(table_name = article_counters)]
/// struct Article {
///     id: i64,
///     title: String,
/// }
/// # }
/// ```
///
/// - `#[counters(table_name = path::to::table)]` names a counter table, just as
///   `#[diesel(table_name = …)]` names the model's own table. If the model has several counter
///   tables, write it once for each. The settings of a table are in its
///   [`counter_table!`](crate::counter_table).
/// - The model's key is the field for the column that `#[diesel(primary_key(…))]` names, or for the
///   column `id` by default. The key can have up to five columns. A counter table's key begins with
///   these columns and can have more.
///
/// Derive it for a unit struct if you want [counters without an
/// entity](crate::guide::reading#counters-without-an-entity).
pub use diesel_counters_derive::HasCounters;

/// A model with counters. [Derive it](derive@crate::HasCounters).
///
/// The methods that count or read run one statement (`counter_values` can run several) in the
/// current transaction or savepoint, so a count commits or rolls back together with the other rows
/// you write. Each method is short for a function in [`dsl`]; look there for what it costs and how
/// it fails. The other functions in `dsl` take a model too, for example
/// `set_counter(views).of(&article)`.
///
/// ```
/// # include!("../docs/doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let article: Article = articles::table.find(1).first(conn)?;
/// # let today = chrono::Utc::now().date_naive();
/// use diesel_counters::prelude::*;
/// use schema::article_counters::{likes, views};
///
/// article.incr_counter_by(likes, -1, conn)?;
/// article.incr_counter_by((views, likes), (5, 2), conn)?;
///
/// assert_eq!(article.counter_value((views, likes), conn)?, (5, 1));
/// assert_eq!(article.daily_counts(views, today..=today, conn)?, [(today, 5)]);
/// let page: Vec<Article> = articles::table.order(articles::id).load(conn)?;
/// let counts: Vec<(i64, i64)> = Article::counter_values(&page, (views, likes), conn)?;
/// assert_eq!(counts, [(5, 1), (0, 0)]);
///
/// // Copying the totals into columns, so that lists can be sorted by them.
/// let columns = (articles::total_views, articles::total_likes);
/// let written: usize = Article::materialize((views, likes), columns).execute(conn)?;
/// assert_eq!(written, 1);
/// # Ok(())
/// # }
/// ```
///
/// [`dsl`]: crate::dsl
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no counters",
    label = "write `#[derive(HasCounters)]` and `#[counters(table_name = …)]` on this model"
)]
pub trait HasCounters: Sized {
    /// The Rust type of the model's primary key, a tuple if the key has several columns.
    type Key;

    /// A reference to the key, or a tuple of references.
    type KeyRef<'a>
    where
        Self: 'a;

    /// The number of columns in the key.
    type KeyColumns;

    /// Returns the model's primary key.
    fn counter_key(&self) -> Self::KeyRef<'_>;

    /// Adds 1 to a counter, or to every counter in a tuple; see
    /// [`increment`](crate::dsl::increment()).
    fn incr_counter<'a, C, Conn>(&'a self, _counters: C, conn: &mut Conn) -> QueryResult<()>
    where
        C: Counters<Table: CountersOf<Self>>,
        Self::KeyRef<'a>: KeyOf<KeyType<C>, Self::KeyColumns, Types: WholeKey<KeyType<C>>>
            + BindKey<KeyType<C>, Conn::Backend>,
        Conn: Connection<Backend: CounterBackend>,
    {
        const { assert_program_counts::<C>() }
        count_once(Increment::<C>::new().with_key(self.counter_key()), conn)
    }

    /// Adds an amount, which can be negative, to a counter, or one amount to each counter in a
    /// tuple. For example, `incr_counter_by((views, likes), (1, 2), conn)` writes one row. If the
    /// amount is 0, or every amount in the tuple is, nothing is sent to the database.
    fn incr_counter_by<'a, C, Conn>(
        &'a self,
        _counters: C,
        amount: C::Value,
        conn: &mut Conn,
    ) -> QueryResult<()>
    where
        C: Counters<Table: CountersOf<Self>>,
        Self::KeyRef<'a>: KeyOf<KeyType<C>, Self::KeyColumns, Types: WholeKey<KeyType<C>>>
            + BindKey<KeyType<C>, Conn::Backend>,
        Conn: Connection<Backend: CounterBackend>,
    {
        const { assert_program_counts::<C>() }
        let increment = Increment::<C>::new()
            .with_key(self.counter_key())
            .by(amount);
        if is_zero(&increment.amounts) {
            return Ok(());
        }
        count_once(increment, conn)
    }

    /// Reads the total of a counter as an `i64`, or the totals of a tuple of counters as a tuple.
    /// See [`counter_value`](crate::dsl::counter_value()).
    fn counter_value<'a, C, Conn>(&'a self, counters: C, conn: &mut Conn) -> QueryResult<C::Value>
    where
        C: Counters<Table: CountersOf<Self>>,
        Self::KeyRef<'a>: KeyOf<KeyType<C>, Self::KeyColumns>,
        Conn: Connection,
        CounterValue<C, ModelKey<'a, Self, C>>: LoadQuery<'a, Conn, C::Value>,
    {
        counter_value(counters).of(self).get_result(conn)
    }

    /// Reads the count in a range of days, for example `monday..=today`, `monday..` or `..today`.
    /// See [`between`](crate::dsl::Sums::between).
    fn counter_value_between<'a, C, Conn>(
        &'a self,
        counters: C,
        days: impl RangeBounds<NaiveDate>,
        conn: &mut Conn,
    ) -> QueryResult<C::Value>
    where
        C: Counters<Table: CountersOf<Self>>,
        Self::KeyRef<'a>: KeyOf<KeyType<C>, Self::KeyColumns>,
        Conn: Connection,
        CounterValue<C, ModelKey<'a, Self, C>, DayRange>: LoadQuery<'a, Conn, C::Value>,
    {
        let query = counter_value(counters).of(self).between(days);
        query.get_result(conn)
    }

    /// Reads the totals of many models, and returns one value for each, in the same order. See
    /// [`of_many`](crate::dsl::Sums::of_many), which also takes keys.
    fn counter_values<'a, C, Conn>(
        models: impl IntoIterator<Item = &'a Self>,
        counters: C,
        conn: &mut Conn,
    ) -> QueryResult<Vec<C::Value>>
    where
        Self: 'a,
        C: Counters<Table: CountersOf<Self>>,
        Self::KeyRef<'a>: KeyOf<KeyType<C>, Self::KeyColumns, Types: HasColumns<1>>
            + BindKey<ModelTypes<'a, Self, C>, Conn::Backend>
            + Clone
            + Ord,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        counter_value(counters).of_many(models).load(conn)
    }

    /// Reads the count of each day in a range, oldest first. Days on which nothing was counted are
    /// included, with a count of 0. This doesn't compile if the table counts by a [`Period`] other
    /// than the day. Use [`counter_series`](crate::dsl::counter_series()) then, which also reads by
    /// week, month and year, and for many entities.
    fn daily_counts<'a, C, Conn>(
        &'a self,
        counters: C,
        days: impl RangeBounds<NaiveDate>,
        conn: &mut Conn,
    ) -> QueryResult<PeriodCounts<C>>
    where
        C: Counters<Table: CountersOf<Self>>,
        Self::KeyRef<'a>: KeyOf<KeyType<C>, Self::KeyColumns>,
        ModelKey<'a, Self, C>: Entities<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        const {
            assert!(
                matches!(C::Table::PERIOD, Period::Day),
                "this table doesn't count by day: use `counter_series(…)` instead, which reads by the table's period"
            );
        }
        let series = counter_series(counters).of(self).between(days);
        series.load(conn)
    }

    /// Copies the total of a counter into a column of a parent table, so that you can [sort by
    /// it](crate::guide::operations#sorting-by-a-count). The column is a `BigInt`, or an `Integer`,
    /// as old counter columns often are.
    ///
    /// If you give tuples, it copies several counts into as many columns, in one statement and as
    /// of the same moment. A [`total`](crate::dsl::total()) can have days of its own. Here, the
    /// last 90 days never show more than the total does:
    ///
    /// ```
    /// # include!("../docs/doctest_setup.rs");
    /// # fn main() -> diesel::QueryResult<()> {
    /// # let conn = &mut establish_connection();
    /// # use diesel_counters::prelude::*;
    /// # use schema::article_counters::views;
    /// use diesel_counters::dsl::total;
    ///
    /// # let today = chrono::Utc::now().date_naive();
    /// # increment(views).of_many([(1_i64, 3)]).on(today - chrono::Days::new(90)).execute(conn)?;
    /// # increment(views).of_many([(1_i64, 2)]).execute(conn)?;
    /// let first = today - chrono::Days::new(89);
    /// let counts = (views, total(views).between(first..));
    /// let columns = (articles::total_views, articles::recent_views);
    /// Article::materialize(counts, columns).execute(conn)?;
    /// # assert_eq!(articles::table.find(1).select(columns).first(conn), Ok((5_i64, 2_i64)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The column keeps the counts from the time of the copy, so run the copy regularly, and don't
    /// write the column anywhere else. The copy only writes rows that differ in at least one of the
    /// columns, once each, in the order of their keys.
    fn materialize<C, Into>(counts: C, _into: Into) -> MaterializeOf<C, Into, Self::Key>
    where
        C: Copied<Table: CountersOf<Self> + ChildOf<Into::Table>>,
        Into: TotalColumns<Value = C::Value, Table: HasTable<Table = Into::Table> + RenderName>,
    {
        materialize::materialize_columns::<C, Into, Self::Key>(&counts)
    }
}

/// Executes an increment that isn't 0. Fails if the database didn't write the row: on PostgreSQL
/// and SQLite, a trigger can skip it.
fn count_once<C, K, Conn>(increment: Increment<C, K>, conn: &mut Conn) -> QueryResult<()>
where
    C: Counters,
    K: BindKey<KeyType<C>, Conn::Backend>,
    Conn: Connection<Backend: CounterBackend>,
{
    match ExecuteDsl::execute(increment, conn)? {
        0 => not_written(C::Table::shape().label),
        _ => Ok(()),
    }
}

/// A counter table of the model `M`.
///
/// `#[derive(HasCounters)]` implements it for every table that the model names in a
/// `#[counters(table_name = …)]`.
#[diagnostic::on_unimplemented(
    message = "`{M}` has no counters in `{Self}`",
    label = "no `#[counters(…)]` of the model names the table of this counter",
    note = "help: add `#[counters(table_name = …)]` to `{M}`, once for each counter table"
)]
pub trait CountersOf<M>: CounterTable {}

/// The SQL types of a model's key in `C`'s table.
type ModelTypes<'a, M, C> =
    <<M as HasCounters>::KeyRef<'a> as KeyOf<KeyType<C>, <M as HasCounters>::KeyColumns>>::Types;

/// The entities that a model's key selects: the one with this key, or all whose keys begin with it.
type ModelKey<'a, M, C> = KeyPrefix<ModelTypes<'a, M, C>, <M as HasCounters>::KeyRef<'a>>;

/// Marks a model that's given in place of a key.
#[derive(Debug)]
pub struct ByModel;

#[doc(hidden)]
#[diagnostic::do_not_recommend]
impl<'m, M, Key> KeyOf<Key, ByModel> for &'m M
where
    M: HasCounters,
    M::KeyRef<'m>: KeyOf<Key, M::KeyColumns>,
{
    type Types = <M::KeyRef<'m> as KeyOf<Key, M::KeyColumns>>::Types;
    type Value = M::KeyRef<'m>;
    fn into_value(self) -> M::KeyRef<'m> {
        self.counter_key()
    }
}

/// Called by the derive, so that a key of the wrong type is reported at that type.
pub fn assert_key<T: CounterTable, K, N>(_key: K)
where
    K: KeyOf<T::KeyType, N>,
{
}
