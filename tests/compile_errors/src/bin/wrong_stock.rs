//! A stock is taken and put back, and not counted.

use diesel::prelude::*;
use diesel_counters::dsl::{put_back, recount, set_counter, take};
use diesel_counters::prelude::*;

diesel::table! {
    tickets (event_id, day, slot) {
        event_id -> BigInt, day -> Date, slot -> SmallInt, remaining -> BigInt, sold -> BigInt,
    }
}
diesel_counters::counter_table!(tickets { period = Total, stock = (remaining) });
use tickets::{remaining, sold};

fn main() {
    let _ = increment(remaining).of(1_i64);
    let _ = set_counter((remaining, sold)).of(1_i64);
    let _ = take(sold).of(1_i64);
    let _ = put_back(sold).of(1_i64);
    let _ = recount(remaining, tickets::table.select((tickets::event_id, tickets::sold)));
}
