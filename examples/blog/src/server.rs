//! The web server: what all pages share, and the layers around them.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRequestParts, State};
use axum::http::header;
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum_server::Handle;
use diesel_counters::{Compactor, CounterBuffer, Period};
use tower_http::csrf::CsrfLayer;

use crate::db::{self, Pool, Pooled};
use crate::schema::article_counters::table as article_counters;
use crate::{errors, pages};

/// What all pages share.
#[derive(Clone, FromRequestParts)]
#[from_request(via(State))]
pub struct App {
    /// The connections of pages, which are shown while all writers wait for locks.
    pub reads: Pool,
    pub writes: Pool,
    /// Counts page views in memory, and writes them every second. A program that is killed loses the
    /// views of a second. No page waits, or fails, because of its view.
    pub views: Arc<CounterBuffer<Pooled>>,
    /// Locked while a hundred readers are here.
    pub crowd: Arc<Mutex<()>>,
}

impl App {
    pub fn open(url: &str) -> anyhow::Result<Self> {
        db::migrate(url)?;
        let writes = db::pool(url, true);
        let pool = writes.clone();
        let views = CounterBuffer::of(move || pool.get()).on_write(|write| {
            if write.error.is_some() || !write.refused.is_empty() {
                tracing::warn!("views: {write}");
            }
        });
        Ok(App {
            reads: db::pool(url, false),
            writes,
            views: Arc::new(views.start()?),
            crowd: Arc::default(),
        })
    }

    /// Merges the slots of past days every hour, and days before the last 90 into months.
    pub fn keep_small(&self) -> std::io::Result<Compactor> {
        let pool = self.writes.clone();
        Compactor::of(move || pool.get())
            .compact(article_counters)
            .fold(article_counters, Period::Month, 90)
            .every(Duration::from_secs(60 * 60))
            .on_run(|run| tracing::info!("{run}"))
            .start()
    }
}

/// Returns the router of the whole blog.
pub fn router(app: App) -> Router {
    let css = file("text/css", include_str!("../static/style.css"));
    let script = file("text/javascript", include_str!("../static/live.js"));
    let icon = file("image/svg+xml", include_str!("../static/favicon.svg"));
    Router::new()
        .route("/", get(pages::front))
        .route("/stats", get(pages::stats))
        .route("/articles/{slug}", get(pages::article).post(pages::act))
        .with_state(app)
        // A browser says which site sent a form, so the forms need no tokens.
        .layer(CsrfLayer::new())
        .layer(map_response(errors::page))
        .layer(map_response(headers))
        .route("/style.css", get(css))
        .route("/live.js", get(script))
        .route("/favicon.svg", get(icon))
}

async fn headers(response: Response) -> impl IntoResponse {
    let policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
    let policy = (header::CONTENT_SECURITY_POLICY, policy);
    let cache = (header::CACHE_CONTROL, "private, no-cache");
    ([policy, cache], response)
}

fn file(content_type: &'static str, text: &'static str) -> impl IntoResponse + Clone {
    let cache = (header::CACHE_CONTROL, "max-age=3600");
    ([(header::CONTENT_TYPE, content_type), cache], text)
}

/// Serves the blog until Ctrl-C or SIGTERM. It then finishes the open requests, for up to 5 seconds,
/// and writes the views.
pub async fn serve(listener: TcpListener, app: App) -> anyhow::Result<()> {
    let (views, _compactor) = (app.views.clone(), app.keep_small()?);
    let (handle, server) = (Handle::new(), axum_server::from_tcp(listener)?);
    let server = server.handle(handle.clone());
    ctrlc::set_handler(move || handle.graceful_shutdown(Some(Duration::from_secs(5))))?;
    let router = router(app).into_make_service_with_connect_info::<SocketAddr>();
    server.serve(router).await?;
    tokio::task::spawn_blocking(move || views.flush()).await?;
    Ok(())
}
