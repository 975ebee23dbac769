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
            .flat_map(|cookies| cookies.as_bytes().split(|byte| *byte == b';'))
            .filter_map(|cookie| str::from_utf8(cookie).ok())
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

/// For requests that change something. They make no visitor: the page with the form has done so.
impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        Visitor::of(&parts.headers).ok_or_else(|| {
            let reason = "A like requires a cookie. Allow cookies and open the article again.";
            Error::BadRequest(reason.to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn cookies_of_other_programs_do_not_hide_the_visitors() {
        let id = "0123456789abcdef".repeat(2);
        for other in [&b"other=1"[..], "other=\u{e9}".as_bytes(), b"other=\xe9"] {
            let ours = format!("{COOKIE}={id}");
            let cookies = [other, ours.as_bytes(), other].join(&b"; "[..]);
            let cookies = HeaderValue::from_bytes(&cookies).unwrap();
            let headers = HeaderMap::from_iter([(header::COOKIE, cookies)]);
            let visitor = Visitor::of(&headers).unwrap();
            assert_eq!(visitor.id, id);
        }
    }
}
