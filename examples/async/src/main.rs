//! A shop with axum, deadpool and diesel-async, on PostgreSQL, without its client library:
//! `DATABASE_URL=postgres://… cargo run -p async_example`.
//
//     curl localhost:3000/products/1                 # counts a view
//     curl -d 2 localhost:3000/products/1/orders     # takes two units
//     curl -X DELETE localhost:3000/orders/1         # puts them back

use std::sync::Arc;
use std::{env, error::Error, fmt::Display};

use app::schema::product_counters::{self, views};
use app::schema::products;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use diesel::prelude::*;
use diesel::result::Error::NotFound;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::pooled_connection::AsyncDieselConnectionManager;
use diesel_async::pooled_connection::deadpool::{Object, Pool};
use diesel_async::{AsyncMigrationHarness, AsyncPgConnection, RunQueryDsl};
use diesel_counters::prelude::*;
use diesel_counters::{Compactor, CounterBuffer, is_retryable};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!();

/// A connection of the pool, for what diesel-async can't run.
type Blocking = AsyncConnectionWrapper<Object<AsyncPgConnection>>;

#[derive(Clone)]
struct Shop {
    pool: Pool<AsyncPgConnection>,
    buffer: Arc<CounterBuffer<Blocking>>,
}

/// Counts a view in memory. The buffer writes it within a second.
async fn product(State(shop): State<Shop>, Path(id): Path<i64>) -> Result<String, Failure> {
    let conn = shop.pool.get().await.map_err(failure)?;
    let (mut conn, buffer) = (Blocking::from(conn), Arc::clone(&shop.buffer));
    let product = spawn_blocking(move || app::product(id, &buffer, &mut conn));
    let (name, v, sold, left) = product.await.map_err(failure)?.map_err(refusal)?;
    let view = increment(views).of(id);
    shop.buffer.count(view).map_err(failure)?;
    Ok(format!("{name}: {} views, {sold} sold, {left} left", v + 1))
}

/// Orders units. The body says how many, and the trigger counts them. Responds with the order's
/// number.
async fn order(
    State(shop): State<Shop>,
    Path(product): Path<i64>,
    units: String,
) -> Result<String, Failure> {
    let Ok(units @ 1..=100) = units.parse() else {
        return Err((StatusCode::BAD_REQUEST, "order 1 to 100 units"));
    };
    let mut conn = shop.pool.get().await.map_err(failure)?;
    // A product that doesn't exist has no stock, just like one that is sold out, so this looks it
    // up first.
    let known = products::table.find(product).select(products::id);
    known.first::<i64>(&mut conn).await.map_err(refusal)?;
    let mut conn = Blocking::from(conn);
    let order = spawn_blocking(move || app::sell(product, units, &mut conn));
    match order.await.map_err(failure)?.map_err(refusal)? {
        Some(order) => Ok(order.to_string()),
        None => Err((StatusCode::CONFLICT, "not enough left")),
    }
}

/// Deletes an order and puts its units back. The trigger subtracts them from the count.
async fn cancel(State(shop): State<Shop>, Path(order): Path<i64>) -> Result<(), Failure> {
    let conn = &mut shop.pool.get().await.map_err(failure)?;
    app::cancel(order, conn).await.map_err(refusal)
}

type Failure = (StatusCode, &'static str);

fn refusal(error: diesel::result::Error) -> Failure {
    match error {
        NotFound => (StatusCode::NOT_FOUND, "not found"),
        error if is_retryable(&error) => (StatusCode::SERVICE_UNAVAILABLE, "busy: try again"),
        error => failure(error),
    }
}

/// Prints the error, and doesn't send it to the client, because it can name tables.
fn failure(error: impl Display) -> Failure {
    eprintln!("{error}");
    (StatusCode::INTERNAL_SERVER_ERROR, "internal error")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let manager = AsyncDieselConnectionManager::new(env::var("DATABASE_URL")?);
    let pool: Pool<AsyncPgConnection> = Pool::builder(manager).max_size(16).build()?;
    AsyncMigrationHarness::new(pool.get().await?).run_pending_migrations(MIGRATIONS)?;

    // The buffer and the compactor have threads of their own, so they may block. They share the
    // pool's connections with the handlers.
    let connect = {
        let (pool, runtime) = (pool.clone(), Handle::current());
        move || runtime.block_on(pool.get()).map(Blocking::from)
    };
    let compactor = Compactor::builder(connect.clone())
        .compact(product_counters::table)
        .start()?;
    let buffer = CounterBuffer::builder(connect)
        .on_write(|write| {
            if write.error.is_some() || !write.refused.is_empty() || !write.unknown.is_empty() {
                eprintln!("views: {write}");
            }
        })
        .start()?;
    let buffer = Arc::new(buffer);
    let shop = Shop { pool, buffer };

    let router = Router::new()
        .route("/products/{id}", get(product))
        .route("/products/{id}/orders", post(order))
        .route("/orders/{id}", delete(cancel))
        .with_state(shop.clone());
    let listener = TcpListener::bind(env::var("LISTEN").unwrap_or("127.0.0.1:3000".into())).await?;
    println!("http://{}", listener.local_addr()?);
    let stop = Arc::new(Notify::new());
    let stopped = Arc::clone(&stop).notified_owned();
    ctrlc::set_handler(move || stop.notify_one())?;
    // This runs until SIGTERM or Ctrl-C, and until the last request has ended.
    axum::serve(listener, router)
        .with_graceful_shutdown(stopped)
        .await?;
    // Then the compactor and the buffer stop, before the runtime ends.
    let stopped = spawn_blocking(move || {
        compactor.stop();
        shop.buffer.stop()
    });
    let last = stopped.await?;
    if last.pending > 0 {
        eprintln!("lost: {last}");
    }
    Ok(())
}
