//! The statements, as a user of Diesel can write them: with the same SQL, and a static query id
//! where the text does not depend on a number of rows.

use std::collections::HashMap;

use chrono::{NaiveDate, Utc};
use diesel::expression::{ValidGrouping, is_aggregate};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Date, SmallInt};
use diesel::sqlite::Sqlite;

use crate::schema::bench_articles;

#[derive(QueryId)]
pub struct Increment {
    article_id: i64,
    day: NaiveDate,
    slot: i16,
    views: i64,
}

impl Increment {
    pub fn of(article_id: i64) -> Self {
        Increment {
            article_id,
            day: Utc::now().date_naive(),
            slot: 1,
            views: 1,
        }
    }

    pub fn by(mut self, views: i64) -> Self {
        self.views = views;
        self
    }
}

impl<Conn> RunQueryDsl<Conn> for Increment {}

impl QueryFragment<Sqlite> for Increment {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(
            "INSERT INTO bench_article_counters AS stored (article_id, day, slot, views) VALUES (",
        );
        out.push_bind_param::<BigInt, _>(&self.article_id)?;
        out.push_sql(", ");
        out.push_bind_param::<Date, _>(&self.day)?;
        out.push_sql(", 0, ");
        out.push_bind_param::<BigInt, _>(&self.views)?;
        out.push_sql(")");
        out.push_sql(ON_CONFLICT_ADD);
        Ok(())
    }
}

const ON_CONFLICT_ADD: &str = " ON CONFLICT (article_id, day, slot) DO UPDATE SET views = \
    CASE typeof(stored.views + excluded.views) WHEN 'integer' THEN stored.views + excluded.views \
    ELSE abs(-9223372036854775807 - 1) END";

/// The slot is bound: the program chooses one of its own for each connection.
impl QueryFragment<Pg> for Increment {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "INSERT INTO bench_article_counters AS stored (article_id, day, slot, views) VALUES (",
        );
        out.push_bind_param::<BigInt, _>(&self.article_id)?;
        out.push_sql(", ");
        out.push_bind_param::<Date, _>(&self.day)?;
        out.push_sql(", ");
        out.push_bind_param::<SmallInt, _>(&self.slot)?;
        out.push_sql(", ");
        out.push_bind_param::<BigInt, _>(&self.views)?;
        out.push_sql(
            ") ON CONFLICT (article_id, day, slot) \
             DO UPDATE SET views = stored.views + excluded.views",
        );
        Ok(())
    }
}

/// One statement. Its text depends on the number of rows.
pub struct IncrementMany {
    counts: Vec<(i64, i64)>,
    day: NaiveDate,
}

impl IncrementMany {
    pub fn of(counts: impl Iterator<Item = (i64, i64)>) -> Self {
        IncrementMany {
            counts: counts.collect(),
            day: Utc::now().date_naive(),
        }
    }
}

impl QueryId for IncrementMany {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Conn> RunQueryDsl<Conn> for IncrementMany {}

impl QueryFragment<Sqlite> for IncrementMany {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(
            "INSERT INTO bench_article_counters AS stored (article_id, day, slot, views) VALUES ",
        );
        for (i, (article_id, views)) in self.counts.iter().enumerate() {
            out.push_sql(if i == 0 { "(" } else { ", (" });
            out.push_bind_param::<BigInt, _>(article_id)?;
            out.push_sql(", ");
            out.push_bind_param::<Date, _>(&self.day)?;
            out.push_sql(", 0, ");
            out.push_bind_param::<BigInt, _>(views)?;
            out.push_sql(")");
        }
        out.push_sql(ON_CONFLICT_ADD);
        Ok(())
    }
}

const SUM: &str = "CASE typeof(COALESCE(SUM(views), 0)) WHEN 'integer' \
    THEN COALESCE(SUM(views), 0) ELSE abs(-9223372036854775807 - 1) END";

#[derive(QueryId)]
pub struct CounterValue(pub i64);

impl Query for CounterValue {
    type SqlType = BigInt;
}

impl<Conn> RunQueryDsl<Conn> for CounterValue {}

impl QueryFragment<Sqlite> for CounterValue {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("SELECT ");
        out.push_sql(SUM);
        out.push_sql(" FROM bench_article_counters WHERE article_id = ");
        out.push_bind_param::<BigInt, _>(&self.0)
    }
}

/// The sums of several entities, in one query.
struct CounterValues(Vec<i64>);

/// Returns the sums in the order of the keys.
pub fn counter_values(ids: Vec<i64>, conn: &mut SqliteConnection) -> QueryResult<Vec<i64>> {
    let query = CounterValues(ids.clone());
    let sums: HashMap<i64, i64> = query.load::<(i64, i64)>(conn)?.into_iter().collect();
    let sum_of = |id| sums.get(id).copied().unwrap_or_default();
    Ok(ids.iter().map(sum_of).collect())
}

impl QueryId for CounterValues {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for CounterValues {
    type SqlType = (BigInt, BigInt);
}

impl<Conn> RunQueryDsl<Conn> for CounterValues {}

impl QueryFragment<Sqlite> for CounterValues {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("SELECT article_id, ");
        out.push_sql(SUM);
        out.push_sql(" FROM bench_article_counters WHERE article_id IN (");
        for (i, id) in self.0.iter().enumerate() {
            if i > 0 {
                out.push_sql(", ");
            }
            out.push_bind_param::<BigInt, _>(id)?;
        }
        out.push_sql(") GROUP BY article_id");
        Ok(())
    }
}

/// The total of an article, in a query of articles.
#[derive(QueryId)]
pub struct Total;

impl Expression for Total {
    type SqlType = BigInt;
}

impl ValidGrouping<()> for Total {
    type IsAggregate = is_aggregate::No;
}

impl AppearsOnTable<bench_articles::table> for Total {}
impl SelectableExpression<bench_articles::table> for Total {}

impl QueryFragment<Sqlite> for Total {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("(SELECT ");
        out.push_sql(SUM);
        out.push_sql(
            " FROM bench_article_counters AS counted WHERE counted.article_id = bench_articles.id)",
        );
        Ok(())
    }
}
