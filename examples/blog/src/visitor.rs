//! Who asks for a page.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum_extra::extract::cookie::{Cookie, Key, SameSite, SignedCookieJar};
use axum_extra::headers::authorization::{Authorization, Basic};
use axum_extra::headers::{HeaderMapExt, Host};
use diesel::prelude::*;
use iscrawl::crawler_info;
use subtle::ConstantTimeEq;

use crate::article::unless_present;
use crate::db::Conn;
use crate::errors::{Error, Result};
use crate::schema::cookie_keys;
use crate::server::App;

pub struct Visitor {
    /// A random id in a signed cookie, so that each visitor can like an article once.
    pub id: Result<String>,
    /// The cookies of the answer. They have an id for a visitor without one.
    pub cookies: SignedCookieJar,
    /// The address and the browser, hashed. `None` if a program asks for the page, or a browser that
    /// shows it later, or again.
    pub reader: Option<u64>,
    /// Whether the visitor may merge rows.
    pub admin: Result<()>,
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let headers = &parts.headers;
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let header = |name| header(name).unwrap_or_default();

        let mut cookies = SignedCookieJar::from_headers(headers, app.key.clone());
        let id = cookies.get("visitor");
        let id = id.map(|cookie| cookie.value().to_owned());
        if id.is_none() {
            let cookie = Cookie::build(("visitor", format!("{:032x}", rand::random::<u128>())))
                .max_age(time::Duration::days(365))
                .path("/")
                .http_only(true)
                .same_site(SameSite::Lax)
                // A proxy says how the page was asked for.
                .secure(header("x-forwarded-proto") == "https");
            cookies = cookies.add(cookie);
        }

        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let peer = peer.map(|peer| peer.ip().to_canonical());
        let is_local = peer.is_some_and(|peer| peer.is_loopback());
        // A proxy on this machine appends the address of its client.
        let client = headers.get_all("x-forwarded-for").iter().next_back();
        let client = client.and_then(|list| list.as_bytes().rsplit(|byte| *byte == b',').next());
        let client = client.map(<[u8]>::trim_ascii).filter(|_| is_local);

        let agent = header("user-agent");
        let mut purposes = ["sec-purpose", "purpose", "x-moz"].into_iter();
        let is_early = purposes.any(|name| header(name).contains("prefetch"));
        // A form of the page leads back to it.
        let this_page = format!("//{}{}", header("host"), parts.uri.path());
        let is_again = header("referer").ends_with(&this_page);
        // Each browser says "Mozilla", and so do some programs, of which the crate has a list.
        let is_browser = agent.starts_with("Mozilla/") && crawler_info(agent).is_none();
        let is_person = parts.method == "GET" && is_browser;
        let reader = (is_person && !is_early && !is_again).then(|| {
            let mut hasher = DefaultHasher::new();
            (peer, client, agent).hash(&mut hasher);
            hasher.finish()
        });

        // The name of another site can lead to this machine. The browser would take the two for one.
        let local = |host: Host| matches!(host.hostname(), "localhost" | "127.0.0.1" | "[::1]");
        let has_local_name = headers.typed_get().is_some_and(local);
        let given = headers.typed_get::<Authorization<Basic>>();
        let given = given.as_ref().map_or("", Authorization::password);
        // In constant time, so that nobody can guess a password by its beginning.
        let is_right = |password: &str| given.as_bytes().ct_eq(password.as_bytes()).into();
        let admin = match &app.password {
            Some(password) if is_right(password) => Ok(()),
            Some(_) => Err(Error(StatusCode::UNAUTHORIZED)),
            None if is_local && client.is_none() && has_local_name => Ok(()),
            None => Err(Error(StatusCode::FORBIDDEN)),
        };
        Ok(Visitor {
            // The page with the button sends the cookie.
            id: id.ok_or(Error(StatusCode::FORBIDDEN)),
            cookies,
            reader,
            admin,
        })
    }
}

/// Returns the key that signs the cookies. The first start makes it.
pub fn key(conn: &mut Conn) -> QueryResult<Key> {
    let secret = cookie_keys::table.select(cookie_keys::secret);
    if secret.first::<Vec<u8>>(conn).optional()?.is_none() {
        let key = Key::generate();
        let row = (cookie_keys::id.eq(1), cookie_keys::secret.eq(key.master()));
        // Another process can be faster. Its key is then the one of both.
        unless_present(row.insert_into(cookie_keys::table).execute(conn))?;
    }
    let secret: Vec<u8> = secret.first(conn)?;
    Ok(Key::from(&secret))
}
