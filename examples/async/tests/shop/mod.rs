//! Sixteen clients view, order and cancel, while the shop is asked to stop.

use std::sync::mpsc::Sender;

use app::schema::product_counters::{sold, views};
use app::schema::{orders, stock};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use diesel_counters::prelude::*;
use tokio::task::spawn_blocking;

use crate::{Database, program};

/// The migrations put so many units into stock.
const STOCK: i64 = 100;

#[tokio::test]
async fn it_never_sells_more_than_it_has_and_counts_what_it_has_acknowledged() {
    let database = Database::empty().await;
    let url = database.url();
    let shop = env!("CARGO_BIN_EXE_async_example");
    let told = spawn_blocking(move || program::ask_sixteen(shop, &url, client));
    let told = told.await.unwrap();

    let conn = &mut database.connect().await;
    let stored: Vec<(i64, i64)> = orders::table
        .select((orders::id, orders::units))
        .order(orders::id)
        .load(conn)
        .await
        .unwrap();
    let mut acknowledged: Vec<_> = told.iter().flat_map(|told| told.orders.clone()).collect();
    acknowledged.sort();
    assert_eq!(stored, acknowledged);
    let units: i64 = stored.iter().map(|(_, units)| units).sum();
    let viewed: i64 = told.iter().map(|told| told.views).sum();
    let counted = counter_value((views, sold)).of(1_i64).get_result(conn);
    assert_eq!(counted.await, Ok((viewed, units)));

    let remaining = counter_value(stock::remaining).of(1_i64).get_result(conn);
    assert_eq!(remaining.await, Ok(STOCK - units));
    // A client orders twice as often as it cancels.
    assert!(told.iter().any(|told| told.refused > 0), "{told:?}");
}

#[tokio::test]
async fn an_order_of_a_product_that_does_not_exist_is_not_found() {
    let database = Database::empty().await;
    let url = database.url();
    let ask = move || {
        let shop = program::Program::start(env!("CARGO_BIN_EXE_async_example"), &url);
        let head = "POST /products/99/orders HTTP/1.1\r\nContent-Length: 1\r\n";
        program::request(&shop.address, head, "1").unwrap()
    };
    let answer = spawn_blocking(ask).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

/// What the shop has told a client.
#[derive(Debug, Default)]
struct Told {
    views: i64,
    /// The number and the units of each order that was not cancelled.
    orders: Vec<(i64, i64)>,
    refused: usize,
}

fn client(address: &str, answers: &Sender<()>) -> Told {
    let mut told = Told::default();
    for turn in 0.. {
        let answer = match turn % 4 {
            1 => program::request(address, "GET /products/1 HTTP/1.1\r\n", ""),
            3 => match told.orders.last() {
                None => continue,
                Some((order, _)) => {
                    let head = format!("DELETE /orders/{order} HTTP/1.1\r\n");
                    program::request(address, &head, "")
                }
            },
            _ => {
                let head = "POST /products/1/orders HTTP/1.1\r\nContent-Length: 1\r\n";
                program::request(address, head, &units(turn).to_string())
            }
        };
        let Some(answer) = answer else { break };
        let _ = answers.send(());
        if !answer.starts_with(program::OK) {
            // Too few units are left, or a transaction met others in each attempt.
            let is_refused = answer.contains(" 409 ") || answer.contains(" 503 ");
            assert!(is_refused && turn % 4 != 1, "{answer}");
            told.refused += 1;
            continue;
        }
        match turn % 4 {
            1 => told.views += 1,
            3 => drop(told.orders.pop()),
            _ => {
                let (_, order) = answer.split_once("\r\n\r\n").unwrap();
                told.orders.push((order.parse().unwrap(), units(turn)));
            }
        }
    }
    told
}

/// The units of the order in this turn: 1 to 3.
fn units(turn: i64) -> i64 {
    1 + turn / 4 % 3
}
