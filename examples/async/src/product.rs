//! Diesel's `RunQueryDsl` is in scope, because the closure of `read` isn't async.

use diesel::connection::LoadConnection;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_counters::CounterBuffer;
use diesel_counters::dsl::total;

use crate::schema::product_counters::{sold, views};
use crate::schema::products;
use crate::schema::stock::remaining;

/// Returns a product's name, its views including those that are pending, how many units were sold,
/// and how many are left.
pub fn product<Conn>(
    id: i64,
    buffer: &CounterBuffer<Conn>,
    conn: &mut Conn,
) -> QueryResult<(String, i64, i64, i64)>
where
    Conn: LoadConnection<Backend = Pg> + 'static,
{
    buffer.read(|pending| {
        let (name, v, s, left): (String, i64, i64, i64) = products::table
            .find(id)
            .select((products::name, total(views), total(sold), total(remaining)))
            .first(conn)?;
        Ok((name, v + pending.of(views, &id), s, left))
    })
}
