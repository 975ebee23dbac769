//! What is sold adds up: on SQLite, or on the server of `TEST_DATABASE_URL` with the feature `postgres`.

#[path = "../src/main.rs"]
#[allow(dead_code)] // `main`
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
use std::net::{SocketAddr, TcpStream};
use std::thread;

use browser::Site;
use diesel::dsl::{count_star, sum};
use diesel::prelude::*;
use diesel_counters::prelude::*;
use support::Blog;
use tokio::net::TcpListener;

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

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_clients_buy_all_tickets_and_no_more() {
    let blog = Blog::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = app::router(blog.pool.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let clients = (0..16).map(|visitor| thread::spawn(move || client(address, visitor)));
    let clients = Vec::from_iter(clients);
    let bought = clients.into_iter().map(|client| client.join().unwrap());
    assert_eq!(bought.sum::<i64>(), 1_000);
    orders(&blog);
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
