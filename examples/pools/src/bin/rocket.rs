//! Rocket with rocket_sync_db_pools, on PostgreSQL:
//! `DATABASE_URL=postgres://… cargo run -p pools --features postgres --bin rocket`.

use std::env;
use std::error::Error;
use std::sync::Arc;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::ForeignKeyViolation;
use diesel::result::Error::DatabaseError;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters::{Compactor, CounterBuffer};
use pools::schema::article_counters::views;
use pools::schema::{article_counters, articles, comments};
use rocket::response::Debug;
use rocket::tokio::task::spawn_blocking;
use rocket::{Config, State, get, post, routes, warn};
use rocket_sync_db_pools::database;

#[database("blog")]
struct Db(PgConnection);

type Views = Arc<CounterBuffer<PgConnection>>;

type Result<T, E = Debug<diesel::result::Error>> = std::result::Result<T, E>;

/// The comment and its count commit together, or neither does.
#[post("/articles/<id>/comments", data = "<body>")]
async fn comment(db: Db, id: i64, body: String) -> Result<Option<()>> {
    let counted = db.run(move |conn| {
        conn.transaction(|conn| {
            diesel::insert_into(comments::table)
                .values((comments::article_id.eq(id), comments::body.eq(body)))
                .execute(conn)?;
            increment(article_counters::comments).of(id).execute(conn)?;
            QueryResult::Ok(())
        })
    });
    match counted.await {
        // There is no such article.
        Err(DatabaseError(ForeignKeyViolation, _)) => Ok(None),
        counted => Ok(counted.map(Some)?),
    }
}

/// Counts a view in memory. The buffer writes it within a second.
#[get("/articles/<id>")]
async fn article(db: Db, buffer: &State<Views>, id: i64) -> Result<Option<String>> {
    let reads = Arc::clone(buffer);
    let article = db.run(move |conn| {
        let article = reads.read(|pending| {
            let (title, written): (String, i64) = articles::table
                .find(id)
                .select((articles::title, total(views)))
                .first(conn)?;
            Ok((title, written + pending.of(views, &id)))
        });
        article.optional()
    });
    let Some((title, v)) = article.await? else {
        return Ok(None);
    };
    if let Err(error) = buffer.count(increment(views).of(id)) {
        warn!("a view was not counted: {error}");
    }
    Ok(Some(format!("{title}: {} views", v + 1)))
}

#[rocket::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("DATABASE_URL")?;
    // The pool is Rocket's own. The buffer and the compactor connect when they write.
    let config = Config::figment().merge(("databases.blog.url", &url));
    let connect = move || PgConnection::establish(&url);
    connect()?.batch_execute(include_str!("../postgres.sql"))?;
    let compactor = Compactor::builder(connect.clone())
        .compact(article_counters::table)
        .start()?;
    let buffer = CounterBuffer::builder(connect)
        .on_write(|write| {
            if write.error.is_some() || !write.refused.is_empty() || !write.unknown.is_empty() {
                warn!("views: {write}");
            }
        })
        .start()?;
    let buffer: Views = Arc::new(buffer);

    // This runs until SIGTERM or Ctrl-C, and then until the last request has ended, or until
    // Rocket's time limits for a shutdown are over.
    rocket::custom(config)
        .attach(Db::fairing())
        .manage(Arc::clone(&buffer))
        .mount("/", routes![comment, article])
        .launch()
        .await?;
    // Then the compactor and the buffer stop.
    let stopped = spawn_blocking(move || {
        compactor.stop();
        buffer.stop()
    });
    let last = stopped.await?;
    if last.pending > 0 {
        warn!("lost: {last}");
    }
    Ok(())
}
