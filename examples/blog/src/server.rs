//! The web server: what all pages share, and the layers around them.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRequestParts, State};
use axum::middleware::map_response;
use axum::routing::{MethodRouter, get, post};
use axum_server::Handle;
use diesel_counters::{Compactor, CounterBuffer, Period};
use tower_http::csrf::CsrfLayer;

use crate::db::{self, Pool, Pooled};
use crate::pages;
use crate::race::Races;
use crate::readers::{self, SampleReaders};
use crate::schema::article_counters::table as article_counters;

/// What all pages share.
#[derive(Clone, FromRequestParts)]
#[from_request(via(State))]
pub struct App {
    /// The connections that only read, so that pages are shown even while all writers wait for
    /// locks.
    pub reads: Pool,
    pub writes: Pool,
    /// Counts page views in memory, and writes them every second, so that no page waits for its own
    /// view to be counted.
    pub views: Arc<CounterBuffer<Pooled>>,
    /// The URL of the database, for the connections of a race.
    pub url: Arc<str>,
    pub races: Races,
    pub sample: SampleReaders,
}

impl App {
    pub fn open(url: &str) -> anyhow::Result<Self> {
        db::migrate(url)?;
        let writes = db::pool(url, true);
        let pool = writes.clone();
        let views = CounterBuffer::builder(move || pool.get());
        let views = views.on_write(|write| tracing::info!("views: {write}"));
        Ok(App {
            reads: db::pool(url, false),
            writes,
            views: Arc::new(views.start()?),
            url: url.into(),
            races: Races::default(),
            sample: SampleReaders::default(),
        })
    }

    /// Every hour, merges the slots of past days, and folds the days before the last 90 into weeks.
    pub fn keep_small(&self) -> std::io::Result<Compactor> {
        let pool = self.writes.clone();
        Compactor::builder(move || pool.get())
            .compact(article_counters)
            .fold(article_counters, Period::Week, 90)
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
        .route("/race", get(pages::race).post(pages::start_race))
        .route("/readers", post(pages::switch_readers))
        .route("/stats", get(pages::stats))
        .route("/articles/{slug}", get(pages::article).post(pages::act))
        .with_state(app)
        // A browser says which site sent a form, so the forms need no tokens.
        .layer(CsrfLayer::new())
        .layer(map_response(pages::finish))
        .route("/style.css", css)
        .route("/live.js", script)
        .route("/favicon.svg", icon)
}

fn file(content_type: &'static str, text: &'static str) -> MethodRouter {
    let content_type = ("content-type", content_type);
    get(([content_type, ("cache-control", "max-age=3600")], text))
}

/// Serves the blog until Ctrl-C or SIGTERM. Open requests then have 5 seconds to finish. If no
/// headers arrive on a connection for 10 seconds, it's closed, so that half-sent headers don't pile
/// up. A request's body has no time limit: on a public site, the proxy sets one.
pub async fn serve(listener: TcpListener, app: App) -> anyhow::Result<()> {
    let views = app.views.clone();
    let sample = app.sample.clone();
    let _compactor = app.keep_small()?;
    readers::come_while_watched(app.clone());
    let handle = Handle::new();
    let server = axum_server::from_tcp(listener)?.handle(handle.clone());
    let limit = Duration::from_secs(10);
    let mut server = server.first_request_timeout(limit);
    server.http_builder().http1().header_read_timeout(limit);
    ctrlc::set_handler(move || handle.graceful_shutdown(Some(Duration::from_secs(5))))?;
    let router = router(app).into_make_service_with_connect_info::<SocketAddr>();
    server.serve(router).await?;
    sample.switch(false);
    tokio::task::spawn_blocking(move || views.flush()).await?;
    Ok(())
}
