//! What is sold adds up: on SQLite, or on the server of `TEST_DATABASE_URL` with the feature `postgres`.

#[path = "../src/main.rs"]
#[allow(dead_code)] // Its `main` is not called.
mod app;
#[path = "../../blog/tests/blog/browser.rs"]
#[allow(dead_code)] // The sale needs a part of it.
mod browser;

// What the blog's browser takes from the blog.
extern crate self as blog;
use app as server;
mod sample {
    pub fn fill<T>(_: T) -> Result<(), ()> {
        Ok(())
    }
}
mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode};
use browser::Site;
use diesel::connection::SimpleConnection;
use diesel::dsl::{count_star, sum};
use diesel::prelude::*;
use diesel_counters::prelude::*;
use support::Blog;
use tokio::task::spawn_blocking;
use tower::ServiceExt;

/// Buys one to three tickets at a time until none are left. Returns how many it has bought.
fn client(address: SocketAddr, visitor: i64) -> i64 {
    let (mut most, mut bought) = (3, 0);
    for turn in visitor.. {
        if most == 0 {
            break;
        }
        let tickets = 1 + turn % most;
        let mut stream = TcpStream::connect(address).unwrap();
        let request = format!("POST /buy/{visitor}/{tickets} HTTP/1.1\r\nHost: {address}\r\n");
        write!(stream, "{request}Connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        match answer.split(' ').nth(1) {
            Some("200") => bought += tickets,
            Some("409") => most = tickets - 1,
            _ => panic!("{answer}"),
        }
    }
    bought
}

/// The number of orders, if all tickets are sold, and no more.
fn orders(blog: &Blog) -> i64 {
    use app::{orders, tickets};
    let conn = &mut blog.pool.get().unwrap();
    let orders = orders::table.select((count_star(), sum(orders::tickets)));
    let (orders, sold): (i64, Option<i64>) = orders.first(conn).unwrap();
    assert_eq!(sold, Some(1_000));
    let left = counter_value(tickets::remaining).of(1_i64).get_result(conn);
    assert_eq!(left, Ok(0_i64));
    orders
}

/// Serves the page, and returns its address.
fn serve(blog: &Blog) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(app::serve(listener, blog.pool.clone()));
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_clients_buy_all_tickets_and_no_more() {
    let blog = Blog::new();
    let address = serve(&blog);
    let clients = (0..16).map(|visitor| thread::spawn(move || client(address, visitor)));
    let clients = Vec::from_iter(clients);
    let bought = clients.into_iter().map(|client| client.join().unwrap());
    assert_eq!(bought.sum::<i64>(), 1_000);
    orders(&blog);
}

#[tokio::test]
async fn only_clients_on_this_machine_can_sell_again_or_send_visitors() {
    let blog = Blog::new();
    let order = (app::orders::visitor.eq(1), app::orders::tickets.eq(1));
    let conn = &mut blog.pool.get().unwrap();
    let inserted = order.insert_into(app::orders::table).execute(conn);
    assert_eq!(inserted, Ok(1));
    let orders = |conn: &mut app::Conn| app::orders::table.count().get_result::<i64>(conn);

    let router = app::router(blog.pool.clone());
    let here = "127.0.0.1:1";
    let request = async |peer: &str, path: &str, headers: &[(&str, &str)]| {
        let peer: SocketAddr = peer.parse().unwrap();
        let request = Request::post(path).extension(ConnectInfo(peer));
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        let request = request.body(Body::empty()).unwrap();
        router.clone().oneshot(request).await.unwrap().status()
    };
    for (peer, headers) in [
        // Of another machine, or of a proxy on this one.
        ("203.0.113.7:1", &[("host", "localhost:3000")][..]),
        (
            here,
            &[("host", "localhost"), ("x-forwarded-for", "203.0.113.7")],
        ),
        // Of a site whose name leads to this machine.
        (here, &[]),
        (here, &[("host", "evil.example")]),
        (here, &[("host", "evil.example:3000")]),
        (here, &[("host", "localhostevil")]),
        (here, &[("host", "localhostevil:3000")]),
        (here, &[("host", "localhost:evil")]),
        (here, &[("host", "localhost.evil.example:3000")]),
        (here, &[("host", "127.0.0.1.evil.example")]),
        // Of a page of another site.
        (
            here,
            &[("host", "localhost"), ("origin", "http://evil.example")],
        ),
        (
            here,
            &[("host", "localhost"), ("sec-fetch-site", "cross-site")],
        ),
        (
            here,
            &[
                ("host", "localhost"),
                ("sec-fetch-site", "same-origin"),
                ("origin", "https://evil.example"),
            ],
        ),
    ] {
        for path in ["/again", "/visitors"] {
            let status = request(peer, path, headers).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{peer} {path} {headers:?}");
        }
    }
    assert_eq!(orders(conn), Ok(1));
    for (peer, host) in [
        (here, "localhost"),
        (here, "localhost:3000"),
        ("[::1]:1", "[::1]:3000"),
        ("[::1]:1", "[::1]"),
        ("[::ffff:127.0.0.1]:1", "127.0.0.1:80"),
    ] {
        let origin = format!("http://{host}");
        let status = request(peer, "/again", &[("host", host), ("origin", &origin)]).await;
        assert_eq!(status, StatusCode::OK, "{peer} {host}");
    }
    assert_eq!(orders(conn), Ok(0));
}

