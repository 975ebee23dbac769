//! Sells 1,000 tickets: `cargo run -p tickets`, or
//! `DATABASE_URL=postgres://… cargo run -p tickets --features postgres`.
#![allow(missing_docs)] // Diesel's macros generate items without documentation.

use std::net::{SocketAddr, TcpListener};
use std::{env, error::Error, fmt::Display, io, time::Duration};

use axum::extract::{ConnectInfo, FromRequestParts, Path, State};
use axum::http::{StatusCode, request::Parts};
use axum::routing::{get, post};
use axum::{Json, Router, response::Html};
use diesel::dsl::{count_star, sum};
use diesel::r2d2::{self, ConnectionManager, CustomizeConnection};
use diesel::{connection::SimpleConnection, prelude::*};
use diesel_counters::dsl::{counter_value, set_counter, take};
use serde_json::{Value, json};
use tickets::{remaining, slot};
use tokio::{task::JoinSet, task::spawn_blocking, time::sleep};

diesel::table! {
    tickets (event_id, day, slot) { event_id -> BigInt, day -> Date, slot -> SmallInt, remaining -> BigInt, }
}
diesel::table! { orders (id) { id -> BigInt, visitor -> BigInt, tickets -> Integer } }
diesel_counters::counter_table!(tickets { period = Total, slots = 16, stock = (remaining) });

#[cfg(feature = "postgres")]
pub type Conn = PgConnection;
#[cfg(not(feature = "postgres"))]
pub type Conn = SqliteConnection;
pub type Pool = r2d2::Pool<ConnectionManager<Conn>>;

/// The statement that sets up a connection, and those that create the tables.
const SQL: [&str; 2] = if cfg!(feature = "postgres") {
    ["SET lock_timeout = '10s'", include_str!("postgres.sql")]
} else {
    ["PRAGMA busy_timeout = 10000", include_str!("sqlite.sql")]
};
const EVENT: i64 = 1;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let variable = |name, default: &str| env::var(name).unwrap_or(default.to_owned());
    let pool = open(&variable("DATABASE_URL", "tickets.sqlite"))?;
    let listener = TcpListener::bind(variable("LISTEN", "127.0.0.1:3000"))?;
    println!("http://{}", listener.local_addr()?);
    Ok(serve(listener, pool).await?)
}

/// Serves the page. If no headers arrive on a connection for 5 seconds, it's closed, so that
/// half-sent headers don't pile up.
pub async fn serve(listener: TcpListener, pool: Pool) -> io::Result<()> {
    let limit = Duration::from_secs(5);
    let server = axum_server::from_tcp(listener)?;
    let mut server = server.first_request_timeout(limit);
    server.http_builder().http1().header_read_timeout(limit);
    let router = router(pool).into_make_service_with_connect_info::<SocketAddr>();
    server.serve(router).await
}

/// Connects and creates the tables. A new database has 1,000 tickets.
pub fn open(url: &str) -> Result<Pool, Box<dyn Error + Send + Sync>> {
    let pool = Pool::builder().max_size(16);
    let pool = pool.connection_customizer(Box::new(Settings));
    let pool = pool.build(ConnectionManager::new(url))?;
    let conn = &mut *pool.get()?;
    conn.batch_execute(SQL[1])?;
    let rows: i64 = tickets::table.count().get_result(conn)?;
    if rows == 0 {
        sell_again(conn)?;
    }
    Ok(pool)
}

#[derive(Debug)]
struct Settings;
impl CustomizeConnection<Conn, r2d2::Error> for Settings {
    fn on_acquire(&self, conn: &mut Conn) -> Result<(), r2d2::Error> {
        Ok(conn.batch_execute(SQL[0])?)
    }
}

/// Takes the tickets and inserts the order, in one transaction. Returns whether enough were left.
fn sell(visitor: i64, tickets: i32, conn: &mut Conn) -> QueryResult<bool> {
    diesel_counters::retry().transaction(conn, |conn| {
        let taken = take(remaining).of(EVENT).by(tickets.into()).execute(conn)?;
        let order = (orders::visitor.eq(visitor), orders::tickets.eq(tickets));
        Ok(taken && order.insert_into(orders::table).execute(conn)? == 1)
    })
}

