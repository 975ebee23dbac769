//! axum with diesel-async and deadpool, on PostgreSQL, without its client library:
//! `DATABASE_URL=postgres://… cargo run -p async_example`.

use std::sync::Arc;
use std::{env, error::Error, fmt::Display};

use app::schema::article_counters::views;
use app::schema::{article_counters, articles, comments};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use diesel::prelude::*;
use diesel::result::Error::NotFound;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::pooled_connection::AsyncDieselConnectionManager;
use diesel_async::pooled_connection::deadpool::{Object, Pool};
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters::{Compactor, CounterBuffer};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

#[derive(Clone)]
struct App {
    pool: Pool<AsyncPgConnection>,
    buffer: Arc<CounterBuffer<AsyncConnectionWrapper<Object<AsyncPgConnection>>>>,
}

/// The comment and its count commit together, or neither does.
async fn comment(State(app): State<App>, Path(id): Path<i64>, body: String) -> Result<(), Failure> {
    let conn = &mut app.pool.get().await.map_err(failure)?;
    let counted = conn.transaction(async |conn| {
        diesel::insert_into(comments::table)
            .values((comments::article_id.eq(id), comments::body.eq(body)))
            .execute(conn)
            .await?;
        let count = increment(article_counters::comments).of(id);
        count.execute(conn).await?;
        QueryResult::Ok(())
    });
    counted.await.map_err(failure)
}

/// Counts a view in memory. The buffer writes it within a second.
async fn article(State(app): State<App>, Path(id): Path<i64>) -> Result<String, Failure> {
    let pending = app.buffer.pending_of(views, &id);
    let conn = &mut app.pool.get().await.map_err(failure)?;
    let article = articles::table
        .find(id)
        .select((articles::title, total(views)))
        .first::<(String, i64)>(conn);
    let (title, written) = match article.await {
        Err(NotFound) => return Err((StatusCode::NOT_FOUND, "no such article".into())),
        article => article.map_err(failure)?,
    };
    app.buffer.count(increment(views).of(id)).map_err(failure)?;
    Ok(format!("{title}: {} views", written + pending + 1))
}

type Failure = (StatusCode, String);

fn failure(error: impl Display) -> Failure {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let manager = AsyncDieselConnectionManager::new(env::var("DATABASE_URL")?);
    let pool: Pool<AsyncPgConnection> = Pool::builder(manager).build()?;
    let tables = include_str!("tables.sql");
    pool.get().await?.batch_execute(tables).await?;

    // The buffer and the compactor have threads of their own, so they may block. They take turns
    // with the handlers for the connections of the pool.
    let connect = {
        let (pool, runtime) = (pool.clone(), Handle::current());
        move || {
            runtime
                .block_on(pool.get())
                .map(AsyncConnectionWrapper::from)
        }
    };
    let compactor = Compactor::of(connect.clone())
        .compact(article_counters::table)
        .start()?;
    let buffer = Arc::new(CounterBuffer::of(connect).start()?);
    let app = App { pool, buffer };

    let router = Router::new()
        .route("/articles/{id}", get(article))
        .route("/articles/{id}/comments", post(comment))
        .with_state(app.clone());
    let listener = TcpListener::bind(env::var("LISTEN").unwrap_or("127.0.0.1:3000".into())).await?;
    println!("http://{}", listener.local_addr()?);
    let stop = Arc::new(Notify::new());
    let stopped = Arc::clone(&stop).notified_owned();
    ctrlc::set_handler(move || stop.notify_one())?;
    // Until SIGTERM or Ctrl-C, and until the last request has ended.
    axum::serve(listener, router)
        .with_graceful_shutdown(stopped)
        .await?;
    // Then the buffer, before the runtime ends.
    spawn_blocking(move || (compactor.stop(), app.buffer.stop())).await?;
    Ok(())
}
