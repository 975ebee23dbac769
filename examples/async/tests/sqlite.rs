//! diesel-async's `SyncConnectionWrapper` of an `SqliteConnection`.

mod behaviour;

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use app::schema::article_counters::views;
use diesel::prelude::*;
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use diesel_async::{AsyncConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_counters::prelude::*;

type Conn = SyncConnectionWrapper<SqliteConnection>;

const CREATE_TABLES: &str = concat!(
    "CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT NOT NULL, total_views BIGINT NOT NULL DEFAULT 0);",
    "CREATE TABLE comments (id INTEGER PRIMARY KEY, article_id BIGINT NOT NULL, body TEXT NOT NULL);",
    "CREATE TABLE stock (product_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL, remaining BIGINT NOT NULL DEFAULT 0 CHECK (remaining >= 0), PRIMARY KEY (product_id, day, slot));",
    "INSERT INTO articles (id, title) VALUES (1, 'One'), (2, 'Two');",
    include_str!("../../../migrations/sqlite/00000000000001_create_article_counters/up.sql"),
);

/// To a database of its own.
async fn connect() -> Conn {
    let mut conn = Conn::establish(":memory:").await.unwrap();
    conn.batch_execute(CREATE_TABLES).await.unwrap();
    conn
}

/// A file that several connections share.
struct Database(String);

impl Database {
    async fn create() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = env!("CARGO_TARGET_TMPDIR");
        let database = Database(format!("{folder}/async_{}_{number}", std::process::id()));
        let created = database.connect().await.batch_execute(CREATE_TABLES).await;
        created.unwrap();
        database
    }

    fn url(&self) -> String {
        self.0.clone()
    }

    async fn connect(&self) -> Conn {
        Conn::establish(&self.0).await.unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
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
