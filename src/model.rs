//! What a model with counters can do.

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::prelude::RunQueryDsl;
use diesel::query_dsl::methods::{ExecuteDsl, LoadQuery};

use crate::changes::Changes;
use crate::counter::Counters;
use crate::increment::Increment;
use crate::key::{self, KeyExpression};
use crate::period::{Period, utc_today};
use crate::slot::DEFAULT_SLOTS;
use crate::table::CounterTable;
use crate::value::{CounterValue, OnDay, counter_value};

/// The key of a model, borrowed from it, as a Diesel expression.
type KeyOf<'a, M, C> = KeyExpression<&'a <M as HasCounters>::Key, C>;

/// Attaches counters to a Diesel model: implements
/// [`HasCounters`](trait@HasCounters), and [`CountersOf`] for each counter table.
///
/// ```
/// # mod schema {
/// #     diesel::table! { articles (id) { id -> BigInt, title -> Text, } }
/// #     diesel::table! {
/// #         article_counters (article_id, day, slot) {
/// #             article_id -> BigInt, day -> Date, slot -> SmallInt, views -> BigInt,
/// #         }
/// #     }
/// # }
/// # use schema::{article_counters, articles};
/// use diesel::prelude::*;
/// use diesel_counters::HasCounters;
///
/// #[derive(Identifiable, Queryable, Selectable, HasCounters)]
/// #[diesel(table_name = articles)]
/// #[counters(table_name = article_counters, slots = 16, period = "week")]
/// struct Article {
///     id: i64,
///     title: String,
/// }
/// ```
///
/// # Attributes
///
/// `#[counters(…)]`, once for each counter table of the model:
///
/// - `table_name = path::to::table`, required: the counter table's module, as in
///   `#[diesel(table_name = …)]`.
/// - `slots = 32`: the number of slots, from 1 to 32,767; 32 when not said. Best is
///   one for each thread that counts, over all processes (see
///   [`Slot`](crate::Slot)); each can add a row for each entity and period.
/// - `period = "day"`, `"week"`, `"month"` or `"total"`: how finely counts are told
///   apart in time, a [`Period`]; days when not said.
/// - `today = path::to::function`: a `fn() -> chrono::NaiveDate` that says on which
///   day to count; UTC's when not said.
///
/// The model's key is the field of the column named in
/// `#[diesel(primary_key(…))]`, or of the column `id`; it must be a single column.
///
/// ```
/// # mod schema {
/// #     diesel::table! {
/// #         page_counters (path, day, slot) {
/// #             path -> Text, day -> Date, slot -> SmallInt, views -> BigInt,
/// #         }
/// #     }
/// #     diesel::table! {
/// #         page_reactions (path, day, slot) {
/// #             path -> Text, day -> Date, slot -> SmallInt, likes -> BigInt,
/// #         }
/// #     }
/// # }
/// # use schema::{page_counters, page_reactions};
/// # use diesel_counters::HasCounters;
/// #[derive(HasCounters)]
/// #[diesel(primary_key(path))]
/// #[counters(table_name = page_counters)]
/// #[counters(table_name = page_reactions, period = "total")]
/// struct Page {
///     path: String,
/// }
/// ```
pub use diesel_counters_derive::HasCounters;

/// A model with counters. [Derive it](derive@crate::HasCounters).
///
/// Each method is one statement, on whatever connection and in whatever
/// transaction or savepoint it is given: the count commits and rolls back with
/// the rows that the caller writes next to it. Nothing here begins, commits or
/// retries a transaction.
///
/// ```
/// # include!("doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let article = Article { id: 1, title: String::new() };
/// # let new_comment = (schema::comments::article_id.eq(1), schema::comments::body.eq("Nice."));
/// use diesel_counters::prelude::*;
/// use schema::article_counters::{comments, likes, views};
///
/// conn.transaction(|conn| {
///     diesel::insert_into(schema::comments::table).values(&new_comment).execute(conn)?;
///     article.incr_counter(comments, conn)
/// })?;
/// article.incr_counter_by(likes, -1, conn)?;
/// article.incr_counters((views.by(1), likes.by(2)), conn)?;
///
/// assert_eq!(article.counter_value(comments, conn)?, 1);
/// assert_eq!(article.counter_value((views, likes), conn)?, (1, 1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// The database's own; those of [`increment`](crate::increment) when writing,
/// and of [`counter_value`](crate::counter_value()) when reading.
///
/// PostgreSQL reports a deadlock as
/// [`DatabaseErrorKind::Unknown`](diesel::result::DatabaseErrorKind::Unknown),
/// MySQL as `SerializationFailure`, SQLite a busy database as `Unknown`. After
/// any of them the whole transaction is to be run again, by its owner.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no counters",
    label = "write `#[derive(HasCounters)]` and `#[counters(table_name = …)]` on this model"
)]
pub trait HasCounters: Sized {
    /// The type of the model's primary key.
    type Key;

    /// The model's primary key.
    fn counter_key(&self) -> &Self::Key;

