//! deadpool-diesel.

use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;
use diesel_counters::CounterBuffer;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use pools::schema::article_counters::{self, views};
use pools::schema::{articles, comments};
use tokio::task::spawn_blocking;

use super::deadpools::{Hook, Manager, Pool, Runtime};
use super::{COMMITTED, Conn, Database, REFUSED};

fn test_pool(url: String) -> Pool {
    let begin = Hook::async_fn(|conn, _| {
        Box::pin(async {
            let begun = conn.interact(|conn| conn.begin_test_transaction()).await;
            begun.unwrap().unwrap();
            Ok(())
        })
    });
    let manager = Manager::new(url, Runtime::Tokio1);
    let pool = Pool::builder(manager).max_size(1).post_create(begin);
    pool.build().unwrap()
}

#[test]
fn the_pool_in_the_docs_is_this_one() {
    let (_, code) = include_str!("deadpool.rs").split_once("\nfn ").unwrap();
    let (code, _) = code.split_once("\n\n").unwrap();
    let docs = include_str!("../../../../docs/testing.md");
    assert!(
        docs.contains(code),
        "write this into docs/testing.md:\n{code}"
    );
}

/// Runs `work` on a connection of the pool, as a handler does.
async fn run<T: Send + 'static>(
    pool: &Pool,
    work: impl FnOnce(&mut Conn) -> QueryResult<T> + Send + 'static,
) -> QueryResult<T> {
    let conn = pool.get().await.unwrap();
    conn.interact(work).await.unwrap()
}

fn insert_article(id: i64, conn: &mut Conn) -> QueryResult<()> {
    let article = (articles::id.eq(id), articles::title.eq("A new one"));
    let insert = diesel::insert_into(articles::table).values(article);
    insert.execute(conn).map(drop)
}

/// The comment and its count commit together, or neither does.
fn comment(id: i64, conn: &mut Conn) -> QueryResult<()> {
    conn.transaction(|conn| {
        let comment = (comments::article_id.eq(id), comments::body.eq("Nice!"));
        increment(article_counters::comments).of(id).execute(conn)?;
        diesel::insert_into(comments::table)
            .values(comment)
            .execute(conn)
            .map(drop)
    })
}

/// The number of comments of each article, and of all rows.
fn counts(conn: &mut Conn) -> QueryResult<(Vec<i64>, i64)> {
    let counted = articles::table.select(total(article_counters::comments));
    let counted = counted.order(articles::id).load(conn)?;
    Ok((counted, comments::table.count().get_result(conn)?))
}

#[tokio::test]
async fn handlers_see_what_the_test_has_written_and_nobody_else_does() {
    let database = Database::create("handlers");
    let pool = test_pool(database.url());
    assert_eq!(run(&pool, |conn| insert_article(2, conn)).await, Ok(()));
    for id in [1, 2, 2] {
        assert_eq!(run(&pool, move |conn| comment(id, conn)).await, Ok(()));
    }
    // Its transaction is a savepoint of the test's one.
    assert!(run(&pool, |conn| comment(99, conn)).await.is_err());
    assert_eq!(run(&pool, counts).await, Ok((vec![1, 2], 3)));

    let other = &mut database.connect();
    assert_eq!(counts(other), Ok((vec![0], 0)));
    drop(pool);
    assert_eq!(counts(other), Ok((vec![0], 0)));
}

#[tokio::test]
async fn a_buffer_that_writes_nothing_shows_what_it_has_counted() {
    let database = Database::create("pending");
    let pool = test_pool(database.url());
    run(&pool, |conn| insert_article(2, conn)).await.unwrap();
    let buffer = CounterBuffer::builder(|| Err::<Conn, _>("a test writes nothing"));
    let buffer = Arc::new(buffer.every(Duration::MAX).start().unwrap());

    run(&pool, |conn| increment(views).of(2_i64).execute(conn))
        .await
        .unwrap();
    buffer.count(increment(views).of(2_i64)).unwrap();
    let shown = Arc::clone(&buffer);
    let shown = run(&pool, move |conn| {
        shown.read(|pending| {
            let written: i64 = counter_value(views).of(2_i64).get_result(conn)?;
            Ok(written + pending.of(views, &2_i64))
        })
    });
    assert_eq!(shown.await, Ok(2));
    assert_eq!(buffer.pending_of(views, &2_i64), 1);
}

/// What docs/testing.md warns of.
#[tokio::test]
async fn a_buffer_with_a_connection_of_its_own_is_no_part_of_the_test() {
    let database = Database::create("own");
    let pool = test_pool(database.url());
    run(&pool, |conn| insert_article(2, conn)).await.unwrap();
    let url = database.url();
    let buffer = CounterBuffer::builder(move || Conn::establish(&url)).every(Duration::MAX);
    let buffer = Arc::new(buffer.start().unwrap());

    // The test's article is not there for it.
    buffer.count(increment(views).of(2_i64)).unwrap();
    let flushed = Arc::clone(&buffer);
    let write = spawn_blocking(move || flushed.flush()).await.unwrap();
    let counts = (write.written, write.refused.len(), write.pending);
    assert_eq!(counts, (0, REFUSED, 1 - REFUSED), "{write}");

    // An article that was there is counted, and the count stays.
    buffer.count(increment(views).of(1_i64)).unwrap();
    let flushed = Arc::clone(&buffer);
    let write = spawn_blocking(move || flushed.flush()).await.unwrap();
    assert_eq!(write.written, COMMITTED, "{write}");
    drop(pool);
    let stays = counter_value(views).of(1_i64);
    let stays = stays.get_result(&mut database.connect());
    assert_eq!(stays, Ok(COMMITTED as i64));
}
