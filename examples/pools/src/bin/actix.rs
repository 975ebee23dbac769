//! actix-web with r2d2, on SQLite: `cargo run -p pools --bin actix`.

use std::{env, error::Error};

use actix_web::error::{ErrorInternalServerError, ErrorNotFound};
use actix_web::web::{Data, Path, block};
use actix_web::{App, HttpServer, get, post};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{self, ConnectionManager, CustomizeConnection, Pool, PooledConnection};
use diesel::result::DatabaseErrorKind::ForeignKeyViolation;
use diesel::result::Error::{DatabaseError, NotFound};
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters::{Compactor, CounterBuffer};
use pools::schema::article_counters::views;
use pools::schema::{article_counters, articles, comments};

type Manager = ConnectionManager<SqliteConnection>;

struct Blog {
    pool: Pool<Manager>,
    buffer: CounterBuffer<PooledConnection<Manager>>,
}

/// The comment and its count commit together, or neither does.
#[post("/articles/{id}/comments")]
async fn comment(blog: Data<Blog>, id: Path<i64>, body: String) -> actix_web::Result<&'static str> {
    let id = *id;
    let counted = block(move || -> Result<_, Box<dyn Error + Send + Sync>> {
        let conn = &mut blog.pool.get()?;
        conn.immediate_transaction(|conn| {
            diesel::insert_into(comments::table)
                .values((comments::article_id.eq(id), comments::body.eq(body)))
                .execute(conn)?;
            increment(article_counters::comments).of(id).execute(conn)?;
            Ok(())
        })
    });
    counted.await?.map_err(failure)?;
    Ok("counted")
}

/// Counts a view in memory. The buffer writes it within a second.
#[get("/articles/{id}")]
async fn article(blog: Data<Blog>, id: Path<i64>) -> actix_web::Result<String> {
    let (id, app) = (*id, blog.clone());
    let article = block(move || -> Result<_, Box<dyn Error + Send + Sync>> {
        let conn = &mut app.pool.get()?;
        app.buffer.read(|pending| {
            let (title, written): (String, i64) = articles::table
                .find(id)
                .select((articles::title, total(views)))
                .first(conn)?;
            Ok((title, written + pending.of(views, &id)))
        })
    });
    let (title, v) = article.await?.map_err(failure)?;
    let counted = blog.buffer.count(increment(views).of(id));
    counted.map_err(|error| failure(error.into()))?;
    Ok(format!("{title}: {} views", v + 1))
}

/// Prints the error, and doesn't send it to the client, because it can name tables.
fn failure(error: Box<dyn Error + Send + Sync>) -> actix_web::Error {
    match error.downcast_ref() {
        Some(NotFound | DatabaseError(ForeignKeyViolation, _)) => ErrorNotFound("no such article"),
        _ => {
            eprintln!("{error}");
            ErrorInternalServerError("internal error")
        }
    }
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let url = env::var("DATABASE_URL").unwrap_or("pools.sqlite".into());
    let pool = Pool::builder()
        .connection_customizer(Box::new(Settings))
        .build(Manager::new(url))?;
    // The file remembers this, so it's set only once.
    pool.get()?.batch_execute("PRAGMA journal_mode = WAL")?;
    pool.get()?.batch_execute(include_str!("../sqlite.sql"))?;

    // Any function that returns a connection will do.
    let connect = {
        let pool = pool.clone();
        move || pool.get()
    };
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
    // `Data` is an `Arc`.
    let blog = Data::new(Blog { pool, buffer });

    let app = blog.clone();
    let server = HttpServer::new(move || {
        let app = App::new().app_data(app.clone());
        app.service(comment).service(article)
    })
    .bind(env::var("LISTEN").unwrap_or("127.0.0.1:3000".into()))?;
    println!("http://{}", server.addrs()[0]);
    // This runs until SIGTERM, and until the last request has ended.
    server.run().await?;
    // Then the compactor and the buffer stop.
    let stopped = block(move || {
        compactor.stop();
        blog.buffer.stop()
    });
    let last = stopped.await?;
    if last.pending > 0 {
        eprintln!("lost: {last}");
    }
    Ok(())
}

/// What every connection to SQLite runs first.
#[derive(Debug)]
struct Settings;

impl CustomizeConnection<SqliteConnection, r2d2::Error> for Settings {
    fn on_acquire(&self, conn: &mut SqliteConnection) -> Result<(), r2d2::Error> {
        Ok(conn.batch_execute("PRAGMA busy_timeout = 30000; PRAGMA foreign_keys = ON")?)
    }
}
