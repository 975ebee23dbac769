//! Who asks for a page.

use std::{convert::Infallible, net::SocketAddr};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum_extra::extract::cookie::{Cookie, CookieJar};
use iscrawl::crawler_info;

pub struct Visitor {
    /// A random id in a cookie, so that each visitor can like an article once.
    pub id: String,
    pub cookies: CookieJar,
    /// Whether a person is reading, and not a program, or a browser that fetches a page early.
    pub reads: bool,
    /// Whether the visitor is on this machine.
    pub is_local: bool,
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let header = |name| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let header = |name| header(name).unwrap_or_default();
        let (agent, host) = (header("user-agent"), header("host"));

        let cookies = CookieJar::from_headers(&parts.headers);
        let id = cookies.get("visitor").map_or("", |cookie| cookie.value());
        let id = u128::from_str_radix(id, 16).unwrap_or_else(|_| rand::random());
        let id = format!("{id:032x}");
        let cookie = Cookie::build(("visitor", id.clone())).path("/");

        // Every browser says "Mozilla". Some programs do too, and the crate has a list of them.
        let is_browser = agent.starts_with("Mozilla/") && crawler_info(agent).is_none();
        let mut purposes = ["sec-purpose", "purpose", "x-moz"].into_iter();
        let is_early = purposes.any(|name| header(name).contains("prefetch"));
        // A form leads back to its page, which may have been opened with a query. If the browser
        // sends no referer, that adds a view.
        let page = header("referer").split('?').next().unwrap_or_default();
        let is_again = page.ends_with(&format!("//{host}{}", parts.uri.path()));
        // The script that keeps an open page up to date says so itself.
        let is_script = parts.headers.contains_key("x-live");

        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let is_loopback = peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback());
        let is_proxied = parts.headers.contains_key("x-forwarded-for");
        Ok(Visitor {
            id,
            cookies: cookies.add(cookie.http_only(true).permanent()),
            reads: parts.method == "GET" && is_browser && !is_early && !is_again && !is_script,
            is_local: is_loopback && !is_proxied && is_this_machine(host),
        })
    }
}

/// Whether a `Host` header, with or without a port, names this machine. Another site's name can
/// lead here too, and then a browser would take that site's pages for pages of this server.
fn is_this_machine(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, ""),
    };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    is_port && ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}