/// Sales fail, and what the page reads can still be read.
fn break_sales(blog: &Blog) {
    let conn = &mut blog.pool.get().unwrap();
    conn.batch_execute("ALTER TABLE orders RENAME COLUMN visitor TO buyer")
        .unwrap();
}

#[tokio::test]
async fn visitors_who_cannot_buy_are_an_error() {
    let blog = Blog::new();
    break_sales(&blog);
    let peer: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let request = Request::post("/visitors").extension(ConnectInfo(peer));
    let request = request.header("host", "localhost").body(Body::empty());
    let answer = app::router(blog.pool.clone()).oneshot(request.unwrap());
    let status = answer.await.unwrap().status();
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
#[ignore = "needs chromedriver: scripts/test sqlite"]
async fn a_sale_that_fails_is_said() {
    let site = Site::new().await;
    let mut page = site.browser(1100).await;
    page.open("/").await;
    page.see_number("#left", 1_000).await;
    page.run("window.alert = (text) => { document.title = text }", vec![])
        .await;
    break_sales(&site.blog);
    page.click("#buy").await;
    page.see("title", "The server failed, and has printed why.")
        .await;
    page.see_number("#left", 1_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_with_half_a_request_is_closed() {
    let blog = Blog::new();
    let address = serve(&blog);
    let half = format!("GET / HTTP/1.1\r\nHost: {address}\r\n");
    let whole = format!("{half}\r\n");
    // Nothing, the beginning of an HTTP/2 request, half a request, and one after a whole one.
    let sent = ["", "PRI * ", &half, &format!("{whole}{half}")].map(|sent| {
        let mut stream = TcpStream::connect(address).unwrap();
        let only_what_hangs = Duration::from_secs(120);
        stream.set_read_timeout(Some(only_what_hangs)).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        stream
    });
    let closed = sent.map(|mut stream| {
        spawn_blocking(move || {
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).map(|_| answer)
        })
    });
    for (number, closed) in closed.into_iter().enumerate() {
        let answer = closed.await.unwrap();
        assert!(answer.is_ok(), "{number}: {answer:?}");
    }
}

#[tokio::test]
#[ignore = "needs chromedriver and axe-core: scripts/test sqlite"]
async fn a_hundred_visitors_buy_all_tickets_and_the_page_says_so() {
    let site = Site::new().await;
    let [mut page, mut phone] = [site.browser(1100).await, site.browser(390).await];
    page.open("/").await;
    phone.open("/").await;
    page.see_number("#left", 1_000).await;
    page.click("#buy").await;
    phone.see_number("#left", 999).await;
    page.click("#visitors").await;
    page.see_number("#left", 0).await;
    let orders = orders(&site.blog);
    let sold_out = format!("Sold out: 1,000 sold in {orders} orders, 0 left");
    for page in [&page, &phone] {
        page.see("[role=status]", &sold_out).await;
        page.see_number("#left", 0).await;
        for dark in [false, true] {
            page.prefers(dark).await;
            page.is_accessible("sold out").await;
        }
        let wider = "return document.documentElement.scrollWidth > innerWidth";
        assert_eq!(page.run(wider, vec![]).await, false);
        page.has_no_errors().await;
    }
    // Until the visitors have left, the button is disabled.
    page.click("#again:enabled").await;
    phone.see_number("#left", 1_000).await;
    phone.is_accessible("on sale").await;
}