    /// Adds to counters of this kind of model, by key: [`increment`] with the
    /// model's own slots, period and day.
    ///
    /// ```
    /// # include!("doctest_setup.rs");
    /// # fn main() -> diesel::QueryResult<()> {
    /// # let conn = &mut establish_connection();
    /// # let article_id = 1_i64;
    /// use diesel_counters::prelude::*;
    /// use schema::article_counters::likes;
    ///
    /// Article::increment(likes).of(article_id).execute(conn)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`increment`]: crate::increment
    fn increment<C>(counters: C) -> Increment<C>
    where
        C: Counters,
        C::Table: CountersOf<Self>,
    {
        Increment::new(
            counters,
            C::Table::SLOTS,
            C::Table::PERIOD,
            C::Table::today(),
        )
    }

    /// Adds 1 to a counter, or to each of a tuple of counters.
    fn incr_counter<'a, C, Conn>(&'a self, counter: C, conn: &mut Conn) -> QueryResult<()>
    where
        C: Counters,
        C::Table: CountersOf<Self>,
        &'a Self::Key: key::KeyOf<C::Table>,
        Conn: Connection,
        Increment<C, KeyOf<'a, Self, C>>: ExecuteDsl<Conn> + RunQueryDsl<Conn>,
    {
        Self::increment(counter)
            .of(self.counter_key())
            .execute(conn)
            .map(drop)
    }

    /// Adds `amount`, which may be negative, to a counter. Adding 0 writes nothing.
    fn incr_counter_by<'a, C, Conn>(
        &'a self,
        counter: C,
        amount: C::Value,
        conn: &mut Conn,
    ) -> QueryResult<()>
    where
        C: Counters,
        C::Table: CountersOf<Self>,
        &'a Self::Key: key::KeyOf<C::Table>,
        Conn: Connection,
        Increment<C, KeyOf<'a, Self, C>>: ExecuteDsl<Conn> + RunQueryDsl<Conn>,
    {
        Self::increment(counter)
            .of(self.counter_key())
            .by(amount)
            .execute(conn)
            .map(drop)
    }

    /// Subtracts 1 from a counter.
    fn decr_counter<'a, C, Conn>(&'a self, counter: C, conn: &mut Conn) -> QueryResult<()>
    where
        C: Counters<Value = i64>,
        C::Table: CountersOf<Self>,
        &'a Self::Key: key::KeyOf<C::Table>,
        Conn: Connection,
        Increment<C, KeyOf<'a, Self, C>>: ExecuteDsl<Conn> + RunQueryDsl<Conn>,
    {
        self.incr_counter_by(counter, -1, conn)
    }

    /// Adds to several counters of one table, in one row and one statement:
    /// `(views.by(1), likes.by(2))`.
    fn incr_counters<'a, B, Conn>(&'a self, changes: B, conn: &mut Conn) -> QueryResult<()>
    where
        B: Changes,
        <B::Counters as Counters>::Table: CountersOf<Self>,
        &'a Self::Key: key::KeyOf<<B::Counters as Counters>::Table>,
        Conn: Connection,
        Increment<B::Counters, KeyOf<'a, Self, B::Counters>>: ExecuteDsl<Conn> + RunQueryDsl<Conn>,
    {
        let (counters, amounts) = changes.split();
        self.incr_counter_by(counters, amounts, conn)
    }

    /// Reads a counter, or each of a tuple of counters, in one query: an `i64`, or
    /// a tuple of them. 0 for a model that was never counted.
    ///
    /// It reads one row for each slot and period of the model.
    fn counter_value<'a, C, Conn>(&'a self, counters: C, conn: &mut Conn) -> QueryResult<C::Value>
    where
        C: Counters,
        C::Table: CountersOf<Self>,
        &'a Self::Key: key::KeyOf<C::Table>,
        Conn: Connection,
        CounterValue<C, KeyOf<'a, Self, C>>: LoadQuery<'a, Conn, C::Value>,
    {
        counter_value(counters)
            .of(self.counter_key())
            .get_result(conn)
    }

    /// Reads what was counted on `day`, or in the model's period that it falls in.
    fn counter_value_on<'a, C, Conn>(
        &'a self,
        counters: C,
        day: NaiveDate,
        conn: &mut Conn,
    ) -> QueryResult<C::Value>
    where
        C: Counters,
        C::Table: CountersOf<Self>,
        &'a Self::Key: key::KeyOf<C::Table>,
        Conn: Connection,
        CounterValue<C, KeyOf<'a, Self, C>, OnDay>: LoadQuery<'a, Conn, C::Value>,
    {
        counter_value(counters)
            .of(self.counter_key())
            .on(C::Table::PERIOD.start(day))
            .get_result(conn)
    }
}

/// A counter table that the model `M` has counters in.
///
/// `#[derive(HasCounters)]` implements it once for each `#[counters(table_name =
/// …)]`.
#[diagnostic::on_unimplemented(
    message = "`{M}` has no counters in `{Self}`",
    label = "this counter belongs to a table that the model does not name",
    note = "help: name it on `{M}`, which may have several: `#[counters(table_name = …)]`"
)]
pub trait CountersOf<M>: CounterTable {
    /// How many slots a counter has, 1 or more.
    const SLOTS: i16 = DEFAULT_SLOTS;

    /// How finely counts are told apart in time.
    const PERIOD: Period = Period::Day;

    /// The day that is counted on, unless a statement names its own: UTC's.
    fn today() -> NaiveDate {
        utc_today()
    }
}
