//! axum with deadpool-diesel, on MySQL or MariaDB:
//! `DATABASE_URL=mysql://… cargo run -p pools --features mysql --bin axum`.

use std::sync::Arc;
use std::{env, error::Error, fmt::Display};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Router, serve};
use deadpool_diesel::mysql::{Hook, HookError, Manager, Pool, Runtime};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::ForeignKeyViolation;
use diesel::result::Error::{DatabaseError, NotFound};
use diesel_counters::dsl::{claim_slot, total};
use diesel_counters::prelude::*;
use diesel_counters::{Compactor, CounterBuffer};
use pools::schema::article_counters::views;
use pools::schema::{article_counters, articles, comments};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

#[derive(Clone)]
struct App {
    pool: Pool,
    buffer: Arc<CounterBuffer<MysqlConnection>>,
}

/// The comment and its count commit together, or neither does.
async fn comment(State(app): State<App>, Path(id): Path<i64>, body: String) -> Result<(), Failure> {
    let conn = app.pool.get().await.map_err(failure)?;
    let counted = conn.interact(move |conn| {
        conn.transaction(|conn| {
            diesel::insert_into(comments::table)
                .values((comments::article_id.eq(id), comments::body.eq(body)))
                .execute(conn)?;
            increment(article_counters::comments).of(id).execute(conn)?;
            QueryResult::Ok(())
        })
    });
    match counted.await.map_err(failure)? {
        Err(DatabaseError(ForeignKeyViolation, _)) => Err(NO_ARTICLE),
        counted => counted.map_err(failure),
    }
}

/// Counts a view in memory. The buffer writes it within a second.
async fn article(State(app): State<App>, Path(id): Path<i64>) -> Result<String, Failure> {
    let conn = app.pool.get().await.map_err(failure)?;
    let buffer = Arc::clone(&app.buffer);
    let article = conn.interact(move |conn| {
        buffer.read(|pending| {
            let (title, written): (String, i64) = articles::table
                .find(id)
                .select((articles::title, total(views)))
                .first(conn)?;
            Ok((title, written + pending.of(views, &id)))
        })
    });
    let (title, v) = match article.await.map_err(failure)? {
        Err(NotFound) => return Err(NO_ARTICLE),
        article => article.map_err(failure)?,
    };
    app.buffer.count(increment(views).of(id)).map_err(failure)?;
    Ok(format!("{title}: {} views", v + 1))
}

type Failure = (StatusCode, &'static str);

const NO_ARTICLE: Failure = (StatusCode::NOT_FOUND, "no such article");

/// Prints the error, and doesn't send it to the client, because it can name tables.
fn failure(error: impl Display) -> Failure {
    eprintln!("{error}");
    (StatusCode::INTERNAL_SERVER_ERROR, "internal error")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let url = env::var("DATABASE_URL")?;
    // Every connection in the pool claims its number once.
    let claim = Hook::async_fn(|conn, _| {
        Box::pin(async {
            let claimed = conn.interact(|conn| claim_slot().execute(conn)).await;
            let claimed = claimed.map_err(|error| HookError::message(error.to_string()))?;
            claimed.map_err(|error| HookError::Backend(error.into()))?;
            Ok(())
        })
    });
    let manager = Manager::new(&url, Runtime::Tokio1);
    let pool = Pool::builder(manager).post_create(claim).build()?;

    // A deadpool connection isn't one of Diesel's, so the buffer and the compactor connect
    // themselves.
    let connect = move || -> ConnectionResult<MysqlConnection> {
        let mut conn = MysqlConnection::establish(&url)?;
        let claimed = claim_slot().execute(&mut conn);
        claimed.map_err(ConnectionError::CouldntSetupConfiguration)?;
        Ok(conn)
    };
    connect()?.batch_execute(include_str!("../mysql.sql"))?;
    let compactor = Compactor::builder(connect.clone())
        .compact(article_counters::table)
        .start()?;
    let buffer = CounterBuffer::builder(connect)
        .on_write(|write| {
            if write.error.is_some() || !write.refused.is_empty() || !write.unknown.is_empty() {
                eprintln!("views: {write}");
            }
        })
        .start()?;
    let buffer = Arc::new(buffer);
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
    // This runs until SIGTERM or Ctrl-C, and until the last request has ended.
    serve(listener, router)
        .with_graceful_shutdown(stopped)
        .await?;
    // Then the compactor and the buffer stop.
    let stopped = spawn_blocking(move || {
        compactor.stop();
        app.buffer.stop()
    });
    let last = stopped.await?;
    if last.pending > 0 {
        eprintln!("lost: {last}");
    }
    Ok(())
}
