//! The ways of counting that are compared.

use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Integer};
use diesel_counters::dsl::{counter_value, increment, set_counter, take};
use diesel_counters::{CounterBackend, Dialect};

use crate::database::{Database, for_each_connection};
use crate::schema::bench_tickets::remaining;
use crate::schema::{
    BODY, bench_article_counters, bench_comments, bench_counted_comments, bench_hits,
    bench_hot_comments, bench_random_counters,
};

/// What a transaction does next to the insert of its business row, or instead of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Only the business row is inserted.
    NoCounter,
    /// This crate's increment, where each connection counts entities of its own.
    Ceiling,
    /// `UPDATE … SET views = views + 1`, of one row for each entity.
    OneRow,
    /// An auto-increment primary key, and a unique `(record_id, slot)`, as GitHub's
    /// `slotted_counters` and its copies have it.
    PublishedLayout,
    /// Diesel's own upsert, as a user of Diesel would write it into this crate's table.
    OnConflict,
    /// This crate's increment, in a random slot.
    RandomSlots,
    /// This crate's increment, in the slot of the connection.
    ThisCrate,
    /// A stock in one row, `SET stock = stock - 1 WHERE stock >= 1`.
    OneRowOfStock,
    /// This crate's `take`.
    Take,
    /// `NoCounter` without BEGIN and COMMIT.
    InsertAlone,
    /// `InsertAlone`, into a table with the triggers of `diesel-counters generate triggers`.
    Trigger,
    /// The same, with triggers that count in a column of the article.
    Column,
    /// The insert and the count in one statement, without BEGIN and COMMIT.
    OneStatement,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Way::NoCounter => "no counter",
            Way::Ceiling => "ceiling",
            Way::OneRow => "one row",
            Way::PublishedLayout => "published layout",
            Way::OnConflict => "Diesel's on_conflict",
            Way::RandomSlots => "this crate, random slots",
            Way::ThisCrate => "this crate",
            Way::OneRowOfStock => "a stock in one row",
            Way::Take => "this crate, take",
            Way::InsertAlone => "no counter, INSERT alone",
            Way::Trigger => "this crate's triggers, INSERT alone",
            Way::Column => "this crate's triggers in a column, INSERT alone",
            Way::OneStatement => "this crate, one statement alone",
        }
    }

    /// The counter that this way adds to: its column and its table. A way that takes units has a
    /// minus before the column.
    pub fn counter(self) -> Option<(&'static str, &'static str)> {
        match self {
            Way::NoCounter | Way::InsertAlone => None,
            Way::OneRow => Some(("views", "bench_hits")),
            Way::OneRowOfStock => Some(("-views", "bench_hits")),
            Way::Take => Some(("-remaining", "bench_tickets")),
            Way::PublishedLayout => Some(("count", "bench_slotted_counters")),
            Way::Trigger => Some(("comments", "bench_article_counters")),
            Way::Column => Some(("comments", "bench_hot_articles")),
            _ => Some(("views", "bench_article_counters")),
        }
    }

    /// Whether a transaction is one statement, which the server commits by itself.
    pub fn is_alone(self) -> bool {
        matches!(
            self,
            Way::InsertAlone | Way::Trigger | Way::Column | Way::OneStatement
        )
    }
}

/// How a connection counts.
#[derive(Debug, Clone, Copy)]
pub struct Counting {
    pub way: Way,
    /// The slot, for ways that bind it.
    pub slot: i16,
}

/// The statements of a transaction.
pub trait Ways: Database {
    fn insert_comment(&mut self, article_id: i64) -> QueryResult<()>;
    fn count(&mut self, counting: Counting, id: i64) -> QueryResult<()>;
    /// Inserts the comment and counts it, for ways of one statement.
    fn count_alone(&mut self, counting: Counting, id: i64) -> QueryResult<()>;
    /// Fills the stocks of entity 1.
    fn fill(&mut self, units: i64) -> QueryResult<()>;
    /// Claims a number for this connection, which chooses its slot.
    fn claim(&mut self) -> QueryResult<()>;
    /// The total of an entity.
    fn total(&mut self, way: Way, id: i64) -> QueryResult<i64>;
    /// The integer that a query returns.
    fn number(&mut self, sql: &str) -> QueryResult<i64>;
}

macro_rules! insert_comment {
    ($table:ident, $article_id:expr, $conn:expr) => {{
        let comment = ($table::article_id.eq($article_id), $table::body.eq(BODY));
        let insert = diesel::insert_into($table::table).values(comment);
        insert.execute($conn).map(drop)
    }};
}

