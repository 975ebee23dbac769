//! Adding to the counters of one entity, in one statement.

use chrono::NaiveDate;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::{QueryResult, RunQueryDsl};

use crate::add::target::Target;
use crate::key::{BindKey, KeyOf, WholeKey};
use crate::sql::{CounterBackend, Dialect, Part as _, each, key_value, part};
use crate::typed::counters::{Counters, KeyType, assert_program_counts};
use crate::typed::table::CounterTable;

/// Adds to one or more counters of an entity.
///
/// It adds 1 to each counter, or the amounts that you set with [`by`](Increment::by). It counts in
/// the current transaction, on the day on which it is executed or on the day that you set with
/// [`on`](Increment::on).
///
/// For one entity, which you set with [`of`](Increment::of), it's a Diesel statement. Run it with
/// [`execute`](RunQueryDsl::execute), which returns what the database reports: 1, or 2 on MySQL and
/// MariaDB if it changed a row that existed. It returns 0 if [a trigger of your
/// own](crate::CounterTable#triggers-rules-and-policies-of-your-own) has skipped the row. For
/// [several entities](Increment::of_many), `execute` returns the number of entities whose amounts
/// aren't all 0.
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let (article_id, yesterday) = (1_i64, chrono::Utc::now().date_naive().pred_opt().unwrap());
/// use diesel_counters::prelude::*;
/// use schema::article_counters::{likes, views};
///
/// increment(views).of(article_id).execute(conn)?;
/// increment(views).of(article_id).by(3).on(yesterday).execute(conn)?;
/// increment((views, likes)).of(article_id).by((2, 1)).execute(conn)?;
/// increment(views).of_many([(1_i64, 5), (2, 1)]).execute(conn)?;
///
/// let counted = counter_value((views, likes)).of(article_id).get_result::<(i64, i64)>(conn)?;
/// assert_eq!(counted, (11, 1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`execute`](RunQueryDsl::execute) returns the database's own errors. It also fails with:
///
/// - an [overflow](crate::is_overflow()), if the row's count would be out of the range of an `i64`;
/// - a [`SerializationError`](diesel::result::Error::SerializationError), if the day that the count
///   is stored under is outside of 1000-01-01 to 9999-12-31.
#[inline]
pub fn increment<C: Counters>(_counters: C) -> Increment<C> {
    const { assert_program_counts::<C>() }
    Increment::new()
}

/// An increment of the counters `C` for the entity with the key `K`; made by [`increment`].
#[must_use = "an increment adds nothing until it is executed"]
#[derive(Debug, Clone)]
pub struct Increment<C: Counters, K = ()> {
    pub(crate) target: Target<C, K>,
    pub(crate) amounts: C::Amounts,
}

impl<C: Counters> Increment<C> {
    /// Returns an increment that adds 1 to each of the counters.
    #[inline]
    pub(crate) fn new() -> Self {
        let mut amounts = C::Amounts::default();
        amounts.as_mut().fill(1);
        Increment {
            target: Target::new(),
            amounts,
        }
    }

    /// Sets the entity, by its key or by its model: `.of(article_id)` or `.of(&article)`.
    #[inline]
    pub fn of<K, N>(self, id: K) -> Increment<C, K::Value>
    where
        K: KeyOf<KeyType<C>, N, Types: WholeKey<KeyType<C>>>,
    {
        self.with_key(id.into_value())
    }

    #[inline]
    pub(crate) fn with_key<K>(self, key: K) -> Increment<C, K> {
        Increment {
            target: self.target.with_key(key),
            amounts: self.amounts,
        }
    }
}

impl<C: Counters, K> Increment<C, K> {
    /// Sets the amount to add, which can be negative: an `i64` for one counter, or a tuple of
    /// `i64`s for a tuple of counters. Defaults to 1 for every counter.
    pub fn by(mut self, amount: C::Value) -> Self {
        self.amounts = C::amounts(amount);
        self
    }

    /// Sets the day to count on. Defaults to today. If the table counts by a
    /// [`Period`](crate::Period) other than the day, this counts in the period that contains `day`.
    pub fn on(mut self, day: NaiveDate) -> Self {
        self.target.set_day(day);
        self
    }
}

impl<C: Counters, K, Conn> RunQueryDsl<Conn> for Increment<C, K> {}

/// Makes the query id of an increment different from others.
#[derive(Debug)]
pub struct Upsert;

// The SQL depends only on the counters: the key (whatever its Rust type), the day and the amounts
// are bind values.
impl<C: Counters + QueryId, K> QueryId for Increment<C, K> {
    type QueryId = (Upsert, C::QueryId);
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID;
}

impl<C, K, DB> QueryFragment<DB> for Increment<C, K>
where
    C: Counters,
    K: BindKey<KeyType<C>, DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let db = Dialect::from_pass(&out);
        let shape = C::Table::shape();
        let insert = db.insert_into(shape.table, &shape.key, C::NAMES);
        // `?, ` for each column, because a table without entities has none.
        let key = each("", shape.entity(), |column, _| {
            part!("{key_value(&self.target.entity, column)}, ")
        });
        let day = self.target.day();
        let slot = db.slot(shape);
        let amounts = each(", ", self.amounts.as_ref(), |_, amount| amount);
        let add = db.on_conflict_add(shape, C::NAMES);
        part!("{insert} VALUES ({key}{day}, {slot}, {amounts}){add}").walk(out)
    }
}
