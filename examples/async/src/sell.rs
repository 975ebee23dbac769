//! Diesel's `RunQueryDsl` is in scope, because `take` needs one of Diesel's connections.

use diesel::connection::LoadConnection;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_counters::dsl::take;
use diesel_counters::retry;

use crate::schema::orders;
use crate::schema::stock::remaining;

/// Takes units from the stock and inserts an order, in one transaction. Returns the order's number,
/// or `None` if too few units are left.
pub fn sell<Conn>(product: i64, units: i64, conn: &mut Conn) -> QueryResult<Option<i64>>
where
    Conn: LoadConnection<Backend = Pg>,
{
    retry().transaction(conn, |conn| {
        if !take(remaining).of(product).by(units).execute(conn)? {
            return Ok(None);
        }
        diesel::insert_into(orders::table)
            .values((orders::product_id.eq(product), orders::units.eq(units)))
            .returning(orders::id)
            .get_result(conn)
            .map(Some)
    })
}
