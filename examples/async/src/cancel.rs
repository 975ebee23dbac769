//! diesel-async's `RunQueryDsl` is in scope.

use diesel::prelude::*;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};
use diesel_counters::dsl::put_back;

use crate::schema::orders;
use crate::schema::stock::remaining;

/// Deletes an order and puts its units back, in one transaction.
pub async fn cancel(order: i64, conn: &mut AsyncPgConnection) -> QueryResult<()> {
    conn.transaction(async |conn| {
        let (product, units): (i64, i64) = diesel::delete(orders::table.find(order))
            .returning((orders::product_id, orders::units))
            .get_result(conn)
            .await?;
        let put = put_back(remaining).of(product).by(units);
        put.execute(conn).await?;
        Ok(())
    })
    .await
}
