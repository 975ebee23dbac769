//! Counting in the statement that writes the row, where it cannot be.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_counters::prelude::*;

diesel::table! {
    comments (id) {
        id -> BigInt,
        body -> Text,
    }
}
diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(article_counters);

use article_counters::views;

fn on_sqlite(conn: &mut SqliteConnection) -> QueryResult<usize> {
    diesel::insert_into(comments::table)
        .values(comments::body.eq("First!"))
        .counting(increment(views).of(1_i64))
        .execute(conn)
}

fn no_increment(conn: &mut impl Connection<Backend = Pg>) -> QueryResult<usize> {
    diesel::delete(comments::table).counting(views).execute(conn)
}

fn no_entity(conn: &mut impl Connection<Backend = Pg>) -> QueryResult<usize> {
    diesel::delete(comments::table).counting(increment(views)).execute(conn)
}

fn main() {}
