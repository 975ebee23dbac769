//! The web server: what all pages share, and the layers around them.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::{FromRequestParts, State};
use axum::http::{HeaderValue, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum_extra::extract::cookie::Key;
use chrono::Utc;
use diesel_counters::{Compactor, Period};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tower_http::csrf::CsrfLayer;

use crate::db::{Conn, Pool};
use crate::errors::{self, Result};
use crate::live::{self, Numbers};
use crate::schema::article_counters;
use crate::views::Views;
use crate::{list, pages, rows, stats, visitor};

/// What all pages share.
#[derive(Clone, FromRequestParts)]
#[from_request(via(State))]
pub struct App {
    pub pool: Pool,
    pub views: Views,
    /// The counts that open pages show.
    pub live: Arc<watch::Sender<Numbers>>,
    /// What the last merge has done.
    pub done: Arc<watch::Sender<String>>,
    /// Signs the cookies.
    pub key: Key,
    /// The password of the button that merges.
    pub password: Option<Arc<str>>,
    /// Half of the pool's connections: so many requests can write at a time.
    writers: Arc<Semaphore>,
    pub stopping: CancellationToken,
}

impl App {
    pub fn new(pool: Pool, password: Option<String>) -> anyhow::Result<Self> {
        Ok(App {
            key: visitor::key(&mut *pool.get()?)?,
            views: Views::new(pool.clone())?,
            writers: Arc::new(Semaphore::new(pool.max_size() as usize / 2)),
            pool,
            live: Arc::default(),
            done: Arc::default(),
            password: password.map(Arc::from),
            stopping: CancellationToken::new(),
        })
    }

    /// Runs `work` with a connection of the pool, on a thread that may block.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Conn) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let pool = self.pool.clone();
        tokio::task::spawn_blocking(move || work(&mut *pool.get()?)).await?
    }

    /// As [`run`](App::run), for work that writes. While it waits for locks, pages are still shown.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Conn) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let turn = Arc::clone(&self.writers).acquire_owned();
        let turn = tokio::time::timeout(Duration::from_secs(1), turn).await;
        let turn = turn.context("too many requests write")??;
        self.run(move |conn| {
            let _until_done = turn;
            work(conn)
        })
        .await
    }

    pub fn set_done(&self, what: impl Display) {
        let now = Utc::now().format("%-d %B, %H:%M");
        self.done.send_replace(format!("{now} UTC: {what}"));
    }

    /// Merges slots every hour, and days into months, until the compactor is dropped.
    fn keep_small(&self) -> std::io::Result<Compactor> {
        let app = self.clone();
        let pool = self.pool.clone();
        Compactor::of(move || pool.get())
            .compact(article_counters::table)
            .fold(article_counters::table, Period::Month, rows::DAYS)
            .every(Duration::from_secs(60 * 60))
            .on_run(move |run| match &run.result {
                Ok(_) => app.set_done(run),
                Err(_) => tracing::warn!("{run}"),
            })
            .start()
    }
}

/// Returns the router of the whole blog.
pub fn router(app: App) -> Router {
    let css = file("text/css", include_str!("../static/style.css"));
    let script = file("text/javascript", include_str!("../static/live.js"));
    let icon = file("image/svg+xml", include_str!("../static/favicon.svg"));
    Router::new()
        .route("/", get(list::list))
        .route("/stats", get(stats::stats))
        .route("/live", get(live::watch))
        .route("/new", get(|| async { pages::NewPage::default() }))
        .route("/articles", post(pages::publish))
        .route("/articles/{slug}", get(pages::article).post(pages::act))
        .route("/style.css", get(css))
        .route("/live.js", get(script))
        .route("/favicon.svg", get(icon))
        .with_state(app)
        // A browser says which site sent a form, so the forms need no tokens.
        .layer(CsrfLayer::new())
        .layer(map_response(errors::page))
        .layer(map_response(headers))
}

/// Adds the headers that a response does not set itself.
async fn headers(mut response: Response) -> Response {
    let policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, "private, no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

fn file(content_type: &'static str, text: &'static str) -> impl IntoResponse + Clone {
    let cached = (header::CACHE_CONTROL, "max-age=3600");
    ([(header::CONTENT_TYPE, content_type), cached], text)
}

/// Serves the blog until Ctrl-C or SIGTERM. It then writes the views, finishes the open requests, for up
/// to 5 seconds, and writes the views of these.
pub async fn serve(listener: TcpListener, app: App) -> anyhow::Result<()> {
    let (views, stopping) = (app.views.clone(), app.stopping.clone());
    let compactor = app.keep_small()?;
    tokio::spawn(live::run(app.clone()));
    let router = router(app.clone()).into_make_service_with_connect_info::<SocketAddr>();
    ctrlc::set_handler(move || app.stopping.cancel())?;
    let served =
        axum::serve(listener, router).with_graceful_shutdown(stopping.clone().cancelled_owned());
    let patience = async {
        stopping.cancelled().await;
        tokio::join!(views.write(), tokio::time::sleep(Duration::from_secs(5)));
    };
    tokio::select! {
        served = served => served?,
        () = patience => tracing::warn!("stopped before all requests were finished"),
    }
    drop(compactor);
    views.write().await;
    Ok(())
}
