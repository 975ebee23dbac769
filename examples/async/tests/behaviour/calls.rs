//! Each call that "Which calls are async" in docs/pools.md names. What the rest of these tests call is
//! not here.

use app::Article;
use app::schema::article_counters::{comments, day, likes, views};
use app::schema::stock::remaining;
use app::schema::{article_counters, articles};
use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::query_builder::{Query, QueryFragment};
use diesel_async::RunQueryDsl;
use diesel_counters::dsl::{
    compact, delete_counters, fold, put_back, recount, set_counter, take, total,
};
use diesel_counters::prelude::*;
use diesel_counters::{counting_transaction, retry, retry_if};

use super::article;
use crate::{blocking, connect};

type Backend = <crate::Conn as diesel_async::AsyncConnectionCore>::Backend;

#[tokio::test]
async fn a_stock_is_put_back_as_it_is() -> QueryResult<()> {
    let conn = &mut connect().await;
    let put = put_back(remaining).of(1_i64).by(2);
    assert_eq!(put.execute(conn).await?, 1);
    let left = counter_value(remaining).of(1_i64).get_result::<i64>(conn);
    assert_eq!(left.await?, 2);
    Ok(())
}

#[tokio::test]
async fn reads_of_one_query_run_as_they_are() -> QueryResult<()> {
    let conn = &mut connect().await;
    let later = increment(views).of(1_i64).by(3).on(tuesday());
    later.execute(conn).await?;
    let before = increment(views).of(2_i64).by(4).on(monday());
    before.execute(conn).await?;

    let of_all = counter_value(views).get_result::<i64>(conn).await;
    assert_eq!(of_all, Ok(7));
    let since = counter_value((views, likes)).between(tuesday()..);
    assert_eq!(since.get_result::<(i64, i64)>(conn).await, Ok((3, 0)));
    let ids = articles::table.filter(articles::title.eq("Two"));
    let of_any = counter_value(views).of_any(ids.select(articles::id));
    assert_eq!(of_any.get_result::<i64>(conn).await, Ok(4));
    let by_day = counter_value(views).group_by(day);
    let by_day: Vec<(NaiveDate, i64)> = by_day.load(conn).await?;
    assert_eq!(by_day, [(monday(), 4), (tuesday(), 3)]);
    let by_day = counter_value(views).of(1_i64).between(tuesday()..);
    let by_day: Vec<(NaiveDate, i64)> = by_day.group_by(day).load(conn).await?;
    assert_eq!(by_day, [(tuesday(), 3)]);

    let ranked = ranking(views).of_any(ids.select(articles::id)).between(..);
    assert_eq!(ranked.load::<(i64, i64)>(conn).await?, [(2, 4)]);
    let ranked = ranking(views).of(1_i64).on(tuesday());
    assert_eq!(ranked.first::<(i64, i64)>(conn).await, Ok((1, 3)));
    let days: Vec<(NaiveDate, i64)> = ranking(views).group_by(day).load(conn).await?;
    assert_eq!(days, [(monday(), 4), (tuesday(), 3)]);
    let of_both = articles::table.select(total(views).on(tuesday()) + total(likes));
    let of_both: Vec<i64> = of_both.order(articles::id).load(conn).await?;
    assert_eq!(of_both, [3, 0]);
    Ok(())
}

#[tokio::test]
async fn these_run_on_the_blocking_connection() -> QueryResult<()> {
    let (_conn, done) = blocking(connect().await, |conn| {
        set_counter(remaining).of(1_i64).to(3).execute(conn)?;
        assert!(take(remaining).of(1_i64).by(2).execute(conn)?);
        assert!(!take(remaining).of(1_i64).by(2).execute(conn)?);

        set_counter(views)
            .of_days([(1_i64, monday(), 5)])
            .execute(conn)?;
        let one = article(1);
        one.incr_counter_by(likes, 2, conn)?;
        assert_eq!(one.counter_value_between(views, ..tuesday(), conn), Ok(5));
        let bars = counter_series(views).of(&one).between(monday()..=tuesday());
        let bars = bars.load(conn)?;
        assert_eq!(bars, [(monday(), 5), (tuesday(), 0)]);
        let both = counter_value(views).of_many([2_i64, 1]).load(conn)?;
        assert_eq!(both, [0, 5]);

        counting_transaction(conn, |tx| {
            tx.count(increment(views).of(2_i64));
            QueryResult::Ok(())
        })?;
        retry().run(conn, |conn| one.incr_counter(views, conn))?;
        retry_if(|_| false).transaction(conn, |conn| one.incr_counter(views, conn))?;
        Article::counter_values(&[one, article(2)], views, conn)
    })
    .await;
    assert_eq!(done, Ok(vec![7, 1]));
    Ok(())
}

fn monday() -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 11, 16).unwrap()
}

fn tuesday() -> NaiveDate {
    monday().succ_opt().unwrap()
}

/// If one of them becomes a statement or a query that diesel-async runs, this does not compile: then change
/// the page.
#[test]
fn what_requires_a_blocking_connection_is_no_statement() {
    no_statement(take(remaining).of(1_i64).by(2));
    no_statement(increment(views).of_many([(1_i64, 2)]));
    no_statement(set_counter(views).of(1_i64).to(3));
    no_statement(set_counter(views).of_days([(1_i64, tuesday(), 3)]));
    no_statement(
        recount(
            comments,
            articles::table.select((articles::id, articles::id)),
        )
        .of(1_i64),
    );
    no_statement(delete_counters(article_counters::table).of(1_i64));
    no_statement(compact(article_counters::table));
    no_statement(fold(article_counters::table).before(tuesday()));
    no_statement(Article::materialize(views, articles::total_views));
    no_statement(counter_value(views).of_many([1_i64]));
    no_query(counter_series(views).of(1_i64));
    no_query(counter_series(views).of_many([1_i64]));
}

/// Compiles unless `T` is a [`QueryFragment`]: `Why` would then be ambiguous.
fn no_statement<T: NoStatement<Why>, Why>(_: T) {}
/// The same of a [`Query`].
fn no_query<T: NoQuery<Why>, Why>(_: T) {}

trait NoStatement<Why> {}
impl<T> NoStatement<Always> for T {}
impl<T: QueryFragment<Backend>> NoStatement<IfItIs> for T {}

trait NoQuery<Why> {}
impl<T> NoQuery<Always> for T {}
impl<T: Query> NoQuery<IfItIs> for T {}

enum Always {}
enum IfItIs {}
