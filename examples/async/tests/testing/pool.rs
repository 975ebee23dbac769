//! A pool for tests: one connection, in a transaction that is never committed. A buffer has it too.

use std::time::Duration;

use app::schema::article_counters::views;
use app::schema::articles;
use diesel::ConnectionError;
use diesel::prelude::*;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::pooled_connection::deadpool::{Object, Pool};
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, ManagerConfig};
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};
use diesel_counters::CounterBuffer;
use diesel_counters::prelude::*;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::Database;

fn test_pool(url: String) -> Pool<AsyncPgConnection> {
    let mut config = ManagerConfig::default();
    config.custom_setup = Box::new(|url| {
        Box::pin(async move {
            let mut conn = AsyncPgConnection::establish(url).await?;
            let begun = conn.begin_test_transaction().await;
            begun.map_err(ConnectionError::CouldntSetupConfiguration)?;
            Ok(conn)
        })
    });
    let manager = AsyncDieselConnectionManager::new_with_config(url, config);
    Pool::builder(manager).max_size(1).build().unwrap()
}

async fn views_of(article: i64, conn: &mut AsyncPgConnection) -> i64 {
    let counted = counter_value(views).of(article).get_result(conn);
    counted.await.unwrap()
}

#[tokio::test]
async fn a_buffer_writes_in_the_transaction_of_the_test() {
    let database = Database::create().await;
    let pool = test_pool(database.url());
    let (source, runtime) = (pool.clone(), Handle::current());
    let connect = move || {
        let conn = runtime.block_on(source.get());
        conn.map(AsyncConnectionWrapper::<Object<AsyncPgConnection>>::from)
    };
    let buffer = CounterBuffer::builder(connect).every(Duration::MAX);
    let buffer = buffer.start().unwrap();

    let article = (articles::id.eq(3), articles::title.eq("Three"));
    let insert = diesel::insert_into(articles::table).values(article);
    insert
        .execute(&mut pool.get().await.unwrap())
        .await
        .unwrap();
    for id in [1, 3, 3, 99] {
        buffer.count(increment(views).of(id)).unwrap();
    }
    let write = spawn_blocking(move || buffer.stop()).await.unwrap();
    // Nobody else sees article 3, and there is no article 99.
    assert_eq!((write.written, write.refused.len()), (2, 1), "{write}");
    let conn = &mut pool.get().await.unwrap();
    assert_eq!([views_of(1, conn).await, views_of(3, conn).await], [1, 2]);

    let other = &mut database.connect().await;
    assert_eq!([views_of(1, other).await, views_of(3, other).await], [0, 0]);
}