for_each_connection!(
    impl Ways {
        fn insert_comment(&mut self, article_id: i64) -> QueryResult<()> {
            insert_comment!(bench_comments, article_id, self)
        }

        fn count(&mut self, counting: Counting, id: i64) -> QueryResult<()> {
            match counting.way {
                Way::NoCounter | Way::InsertAlone | Way::Trigger | Way::Column => Ok(0),
                Way::OneRow => {
                    use bench_hits::views;
                    diesel::update(bench_hits::table.find(id))
                        .set(views.eq(views + 1))
                        .execute(self)
                }
                Way::OneRowOfStock => {
                    use bench_hits::views;
                    let stock = bench_hits::table.find(id).filter(views.ge(1));
                    let taken = diesel::update(stock).set(views.eq(views - 1)).execute(self)?;
                    return is_taken(taken == 1);
                }
                Way::Take => return is_taken(take(remaining).of(id).execute(self)?),
                Way::PublishedLayout => PublishedUpsert {
                    record_id: id,
                    slot: rand::random_range(0..100),
                }
                .execute(self),
                Way::OnConflict => {
                    use bench_article_counters::*;
                    diesel::insert_into(table)
                        .values((
                            article_id.eq(id),
                            day.eq(chrono::Utc::now().date_naive()),
                            slot.eq(counting.slot),
                            views.eq(1),
                        ))
                        .on_conflict(Self::CONFLICT_TARGET)
                        .do_update()
                        .set(views.eq(views + 1))
                        .execute(self)
                }
                Way::RandomSlots => increment(bench_random_counters::views).of(id).execute(self),
                Way::Ceiling | Way::ThisCrate | Way::OneStatement => {
                    increment(bench_article_counters::views).of(id).execute(self)
                }
            }
            .map(drop)
        }

        fn count_alone(&mut self, counting: Counting, id: i64) -> QueryResult<()> {
            match counting.way {
                Way::Trigger => insert_comment!(bench_counted_comments, id, self),
                Way::Column => insert_comment!(bench_hot_comments, id, self),
                Way::OneStatement => self.insert_and_count(id),
                _ => self.insert_comment(id),
            }
        }

        fn fill(&mut self, units: i64) -> QueryResult<()> {
            let views = bench_hits::views.eq(units);
            diesel::update(bench_hits::table.find(1)).set(views).execute(self)?;
            set_counter(remaining).of(1_i64).to(units).execute(self).map(drop)
        }

        fn claim(&mut self) -> QueryResult<()> {
            diesel_counters::dsl::claim_slot().execute(self).map(drop)
        }

        fn total(&mut self, way: Way, id: i64) -> QueryResult<i64> {
            if way == Way::OneRow {
                return bench_hits::table.find(id).select(bench_hits::views).get_result(self);
            }
            counter_value(bench_article_counters::views).of(id).get_result(self)
        }

        fn number(&mut self, sql: &str) -> QueryResult<i64> {
            let number = format!("CAST(({sql}) AS {})", Self::INTEGER);
            diesel::select(diesel::dsl::sql::<BigInt>(&number)).get_result(self)
        }
    }
);

/// More units than are taken in a measurement.
pub const STOCK: i64 = 64_000_000;

/// The units of a stock that is sold out: twice as many takes run, and half of them are refused.
pub const LAST_UNITS: i64 = 320;

/// The error `NotFound` says that a take was refused.
fn is_taken(taken: bool) -> QueryResult<()> {
    taken.then_some(()).ok_or(diesel::result::Error::NotFound)
}

/// The statement of [`Way::PublishedLayout`].
///
/// It has a static `QueryId`, so that Diesel prepares it once on each connection, as it does for
/// the other ways. Diesel caches neither `sql_query` nor its own upserts.
#[derive(QueryId)]
struct PublishedUpsert {
    record_id: i64,
    slot: i32,
}

impl<DB> QueryFragment<DB> for PublishedUpsert
where
    DB: CounterBackend + diesel::sql_types::HasSqlType<Integer>,
    i64: ToSql<BigInt, DB>,
    i32: ToSql<Integer, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = out.backend().dialect();
        out.push_sql("INSERT INTO bench_slotted_counters (record_id, slot, count) VALUES (");
        out.push_bind_param::<BigInt, _>(&self.record_id)?;
        out.push_sql(", ");
        out.push_bind_param::<Integer, _>(&self.slot)?;
        out.push_sql(match dialect {
            Dialect::MySql => ", 1) ON DUPLICATE KEY UPDATE count = count + 1",
            _ => {
                ", 1) ON CONFLICT (record_id, slot) \
                 DO UPDATE SET count = bench_slotted_counters.count + 1"
            }
        });
        Ok(())
    }
}

impl<Conn> RunQueryDsl<Conn> for PublishedUpsert {}
