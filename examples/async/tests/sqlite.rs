//! diesel-async's `SyncConnectionWrapper` of an `SqliteConnection`.

mod behaviour;

use app::schema::article_counters::views;
use diesel::prelude::*;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_counters::prelude::*;

type Conn = SyncConnectionWrapper<SqliteConnection>;

/// To a database of its own.
async fn connect() -> Conn {
    let mut conn = Conn::establish(":memory:").await.unwrap();
    conn.batch_execute(concat!(
        "CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT NOT NULL, total_views BIGINT NOT NULL DEFAULT 0);",
        "CREATE TABLE comments (id INTEGER PRIMARY KEY, article_id BIGINT NOT NULL, body TEXT NOT NULL);",
        "INSERT INTO articles (id, title) VALUES (1, 'One'), (2, 'Two');",
        include_str!("../../../migrations/sqlite/00000000000001_create_article_counters/up.sql"),
    ))
    .await
    .unwrap();
    conn
}

/// Runs `work` on the connection that is wrapped.
async fn blocking<T: Send + 'static>(
    mut conn: Conn,
    work: impl FnOnce(&mut SqliteConnection) -> QueryResult<T> + Send + 'static,
) -> (Conn, QueryResult<T>) {
    let result = blocking_in(&mut conn, work).await;
    (conn, result)
}

/// The same, in a transaction.
async fn blocking_in<T: Send + 'static>(
    conn: &mut Conn,
    work: impl FnOnce(&mut SqliteConnection) -> QueryResult<T> + Send + 'static,
) -> QueryResult<T> {
    conn.spawn_blocking(work).await
}

#[tokio::test]
async fn a_transaction_that_counts_can_be_immediate() {
    let mut conn = connect().await;
    let counted = conn.immediate_transaction(async |conn| {
        increment(views).of(1_i64).execute(conn).await?;
        let counted = counter_value(views).of(1_i64);
        counted.get_result::<i64>(conn).await
    });
    assert_eq!(counted.await, Ok(1));
}
