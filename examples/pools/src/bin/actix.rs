//! actix-web with r2d2, on SQLite: `cargo run -p pools --bin actix`.

use std::{env, error::Error};

use actix_web::error::{ErrorInternalServerError, ErrorNotFound};
use actix_web::web::{Data, Path, block};
use actix_web::{App, HttpServer, get, post};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{self, ConnectionManager, CustomizeConnection, Pool, PooledConnection};
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
    counted.await?.map_err(ErrorInternalServerError)?;
    Ok("counted")
}

/// Counts a view in memory. The buffer writes it within a second.
#[get("/articles/{id}")]
async fn article(blog: Data<Blog>, id: Path<i64>) -> actix_web::Result<String> {
    let (id, app) = (*id, blog.clone());
    let pending = blog.buffer.pending_of(views, &id);
    let article = block(move || -> Result<_, Box<dyn Error + Send + Sync>> {
        let article = articles::table
            .find(id)
            .select((articles::title, total(views)))
            .first::<(String, i64)>(&mut app.pool.get()?);
        Ok(article.optional()?)
    });
    let article = article.await?.map_err(ErrorInternalServerError)?;
    let (title, written) = article.ok_or_else(|| ErrorNotFound("no such article"))?;
    let view = increment(views).of(id);
    blog.buffer.count(view).map_err(ErrorInternalServerError)?;
    Ok(format!("{title}: {} views", written + pending + 1))
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let url = env::var("DATABASE_URL").unwrap_or("pools.sqlite".into());
    let pool = Pool::builder()
        .connection_customizer(Box::new(Settings))
        .build(Manager::new(url))?;
    pool.get()?.batch_execute(include_str!("../sqlite.sql"))?;

    // Any function that returns a connection.
    let connect = {
        let pool = pool.clone();
        move || pool.get()
    };
    let compactor = Compactor::builder(connect.clone())
        .compact(article_counters::table)
        .start()?;
    let buffer = CounterBuffer::builder(connect).start()?;
    // `Data` is an `Arc`.
    let blog = Data::new(Blog { pool, buffer });

    let app = blog.clone();
    let server = HttpServer::new(move || {
        let app = App::new().app_data(app.clone());
        app.service(comment).service(article)
    })
    .bind(env::var("LISTEN").unwrap_or("127.0.0.1:3000".into()))?;
    println!("http://{}", server.addrs()[0]);
    // Until SIGTERM, and until the last request has ended.
    server.run().await?;
    // Then the buffer.
    block(move || (compactor.stop(), blog.buffer.stop())).await?;
    Ok(())
}

/// What each connection to SQLite runs first.
#[derive(Debug)]
struct Settings;

impl CustomizeConnection<SqliteConnection, r2d2::Error> for Settings {
    fn on_acquire(&self, conn: &mut SqliteConnection) -> Result<(), r2d2::Error> {
        let settings = "busy_timeout = 30000; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON";
        Ok(conn.batch_execute(&format!("PRAGMA {settings}"))?)
    }
}
