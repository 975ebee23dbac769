//! Error pages.

use anyhow::Chain;
use askama::Template;
use axum::extract::rejection::{FormRejection, PathRejection, QueryRejection};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use diesel::r2d2::PoolError;
use diesel::result::DatabaseErrorKind;
use diesel::result::Error::DatabaseError;
use diesel_counters::is_retryable;
use tower_http::timeout::TimeoutError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("There is no page at this address.")]
    NotFound,
    #[error("This address does not support this kind of request.")]
    MethodNotAllowed,
    #[error("{0}")]
    BadRequest(String),
    #[error(
        "The form was sent from another site, so nothing was stored. Open the page on this site and \
         send its form."
    )]
    ForeignForm,
    #[error("The form is larger than 256 KiB.")]
    TooLarge,
    #[error("The form took too long to arrive, so nothing was stored. Please send it again.")]
    TooSlow,
    #[error("The server is busy. Please try again in a few seconds.")]
    Busy,
    #[error("Something went wrong. The error is in the server's log.")]
    Internal(#[source] anyhow::Error),
}

impl Error {
    fn status(&self) -> StatusCode {
        match self {
            Error::NotFound => StatusCode::NOT_FOUND,
            Error::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Error::BadRequest(_) => StatusCode::BAD_REQUEST,
            Error::ForeignForm => StatusCode::FORBIDDEN,
            Error::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Error::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Error::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        if let Error::Internal(cause) = &self {
            tracing::error!("{cause:#}");
        }
        let status = self.status();
        let page = ErrorPage {
            status: status.as_u16(),
            title: status.canonical_reason().unwrap_or("Error"),
            reason: self.to_string(),
        };
        let body = page
            .render()
            .map(Html)
            .unwrap_or_else(|_| Html(page.reason));
        let mut response = (status, body).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let seconds = header::HeaderValue::from_static("5");
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    status: u16,
    title: &'static str,
    reason: String,
}

impl From<diesel::result::Error> for Error {
    fn from(error: diesel::result::Error) -> Self {
        match error {
            diesel::NotFound => Error::NotFound,
            // A like or a comment whose article does not exist.
            DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _) => Error::NotFound,
            // Other transactions caused it, again and again or for a long time.
            error if is_retryable(&error) => {
                tracing::warn!("{error}");
                Error::Busy
            }
            error => Error::Internal(error.into()),
        }
    }
}

/// The pool returned no connection in time.
impl From<PoolError> for Error {
    fn from(error: PoolError) -> Self {
        tracing::warn!("{error}");
        Error::Busy
    }
}

impl From<askama::Error> for Error {
    fn from(error: askama::Error) -> Self {
        Error::Internal(error.into())
    }
}

/// A handler panicked.
impl From<tokio::task::JoinError> for Error {
    fn from(error: tokio::task::JoinError) -> Self {
        Error::Internal(error.into())
    }
}

impl From<FormRejection> for Error {
    fn from(rejection: FormRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Error::TooLarge,
            _ if Chain::new(&rejection).any(|cause| cause.is::<TimeoutError>()) => Error::TooSlow,
            _ => Error::BadRequest(rejection.body_text()),
        }
    }
}

impl From<QueryRejection> for Error {
    fn from(rejection: QueryRejection) -> Self {
        Error::BadRequest(rejection.body_text())
    }
}

/// The id is not a number.
impl From<PathRejection> for Error {
    fn from(_: PathRejection) -> Self {
        Error::NotFound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_with_another_transaction_is_said_as_a_busy_server() {
        for (kind, message) in [
            (DatabaseErrorKind::Unknown, "database is locked"),
            (DatabaseErrorKind::Unknown, "deadlock detected"),
            (DatabaseErrorKind::SerializationFailure, ""),
        ] {
            let error = DatabaseError(kind, Box::new(message.to_owned()));
            assert!(matches!(Error::from(error), Error::Busy), "{message}");
        }
    }
}
