//! `AsyncPgConnection`, at POSTGRES_URL.

mod behaviour;
#[cfg(unix)]
#[path = "../../pools/tests/clients/program.rs"]
mod program;
#[cfg(unix)]
mod shop;
mod testing;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use diesel::prelude::*;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AsyncConnection, AsyncPgConnection as Conn, SimpleAsyncConnection};
use diesel_counters::is_retryable;

const CREATE_TABLES: &str = concat!(
    "CREATE TABLE articles (id BIGINT PRIMARY KEY, title TEXT NOT NULL, total_views BIGINT NOT NULL DEFAULT 0);",
    "CREATE TABLE comments (id BIGSERIAL PRIMARY KEY, article_id BIGINT NOT NULL, body TEXT NOT NULL);",
    "CREATE TABLE stock (product_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL, remaining BIGINT NOT NULL DEFAULT 0 CHECK (remaining >= 0), PRIMARY KEY (product_id, day, slot));",
    "CREATE TABLE orders (id BIGSERIAL PRIMARY KEY, product_id BIGINT NOT NULL, units BIGINT NOT NULL);",
    "INSERT INTO articles (id, title) VALUES (1, 'One'), (2, 'Two');",
    include_str!("../../../migrations/postgres/00000000000001_create_article_counters/up.sql"),
);

/// The tables that are created after it go when the connection is closed.
const TEMPORARY: &str = "SET search_path = pg_temp";

fn server() -> String {
    std::env::var("POSTGRES_URL").expect("set POSTGRES_URL, or run scripts/test, which does")
}

async fn connect() -> Conn {
    let mut conn = Conn::establish(&server()).await.unwrap();
    conn.batch_execute(TEMPORARY).await.unwrap();
    conn.batch_execute(CREATE_TABLES).await.unwrap();
    conn
}

/// A database that several connections share.
struct Database(String);

impl Database {
    async fn create() -> Self {
        let database = Database::empty().await;
        let created = database.connect().await.batch_execute(CREATE_TABLES).await;
        created.unwrap();
        database
    }

    /// Without tables.
    async fn empty() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let database = Database(format!("async_test_{}_{number}", std::process::id()));
        let create = format!("CREATE DATABASE {}", database.0);
        let mut server = Conn::establish(&server()).await.unwrap();
        server.batch_execute(&create).await.unwrap();
        database
    }

    fn url(&self) -> String {
        let server = server();
        let (address, _) = server.rsplit_once('/').unwrap();
        format!("{address}/{}", self.0)
    }

    async fn connect(&self) -> Conn {
        Conn::establish(&self.url()).await.unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.0);
        // A drop cannot wait in the runtime of the test.
        let dropped = thread::spawn(move || {
            let mut server = wrapped(&server());
            diesel::connection::SimpleConnection::batch_execute(&mut server, &drop)
        });
        assert_eq!(dropped.join().unwrap(), Ok(()));
    }
}

fn wrapped(url: &str) -> AsyncConnectionWrapper<Conn> {
    diesel::Connection::establish(url).unwrap()
}

/// Runs `work` on the connection, wrapped for Diesel.
async fn blocking<T: Send + 'static>(
    conn: Conn,
    work: impl FnOnce(&mut AsyncConnectionWrapper<Conn>) -> QueryResult<T> + Send + 'static,
) -> (Conn, QueryResult<T>) {
    let work = tokio::task::spawn_blocking(move || {
        let mut conn = AsyncConnectionWrapper::from(conn);
        let result = work(&mut conn);
        (conn.into_inner(), result)
    });
    work.await.unwrap()
}

/// The same, in a transaction.
async fn blocking_in<T>(
    conn: &mut Conn,
    work: impl FnOnce(&mut AsyncConnectionWrapper<&mut Conn>) -> QueryResult<T>,
) -> QueryResult<T> {
    tokio::task::block_in_place(|| work(&mut AsyncConnectionWrapper::from(conn)))
}

#[tokio::test]
async fn a_deadlock_is_told_from_other_errors() {
    let (mut one, mut other) = (connect().await, connect().await);
    let locked = tokio::join!(
        one.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(1)"),
        other.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(2)"),
    );
    assert_eq!(locked, (Ok(()), Ok(())));
    let (one, other) = tokio::join!(
        one.batch_execute("SELECT pg_advisory_xact_lock(2); COMMIT"),
        other.batch_execute("SELECT pg_advisory_xact_lock(1); COMMIT"),
    );
    let error = one.and(other).unwrap_err();
    assert!(is_retryable(&error), "{error:?}");
}

