//! Counts the views, likes and comments of articles, in the file `minimal.sqlite`.
//
//     cargo run -p minimal
//     curl localhost:3000                            # the most read articles
//     curl localhost:3000/articles/1                 # counts a view
//     curl -X POST localhost:3000/articles/1/likes
//     curl -d 'Nice!' localhost:3000/articles/1/comments
use std::{env, error::Error, fmt::Display, sync::Arc};

use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router, http::StatusCode};
use diesel::r2d2::{self, ConnectionManager, CustomizeConnection, Pool, PooledConnection};
use diesel::result::DatabaseErrorKind::ForeignKeyViolation;
use diesel::result::Error::{DatabaseError, NotFound};
use diesel::{connection::SimpleConnection, prelude::*};
use diesel_counters::CounterBuffer;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use schema::article_counters::{self, likes, views};
use schema::{articles, comments};
use serde::Serialize;
use tokio::{net::TcpListener, sync::Notify, task::spawn_blocking};
use tower_http::csrf::CsrfLayer;

mod schema {
    diesel::table! { articles (id) { id -> BigInt, title -> Text } }
    diesel::table! { comments (id) { id -> BigInt, article_id -> BigInt, body -> Text } }
    diesel::table! {
        article_counters (article_id, day, slot) {
            article_id -> BigInt, day -> Date, slot -> SmallInt,
            views -> BigInt, likes -> BigInt, comments -> BigInt,
        }
    }
}
diesel_counters::counter_table!(article_counters { parent = articles::id });

#[derive(Queryable, Selectable, Serialize)]
struct Article {
    id: i64,
    title: String,
    #[diesel(select_expression = total(article_counters::views))]
    views: i64,
    #[diesel(select_expression = total(article_counters::likes))]
    likes: i64,
}

const MIGRATIONS: EmbeddedMigrations = embed_migrations!();

type Manager = ConnectionManager<SqliteConnection>;

#[derive(Clone)]
struct App {
    pool: Pool<Manager>,
    buffer: Arc<CounterBuffer<PooledConnection<Manager>>>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let variable = |name, default: &str| env::var(name).unwrap_or(default.to_owned());
    let pool = Pool::builder()
        .connection_customizer(Box::new(Settings))
        .build(Manager::new(variable("DATABASE_URL", "minimal.sqlite")))?;
    // The file remembers this, so it's set only once.
    pool.get()?.batch_execute("PRAGMA journal_mode = WAL")?;
    pool.get()?.run_pending_migrations(MIGRATIONS)?;
    let source = pool.clone();
    let buffer = CounterBuffer::builder(move || source.get())
        .on_write(|write| {
            if write.error.is_some() || !write.refused.is_empty() || !write.unknown.is_empty() {
                eprintln!("views: {write}");
            }
        })
        .start()?;
    let buffer = Arc::new(buffer);
    let app = App { pool, buffer };

    let router = Router::new()
        .route("/", get(most_read))
        .route("/articles/{id}", get(article))
        .route("/articles/{id}/likes", post(like))
        .route("/articles/{id}/comments", post(comment))
        .with_state(app.clone())
        // Browsers say which site sent a request, so other sites can't like or comment.
        .layer(CsrfLayer::new());
    let listener = TcpListener::bind(variable("LISTEN", "127.0.0.1:3000")).await?;
    println!("http://{}", listener.local_addr()?);
    let stop = Arc::new(Notify::new());
    let stopped = Arc::clone(&stop).notified_owned();
    ctrlc::set_handler(move || stop.notify_one())?;
    let server = axum::serve(listener, router);
    server.with_graceful_shutdown(stopped).await?;
    // After the last request, this writes the views of the last second.
    let last = spawn_blocking(move || app.buffer.stop()).await?;
    if last.pending > 0 {
        eprintln!("lost: {last}");
    }
    Ok(())
}

async fn most_read(State(app): State<App>) -> Result<Json<Vec<Article>>, Failure> {
    let list = app.run(|conn| {
        articles::table
            .select(Article::as_select())
            .order(total(views).desc())
            .limit(10)
            .load(conn)
    });
    list.await.map(Json)
}

/// Counts a view in memory, so that the page doesn't wait for it.
async fn article(State(app): State<App>, Path(id): Path<i64>) -> Result<Json<Article>, Failure> {
    let buffer = Arc::clone(&app.buffer);
    let article = app.run(move |conn| {
        buffer.read(|pending| {
            let query = articles::table.find(id).select(Article::as_select());
            let mut article: Article = query.first(conn)?;
            article.views += pending.of(views, &id);
            Ok(article)
        })
    });
    let mut article = article.await?;
    app.buffer.count(increment(views).of(id)).map_err(failure)?;
    article.views += 1;
    Ok(Json(article))
}

async fn like(State(app): State<App>, Path(id): Path<i64>) -> Result<(), Failure> {
    let like = increment(likes).of(id);
    app.run(move |conn| like.execute(conn).map(drop)).await
}

/// The comment and its count commit together, or neither does.
async fn comment(State(app): State<App>, Path(id): Path<i64>, body: String) -> Result<(), Failure> {
    let comment = (comments::article_id.eq(id), comments::body.eq(body));
    let insert = diesel::insert_into(comments::table).values(comment);
    let count = increment(article_counters::comments).of(id);
    app.run(|conn| {
        conn.immediate_transaction(|conn| {
            insert.execute(conn)?;
            count.execute(conn).map(drop)
        })
    })
    .await
}

impl App {
    /// Runs `work` on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> QueryResult<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let pool = self.pool.clone();
        let work = move || match work(&mut *pool.get().map_err(failure)?) {
            Err(NotFound | DatabaseError(ForeignKeyViolation, _)) => {
                Err((StatusCode::NOT_FOUND, "no such article"))
            }
            result => result.map_err(failure),
        };
        spawn_blocking(work).await.map_err(failure)?
    }
}

type Failure = (StatusCode, &'static str);

/// Prints the error, and doesn't send it to the client, because it can name tables.
fn failure(error: impl Display) -> Failure {
    eprintln!("{error}");
    (StatusCode::INTERNAL_SERVER_ERROR, "internal error")
}

#[derive(Debug)]
struct Settings;

impl CustomizeConnection<SqliteConnection, r2d2::Error> for Settings {
    fn on_acquire(&self, conn: &mut SqliteConnection) -> Result<(), r2d2::Error> {
        Ok(conn.batch_execute("PRAGMA busy_timeout = 30000; PRAGMA foreign_keys = ON")?)
    }
}
