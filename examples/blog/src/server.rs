//! The web server.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tower_http::csrf::CsrfLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::timeout::RequestBodyDeadlineLayer;

use crate::errors::Error;
use crate::pages;

pub use crate::pages::App;

/// The maximum size of a form, in bytes. An encoded character takes up to 12 bytes, and a text has
/// up to 20,000 characters.
const LARGEST_FORM: usize = 256 * 1024;

/// How long the server waits for open requests when it stops. Docker kills it after 10 seconds.
const GRACE: Duration = Duration::from_secs(5);

/// What clients can take of the server.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Limits {
    /// The maximum number of open connections. Further clients wait until one is closed.
    #[arg(long, default_value_t = Limits::default().connections, value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: u32,
    /// How long a connection stays open while no request arrives, or only a part of its header.
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().header_timeout, value_parser = clap::value_parser!(u64).range(1..))]
    pub header_timeout: u64,
    /// How long a form can take to arrive, and how long a client can pause while it reads a page.
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().transfer_timeout, value_parser = clap::value_parser!(u64).range(1..))]
    pub transfer_timeout: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 200,
            header_timeout: 5,
            transfer_timeout: 30,
        }
    }
}

/// Serves the blog until Ctrl-C or SIGTERM. It then finishes the open requests, for up to 5
/// seconds.
pub async fn serve(mut listener: TcpListener, app: App, limits: Limits) -> io::Result<()> {
    let mut asked_to_stop = pin!(asked_to_stop()?);
    let transfer_timeout = Duration::from_secs(limits.transfer_timeout);
    let views = app.views.clone();
    let router = router(app).layer(RequestBodyDeadlineLayer::new(transfer_timeout));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(limits.header_timeout));
    let free = Arc::new(Semaphore::new(limits.connections as usize));
    let open = GracefulShutdown::new();

    loop {
        let (stream, place) = tokio::select! {
            accepted = accept(&mut listener, &free) => accepted,
            () = &mut asked_to_stop => break,
        };
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(transfer_timeout));
        let service = TowerToHyperService::new(router.clone());
        let connection = http.serve_connection(TokioIo::new(Box::pin(stream)), service);
        let connection = open.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("a connection was closed: {error}");
            }
            drop(place);
        });
    }
    drop(listener);

    if timeout(GRACE, open.shutdown()).await.is_err() {
        tracing::warn!("stopped before all requests were finished");
    }
    let written = spawn_blocking(move || views.flush());
    if timeout(GRACE, written).await.is_err() {
        tracing::warn!("stopped before all views were written");
    }
    Ok(())
}

/// Waits for a free place, then for a client, who keeps the place.
async fn accept(
    listener: &mut TcpListener,
    free: &Arc<Semaphore>,
) -> (TcpStream, impl Send + use<>) {
    let place = Arc::clone(free).acquire_owned().await;
    // axum's, which logs an error and tries again.
    let (stream, _) = Listener::accept(listener).await;
    (stream, place)
}

/// Returns the router of the whole blog.
pub fn router(app: App) -> Router {
    pages::routes()
        .with_state(app)
        .layer(DefaultBodyLimit::max(LARGEST_FORM))
        // A browser says which site sent a form, so the forms need no tokens.
        .layer(CsrfLayer::new().with_rejection_response(|_| Error::ForeignForm.into_response()))
        .layer(response_header(
            header::CONTENT_SECURITY_POLICY,
            "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        ))
        .layer(response_header(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(response_header(header::REFERRER_POLICY, "same-origin"))
        .layer(middleware::from_fn(log_request))
}

fn response_header(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
}

async fn log_request(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let start = Instant::now();
    let response = next.run(request).await;
    tracing::info!(
        %method,
        path,
        status = response.status().as_u16(),
        latency = ?start.elapsed(),
        "request"
    );
    response
}

/// Returns a future that ends at Ctrl-C or SIGTERM. Both are caught as soon as this function
/// returns, before the first request.
#[cfg(unix)]
fn asked_to_stop() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut ctrl_c = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = ctrl_c.recv() => {}
            _ = terminated.recv() => {}
        }
        tracing::info!("stopping");
    })
}

#[cfg(not(unix))]
fn asked_to_stop() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
        tracing::info!("stopping");
    })
}
