//! The web server.

use std::io;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tower_http::csrf::CsrfLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::errors::Error;
use crate::pages;

pub use crate::pages::App;

/// The maximum size of a form, in bytes. An encoded character takes up to 12 bytes, and a text has
/// up to 20,000 characters.
const LARGEST_FORM: usize = 256 * 1024;

/// How long the server waits for open requests when it stops. Docker kills it after 10 seconds.
const GRACE: Duration = Duration::from_secs(5);

/// Serves the blog until Ctrl-C or SIGTERM. It then finishes the open requests, for up to 5
/// seconds.
pub async fn serve(listener: TcpListener, app: App) -> io::Result<()> {
    let asked_to_stop = asked_to_stop()?;
    let (stop, stopping) = oneshot::channel();
    let server = axum::serve(listener, router(app)).with_graceful_shutdown(async {
        let _ = stopping.await;
    });
    let out_of_time = async {
        asked_to_stop.await;
        let _ = stop.send(());
        sleep(GRACE).await;
    };
    tokio::select! {
        result = server.into_future() => result,
        () = out_of_time => {
            tracing::warn!("stopped before all requests were finished");
            Ok(())
        }
    }
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
