//! Error pages.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use diesel::r2d2::PoolError;
use diesel_counters::is_retryable;
use tokio::time::error::Elapsed;

pub type Result<T> = std::result::Result<T, Error>;

/// The status of an error page, which says the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Error(pub StatusCode);

impl<E: Into<anyhow::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        let error = error.into();
        let status = match error.downcast_ref() {
            Some(diesel::NotFound) => return Error(StatusCode::NOT_FOUND),
            Some(error) if is_retryable(error) => StatusCode::SERVICE_UNAVAILABLE,
            // No connection of the pool was free, or too many requests write.
            None if error.is::<PoolError>() => StatusCode::SERVICE_UNAVAILABLE,
            None if error.is::<Elapsed>() => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        tracing::error!("{error:#}");
        Error(status)
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    status: StatusCode,
}

/// Gives each error a page of the site, also those of axum and of its layers.
pub async fn page(mut response: Response) -> Response {
    let status = response.status();
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    let headers = response.headers_mut();
    let is_page = headers.get(header::CONTENT_TYPE) == Some(&html);
    if is_page || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, html);
    if status == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Basic realm=\"blog\"");
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    if let Ok(page) = (ErrorPage { status }).render() {
        *response.body_mut() = page.into();
    }
    response
}
