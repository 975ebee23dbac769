//! Errors, each with a page of the site.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use diesel::r2d2::PoolError;
use diesel_counters::is_retryable;

/// Returns the status of an error page, which says the rest.
pub fn status(error: anyhow::Error) -> StatusCode {
    if let Some(status) = error.downcast_ref() {
        return *status;
    }
    let status = match error.downcast_ref() {
        Some(diesel::NotFound) => return StatusCode::NOT_FOUND,
        Some(error) if is_retryable(error) => StatusCode::SERVICE_UNAVAILABLE,
        // No connection of the pool was free.
        None if error.is::<PoolError>() => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    tracing::error!("{error:#}");
    status
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    status: StatusCode,
}

/// Gives each error a page of the site, also those of axum and of its layers.
pub async fn page(mut response: Response) -> Response {
    let status = response.status();
    if status.is_client_error() || status.is_server_error() {
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, html);
        response.headers_mut().remove(header::CONTENT_LENGTH);
        *response.body_mut() = ErrorPage { status }.render().unwrap_or_default().into();
    }
    response
}
