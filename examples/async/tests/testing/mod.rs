//! The test in docs/testing.md, as it stands there.

use app::schema::stock::remaining;
use app::{cancel, sell};
use diesel::prelude::*;
use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};
use diesel_counters::dsl::put_back;
use diesel_counters::prelude::*;
use tokio::task::block_in_place;

#[tokio::test(flavor = "multi_thread")] // `block_in_place` requires it
async fn a_cancelled_order_puts_its_units_back() {
    let conn = &mut establish_connection().await;
    conn.test_transaction(async |conn| {
        put_back(remaining).of(1_i64).by(3).execute(conn).await?;
        let (sold, refused) = block_in_place(|| {
            let conn = &mut AsyncConnectionWrapper::<&mut AsyncPgConnection>::from(&mut *conn);
            QueryResult::Ok((sell(1, 2, conn)?, sell(1, 2, conn)?))
        })?;
        assert_eq!(refused, None);
        cancel(sold.unwrap(), conn).await?;
        let left: i64 = counter_value(remaining).of(1_i64).get_result(conn).await?;
        assert_eq!(left, 3);
        QueryResult::Ok(())
    })
    .await;
}

use crate::connect as establish_connection;

mod pool;

#[test]
fn the_test_in_the_docs_is_this_one() {
    let (_, code) = include_str!("mod.rs").split_once("\n\n").unwrap();
    let (code, _) = code.split_once("\nuse crate::").unwrap();
    let docs = include_str!("../../../../docs/testing.md");
    assert!(
        docs.contains(code),
        "write this into docs/testing.md:\n{code}"
    );
}
