//! A buffer whose connections are asynchronous is flushed and dropped in a runtime.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use app::schema::article_counters::views;
use diesel::connection::Connection;
use diesel::result::ConnectionError;
use diesel_async::RunQueryDsl;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::pooled_connection::AsyncDieselConnectionManager;
use diesel_async::pooled_connection::bb8::{Pool, PooledConnection};
use diesel_counters::buffer::BufferError;
use diesel_counters::prelude::*;
use diesel_counters::{BackgroundError, CounterBuffer};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::{Conn, Database};

type Wrapped = AsyncConnectionWrapper<Conn>;
type Pooled = AsyncConnectionWrapper<PooledConnection<'static, Conn>>;

/// Only `flush`, `stop` and the drop write.
const NEVER: Duration = Duration::MAX;

/// With connections that do not need the runtime of the test.
async fn buffer(database: &Database) -> CounterBuffer<Wrapped> {
    let url = database.url();
    let connect = move || Wrapped::establish(&url);
    CounterBuffer::builder(connect)
        .every(NEVER)
        .start()
        .unwrap()
}

async fn counted(database: &Database) -> i64 {
    let conn = &mut database.connect().await;
    let counted = counter_value(views).of(1_i64).get_result(conn);
    counted.await.unwrap()
}

#[tokio::test]
async fn a_flush_and_a_drop_write_in_a_runtime() {
    let database = Database::create().await;
    let buffer = buffer(&database).await;
    buffer.count(increment(views).of(1_i64)).unwrap();
    let write = buffer.flush();
    assert_eq!((write.written, write.pending), (1, 0), "{write}");
    buffer.count(increment(views).of(1_i64)).unwrap();
    drop(buffer);
    assert_eq!(counted(&database).await, 2);
}

#[tokio::test]
async fn a_stop_writes_in_a_runtime_and_refuses_what_comes_later() {
    let database = Database::create().await;
    let buffer = buffer(&database).await;
    buffer.count(increment(views).of(1_i64)).unwrap();
    let write = buffer.stop();
    assert_eq!((write.written, write.pending), (1, 0), "{write}");
    let later = buffer.count(increment(views).of(1_i64));
    assert_eq!(later, Err(BufferError::Stopped));
    drop(buffer);
    assert_eq!(counted(&database).await, 1);
}

/// Whose connections need the runtime.
#[tokio::test(flavor = "multi_thread")]
async fn a_buffer_over_a_pool_of_the_runtime_is_flushed_and_dropped_in_it() {
    let database = Database::create().await;
    let manager = AsyncDieselConnectionManager::<Conn>::new(database.url());
    let pool = Pool::builder().max_size(1).build(manager).await.unwrap();
    let runtime = Handle::current();
    let connect = move || {
        let conn = runtime.block_on(pool.get_owned());
        conn.map(AsyncConnectionWrapper::from)
    };
    let buffer: CounterBuffer<Pooled> = CounterBuffer::builder(connect)
        .every(NEVER)
        .start()
        .unwrap();
    buffer.count(increment(views).of(1_i64)).unwrap();
    let write = buffer.flush();
    assert_eq!((write.written, write.pending), (1, 0), "{write}");
    buffer.count(increment(views).of(1_i64)).unwrap();
    drop(buffer);
    assert_eq!(counted(&database).await, 2);
}

/// As in a server that has reported the loss, and drops its state on a worker.
#[tokio::test]
async fn a_drop_after_a_stop_connects_no_more() {
    let (calls, called) = channel();
    let connect = move || {
        calls.send(()).unwrap();
        Err::<Wrapped, _>(ConnectionError::BadConnection("it is away".into()))
    };
    let buffer = CounterBuffer::builder(connect)
        .every(NEVER)
        .start()
        .unwrap();
    buffer.count(increment(views).of(1_i64)).unwrap();
    let buffer = Arc::new(buffer);
    let stopped = Arc::clone(&buffer);
    let last = spawn_blocking(move || stopped.stop()).await.unwrap();
    let is_away = matches!(last.error, Some(BackgroundError::Connection(_)));
    assert!(is_away && last.pending == 1, "{last}");
    drop(buffer);
    assert_eq!(called.iter().count(), 1);
}