mod compactor {
    use std::sync::mpsc;

    use app::schema::article_counters::{slot, table, views};
    use diesel::connection::SimpleConnection;
    use diesel::prelude::*;
    use diesel::r2d2::{ConnectionManager, Pool};
    use diesel_counters::Compactor;

    use super::{AsyncConnectionWrapper, CREATE_TABLES, Conn, TEMPORARY, server};

    /// With no client library of PostgreSQL.
    #[test]
    fn it_has_a_pool_of_wrapped_connections() {
        let manager = ConnectionManager::<AsyncConnectionWrapper<Conn>>::new(server());
        let pool = Pool::builder().max_size(1).build(manager).unwrap();
        let create_tables = |conn: &mut AsyncConnectionWrapper<Conn>| {
            conn.batch_execute(TEMPORARY)?;
            conn.batch_execute(CREATE_TABLES)?;
            conn.batch_execute(
                "INSERT INTO article_counters (article_id, day, slot, views)
                 VALUES (1, '2020-01-01', 1, 1), (1, '2020-01-01', 2, 1)",
            )
        };
        create_tables(&mut pool.get().unwrap()).unwrap();

        let (send, runs) = mpsc::channel();
        let connect = {
            let pool = pool.clone();
            move || pool.get()
        };
        let compactor = Compactor::builder(connect)
            .compact(table)
            .on_run(move |run| send.send(run.to_string()).unwrap())
            .start()
            .unwrap();
        let run = runs.recv().unwrap();
        drop(compactor);
        let rows = table.select((slot, views)).load(&mut pool.get().unwrap());
        assert_eq!(rows, Ok(vec![(0_i16, 2_i64)]), "{run}");
    }
}

mod buffer {
    use app::schema::article_counters::views;
    use diesel_async::pooled_connection::AsyncDieselConnectionManager;
    use diesel_async::pooled_connection::bb8::{Pool, PooledConnection};
    use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
    use diesel_counters::CounterBuffer;
    use diesel_counters::prelude::*;
    use tokio::runtime::Handle;

    use super::{AsyncConnectionWrapper, CREATE_TABLES, Conn, TEMPORARY, server};

    #[tokio::test]
    async fn it_has_a_connection_of_a_bb8_pool() {
        let manager = AsyncDieselConnectionManager::<Conn>::new(server());
        let pool = Pool::builder().max_size(1).build(manager).await.unwrap();
        for sql in [TEMPORARY, CREATE_TABLES] {
            let created = pool.get().await.unwrap().batch_execute(sql).await;
            assert_eq!(created, Ok(()));
        }

        let connect = {
            let (pool, runtime) = (pool.clone(), Handle::current());
            move || {
                let conn = runtime.block_on(pool.get_owned());
                conn.map(AsyncConnectionWrapper::from)
            }
        };
        type Pooled = AsyncConnectionWrapper<PooledConnection<'static, Conn>>;
        let buffer: CounterBuffer<Pooled> = CounterBuffer::builder(connect).start().unwrap();
        buffer.count(increment(views).of(1_i64)).unwrap();
        let stopped = tokio::task::spawn_blocking(move || buffer.stop()).await;
        let conn = &mut pool.get().await.unwrap();
        let counted = counter_value(views).of(1_i64).get_result(conn).await;
        assert_eq!(counted, Ok(1_i64), "{}", stopped.unwrap());
    }
}

mod counting {
    use app::schema::{article_counters, comments};
    use diesel::prelude::*;
    use diesel_async::RunQueryDsl;
    use diesel_counters::prelude::*;

    #[tokio::test]
    async fn one_statement_inserts_and_counts() {
        let conn = &mut super::connect().await;
        let insert = || {
            diesel::insert_into(comments::table)
                .values((comments::article_id.eq(1), comments::body.eq("First!")))
                .counting(increment(article_counters::comments).of(1_i64))
        };
        assert_eq!(insert().execute(conn).await, Ok(1));
        let inserted: (i64, i64, String) = insert().get_result(conn).await.unwrap();
        assert_eq!(inserted, (2, 1, "First!".into()));
        let counted = counter_value(article_counters::comments).of(1_i64);
        assert_eq!(counted.get_result(conn).await, Ok(2_i64));
    }
}
