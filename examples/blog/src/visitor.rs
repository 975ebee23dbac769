//! The visitor of a request: a random id in a cookie, so that each visitor can like an
//! article once.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use crate::errors::Error;

const COOKIE: &str = "visitor";

/// The length of an id, in hexadecimal digits.
const DIGITS: usize = 32;

/// 365 days, in seconds.
const YEAR: u32 = 365 * 24 * 60 * 60;

pub struct Visitor {
    pub id: String,
}

impl Visitor {
    pub fn new() -> Self {
        let id = rand::random::<u128>();
        Visitor {
            id: format!("{id:0DIGITS$x}"),
        }
    }

    /// Returns the visitor that the request's cookie names.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .find(|(name, id)| *name == COOKIE && is_id(id))
            .map(|(_, id)| Visitor { id: id.to_owned() })
    }

    /// Returns the value of `Set-Cookie`.
    pub fn cookie(&self) -> String {
        let id = &self.id;
        format!("{COOKIE}={id}; Max-Age={YEAR}; Path=/; HttpOnly; SameSite=Lax")
    }
}

fn is_id(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// For requests that change something. They make no visitor: a browser sends another site's
/// form without the cookie, and a new one would replace the visitor's own.
impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        Visitor::of(&parts.headers).ok_or_else(|| {
            let reason = "A like requires a cookie. Allow cookies and open the article again.";
            Error::BadRequest(reason.to_owned())
        })
    }
}