/// Deletes the orders and sets the stock. Sales wait until it's done.
fn sell_again(conn: &mut Conn) -> QueryResult<()> {
    conn.transaction(|conn| {
        set_counter(remaining).of(EVENT).to(1_000).execute(conn)?;
        diesel::delete(orders::table).execute(conn).map(drop)
    })
}

/// What the page shows. The queries don't share a snapshot, so while tickets are sold, the numbers
/// can differ by a few sales.
fn sale(conn: &mut Conn) -> QueryResult<Json<Value>> {
    let left: i64 = counter_value(remaining).of(EVENT).get_result(conn)?;
    let slots = tickets::table.select((slot, remaining)).order(slot);
    let slots: Vec<(i16, i64)> = slots.load(conn)?;
    let orders = orders::table.select((count_star(), sum(orders::tickets)));
    let (orders, sold): (i64, Option<i64>) = orders.first(conn)?;
    Ok(json!({ "left": left, "slots": slots, "orders": orders, "sold": sold }).into())
}

pub fn router(pool: Pool) -> Router {
    Router::new()
        .route("/", get(|| async { Html(include_str!("page.html")) }))
        .route("/sale", get(|State(pool)| run(pool, sale)))
        .route("/buy/{visitor}/{tickets}", post(buy))
        .route("/visitors", post(visitors))
        .route("/again", post(again))
        .with_state(pool)
        .layer(tower_http::csrf::CsrfLayer::new())
}

async fn buy(State(pool): State<Pool>, order: Path<(i64, i32)>) -> Result<(), StatusCode> {
    let Path((visitor, tickets @ 1..=3)) = order else {
        return Err(StatusCode::BAD_REQUEST);
    };
    let sold = run(pool, move |conn| sell(visitor, tickets, conn)).await?;
    sold.then_some(()).ok_or(StatusCode::CONFLICT)
}

/// A browser or a program on the server's own machine that asks directly, not through a proxy.
struct Owner;

impl<S: Sync> FromRequestParts<S> for Owner {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let header = |name| Some(parts.headers.get(name)?.to_str().unwrap_or_default());
        let host = header("host").unwrap_or_default();
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let is_loopback = peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback());
        let is_proxied = header("x-forwarded-for").is_some();
        let is_same_site =
            header("origin").is_none_or(|origin| origin.strip_prefix("http://") == Some(host));
        let is_owner = is_loopback && !is_proxied && is_same_site && is_this_machine(host);
        is_owner.then_some(Owner).ok_or(StatusCode::FORBIDDEN)
    }
}

/// Whether a `Host` header, with or without a port, names this machine. Another site's name can
/// lead here too, and then a browser would take that site's pages for pages of this server.
fn is_this_machine(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, ""),
    };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    is_port && ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

async fn again(State(pool): State<Pool>, _: Owner) -> Result<(), StatusCode> {
    run(pool, sell_again).await
}

/// Lets a hundred visitors buy one to three tickets at a time. Responds when none are left.
async fn visitors(State(pool): State<Pool>, _: Owner) -> Result<(), StatusCode> {
    let mut visits = JoinSet::new();
    for visitor in 1..=100 {
        let (mut most, pool) = (3, pool.clone());
        visits.spawn(async move {
            while most > 0 {
                let tickets = rand::random_range(1..=most);
                let sale = run(pool.clone(), move |conn| sell(visitor, tickets, conn));
                if sale.await? {
                    sleep(Duration::from_millis(rand::random_range(0..1_000))).await;
                } else {
                    most = tickets - 1;
                }
            }
            Ok(())
        });
    }
    visits.join_all().await.into_iter().collect()
}

/// Runs `work` with a connection of the pool, on a thread that may block.
async fn run<T: Send + 'static>(
    pool: Pool,
    work: impl FnOnce(&mut Conn) -> QueryResult<T> + Send + 'static,
) -> Result<T, StatusCode> {
    let work = move || work(&mut *pool.get().map_err(failure)?).map_err(failure);
    spawn_blocking(work).await.map_err(failure)?
}

fn failure(error: impl Display) -> StatusCode {
    eprintln!("{error}");
    StatusCode::INTERNAL_SERVER_ERROR
}
