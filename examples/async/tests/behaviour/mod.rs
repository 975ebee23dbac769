//! What docs/pools.md says about diesel-async.

mod buffering;
mod calls;

use app::Article;
use app::schema::article_counters::{likes, slot, views};
use app::schema::{article_counters, articles, comments};
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::result::Error;
use diesel_async::{AsyncConnection, RunQueryDsl};
use diesel_counters::dsl::{
    claim_slot, compact, delete_counters, fold, recount, set_counter, total,
};
use diesel_counters::prelude::*;
use diesel_counters::{is_overflow, is_retryable};

use crate::{blocking, blocking_in, connect};

#[tokio::test]
async fn statements_and_queries_run_as_they_are() -> QueryResult<()> {
    let conn = &mut connect().await;
    claim_slot().execute(conn).await?;
    increment(views).of(1_i64).execute(conn).await?;
    increment((views, likes))
        .of(1_i64)
        .by((2, 5))
        .execute(conn)
        .await?;
    increment(likes)
        .of(2_i64)
        .by(-1)
        .on(yesterday())
        .execute(conn)
        .await?;

    let counted = counter_value((views, likes)).of(1_i64);
    assert_eq!(counted.get_result::<(i64, i64)>(conn).await?, (3, 5));
    let counted = counter_value(likes).of(2_i64).on(yesterday());
    assert_eq!(counted.get_result::<i64>(conn).await?, -1);
    let counted = counter_value(likes).of(2_i64).between(today()..);
    assert_eq!(counted.get_result::<i64>(conn).await?, 0);

    let liked = articles::table
        .filter(total(likes).gt(-1))
        .order(total(views).desc())
        .select((
            Article::as_select(),
            total(views),
            total(likes).between(..=today()),
        ));
    let liked: Vec<(Article, i64, i64)> = liked.load(conn).await?;
    assert_eq!(liked, [(article(1), 3, 5)]);

    let ranked: Vec<(i64, i64)> = ranking(likes).limit(2).load(conn).await?;
    assert_eq!(ranked, [(1, 5), (2, -1)]);
    // A model where a key goes.
    let model = &article(1);
    increment(likes).of(model).execute(conn).await?;
    let of_model = counter_value(likes).of(model);
    assert_eq!(of_model.get_result::<i64>(conn).await, Ok(6));
    Ok(())
}

#[tokio::test]
async fn a_handler_can_be_spawned() {
    let handler = async {
        let conn = &mut connect().await;
        conn.transaction(async |conn| {
            increment(views).of(1_i64).execute(conn).await?;
            counter_value(views).of(1_i64).get_result::<i64>(conn).await
        })
        .await
    };
    assert_eq!(tokio::spawn(handler).await.unwrap(), Ok(1));
}

#[tokio::test]
async fn a_count_is_rolled_back_with_its_transaction() -> QueryResult<()> {
    let conn = &mut connect().await;
    let rolled_back = conn.transaction(async |conn| {
        increment(views).of(1_i64).execute(conn).await?;
        Err::<(), _>(Error::RollbackTransaction)
    });
    assert_eq!(rolled_back.await, Err(Error::RollbackTransaction));
    let counted = counter_value(views).of(1_i64).get_result::<i64>(conn);
    assert_eq!(counted.await, Ok(0));
    Ok(())
}

#[tokio::test]
async fn an_increment_by_0_is_sent() -> QueryResult<()> {
    let conn = &mut connect().await;
    assert_eq!(increment(views).of(1_i64).by(0).execute(conn).await?, 1);
    let rows = article_counters::table.select((slot, views));
    let rows: Vec<(i16, i64)> = rows.load(conn).await?;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].1, 0);
    Ok(())
}

#[tokio::test]
async fn an_overflow_is_told_from_other_errors() -> QueryResult<()> {
    let conn = &mut connect().await;
    let most = increment(views).of(1_i64).by(i64::MAX);
    most.execute(conn).await?;
    let error = increment(views).of(1_i64).execute(conn).await.unwrap_err();
    assert!(is_overflow(&error) && !is_retryable(&error), "{error:?}");
    Ok(())
}

/// Also between other statements of a transaction.
#[tokio::test(flavor = "multi_thread")]
async fn the_rest_runs_on_the_blocking_connection() -> QueryResult<()> {
    let mut conn = connect().await;
    let counted = conn
        .transaction(async |conn| {
            increment(views).of(1_i64).execute(conn).await?;
            blocking_in(conn, |conn| {
                increment(views)
                    .of_many([(1_i64, 2), (2, 7)])
                    .execute(conn)?;
                article(1).incr_counter(article_counters::comments, conn)
            })
            .await?;
            increment(views).of(2_i64).execute(conn).await?;
            counter_value(views).of(2_i64).get_result::<i64>(conn).await
        })
        .await;
    assert_eq!(counted, Ok(8));

    let (_conn, read) = blocking(conn, |conn| {
        let [one, two] = [1, 2].map(article);
        set_counter(likes).of(&two).to(3).execute(conn)?;
        let source = comments::table
            .group_by(comments::article_id)
            .select((comments::article_id, count_star()));
        recount(article_counters::comments, source)
            .of(&one)
            .execute::<i64, _>(conn)?;
        Article::materialize(views, articles::total_views).execute(conn)?;
        compact(article_counters::table).execute(conn).unwrap();
        fold(article_counters::table)
            .before(yesterday())
            .execute(conn)
            .unwrap();

        let bars = one.daily_counts(views, today()..=today(), conn)?;
        assert_eq!(bars, [(today(), 3)]);
        assert_eq!(
            diesel::RunQueryDsl::load::<(i64, i64)>(ranking(views).limit(1), conn)?,
            [(2, 8)]
        );
        assert_eq!(one.counter_value(article_counters::comments, conn)?, 0);
        delete_counters(article_counters::table)
            .of(1_i64)
            .execute(conn)?;
        Article::counter_values(&[one, two], (views, likes), conn)
    })
    .await;
    assert_eq!(read, Ok(vec![(0, 0), (8, 3)]));
    Ok(())
}

fn article(id: i64) -> Article {
    let title = ["One", "Two"][id as usize - 1].to_owned();
    Article { id, title }
}

fn today() -> chrono::NaiveDate {
    chrono::Utc::now().date_naive()
}

fn yesterday() -> chrono::NaiveDate {
    today().pred_opt().unwrap()
}
