//! Gathering increments, where they could be lost.

use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters::CountingTransaction;

diesel::table! {
    page_counters (path, day, slot) {
        path -> Text,
        day -> Date,
        slot -> SmallInt,
        hits -> BigInt,
    }
}
diesel_counters::counter_table!(page_counters);

use page_counters::hits;

type Tx<'a> = CountingTransaction<'a, SqliteConnection>;

fn in_a_savepoint_that_it_does_not_know(tx: &mut Tx<'_>) -> QueryResult<()> {
    tx.conn().transaction(|_| {
        tx.count(increment(hits).of("/".to_owned()));
        Ok(())
    })
}

fn no_entity(tx: &mut Tx<'_>) {
    tx.count(increment(hits));
}

fn a_borrowed_key(path: &str, tx: &mut Tx<'_>) {
    tx.count(increment(hits).of(path));
}

fn no_increment(tx: &mut Tx<'_>) {
    tx.count(hits);
}

fn main() {}
