//! Tables that are no counter tables.

use diesel_counters::prelude::*;

diesel::table! {
    single_key (id) {
        id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(single_key);

diesel::table! {
    without_slot (id, day) {
        id -> BigInt,
        day -> Date,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(without_slot);

diesel::table! {
    day_is_a_time (id, day, slot) {
        id -> BigInt,
        day -> Timestamp,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(day_is_a_time);

diesel::table! {
    slot_is_an_integer (id, day, slot) {
        id -> BigInt,
        day -> Date,
        slot -> Integer,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(slot_is_an_integer);

diesel::table! {
    other_order (day, id, slot) {
        day -> Date,
        id -> BigInt,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(crate::other_order);

diesel::table! {
    key_may_be_null (id, day, slot) {
        id -> Nullable<BigInt>,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(key_may_be_null);

diesel::table! {
    undeclared (id, day, slot) {
        id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}

#[derive(HasCounters)]
#[counters(table_name = undeclared)]
struct OfUndeclared {
    id: i64,
}

fn of_a_table_that_is_not_declared(model: &OfUndeclared, conn: &mut diesel::SqliteConnection) {
    model.incr_counter(undeclared::views, conn).unwrap();
    let _ = increment(undeclared::views);
}

fn main() {}
