//! Counting in the statement that writes the row, and gathering increments, where it cannot be or they
//! could be lost.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_counters::CountingTransaction;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::{article_counters::views, comments, page_counters::hits};

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

type Tx<'a> = CountingTransaction<'a, SqliteConnection>;

fn in_a_savepoint_that_it_does_not_know(tx: &mut Tx<'_>) -> QueryResult<()> {
    tx.conn().transaction(|_| {
        tx.count(increment(hits).of("/".to_owned()));
        Ok(())
    })
}

fn gathered_for_no_entity(tx: &mut Tx<'_>) {
    tx.count(increment(hits));
}

fn no_increment_to_gather(tx: &mut Tx<'_>) {
    tx.count(hits);
}

fn main() {}
